//! Responses that have been written.

use bytes::Bytes;

use crate::jsonrpc::{ErrorObject, RequestId};
use crate::protocol::encode::{self, TextGap};

/// A response that has been written.
#[derive(Default)]
pub(crate) struct WrittenResponse {
    /// The error that the response reports, so that a transport can also report it in other ways.
    pub(crate) error: Option<Box<ErrorObject>>,
    /// The text that is missing from the response.
    pub(crate) shared: SharedText,
}

/// Text that is omitted from a response to avoid copying it, and its position in the response buffer. All requests with
/// this answer share the text's bytes.
pub(crate) type SharedText = Option<Box<(TextGap, Bytes)>>;

impl WrittenResponse {
    /// Appends an error response to `out`. The response has no id if the request's id is unknown.
    pub(crate) fn of_error(
        out: &mut Vec<u8>,
        id: Option<&RequestId>,
        error: impl Into<Box<ErrorObject>>,
    ) -> Self {
        let error = error.into();
        encode::error(out, id, &error);
        Self {
            error: Some(error),
            shared: None,
        }
    }

    /// Adds the missing text to the response in `out`.
    pub(crate) fn complete(&mut self, out: &mut Vec<u8>) {
        if let Some(shared) = self.shared.take() {
            let (gap, text) = *shared;
            gap.fill(out, &text);
        }
    }
}
