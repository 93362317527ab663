//! An open `subscriptions/listen` request, which belongs to a channel or to the response that carries its
//! notifications.

use std::sync::Arc;

use crate::context::Caller;
use crate::dispatch::notifications::{Mailbox, Wake};
use crate::jsonrpc::RequestId;
use crate::observe::MetricGuard;
use crate::protocol::ProtocolVersion;
use crate::protocol::encode::{self, Identity, ResponseContext};

/// An open `subscriptions/listen` request.
pub(crate) struct ListenRequest {
    pub(super) id: RequestId,
    pub(super) version: ProtocolVersion,
    pub(super) mailbox: Arc<Mailbox>,
    /// Counts the subscription while it exists.
    pub(super) _open: MetricGuard,
}

/// The listen requests that are already open, and the function that creates the waker for a new request.
#[derive(Clone, Copy)]
pub(super) struct ListenScope<'c> {
    pub(super) open: &'c [ListenRequest],
    pub(super) wake: &'c dyn Fn() -> Wake,
}

impl ListenRequest {
    /// Writes the changes that this caller may see, one on each line, until `out` holds `room` bytes. Returns `true` if
    /// no changes are left.
    pub(crate) fn drain(&self, out: &mut Vec<u8>, room: usize, caller: &Caller) -> bool {
        self.mailbox.drain(out, room, Some(&self.id), caller)
    }

    /// Writes the result that ends the request as a single line.
    pub(crate) fn complete(&self, out: &mut Vec<u8>, identity: &Identity) {
        let reply = ResponseContext {
            id: Some(&self.id),
            version: self.version,
            identity,
        };
        encode::listen_result(out, reply);
        out.push(b'\n');
    }
}
