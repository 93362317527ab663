//! What the engine of a channel needs to know of the protocol: the seam between bytes and meaning.
//!
//! The engine is written against [`Peer`], so that its tests can drive it without a server. The one implementation
//! outside of tests is the dispatcher's, in `dispatched`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::context::Caller;
use crate::dispatch::{Sink, Started};
use crate::jsonrpc::{ErrorObject, Incoming, RequestId};
use crate::limits::Limits;

/// Called when a session has something to say that nobody asked for. Must not block; may be called from anywhere.
pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;

/// What to do about a message.
pub(crate) enum Verdict<C> {
    /// Nothing, or it is done.
    Silent,
    /// Send what was written.
    Answered,
    /// Run a call.
    Call(C),
    /// The client takes back the request of this id.
    Cancel(RequestId),
}

/// The protocol, as the engine sees it.
pub(crate) trait Peer: Send + Sync + 'static {
    /// What one channel has agreed on.
    type Session: Send + 'static;
    type Message<'m>;
    /// What makes it easier to read the messages of one channel; nothing at first.
    type Known: Default + Send;
    /// A call that can be started.
    type Call<'m>;
    /// A call under way. Polling it runs user code.
    type Running: Future<Output = Self::Finished> + Send + Unpin + 'static;
    type Finished: Send + 'static;
    /// What a call's first poll is reported to.
    type Pace;

    fn limits(&self) -> &Limits;
    /// Whether user code still blocks threads of its own.
    fn is_blocking(&self) -> bool;
    fn open(self: &Arc<Self>, caller: Caller, wake: Wake) -> Self::Session;

    /// Reads a line. An error is what to answer, with the id if it could be read.
    fn parse<'m>(
        &self,
        text: &'m [u8],
        known: &mut Self::Known,
    ) -> Result<Incoming<'m, Self::Message<'m>>, (Option<RequestId>, ErrorObject)>;
    /// The id, if the message is a request.
    fn request_id<'c>(message: &'c Self::Message<'_>) -> Option<&'c RequestId>;
    /// Whether the message says itself which revision it speaks, which no element of a batch may.
    fn has_claim(message: &Self::Message<'_>) -> bool;
    /// Decides without running user code; appends at most one message, without a line end.
    fn decide<'c, 'm: 'c>(
        self: &Arc<Self>,
        message: &'c Self::Message<'m>,
        session: &mut Self::Session,
        out: &mut Vec<u8>,
    ) -> Verdict<Self::Call<'c>>;
    fn error(&self, out: &mut Vec<u8>, id: Option<&RequestId>, error: &ErrorObject);

    /// Whether the call should leave the channel's task before its first poll, because it was slow before.
    fn spawn_first(call: &Self::Call<'_>) -> bool;
    fn pace(call: &Self::Call<'_>) -> Self::Pace;
    fn observed(pace: &Self::Pace, first_poll: Duration);
    /// Runs user code.
    fn start(
        call: Self::Call<'_>,
        sink: &dyn Fn() -> Arc<dyn Sink>,
    ) -> Started<Self::Running, Self::Finished>;
    /// Polls a call for the first time, where nobody can be woken: it is polled again at once, or dropped. Runs user code.
    fn first_poll(running: &mut Self::Running) -> Poll<Self::Finished> {
        Pin::new(running).poll(&mut Context::from_waker(Waker::noop()))
    }
    fn encode(finished: Self::Finished, out: &mut Vec<u8>);

    fn allows_batch(session: &Self::Session) -> bool;
    /// Appends pending notices, a line each, until `out` holds `room` bytes; says whether all is told.
    fn drain(session: &mut Self::Session, out: &mut Vec<u8>, room: usize) -> bool;
    /// Ends the request of this id if the session keeps it open.
    fn cancel(session: &mut Self::Session, id: &RequestId) -> bool;
    /// Ends everything the session keeps open; appends lines.
    fn end(session: &mut Self::Session, out: &mut Vec<u8>);
}
