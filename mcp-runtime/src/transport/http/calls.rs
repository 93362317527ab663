//! Calls of a session: each runs in place if it can, otherwise in a task that the session owns.

use std::collections::hash_map::Entry;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;

use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::pulse::Pulse;
use super::session::HttpSession;
use super::stream::SessionStream;
use crate::dispatch::{CallProgress, PreparedCall, Sink};
use crate::jsonrpc::RequestId;
use crate::limits::Limits;

/// A call under way.
pub(super) struct RunningRequest {
    serial: u64,
    /// Its task and the stream for its answer, once it has them.
    pub(super) task: Option<(AbortHandle, Arc<SessionStream>)>,
}

/// Result of starting a call.
pub(super) enum CallStart {
    /// The call is finished; this is its answer.
    Done(Vec<u8>),
    /// The call continues; its answer is sent on its stream.
    Running,
    /// The call was cancelled.
    Cancelled,
    /// A call with this id is still running.
    Repeated,
    /// The maximum number of calls is reached.
    TooMany,
}

impl HttpSession {
    /// Polls a call once; if it is not finished, continues it in a task of the session.
    pub(super) fn run(
        self: &Arc<Self>,
        prepared: PreparedCall<'_>,
        (limits, pulse): (&Limits, &Arc<Pulse>),
        stream: &dyn Fn() -> Arc<SessionStream>,
    ) -> CallStart {
        let id = prepared.id().clone();
        let serial = {
            let state = &mut *self.state();
            let is_full = state.calls.len() >= limits.calls.max_running;
            let place = match state.calls.entry(id.clone()) {
                Entry::Occupied(_) => return CallStart::Repeated,
                Entry::Vacant(_) if is_full => return CallStart::TooMany,
                Entry::Vacant(place) => place,
            };
            let serial = state.next_call;
            state.next_call = serial.wrapping_add(1);
            place.insert(RunningRequest { serial, task: None });
            serial
        };
        let start = || prepared.start(&|| stream() as Arc<dyn Sink>);
        let mut running = match pulse.run(|| start().polled_once()) {
            CallProgress::Done(finished) => {
                let mut answer = Vec::with_capacity(256);
                finished.encode(&mut answer);
                return if self.finish(&id, serial) {
                    CallStart::Done(answer)
                } else {
                    CallStart::Cancelled
                };
            }
            CallProgress::Running(running) => running,
        };
        let stream = stream();
        let mut state = self.state();
        let Some(call) = state
            .calls
            .get_mut(&id)
            .filter(|call| call.serial == serial)
        else {
            drop(state);
            return CallStart::Cancelled;
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
        // The session owns the task: it is aborted when the call is cancelled or the session ends.
        let task = tokio::spawn(task).abort_handle();
        call.task = Some((task, stream));
        CallStart::Running
    }

    /// Removes a finished call; returns `false` if it was cancelled before.
    fn finish(&self, id: &RequestId, serial: u64) -> bool {
        let mut state = self.state();
        state.used = Instant::now();
        match state.calls.remove_entry(id) {
            Some((_, call)) if call.serial == serial => true,
            // A later call with the same id.
            Some((id, call)) => {
                state.calls.insert(id, call);
                false
            }
            None => false,
        }
    }

    /// Cancels a request: the future of its handler is dropped, and no answer is sent.
    pub(super) fn cancel(&self, id: &RequestId) {
        let call = self.state().calls.remove(id);
        if let Some((task, stream)) = call.and_then(|call| call.task) {
            task.abort();
            stream.give_up();
        }
    }
}
