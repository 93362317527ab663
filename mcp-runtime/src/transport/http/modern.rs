//! Modern requests: they contain everything they need; there is no session, and nothing is kept once they are answered.
//!
//! A call is polled by the task that serves the connection. Nothing is sent before its answer or its first notification, so
//! that the status can match the answer; a notification makes the response an event stream, and so does a silence that
//! lasts too long. The response owns the call: a client that disconnects drops it.
//!
//! Specification: 2026-07-28, basic/transports, "Streamable HTTP".

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use hyper::{Response, StatusCode};

use super::answer::{self, HttpRefusal, Whole, modern_status};
use super::body::{Events, HttpBody};
use super::expiry::{Expiry, Until};
use super::head::Head;
use super::headers::RequestHeaders;
use super::pulse::Pulse;
use super::service::{PendingResponse, ServiceState};
use super::silence::Silence;
use super::{access, events, params};
use crate::bell::Bell;
use crate::dispatch::{CallProgress, Finished, RequestOutcome, RunningCall, Session, Sink};
use crate::jsonrpc::{ErrorObject, Member, Message, MetaMember, Params, RequestId};
use crate::protocol::errors;
use crate::protocol::negotiation::{Claim, Modern, claim};
use crate::transport::peer::Wake;

/// Maximum number of bytes of events to produce at once.
const ROOM: usize = 64 << 10;

/// Reads the protocol version and capabilities that the body claims, and compares the version with the header. The errors,
/// in order of precedence: a malformed claim, a header that does not match, a version that is not supported.
fn read_claim<'m>(
    headers: &RequestHeaders<'_>,
    params: &Params<'m>,
) -> Result<Modern<'m>, ErrorObject> {
    let claim = claim(params, None);
    if let Claim::Malformed(error) = claim {
        return Err(error);
    }
    headers.check_modern()?;
    let claimed = params
        .meta_string(MetaMember::ProtocolVersion)
        .ok()
        .flatten();
    match headers.version {
        None => {
            return Err(errors::header_mismatch(
                "MCP-Protocol-Version",
                "is missing",
            ));
        }
        Some(Ok(sent)) if claimed.is_some_and(|claimed| claimed == sent) => {}
        Some(_) => {
            let problem = "does not match the protocol version in the body";
            return Err(errors::header_mismatch("MCP-Protocol-Version", problem));
        }
    }
    match claim {
        Claim::Valid(modern) => Ok(modern),
        Claim::Unsupported(error) | Claim::Malformed(error) => Err(error),
        Claim::None => Err(errors::missing_claim()),
    }
}

/// Answers a notification. None has an effect here, but a malformed one is refused.
pub(super) fn notification(
    headers: &RequestHeaders<'_>,
    params: &Params<'_>,
) -> Response<HttpBody> {
    let has_claim = params.meta(MetaMember::ProtocolVersion).is_some();
    match read_claim(headers, params) {
        Err(error) if has_claim => HttpRefusal::new(StatusCode::BAD_REQUEST, error).into_response(),
        _ => answer::empty(StatusCode::ACCEPTED),
    }
}

