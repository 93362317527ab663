//! Messages that are sent in one piece.

use crate::dispatch::SharedText;
use crate::http::response::body::HttpBody;

/// A complete message.
pub(in crate::http) struct WholeMessage {
    pub(in crate::http) text: Vec<u8>,
    pub(in crate::http) shared: SharedText,
}

impl From<Vec<u8>> for WholeMessage {
    fn from(text: Vec<u8>) -> Self {
        Self { text, shared: None }
    }
}

impl WholeMessage {
    /// Returns the message in a single buffer.
    pub(in crate::http) fn into_text(self) -> Vec<u8> {
        let Self { mut text, shared } = self;
        if let Some(shared) = shared {
            let (gap, shared) = *shared;
            gap.fill(&mut text, &shared);
        }
        text
    }

    /// Returns the message as the body of a response, without copying shared text.
    pub(super) fn into_body(self) -> HttpBody {
        let Self { mut text, shared } = self;
        let Some(shared) = shared else {
            return HttpBody::from_bytes(text);
        };
        let (gap, shared) = *shared;
        let after = gap.split(&mut text);
        HttpBody::from_parts([text.into(), shared, after.into()])
    }
}
