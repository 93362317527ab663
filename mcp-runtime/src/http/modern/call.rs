//! A call, polled by the task that serves the connection.
//!
//! The response does not start until the call finishes, sends its first notification, or has been silent for too long,
//! so that the status can match the answer. Once the call has sent a notification or has been silent for too long, the
//! response becomes an event stream. The response owns the call, so the call is dropped when the client disconnects.

use std::cell::OnceCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::Response;

use crate::dispatch::{CallProgress, FinishedCall, PreparedCall, RunningCall, Sink};
use crate::http::heartbeat::Heartbeat;
use crate::http::modern::event_queue::EventQueue;
use crate::http::modern::status::modern_status;
use crate::http::request::accepts::AcceptedContentTypes;
use crate::http::response::body::HttpBody;
use crate::http::response::event_source::{EventSource, StreamStatus};
use crate::http::response::pending::PendingResponse;
use crate::http::response::refusal::with_retry_after;
use crate::http::response::{answer, sse};
use crate::http::state::ServiceState;
use crate::http::timers::silence_timeout::SilenceTimeout;

/// Starts a call and polls it once.
pub(super) fn start_call<'s>(
    state: &'s ServiceState,
    prepared: PreparedCall<'_>,
    accepts: AcceptedContentTypes,
) -> PendingResponse<'s> {
    let queue = OnceCell::new();
    let open = || {
        Arc::new(EventQueue::new(
            accepts.events,
            state.limits().streams.max_outgoing_bytes,
        ))
    };
    let sink = || Arc::clone(queue.get_or_init(open)) as Arc<dyn Sink>;
    let started = state.heartbeat.run(|| prepared.start(&sink).polled_once());
    let queue = queue.into_inner();
    match started {
        CallProgress::Done(finished) => {
            PendingResponse::Over(answer_response(finished, queue.as_deref()))
        }
        CallProgress::Running(running) => {
            let silence = accepts
                .events
                .then(|| SilenceTimeout::new(state.limits(), &state.shutdown));
            PendingResponse::waiting(run_until_response(state, running, queue, silence))
        }
    }
}

/// Runs a call until the form of its response is known. `queue` is `None` if the call cannot send messages before its
/// answer because it did not request a sink when it started; `silence` is `None` if the client does not accept events.
async fn run_until_response(
    state: &ServiceState,
    mut running: RunningCall,
    queue: Option<Arc<EventQueue>>,
    mut silence: Option<SilenceTimeout>,
) -> Response<HttpBody> {
    let finished = poll_fn(|cx| {
        if let Some(queue) = &queue {
            queue.watch(cx.waker());
        }
        let polled = state.heartbeat.run(|| Pin::new(&mut running).poll(cx));
        if let Poll::Ready(finished) = polled {
            return Poll::Ready(Some(finished));
        }
        let has_messages = queue.as_ref().is_some_and(|queue| !queue.is_empty());
        let mut is_due = || silence.as_mut().is_some_and(|silence| silence.is_over(cx));
        if has_messages || is_due() {
            Poll::Ready(None)
        } else {
            Poll::Pending
        }
    })
    .await;
    if let Some(finished) = finished {
        return answer_response(finished, queue.as_deref());
    }
    state.event_stream(CallEvents {
        running: Some(running),
        queue,
        heartbeat: Arc::clone(&state.heartbeat),
    })
}

/// Returns the response for a finished call, including messages that were sent before its answer.
fn answer_response(finished: FinishedCall, queue: Option<&EventQueue>) -> Response<HttpBody> {
    let mut message = Vec::with_capacity(256);
    let error = finished.encode(&mut message);
    let mut out = Vec::new();
    if let Some(queue) = queue {
        queue.take(&mut out);
    }
    if out.is_empty() {
        let response = answer::json(modern_status(error.as_ref().map(|e| e.code)), message);
        return match &error {
            Some(error) => with_retry_after(response, error),
            None => response,
        };
    }
    sse::write_event(&mut out, None, "message", &message);
    answer::event_stream(HttpBody::whole(out))
}

/// A call's events: the messages that it sends, followed by its answer. The answer may be an error even though the
/// status is 200.
struct CallEvents {
    running: Option<RunningCall>,
    queue: Option<Arc<EventQueue>>,
    heartbeat: Arc<Heartbeat>,
}

impl EventSource for CallEvents {
    fn poll_events(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
        _is_stopping: bool,
    ) -> StreamStatus {
        let Some(running) = &mut self.running else {
            return StreamStatus::Ended;
        };
        if let Some(queue) = &self.queue {
            queue.watch(cx.waker());
        }
        let polled = self.heartbeat.run(|| Pin::new(running).poll(cx));
        if let Some(queue) = &self.queue {
            queue.take(out);
        }
        let Poll::Ready(finished) = polled else {
            return StreamStatus::Open;
        };
        self.running = None;
        let mut message = Vec::with_capacity(256);
        finished.encode(&mut message);
        sse::write_event(out, None, "message", &message);
        StreamStatus::Ended
    }
}
