//! A call that is polled by the task serving the connection.
//!
//! The response does not start until the call finishes, sends its first notification, or has been silent for too long,
//! so that the status can match the answer. Once the call has sent a notification or has been silent for too long, the
//! response becomes an event stream. The response owns the call, so the call is dropped when the client disconnects.

use std::cell::OnceCell;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::Response;

use crate::dispatch::{CallProgress, PreparedCall, RunningCall, Sink, WrittenResponse};
use crate::http::heartbeat::Heartbeat;
use crate::http::modern::event_queue::EventQueue;
use crate::http::modern::status::modern_status;
use crate::http::request::head::RequestHead;
use crate::http::response::body::HttpBody;
use crate::http::response::event_source::{EventSource, StreamStatus};
use crate::http::response::message::WholeMessage;
use crate::http::response::pending::PendingResponse;
use crate::http::response::refusal::with_retry_after;
use crate::http::response::{answer, sse};
use crate::http::state::ServiceState;
use crate::http::timers::silence_timeout::SilenceTimeout;
use crate::jsonrpc::RequestId;

/// Starts a call and polls it once.
pub(super) fn start_call<'s>(
    state: &'s ServiceState,
    head: RequestHead<'_>,
    (prepared, id): (PreparedCall<'_>, RequestId),
) -> PendingResponse<'s> {
    let accepts = head.headers.accepts;
    let queue = OnceCell::new();
    let open = || {
        let max = state.limits().streams.max_outgoing_bytes;
        let charge = state.unsent.lazy_charge(head.holder());
        Arc::new(EventQueue::new(accepts.events, max, charge))
    };
    let sink = || Arc::clone(queue.get_or_init(open)) as Arc<dyn Sink>;
    let mut message = Vec::with_capacity(256);
    let run = || prepared.run(&id, &sink, &mut message);
    let progress = state.heartbeat.run_watched(run);
    let queue = queue.into_inner();
    match progress {
        CallProgress::Answered(written) => {
            PendingResponse::Over(answer_response(written, message, queue.as_deref()))
        }
        CallProgress::Running(running) => {
            let silence = accepts
                .events
                .then(|| SilenceTimeout::new(state.limits(), &state.shutdown));
            let request = Some(id.clone());
            let call = OwnedCall {
                running,
                id,
                message,
                queue,
                heartbeat: Arc::clone(&state.heartbeat),
            };
            PendingResponse::from_future(run_until_response(state, call, silence), request)
        }
    }
}

/// A running call that is owned by its response.
struct OwnedCall {
    running: RunningCall,
    id: RequestId,
    /// The answer, once the call has finished.
    message: Vec<u8>,
    /// The messages sent before the answer. `None` if the call cannot send messages because it did not request a sink
    /// when it started.
    queue: Option<Arc<EventQueue>>,
    heartbeat: Arc<Heartbeat>,
}

impl OwnedCall {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<WrittenResponse> {
        if let Some(queue) = &self.queue {
            queue.set_waker(cx.waker());
        }
        let poll = || self.running.poll_response(&self.id, cx, &mut self.message);
        self.heartbeat.run_watched(poll)
    }
}

/// Runs a call until its response can start, and returns the response. `silence` is `None` if the client does not
/// accept events.
async fn run_until_response(
    state: &ServiceState,
    mut call: OwnedCall,
    mut silence: Option<SilenceTimeout>,
) -> Response<HttpBody> {
    let written = poll_fn(|cx| {
        if let Poll::Ready(written) = call.poll(cx) {
            return Poll::Ready(Some(written));
        }
        let has_messages = call.queue.as_ref().is_some_and(|queue| !queue.is_empty());
        let mut is_due = || {
            silence
                .as_mut()
                .is_some_and(|silence| silence.has_elapsed(cx))
        };
        if has_messages || is_due() {
            Poll::Ready(None)
        } else {
            Poll::Pending
        }
    })
    .await;
    match written {
        Some(written) => answer_response(written, call.message, call.queue.as_deref()),
        None => state.event_stream(CallEvents(Some(call))),
    }
}

/// Returns the response for a finished call, including messages that were sent before its answer.
fn answer_response(
    mut written: WrittenResponse,
    mut message: Vec<u8>,
    queue: Option<&EventQueue>,
) -> Response<HttpBody> {
    let mut out = Vec::new();
    if let Some(queue) = queue {
        queue.drain_into(&mut out);
    }
    if out.is_empty() {
        let WrittenResponse { error, shared } = written;
        let message = WholeMessage {
            text: message,
            shared,
        };
        let response =
            answer::json_response(modern_status(error.as_ref().map(|e| e.code)), message);
        return match &error {
            Some(error) => with_retry_after(response, error),
            None => response,
        };
    }
    written.complete(&mut message);
    sse::write_event(&mut out, None, "message", &message);
    answer::event_stream_response(HttpBody::from_bytes(out))
}

/// A call's events: the messages that it sends, followed by its answer. The answer may be an error even though the
/// status is 200.
struct CallEvents(Option<OwnedCall>);

impl EventSource for CallEvents {
    fn poll_events(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
        _is_stopping: bool,
    ) -> StreamStatus {
        let Some(call) = &mut self.0 else {
            return StreamStatus::Ended;
        };
        let polled = call.poll(cx);
        if let Some(queue) = &call.queue {
            queue.drain_into(out);
        }
        let Poll::Ready(mut written) = polled else {
            return StreamStatus::Open;
        };
        written.complete(&mut call.message);
        sse::write_event(out, None, "message", &call.message);
        self.0 = None;
        StreamStatus::Ended
    }
}
