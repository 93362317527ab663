//! Return types for resources and resource templates.
//!
//! Conversions leave the URI empty. The dispatcher fills in the URI from the request and the media type from the
//! definition.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;

use crate::handler::handler_error::{HandlerError, IntoHandlerError};
use crate::handler::output::Json;
use crate::types::{ReadResourceResult, ResourceContents};

/// A type that a resource or a resource template may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a resource",
    label = "not resource contents",
    note = "return a string, bytes (`Vec<u8>`), `Json<T>` (put `#[data]` on the type `T`, or derive `serde::Serialize`), `ResourceContents` or a `Vec` of them, or an `Option` (`None`: not found) or `Result` of these"
)]
pub trait IntoResourceResult {
    /// The media type of the contents, which also appears in lists unless the definition specifies a different one.
    /// Default: unspecified.
    const MIME_TYPE: Option<&'static str> = None;

    /// Returns the result in a form that is independent of the protocol version. Contents without a URI are given the
    /// request's URI, and contents without a media type are given the definition's media type.
    ///
    /// # Errors
    ///
    /// Returns the handler's error, or [`HandlerError::resource_not_found`] if there is no resource at the URI.
    fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError>;
}

fn one(contents: ResourceContents) -> Result<ReadResourceResult, HandlerError> {
    vec![contents].into_resource_result()
}

impl IntoResourceResult for ReadResourceResult {
    fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
        Ok(self)
    }
}

impl IntoResourceResult for Vec<ResourceContents> {
    fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
        let mut result = ReadResourceResult::default();
        result.contents = self;
        Ok(result)
    }
}

impl<const N: usize> IntoResourceResult for [ResourceContents; N] {
    fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
        Vec::from(self).into_resource_result()
    }
}

impl IntoResourceResult for ResourceContents {
    fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
        one(self)
    }
}

macro_rules! text {
    ($($type:ty)*) => {$(
        impl IntoResourceResult for $type {
            fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
                one(ResourceContents::text("", self))
            }
        }
    )*};
}

text!(String &str Box<str> Cow<'_, str>);

macro_rules! blob {
    ($($type:ty)*) => {$(
        impl IntoResourceResult for $type {
            fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
                one(ResourceContents::blob("", self))
            }
        }
    )*};
}

blob!(Vec<u8> &[u8] Box<[u8]> Bytes);

/// The media type is `application/json` unless the definition specifies a different one.
#[diagnostic::do_not_recommend]
impl<T: Serialize> IntoResourceResult for Json<T> {
    const MIME_TYPE: Option<&'static str> = Some("application/json");

    fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
        let text = serde_json::to_string(&self.0).map_err(HandlerError::opaque)?;
        let mut result = vec![ResourceContents::text("", text)].into_resource_result()?;
        if let Some(mime_type) = Self::MIME_TYPE {
            result.set_default_mime_type(mime_type);
        }
        Ok(result)
    }
}

/// `None` means that there is no resource at this URI.
impl<T: IntoResourceResult> IntoResourceResult for Option<T> {
    const MIME_TYPE: Option<&'static str> = T::MIME_TYPE;

    fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
        self.ok_or_else(HandlerError::resource_not_found)?
            .into_resource_result()
    }
}

impl<T: IntoResourceResult, E: IntoHandlerError> IntoResourceResult for Result<T, E> {
    const MIME_TYPE: Option<&'static str> = T::MIME_TYPE;

    fn into_resource_result(self) -> Result<ReadResourceResult, HandlerError> {
        self.map_err(IntoHandlerError::into_handler_error)?
            .into_resource_result()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(value: impl IntoResourceResult) -> String {
        serde_json::to_string(&value.into_resource_result().unwrap().contents).unwrap()
    }

    #[test]
    fn text_bytes_and_json_become_contents() {
        let text = r#"[{"uri":"","text":"a"}]"#;
        assert_eq!(json("a"), text);
        assert_eq!(json(String::from("a")), text);
        assert_eq!(json(Cow::Borrowed("a")), text);
        assert_eq!(json(Ok::<_, String>(Some("a"))), text);
        let blob = r#"[{"uri":"","blob":"AAE="}]"#;
        assert_eq!(json(vec![0_u8, 1]), blob);
        assert_eq!(json(Bytes::from_static(&[0, 1])), blob);
        assert_eq!(json(Json([1])), r#"[{"uri":"","text":"[1]"}]"#);
        let result = Json([1]).into_resource_result().unwrap();
        assert_eq!(result.default_mime_type(), Some("application/json"));
        assert_eq!(
            json([ResourceContents::text("a:", "a")]),
            r#"[{"uri":"a:","text":"a"}]"#
        );
    }

    #[test]
    fn none_is_not_found() {
        let error = None::<String>.into_resource_result().unwrap_err();
        assert_eq!(format!("{error:?}"), "ResourceNotFound");
    }
}
