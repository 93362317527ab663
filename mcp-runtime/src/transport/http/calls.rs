//! Calls of a session: each runs in place if it can, else in a task that the session owns.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::pulse::Pulse;
use super::session::HttpSession;
use super::stream::Stream;
use crate::dispatch::{Prepared, Sink, Started};
use crate::jsonrpc::RequestId;
use crate::limits::Limits;

/// A call under way.
pub(super) struct Call {
    serial: u64,
    /// Its task and the stream of its answer, once it has them.
    pub(super) task: Option<(AbortHandle, Arc<Stream>)>,
}

/// What starting a call came to.
pub(super) enum Begun {
    /// Its answer.
    Done(Vec<u8>),
    /// It goes on; the answer comes on its stream.
    Running,
    /// It was taken back.
    Cancelled,
    /// There is a call of that id already.
    Repeated,
    /// There are as many calls as there may be.
    TooMany,
}

impl HttpSession {
    /// Runs a call: to its end if that is near, else as a task of the session.
    pub(super) fn run(
        self: &Arc<Self>,
        prepared: Prepared<'_>,
        (limits, pulse): (&Limits, &Arc<Pulse>),
        stream: &dyn Fn() -> Arc<Stream>,
    ) -> Begun {
        let id = prepared.id().clone();
        let serial = {
            let mut state = self.state();
            if state.calls.contains_key(&id) {
                return Begun::Repeated;
            }
            if state.calls.len() >= limits.running {
                return Begun::TooMany;
            }
            let serial = state.next_call;
            state.next_call = serial.wrapping_add(1);
            state.calls.insert(id.clone(), Call { serial, task: None });
            serial
        };
        let done = |answer: Vec<u8>| {
            if self.finish(&id, serial) {
                Begun::Done(answer)
            } else {
                Begun::Cancelled
            }
        };
        let mut running = match prepared.start(&|| stream() as Arc<dyn Sink>) {
            Started::Done(finished) => {
                let mut answer = Vec::with_capacity(256);
                finished.encode(&mut answer);
                return done(answer);
            }
            Started::Running(running) => running,
        };
        if let Poll::Ready(finished) = running.first_poll() {
            let mut answer = Vec::with_capacity(256);
            finished.encode(&mut answer);
            return done(answer);
        }
        let stream = stream();
        let mut state = self.state();
        let Some(call) = state
            .calls
            .get_mut(&id)
            .filter(|call| call.serial == serial)
        else {
            drop(state);
            return Begun::Cancelled;
        };
        let task = {
            let (session, stream, id) = (Arc::downgrade(self), Arc::clone(&stream), id.clone());
            let pulse = Arc::clone(pulse);
            async move {
                let finished = poll_fn(|cx| pulse.run(|| Pin::new(&mut running).poll(cx))).await;
                let mut answer = Vec::with_capacity(256);
                finished.encode(&mut answer);
                if let Some(session) = session.upgrade()
                    && session.finish(&id, serial)
                {
                    stream.answer(&answer);
                }
            }
        };
        // The session owns the task: it is aborted when the call is taken back or the session ends.
        let task = tokio::spawn(task).abort_handle();
        call.task = Some((task, stream));
        Begun::Running
    }

    /// Takes a call off the list; `false` if it was taken back before.
    fn finish(&self, id: &RequestId, serial: u64) -> bool {
        let mut state = self.state();
        state.used = Instant::now();
        let is_there = state
            .calls
            .get(id)
            .is_some_and(|call| call.serial == serial);
        is_there && state.calls.remove(id).is_some()
    }

    /// The client takes back a request: its handler's future is dropped, and no answer comes.
    pub(super) fn cancel(&self, id: &RequestId) {
        let call = self.state().calls.remove(id);
        if let Some((task, stream)) = call.and_then(|call| call.task) {
            task.abort();
            stream.give_up();
        }
    }
}
