//! The interface through which a channel's engine uses the protocol. It separates the transfer of messages from their
//! meaning.
//!
//! The engine depends only on [`Peer`], so that its tests can drive it without a server. Outside of tests, the only
//! implementation is the dispatcher's, in `dispatched`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::context::Caller;
use crate::dispatch::{CallProgress, Sink, Wake};
use crate::jsonrpc::{ErrorObject, Incoming, RequestId};
use crate::limits::Limits;

/// The action that a message requires.
pub(crate) enum MessageVerdict<C> {
    /// No action is required, or it has already been taken.
    Silent,
    /// Send the bytes that were written.
    Answered,
    /// Run a call.
    Call(C),
    /// Cancel the request with this id.
    Cancel(RequestId),
}

/// The protocol, as seen by the engine.
pub(crate) trait Peer: Send + Sync + 'static {
    /// A channel's negotiated state.
    type Session: Send + 'static;
    type Message<'m>;
    /// An initially empty cache that speeds up parsing the messages of one channel.
    type ParseCache: Default + Send;
    /// A call that can be started.
    type Call<'m>;
    /// A call in progress. Polling it runs user code.
    type Running: Future<Output = Self::Finished> + Send + Unpin + 'static;
    type Finished: Send + 'static;
    /// Receives the duration of a call's first poll.
    type Pace;

    fn limits(&self) -> &Limits;
    /// Returns `true` while user code is running on blocking threads.
    fn is_blocking(&self) -> bool;
    fn open(self: &Arc<Self>, caller: Caller, wake: Wake) -> Self::Session;

    /// Parses a line. An error contains the answer to send and, if it could be read, the id.
    fn parse<'m>(
        &self,
        text: &'m [u8],
        known: &mut Self::ParseCache,
    ) -> Result<Incoming<'m, Self::Message<'m>>, (Option<RequestId>, ErrorObject)>;
    /// Returns the id of the message if it is a request.
    fn request_id<'c>(message: &'c Self::Message<'_>) -> Option<&'c RequestId>;
    /// Returns `true` if the message specifies its own protocol version, which elements of a batch must not do.
    fn has_claim(message: &Self::Message<'_>) -> bool;
    /// Decides what to do without running user code. Appends at most one message, without a line end.
    fn decide<'c, 'm: 'c>(
        self: &Arc<Self>,
        message: &'c Self::Message<'m>,
        session: &mut Self::Session,
        out: &mut Vec<u8>,
    ) -> MessageVerdict<Self::Call<'c>>;
    fn error(&self, out: &mut Vec<u8>, id: Option<&RequestId>, error: &ErrorObject);

    /// Returns `true` if the call should leave the channel's task before its first poll because its handler has been
    /// slow in the past.
    fn spawn_first(call: &Self::Call<'_>) -> bool;
    fn pace(call: &Self::Call<'_>) -> Self::Pace;
    fn record_first_poll(pace: &Self::Pace, first_poll: Duration);
    /// Runs user code.
    fn start(
        call: Self::Call<'_>,
        sink: &dyn Fn() -> Arc<dyn Sink>,
    ) -> CallProgress<Self::Running, Self::Finished>;
    /// Polls a call for the first time with a waker that does nothing, since the call is then either polled again
    /// immediately or dropped. Runs user code.
    fn first_poll(running: &mut Self::Running) -> Poll<Self::Finished> {
        Pin::new(running).poll(&mut Context::from_waker(Waker::noop()))
    }
    fn encode(finished: Self::Finished, out: &mut Vec<u8>);

    fn allows_batch(session: &Self::Session) -> bool;
    /// Appends pending notifications, one per line, until `out` holds `room` bytes. Returns `true` if none are left.
    fn drain(session: &mut Self::Session, out: &mut Vec<u8>, room: usize) -> bool;
    /// Ends the request with this id if the session keeps it open.
    fn cancel(session: &mut Self::Session, id: &RequestId) -> bool;
    /// Ends all requests that the session keeps open, appending lines to `out`.
    fn end(session: &mut Self::Session, out: &mut Vec<u8>);
}
