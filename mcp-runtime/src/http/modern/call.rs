//! A call that is polled by the task serving the connection.
//!
//! The response does not start until the call finishes, sends its first notification, or has been silent for too long,
//! so that the status can match the answer. Once the call has sent a notification or has been silent for too long, the
//! response becomes an event stream. The response owns the call, so the call is dropped when the client disconnects.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use hyper::{Response, StatusCode};

use crate::budget::LazyCharge;
use crate::dispatch::{CallProgress, PreparedCall, RunningCall, Sink, WrittenResponse};
use crate::http::heartbeat::Heartbeat;
use crate::http::request::head::RequestHead;
use crate::http::response::answer::{PendingResponse, WholeMessage};
use crate::http::response::body::{EventSource, HttpBody, StreamStatus};
use crate::http::response::refusal::with_retry_after;
use crate::http::response::{answer, sse};
use crate::http::state::ServiceState;
use crate::http::timers::SilenceTimeout;
use crate::jsonrpc::{ErrorObject, RequestId};
use crate::lock::lock;
use crate::protocol::errors;

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

/// Messages that a call sends before its answer.
pub(super) struct EventQueue {
    /// `true` if the client accepts events; otherwise, nothing is sent before the answer.
    takes_events: bool,
    max_bytes: usize,
    state: Mutex<QueuedMessages>,
}

struct QueuedMessages {
    charge: LazyCharge,
    messages: VecDeque<Box<[u8]>>,
    bytes: usize,
    waker: Option<Waker>,
}

impl EventQueue {
    pub(super) fn new(takes_events: bool, max_bytes: usize, charge: LazyCharge) -> Self {
        Self {
            takes_events,
            max_bytes,
            state: Mutex::new(QueuedMessages {
                charge,
                messages: VecDeque::new(),
                bytes: 0,
                waker: None,
            }),
        }
    }

    fn lock_messages(&self) -> MutexGuard<'_, QueuedMessages> {
        lock(&self.state)
    }

    /// Sets the waker of the task to wake when a message is queued.
    pub(super) fn set_waker(&self, waker: &Waker) {
        let mut state = self.lock_messages();
        if !state.waker.as_ref().is_some_and(|old| old.will_wake(waker)) {
            state.waker = Some(waker.clone());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock_messages().messages.is_empty()
    }

    /// Appends the messages as events and removes them from the queue.
    pub(super) fn drain_into(&self, out: &mut Vec<u8>) {
        let mut state = self.lock_messages();
        state.bytes = 0;
        state.charge.resize(0);
        for message in state.messages.drain(..) {
            sse::write_event(out, None, "message", &message);
        }
    }
}

impl Sink for EventQueue {
    fn send(&self, message: &[u8]) -> bool {
        let mut state = self.lock_messages();
        if !self.takes_events || state.bytes >= self.max_bytes {
            return false;
        }
        let bytes = state.bytes.saturating_add(message.len());
        if !state.charge.try_resize(bytes) {
            return false;
        }
        state.bytes = bytes;
        state.messages.push_back(message.into());
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        true
    }
}

/// Returns the HTTP status for the answer to a modern request, based on the answer's error code.
///
/// Handler errors keep status 200, because a client could interpret any other status as a sign that the server does not
/// support the protocol.
pub(super) fn modern_status(code: Option<i32>) -> StatusCode {
    match code {
        Some(ErrorObject::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(errors::TOO_MANY) => StatusCode::TOO_MANY_REQUESTS,
        Some(
            errors::HEADER_MISMATCH
            | errors::MISSING_CAPABILITY
            | errors::UNSUPPORTED_VERSION
            | ErrorObject::PARSE_ERROR
            | ErrorObject::INVALID_REQUEST,
        ) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}
