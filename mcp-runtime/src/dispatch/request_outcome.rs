//! The result of answering a request.

use crate::dispatch::finish::SharedText;
use crate::dispatch::listen::ListenRequest;
use crate::dispatch::prepared::PreparedCall;

/// The result of answering a request.
#[allow(
    clippy::large_enum_variant,
    reason = "lives on the stack of the code that reads a message; boxing would cost an allocation per call"
)]
pub(crate) enum RequestOutcome<'m> {
    /// The response has been written, except for this text.
    Answered(SharedText),
    /// The request remains open. Its first message has been written; others will follow later.
    Listening(ListenRequest),
    /// User code must run to produce the response.
    Call(PreparedCall<'m>),
}
