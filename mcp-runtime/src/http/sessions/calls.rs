//! Calls in a session. A call that finishes when first polled runs in place; any other call continues in a task that
//! the session owns.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;

use tokio::time::Instant;

use crate::dispatch::{CallProgress, PreparedCall, Sink};
use crate::http::heartbeat::Heartbeat;
use crate::http::sessions::http_session::HttpSession;
use crate::http::sessions::running_requests::NotEntered;
use crate::http::streams::session_stream::SessionStream;
use crate::jsonrpc::RequestId;
use crate::limits::Limits;

/// Result of starting a call.
pub(in crate::http) enum CallStart {
    /// The call has finished; this is its answer.
    Done(Vec<u8>),
    /// The call continues; its answer is sent on its stream.
    Running,
    /// The call was cancelled.
    Cancelled,
    /// A call with this id is still running.
    Repeated,
    /// The maximum number of calls has been reached.
    TooMany,
}

impl HttpSession {
    /// Polls a call once. If it does not finish, continues it in a task that the session owns.
    pub(in crate::http) fn run_call(
        self: &Arc<Self>,
        prepared: PreparedCall<'_>,
        (limits, heartbeat): (&Limits, &Arc<Heartbeat>),
        stream: &dyn Fn() -> Arc<SessionStream>,
    ) -> CallStart {
        let id = prepared.id().clone();
        let entered = self
            .state()
            .requests
            .enter(id.clone(), limits.calls.max_running);
        let serial = match entered {
            Ok(serial) => serial,
            Err(NotEntered::Repeated) => return CallStart::Repeated,
            Err(NotEntered::TooMany) => return CallStart::TooMany,
        };
        let start = || prepared.start(&|| stream() as Arc<dyn Sink>);
        let mut running = match heartbeat.run(|| start().polled_once()) {
            CallProgress::Done(finished) => {
                let mut answer = Vec::with_capacity(256);
                finished.encode(&mut answer);
                return if self.remove_finished(&id, serial) {
                    CallStart::Done(answer)
                } else {
                    CallStart::Cancelled
                };
            }
            CallProgress::Running(running) => running,
        };
        let stream = stream();
        let mut state = self.state();
        let Some(call) = state.requests.get_mut(&id, serial) else {
            drop(state);
            return CallStart::Cancelled;
        };
        let task = {
            let (session, stream, id) = (Arc::downgrade(self), Arc::clone(&stream), id.clone());
            let heartbeat = Arc::clone(heartbeat);
            async move {
                let finished =
                    poll_fn(|cx| heartbeat.run(|| Pin::new(&mut running).poll(cx))).await;
                let mut answer = Vec::with_capacity(256);
                finished.encode(&mut answer);
                if let Some(session) = session.upgrade()
                    && session.remove_finished(&id, serial)
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

    /// Removes a finished call. Returns `false` if it had already been cancelled.
    fn remove_finished(&self, id: &RequestId, serial: u64) -> bool {
        let mut state = self.state();
        state.used = Instant::now();
        state.requests.leave(id, serial)
    }

    /// Cancels a request: the future of its handler is dropped, and no answer is sent.
    pub(in crate::http) fn cancel(&self, id: &RequestId) {
        let cancelled = self.state().requests.cancel(id);
        if let Some((task, stream)) = cancelled {
            task.abort();
            stream.skip_answer();
        }
    }
}