/// Decides a request; if it is a call, starts the call and polls it once.
pub(super) fn begin<'i>(
    inner: &'i ServiceState,
    head: Head<'_>,
    id: RequestId,
    method: &str,
    message: &Message<'_>,
) -> PendingResponse<'i> {
    let headers = head.headers;
    let refuse = |error: ErrorObject| {
        HttpRefusal::new(StatusCode::BAD_REQUEST, error).with_id(Some(id.clone()))
    };
    let modern = match read_claim(headers, &message.params) {
        Ok(modern) => modern,
        Err(error) => return refuse(error).into(),
    };
    let dispatcher = &inner.dispatcher;
    let is_listen = method == "subscriptions/listen";
    let bell = is_listen.then(|| Arc::new(Bell::default()));
    let mut session = Session::of_one_request(dispatcher, rings(bell.as_ref()));
    session.set_caller(head.caller.cloned());
    let checked = params::check_names(headers, method, &message.params)
        .and_then(|()| check_arguments(&session, headers, method, &message.params));
    if let Err(error) = checked {
        return refuse(error).into();
    }
    let accepts = headers.accepts;
    if !accepts.events && (is_listen || !accepts.json) {
        let error = ErrorObject::invalid_request(
            "`Accept` must list `application/json` and `text/event-stream`",
        );
        let refusal = HttpRefusal::new(StatusCode::NOT_ACCEPTABLE, error).with_id(Some(id));
        return refusal.into();
    }
    let mut out = Vec::new();
    let request = (method, &id, &message.params);
    let prepared = match dispatcher.decide_modern(request, modern, &mut session, &mut out) {
        Ok(RequestOutcome::Call(prepared)) => prepared,
        Ok(RequestOutcome::Written) if let Some(bell) = bell => {
            let place = match inner.streams.take(head.caller) {
                Ok(place) => place,
                Err(refusal) => return refusal.with_id(Some(id)).into(),
            };
            let mut response = inner.stream(ListenStream {
                session,
                bell,
                acknowledgement: out,
                until: Until::of(head.caller),
                expiry: Expiry::default(),
                is_over: false,
            });
            response.body_mut().occupy(place);
            return PendingResponse::Over(response);
        }
        Ok(RequestOutcome::Written) => {
            return PendingResponse::Over(answer::json(StatusCode::OK, out));
        }
        Ok(RequestOutcome::Around(gap, page)) => {
            let page = Some((gap, page));
            return PendingResponse::Over(answer::json(StatusCode::OK, Whole { text: out, page }));
        }
        Err(error) if errors::scopes_needed(&error).is_some() => {
            let refusal = access::refuse(inner, head.caller, error);
            return refusal.with_id(Some(id)).into();
        }
        Err(error) => {
            let status = modern_status(Some(error.code));
            return HttpRefusal::new(status, error).with_id(Some(id)).into();
        }
    };
    let queue = OnceCell::new();
    let open = || {
        Arc::new(EventQueue::new(
            accepts.events,
            inner.limits().streams.max_outgoing_bytes,
        ))
    };
    let sink = || Arc::clone(queue.get_or_init(open)) as Arc<dyn Sink>;
    let started = inner.pulse.run(|| prepared.start(&sink).polled_once());
    let queue = queue.into_inner();
    match started {
        CallProgress::Done(finished) => PendingResponse::Over(finish(finished, queue.as_deref())),
        CallProgress::Running(running) => {
            let silence = accepts
                .events
                .then(|| Silence::new(inner.limits(), &inner.shutdown));
            PendingResponse::waiting(run(inner, running, queue, silence))
        }
    }
}

/// Returns a function that rings the bell, if there is one.
fn rings(bell: Option<&Arc<Bell>>) -> Wake {
    static NOBODY: LazyLock<Wake> = LazyLock::new(|| Arc::new(|| {}));
    match bell {
        None => Arc::clone(&NOBODY),
        Some(bell) => {
            let bell = Arc::clone(bell);
            Arc::new(move || bell.wake())
        }
    }
}

/// Compares the headers that mirror arguments, if the tool exists.
fn check_arguments(
    session: &Session,
    headers: &RequestHeaders<'_>,
    method: &str,
    params: &Params<'_>,
) -> Result<(), ErrorObject> {
    if method != "tools/call" {
        return Ok(());
    }
    let Ok(Some(name)) = params.string(Member::Name) else {
        return Ok(());
    };
    let Some(entry) = session.usable_tool(&name) else {
        return Ok(());
    };
    let arguments = params.get(Member::Arguments).unwrap_or("{}");
    if !arguments.starts_with('{') {
        return Ok(());
    }
    params::check_arguments(headers.all, entry.handler.headers(), arguments)
}

