//! Messages that are sent in one piece.

use hyper::body::Bytes;

use crate::http::response::body::HttpBody;
use crate::protocol::encode::ListGap;

/// A complete message. It may contain a page of a list that is shared by all callers.
pub(in crate::http) struct WholeMessage {
    pub(in crate::http) text: Vec<u8>,
    pub(in crate::http) page: Option<(ListGap, Bytes)>,
}

impl From<Vec<u8>> for WholeMessage {
    fn from(text: Vec<u8>) -> Self {
        Self { text, page: None }
    }
}

impl WholeMessage {
    /// Returns the message in a single buffer.
    pub(in crate::http) fn into_text(self) -> Vec<u8> {
        let Self { mut text, page } = self;
        if let Some((gap, page)) = page {
            gap.fill(&mut text, &page);
        }
        text
    }

    /// Returns the message as the body of a response, without copying the page.
    pub(super) fn into_body(self) -> HttpBody {
        let Self { mut text, page } = self;
        let Some((gap, page)) = page else {
            return HttpBody::from_bytes(text);
        };
        let after = gap.split(&mut text);
        HttpBody::from_parts([text.into(), page, after.into()])
    }
}
