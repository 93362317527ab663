//! Responses that have been written.

use bytes::Bytes;

use crate::jsonrpc::ErrorObject;
use crate::protocol::encode::TextGap;

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
    /// Adds the missing text to the response in `out`.
    pub(crate) fn complete(&mut self, out: &mut Vec<u8>) {
        if let Some(shared) = self.shared.take() {
            let (gap, text) = *shared;
            gap.fill(out, &text);
        }
    }
}