/// Runs a call until the form of the response is decided. `queue` is `None` if the call cannot send anything before its
/// answer, because it did not request a sink when it started; `silence` is `None` if the client does not accept events.
async fn run(
    inner: &ServiceState,
    mut running: RunningCall,
    queue: Option<Arc<EventQueue>>,
    mut silence: Option<Silence>,
) -> Response<HttpBody> {
    let finished = poll_fn(|cx| {
        if let Some(queue) = &queue {
            queue.watch(cx.waker());
        }
        let polled = inner.pulse.run(|| Pin::new(&mut running).poll(cx));
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
        return finish(finished, queue.as_deref());
    }
    inner.stream(Calling {
        running: Some(running),
        queue,
        pulse: Arc::clone(&inner.pulse),
    })
}

/// Returns the response for a finished call, including messages that were sent before its answer.
fn finish(finished: Finished, queue: Option<&EventQueue>) -> Response<HttpBody> {
    let mut message = Vec::with_capacity(256);
    let error = finished.encode(&mut message);
    let mut out = Vec::new();
    if let Some(queue) = queue {
        queue.take(&mut out);
    }
    if out.is_empty() {
        let response = answer::json(modern_status(error.as_ref().map(|e| e.code)), message);
        return match &error {
            Some(error) => answer::with_retry_after(response, error),
            None => response,
        };
    }
    events::write(&mut out, None, "message", &message);
    answer::stream(HttpBody::whole(out))
}

/// Messages that a call sends before its answer.
struct EventQueue {
    /// `true` if the client accepts events; if not, nothing is sent before the answer.
    open: bool,
    most: usize,
    state: Mutex<Queued>,
}

#[derive(Default)]
struct Queued {
    messages: VecDeque<Box<[u8]>>,
    bytes: usize,
    waker: Option<Waker>,
}

impl EventQueue {
    fn new(open: bool, most: usize) -> Self {
        Self {
            open,
            most,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, Queued> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self, waker: &Waker) {
        let mut state = self.state();
        if !state.waker.as_ref().is_some_and(|old| old.will_wake(waker)) {
            state.waker = Some(waker.clone());
        }
    }

    fn is_empty(&self) -> bool {
        self.state().messages.is_empty()
    }

    fn take(&self, out: &mut Vec<u8>) {
        let mut state = self.state();
        state.bytes = 0;
        for message in state.messages.drain(..) {
            events::write(out, None, "message", &message);
        }
    }
}

impl Sink for EventQueue {
    fn send(&self, message: &[u8]) -> bool {
        let mut state = self.state();
        if !self.open || state.bytes >= self.most {
            return false;
        }
        state.bytes = state.bytes.saturating_add(message.len());
        state.messages.push_back(message.into());
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
        true
    }
}

/// The events of a call: the messages it sends, then its answer, which may be an error although the status was 200.
struct Calling {
    running: Option<RunningCall>,
    queue: Option<Arc<EventQueue>>,
    pulse: Arc<Pulse>,
}

impl Events for Calling {
    fn poll_events(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>, _: bool) -> Poll<bool> {
        let Some(running) = &mut self.running else {
            return Poll::Ready(false);
        };
        if let Some(queue) = &self.queue {
            queue.watch(cx.waker());
        }
        let polled = self.pulse.run(|| Pin::new(running).poll(cx));
        if let Some(queue) = &self.queue {
            queue.take(out);
        }
        if let Poll::Ready(finished) = polled {
            self.running = None;
            let mut message = Vec::with_capacity(256);
            finished.encode(&mut message);
            events::write(out, None, "message", &message);
            return Poll::Ready(false);
        }
        if out.is_empty() {
            Poll::Pending
        } else {
            Poll::Ready(true)
        }
    }
}

/// The events of `subscriptions/listen`: the acknowledgement, then changes, and the answer when the server stops or the
/// credentials of the caller expire.
struct ListenStream {
    session: Session,
    bell: Arc<Bell>,
    acknowledgement: Vec<u8>,
    until: Until,
    expiry: Expiry,
    is_over: bool,
}

impl Events for ListenStream {
    fn poll_events(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
        is_stopping: bool,
    ) -> Poll<bool> {
        if self.is_over {
            return Poll::Ready(false);
        }
        if !self.acknowledgement.is_empty() {
            let acknowledgement = std::mem::take(&mut self.acknowledgement);
            events::write(out, None, "message", &acknowledgement);
        }
        // Register before draining: only the first change after a drain rings the bell.
        self.bell.register(cx.waker());
        let mut lines = Vec::new();
        self.session.drain(&mut lines, ROOM);
        if is_stopping || self.expiry.poll(self.until, cx) {
            self.session.complete(&mut lines);
            self.is_over = true;
        }
        for message in events::messages(&lines) {
            events::write(out, None, "message", message);
        }
        if self.is_over {
            Poll::Ready(false)
        } else if out.is_empty() {
            Poll::Pending
        } else {
            Poll::Ready(true)
        }
    }
}
