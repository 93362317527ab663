//! A request that owns its text.

use crate::jsonrpc::{Id, Message, Params, RequestId};

/// A request with a copy of its text, for calls that wait. Its members keep their positions, so the text is not parsed
/// again.
#[derive(Debug)]
pub struct OwnedRequest {
    text: Box<str>,
    id: RequestId,
    method: Box<str>,
    params: Params<'static>,
}

impl OwnedRequest {
    /// Copies a request whose id is `id`.
    #[must_use]
    pub fn new(id: &RequestId, request: &Message<'_>) -> Self {
        Self {
            text: request.params.text().into(),
            id: id.clone(),
            method: request.method.as_deref().unwrap_or_default().into(),
            params: request.params.in_copy(""),
        }
    }

    /// Returns the request's id.
    #[must_use]
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Returns the length of the request's text, in bytes.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// Returns the request as a message.
    #[must_use]
    pub fn message(&self) -> Message<'_> {
        Message {
            id: Id::Valid(self.id.clone()),
            method: Some((&*self.method).into()),
            params: self.params.in_copy(&self.text),
            result: None,
            error: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::{Incoming, Member, MetaMember, ParseLimits, parse};

    #[test]
    fn a_copy_has_the_members_of_its_request() {
        let text = r#"{"jsonrpc":"2.0","id":"a\n","method":"tools\/call","params":{"name":"caf\u00e9",
            "arguments":{"x":1},"_meta":{"progressToken":7}}}"#;
        let Ok(Incoming::Message(request)) = parse(text.as_bytes(), &ParseLimits::ROOMY) else {
            panic!("not a message");
        };
        let owned = OwnedRequest::new(request.id.valid().unwrap(), &request);
        assert_eq!(owned.text_bytes(), text.len());
        assert_eq!(Some(owned.id()), request.id.valid());
        let copy = owned.message();
        assert_eq!(copy.id, request.id);
        assert_eq!(copy.method.as_deref(), Some("tools/call"));
        assert_eq!(copy.params.raw(), request.params.raw());
        let name = copy.params.string(Member::Name).unwrap();
        assert_eq!(name.as_deref(), Some("café"));
        assert_eq!(copy.params.get(Member::Arguments), Some(r#"{"x":1}"#));
        assert_eq!(copy.params.meta(MetaMember::ProgressToken), Some("7"));
    }
}
