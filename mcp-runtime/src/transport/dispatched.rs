//! Implements a channel's protocol on top of the dispatcher.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::context::Caller;
use crate::dispatch::{
    CallProgress, ChannelMemory, Decision, Dispatcher, FinishedCall, PreparedCall, RunningCall,
    Sink, Wake,
};
use crate::jsonrpc::{self, ErrorObject, Incoming, KnownMeta, Message, MetaMember, RequestId};
use crate::limits::Limits;
use crate::protocol::encode;
use crate::registry::FirstPollPace;
use crate::telemetry::{RefusalKind, refused};
use crate::transport::peer::{MessageVerdict, Peer};

impl Peer for Dispatcher {
    type Session = ChannelMemory;
    type Message<'m> = Message<'m>;
    type ParseCache = KnownMeta;
    type Call<'m> = PreparedCall<'m>;
    type Running = RunningCall;
    type Finished = FinishedCall;
    type Pace = Option<Arc<FirstPollPace>>;

    fn limits(&self) -> &Limits {
        Dispatcher::limits(self)
    }

    fn is_blocking(&self) -> bool {
        Dispatcher::is_blocking(self)
    }

    fn open(self: &Arc<Self>, caller: Caller, wake: Wake) -> ChannelMemory {
        let mut session = ChannelMemory::new(self, wake);
        session.set_caller(caller);
        session
    }

    fn parse<'m>(
        &self,
        text: &'m [u8],
        known: &mut KnownMeta,
    ) -> Result<Incoming<'m>, (Option<RequestId>, ErrorObject)> {
        let limits = Dispatcher::limits(self).message.parse_limits();
        jsonrpc::parse_next(text, &limits, known)
    }

    fn request_id<'c>(message: &'c Self::Message<'_>) -> Option<&'c RequestId> {
        message.id.valid().filter(|_| message.method.is_some())
    }

    fn has_claim(message: &Self::Message<'_>) -> bool {
        message.params.meta(MetaMember::ProtocolVersion).is_some()
    }

    fn decide<'c, 'm: 'c>(
        self: &Arc<Self>,
        message: &'c Self::Message<'m>,
        session: &mut ChannelMemory,
        out: &mut Vec<u8>,
    ) -> MessageVerdict<Self::Call<'c>> {
        match Dispatcher::decide(self, message, session, out) {
            Decision::Silent => MessageVerdict::Silent,
            Decision::Answered => MessageVerdict::Answered,
            Decision::Around(gap, page) => {
                gap.fill(out, &page);
                MessageVerdict::Answered
            }
            Decision::Forbidden(id, error) => {
                refused(RefusalKind::Forbidden, None);
                encode::error(out, Some(&id), &error);
                MessageVerdict::Answered
            }
            Decision::Call(call) => MessageVerdict::Call(call),
            Decision::Cancel(id) => MessageVerdict::Cancel(id),
        }
    }

    fn error(&self, out: &mut Vec<u8>, id: Option<&RequestId>, error: &ErrorObject) {
        encode::error(out, id, error);
    }

    fn spawn_first(call: &Self::Call<'_>) -> bool {
        call.pace().is_some_and(|pace| pace.spawn_first())
    }

    fn pace(call: &Self::Call<'_>) -> Self::Pace {
        call.pace().cloned()
    }

    fn record_first_poll(pace: &Self::Pace, first_poll: Duration) {
        if let Some(pace) = pace {
            pace.record_first_poll(first_poll);
        }
    }

    fn start(call: Self::Call<'_>, sink: &dyn Fn() -> Arc<dyn Sink>) -> CallProgress {
        call.start(sink)
    }

    fn first_poll(running: &mut RunningCall) -> Poll<FinishedCall> {
        running.first_poll()
    }

    fn encode(finished: FinishedCall, out: &mut Vec<u8>) {
        finished.encode(out);
    }

    fn allows_batch(session: &ChannelMemory) -> bool {
        session.allows_batch()
    }

    fn drain(session: &mut ChannelMemory, out: &mut Vec<u8>, room: usize) -> bool {
        session.drain(out, room)
    }

    fn cancel(session: &mut ChannelMemory, id: &RequestId) -> bool {
        session.cancel_listen(id)
    }

    fn end(session: &mut ChannelMemory, out: &mut Vec<u8>) {
        session.end_requests(out);
    }
}
