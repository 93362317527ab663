//! The rules for batches, which exist only in protocol version 2025-03-26.
//!
//! Specification: 2025-03-26, basic, "Batching".

use crate::jsonrpc::{self, ErrorObject, Incoming, Message, MetaMember, ParseLimits, RequestId};
use crate::protocol::{ProtocolVersion, errors};

/// An element of a batch, or the error to send in its place, together with the message's id if it could be read.
pub(crate) type BatchElement<'m> = Result<Message<'m>, (Option<RequestId>, ErrorObject)>;

/// Reads a batch's elements. `version` is the negotiated protocol version, if any.
///
/// # Errors
///
/// Fails if the batch as a whole is refused. An element that is not a message does not affect the other elements.
pub(crate) fn read_batch<'m>(
    elements: &[&'m str],
    version: Option<ProtocolVersion>,
    limits: &ParseLimits,
) -> Result<Vec<BatchElement<'m>>, ErrorObject> {
    if !version.is_some_and(ProtocolVersion::has_batches) {
        return Err(errors::batch_not_supported());
    }
    let read = |text: &&'m str| match jsonrpc::parse(text.as_bytes(), limits)? {
        Incoming::Message(message) => Ok(message),
        Incoming::Batch(_) => {
            let error = ErrorObject::invalid_request("a batch must not contain another batch");
            Err((None, error))
        }
    };
    let elements: Vec<BatchElement<'_>> = elements.iter().map(read).collect();
    let has_claim =
        |message: &Message<'_>| message.params.meta(MetaMember::ProtocolVersion).is_some();
    if elements
        .iter()
        .any(|element| element.as_ref().is_ok_and(has_claim))
    {
        let text = "a message that names its own protocol version must not be part of a batch";
        return Err(ErrorObject::invalid_request(text));
    }
    Ok(elements)
}
