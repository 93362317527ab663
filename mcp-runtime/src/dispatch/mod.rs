//! One message in, one decision out; calls under way; change notices. No I/O.

/// Takes whole messages for the stream of one request.
pub(crate) trait Sink: Send + Sync {
    /// Queues a message; `false` if it was not taken, because the request is over or the queue is full.
    fn send(&self, message: &[u8]) -> bool;
}
