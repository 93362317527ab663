//! Calls in a session. A call that finishes on its first poll runs in place; any other call continues in a task that
//! the session owns.

use std::future::poll_fn;
use std::sync::Arc;

use tokio::time::Instant;

use crate::context::Principal;
use crate::dispatch::{
    CallProgress, Decision, Dispatcher, PreparedCall, RunningCall, Sink, WrittenResponse,
};
use crate::handler::tags::TagSelection;
use crate::http::heartbeat::Heartbeat;
use crate::http::response::message::WholeMessage;
use crate::http::sessions::http_session::HttpSession;
use crate::http::streams::session_stream::SessionStream;
use crate::jsonrpc::{ErrorObject, Message, RequestId};
use crate::limits::Limits;
use crate::protocol::errors;
use crate::telemetry::{RefusalKind, record_refusal};

impl HttpSession {
    /// Decides how to handle a message from this caller, given the definitions that its request selects. A request with
    /// the id of a running call is refused.
    pub(in crate::http) fn decide_message<'m>(
        &self,
        dispatcher: &Arc<Dispatcher>,
        (caller, selection): (Option<&Principal>, Option<&TagSelection>),
        message: &'m Message<'m>,
        out: &mut Vec<u8>,
    ) -> Decision<'m> {
        let mut state = self.state();
        state.mark_used_by(caller);
        state.channel.set_selection(selection.cloned());
        let request = message.id.valid().filter(|_| message.method.is_some());
        if let Some(id) = request.filter(|id| state.calls.holds(id)) {
            let response = WrittenResponse::of_error(out, Some(id), errors::id_in_use());
            return Decision::Answered(response);
        }
        dispatcher.decide(message, &mut state.channel, out)
    }

    /// Polls a call once. If it does not finish, continues it in a task that the session owns.
    ///
    /// Returns the answer if the call has finished; otherwise, any answer is sent on the stream later.
    ///
    /// # Errors
    ///
    /// Fails if the call is refused.
    pub(in crate::http) fn run_call(
        self: &Arc<Self>,
        (prepared, id): (PreparedCall<'_>, &RequestId),
        (limits, heartbeat): (&Limits, &Arc<Heartbeat>),
        stream: &dyn Fn() -> Arc<SessionStream>,
    ) -> Result<Option<WholeMessage>, ErrorObject> {
        let serial = self.register_call(id, limits)?;
        let mut answer = Vec::with_capacity(256);
        let run = || prepared.run(id, &|| stream() as Arc<dyn Sink>, &mut answer);
        match heartbeat.run_watched(run) {
            CallProgress::Answered(written) if self.unregister_call(serial) => {
                return Ok(Some(WholeMessage {
                    text: answer,
                    shared: written.shared,
                }));
            }
            // The call was cancelled during its first poll.
            CallProgress::Answered(_) => stream().skip_answer(),
            CallProgress::Running(running) => {
                let heartbeat = Arc::clone(heartbeat);
                self.continue_call((running, id, serial), answer, (stream(), heartbeat));
            }
        }
        Ok(None)
    }

    /// Continues a call in a task, unless it was cancelled during its first poll.
    fn continue_call(
        self: &Arc<Self>,
        (mut running, id, serial): (RunningCall, &RequestId, u64),
        mut answer: Vec<u8>,
        (stream, heartbeat): (Arc<SessionStream>, Arc<Heartbeat>),
    ) {
        let mut state = self.state();
        if !state.calls.leave(serial) {
            // Dropping the call runs user code, so it must not happen while the lock is held.
            drop(state);
            stream.skip_answer();
            return;
        }
        state.calls.keep(id, serial, Arc::clone(&stream));
        let (session, call) = (Arc::downgrade(self), id.clone());
        let task = tokio::spawn(async move {
            let poll = poll_fn(|cx| {
                heartbeat.run_watched(|| running.poll_response(&call, cx, &mut answer))
            });
            poll.await.complete(&mut answer);
            if let Some(session) = session.upgrade()
                && session.finish_call(&call, serial)
            {
                stream.push_answer(&answer);
            }
        });
        // The session owns the task: it is aborted when the call is cancelled or the session ends.
        state
            .calls
            .set_task_or_abort(id, serial, task.abort_handle());
    }

    fn register_call(&self, id: &RequestId, limits: &Limits) -> Result<u64, ErrorObject> {
        let calls = &mut self.state().calls;
        // Another request with this id may have come between the decision and this point.
        if calls.holds(id) {
            return Err(errors::id_in_use());
        }
        if calls.len() >= limits.calls.max_running {
            record_refusal(RefusalKind::TooMany, None);
            return Err(errors::too_many_at_once("calls", errors::RETRY_AFTER));
        }
        Ok(calls.enter(id))
    }

    /// Ends a call's first poll. Returns `false` if the call was cancelled in the meantime.
    fn unregister_call(&self, serial: u64) -> bool {
        let mut state = self.state();
        state.used = Instant::now();
        state.calls.leave(serial)
    }

    /// Removes a finished call. Returns `false` if it had already been cancelled.
    fn finish_call(&self, id: &RequestId, serial: u64) -> bool {
        let mut state = self.state();
        state.used = Instant::now();
        state.calls.finish(id, serial).is_some()
    }

    /// Cancels a request: its handler's future is dropped, and no answer is sent. Returns `false` if the request is not
    /// running here.
    pub(in crate::http) fn cancel(&self, id: &RequestId) -> bool {
        let cancelled = self.state().calls.cancel(id);
        let Some(call) = cancelled else { return false };
        call.abort();
        if let Some(stream) = &call.detail {
            stream.skip_answer();
        }
        true
    }
}
