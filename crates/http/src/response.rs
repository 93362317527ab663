//! Responses: their bodies (complete messages or events), refusals, and permits for streams.
//!
//! The modules that answer requests, `modern` and `legacy`, provide the contents.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::io::Write as _;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::HeaderValue;
use hyper::{Response, StatusCode, header};
use mcp_core::budget::{BudgetExceeded, Charge};
use mcp_core::context::Principal;
use mcp_core::dispatch::WrittenResponse;
use mcp_core::limits::Limits;
use mcp_core::observe::{RefusalKind, record_refusal};
use mcp_core::sync::{CancellationToken, lock};
use mcp_protocol::jsonrpc::{ErrorObject, RequestId};
use mcp_protocol::{encode, errors};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::timers::{Alarm, ShutdownPoll, instant_after};

/// The body of a response.
pub struct HttpBody {
    content: BodyContent,
    /// Marks the connection as busy while the body exists.
    busy: Option<BusyGuard>,
    /// The permit for an open stream.
    permit: Option<StreamPermit>,
}

enum BodyContent {
    Whole(Option<Bytes>),
    /// The non-empty parts of a message, in reverse order.
    Parts(Vec<Bytes>),
    Events(Box<EventBody>),
}

/// Messages of at least this size are counted as long as they have not been sent. All that is smaller fits into the
/// buffer of a connection, whose size is limited.
const COUNTED_MESSAGE: usize = 4 << 10;

/// The same for the events that are sent together.
const COUNTED_EVENTS: usize = 1 << 10;

struct EventBody {
    /// Counts events that have not been sent.
    unsent: Option<Charge>,
    /// `None` once the stream has ended.
    events: Option<Box<dyn EventSource>>,
    keep_alive: Duration,
    /// Fires when no event has been sent for the duration `keep_alive`.
    silence: Alarm,
    /// Time at which the current silence started.
    since: Instant,
    stopping: ShutdownPoll,
    /// Maximum duration for which the stream continues after shutdown begins, even if more events could follow.
    drain: Duration,
    /// Fires when the `drain` time has elapsed.
    end: Option<(Instant, Alarm)>,
}

impl HttpBody {
    fn new(content: BodyContent) -> Self {
        Self {
            content,
            busy: None,
            permit: None,
        }
    }

    pub(crate) fn empty() -> Self {
        Self::new(BodyContent::Whole(None))
    }

    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Self {
        Self::new(BodyContent::Whole(Some(bytes.into())))
    }

    /// Creates a body for a complete message from the message's parts.
    fn from_parts(parts: [Bytes; 3]) -> Self {
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        Self::new(BodyContent::Parts(parts.rev().collect()))
    }

    /// Creates a body that streams events. A comment is sent after each keep-alive interval without an event. The body
    /// ends no later than the drain timeout after shutdown begins.
    pub(crate) fn from_events(
        events: impl EventSource + 'static,
        limits: &Limits,
        shutdown: &CancellationToken,
    ) -> Self {
        Self::new(BodyContent::Events(Box::new(EventBody {
            unsent: None,
            events: Some(Box::new(events)),
            keep_alive: limits.streams.keep_alive_interval,
            silence: Alarm::default(),
            since: Instant::now(),
            stopping: ShutdownPoll::new(shutdown),
            drain: limits.calls.drain_timeout,
            end: None,
        })))
    }

    /// Counts what the client has not yet read. A body made of parts is not counted, because nearly all of it is shared
    /// with other responses.
    pub(crate) fn count_unsent(&mut self, charge: impl FnOnce() -> Charge) {
        match &mut self.content {
            BodyContent::Whole(Some(bytes)) if bytes.len() >= COUNTED_MESSAGE => {
                *bytes = UnsentBytes::counted(std::mem::take(bytes), charge());
            }
            BodyContent::Events(stream) => stream.unsent = Some(charge()),
            BodyContent::Whole(_) | BodyContent::Parts(_) => {}
        }
    }

    /// Holds a permit for an open stream until the body is dropped.
    pub(crate) fn hold_permit(&mut self, permit: StreamPermit) {
        self.permit = Some(permit);
    }

    /// Keeps the connection busy until the body is dropped.
    pub(crate) fn keep_busy(&mut self, busy: BusyGuard) {
        self.busy = Some(busy);
    }
}

/// Bytes that are counted until the connection has sent them, and then drops them.
struct UnsentBytes {
    bytes: Bytes,
    _charge: Charge,
}

impl UnsentBytes {
    fn counted(bytes: Bytes, mut charge: Charge) -> Bytes {
        charge.resize(bytes.len());
        Bytes::from_owner(Self {
            bytes,
            _charge: charge,
        })
    }
}

impl AsRef<[u8]> for UnsentBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let stream = match &mut self.content {
            BodyContent::Whole(bytes) => {
                return Poll::Ready(bytes.take().map(|all| Ok(Frame::data(all))));
            }
            BodyContent::Parts(parts) => {
                return Poll::Ready(parts.pop().map(|part| Ok(Frame::data(part))));
            }
            BodyContent::Events(stream) => stream,
        };
        let Some(events) = &mut stream.events else {
            return Poll::Ready(None);
        };
        let is_stopping = stream.stopping.poll(cx);
        if is_stopping {
            let begin = || {
                (
                    instant_after(Instant::now(), stream.drain),
                    Alarm::default(),
                )
            };
            let (due, end) = stream.end.get_or_insert_with(begin);
            // Checked first, because a steady flow of events would otherwise keep the stream open.
            if end.poll(*due, cx).is_ready() {
                stream.events = None;
                return Poll::Ready(None);
            }
        }
        let mut out = Vec::new();
        let status = events.poll_events(cx, &mut out, is_stopping);
        if status == StreamStatus::Ended {
            stream.events = None;
        }
        let frame = if !out.is_empty() {
            match &mut stream.unsent {
                Some(unsent) if out.len() >= COUNTED_EVENTS => {
                    UnsentBytes::counted(out.into(), unsent.another())
                }
                _ => out.into(),
            }
        } else if status == StreamStatus::Ended {
            return Poll::Ready(None);
        } else {
            let due = instant_after(stream.since, stream.keep_alive);
            ready!(stream.silence.poll(due, cx));
            Bytes::from_static(KEEP_ALIVE)
        };
        stream.since = Instant::now();
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            BodyContent::Whole(bytes) => bytes.is_none(),
            BodyContent::Parts(parts) => parts.is_empty(),
            BodyContent::Events(stream) => stream.events.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            BodyContent::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            BodyContent::Parts(parts) => {
                SizeHint::with_exact(parts.iter().map(|part| part.len() as u64).sum())
            }
            BodyContent::Events(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpBody").finish_non_exhaustive()
    }
}

/// Maximum size of the events to append in a single poll, in bytes.
pub(crate) const MAX_POLLED_BYTES: usize = 64 << 10;

/// The source of a response's events, which is dropped when the client disconnects.
pub(crate) trait EventSource: Send {
    /// Appends the available events. If no events are available and the stream continues, the task is woken when more
    /// arrive. Also called when `is_stopping` becomes `true` because shutdown has begun.
    fn poll_events(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
        is_stopping: bool,
    ) -> StreamStatus;
}

/// The state of an event stream after its available events have been appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamStatus {
    /// More events may follow.
    Open,
    /// No more events will follow.
    Ended,
}

/// The number of requests being served on a connection, which is idle if there are none.
#[derive(Debug, Default)]
pub(crate) struct ConnectionActivity(AtomicUsize);

impl ConnectionActivity {
    pub(crate) fn is_busy(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }

    /// Marks a request as being served until the returned value is dropped.
    pub(crate) fn mark_busy(self: &Arc<Self>) -> BusyGuard {
        self.0.fetch_add(1, Ordering::AcqRel);
        BusyGuard(Arc::clone(self))
    }
}

/// A request that is being served.
#[derive(Debug)]
pub(crate) struct BusyGuard(Arc<ConnectionActivity>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

// Permits for event streams that wait for events, limited both in total and for each known caller.

/// Delay after which a caller that has the maximum number of streams may retry.
const STREAM_RETRY_DELAY: Duration = Duration::from_secs(10);

/// Permits for event streams.
pub(crate) struct StreamPermits {
    all: Arc<Semaphore>,
    /// Number of permits held by each caller, indexed by the key of the caller's principal.
    taken: Mutex<HashMap<Box<str>, usize>>,
    max_per_principal: usize,
}

/// A permit that is returned to the pool when dropped.
pub(crate) struct StreamPermit {
    _permit: OwnedSemaphorePermit,
    /// The pool and the caller's key, if the caller is known.
    owned: Option<(Arc<StreamPermits>, Box<str>)>,
}

impl StreamPermits {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            all: Arc::new(Semaphore::new(
                limits.streams.max_open.min(Semaphore::MAX_PERMITS),
            )),
            taken: Mutex::default(),
            max_per_principal: limits.streams.max_per_principal.max(1),
        })
    }

    fn lock_counts(&self) -> MutexGuard<'_, HashMap<Box<str>, usize>> {
        lock(&self.taken)
    }

    /// Takes a permit for one of this caller's streams. Refuses if the server or the caller has too many open streams.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        caller: Option<&Principal>,
    ) -> Result<StreamPermit, HttpRefusal> {
        let permit = Arc::clone(&self.all).try_acquire_owned();
        let too_many = |_| HttpRefusal::unavailable("there are too many event streams");
        let mut permit = StreamPermit {
            _permit: permit.map_err(too_many)?,
            owned: None,
        };
        if let Some(principal) = caller {
            let mut taken = self.lock_counts();
            let count = taken.entry(principal.key().into()).or_default();
            if *count >= self.max_per_principal {
                drop(taken);
                let what = "event streams for this caller";
                return Err(HttpRefusal::too_many(what, STREAM_RETRY_DELAY));
            }
            *count = count.saturating_add(1);
            permit.owned = Some((Arc::clone(self), principal.key().into()));
        }
        Ok(permit)
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let Some((permits, key)) = &self.owned else {
            return;
        };
        let mut taken = permits.lock_counts();
        if let Some(count) = taken.get_mut(key) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                taken.remove(key);
            }
        }
    }
}

// --- Responses that consist of a message, an event stream, or a status without a body, and those that come later.

/// Returns a JSON response: one message, or an array of messages.
pub(crate) fn json_response(
    status: StatusCode,
    message: impl Into<ResponseMessage>,
) -> Response<HttpBody> {
    let mut response = Response::new(message.into().into_body());
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    response
}

/// Returns a response with a status and no body.
pub(crate) fn empty_response(status: StatusCode) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::empty());
    *response.status_mut() = status;
    response
}

/// Returns a response that streams events.
pub(crate) fn event_stream_response(body: HttpBody) -> Response<HttpBody> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, no-transform"),
    );
    // Tells nginx not to buffer events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// A response as the dispatcher has written it. A large text that many responses have in common is left out of it, and
/// is sent without being copied.
pub(crate) struct ResponseMessage {
    text: Vec<u8>,
    written: WrittenResponse,
}

impl From<Vec<u8>> for ResponseMessage {
    fn from(text: Vec<u8>) -> Self {
        Self::new(text, WrittenResponse::default())
    }
}

impl ResponseMessage {
    pub(crate) fn new(text: Vec<u8>, written: WrittenResponse) -> Self {
        Self { text, written }
    }

    /// Takes the error that the response reports, for its status and headers.
    pub(crate) fn take_error(&mut self) -> Option<Box<ErrorObject>> {
        self.written.error.take()
    }

    /// Returns the response in a single buffer.
    pub(crate) fn into_text(mut self) -> Vec<u8> {
        self.written.complete(&mut self.text);
        self.text
    }

    fn into_body(mut self) -> HttpBody {
        let Some(shared) = self.written.shared else {
            return HttpBody::from_bytes(self.text);
        };
        let (gap, shared) = *shared;
        let after = gap.split(&mut self.text);
        HttpBody::from_parts([self.text.into(), shared, after.into()])
    }
}

/// The result of serving a request as far as possible without waiting.
pub(crate) enum PendingResponse<'s> {
    /// The response.
    Over(Response<HttpBody>),
    /// The remaining work, which yields the response.
    Waiting(RemainingWork<'s>),
}

/// Work that yields the response to a request.
pub(crate) struct RemainingWork<'s> {
    pub(crate) response: Pin<Box<dyn Future<Output = Response<HttpBody>> + Send + 's>>,
    /// The id of the request, for the response if the work is cut short. `None` for a batch.
    pub(crate) id: Option<RequestId>,
}

impl<'s> PendingResponse<'s> {
    pub(crate) fn from_future(
        response: impl Future<Output = Response<HttpBody>> + Send + 's,
        id: Option<RequestId>,
    ) -> Self {
        Self::Waiting(RemainingWork {
            response: Box::pin(response),
            id,
        })
    }
}

impl From<HttpRefusal> for PendingResponse<'_> {
    fn from(refusal: HttpRefusal) -> Self {
        Self::Over(refusal.into_response())
    }
}

// --- Refusals: responses to rejected requests, with a status, an error and possibly a challenge.

/// The response to a rejected request: the status, the error and an optional challenge.
pub(crate) struct HttpRefusal {
    pub(crate) status: StatusCode,
    pub(crate) id: Option<RequestId>,
    pub(crate) error: Box<ErrorObject>,
    /// The value of the `WWW-Authenticate` header.
    challenge: Option<HeaderValue>,
}

impl HttpRefusal {
    pub(crate) fn new(status: StatusCode, error: ErrorObject) -> Self {
        Self {
            status,
            id: None,
            error: Box::new(error),
            challenge: None,
        }
    }

    pub(crate) fn with_id(mut self, id: Option<RequestId>) -> Self {
        self.id = id;
        self
    }

    /// Adds a challenge that tells the client how to get access.
    pub(crate) fn with_challenge(mut self, challenge: HeaderValue) -> Self {
        self.challenge = Some(challenge);
        self
    }

    pub(crate) fn forbidden(message: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, ErrorObject::invalid_request(message))
    }

    pub(crate) fn bad_request(message: &str) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            ErrorObject::invalid_request(message),
        )
    }

    /// 503: the server is shutting down, and the time allowed for finishing requests has run out.
    pub(crate) fn shutting_down() -> Self {
        let error = ErrorObject::internal("the server is stopping");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error)
    }

    /// 404: neither the endpoint nor anything else is at this path.
    pub(crate) fn unknown_path() -> Self {
        let error = ErrorObject::invalid_request("nothing is served at this path");
        Self::new(StatusCode::NOT_FOUND, error)
    }

    /// 404: no open session has this id. The client must start a new session.
    pub(crate) fn unknown_session() -> Self {
        let error = ErrorObject::invalid_request("the session is unknown or has ended");
        Self::new(StatusCode::NOT_FOUND, error)
    }

    /// 400: the request needs a session but does not name one.
    pub(crate) fn session_required() -> Self {
        Self::bad_request("`Mcp-Session-Id` is missing: send `initialize` first")
    }

    /// 406: the client does not accept events.
    pub(crate) fn events_not_accepted() -> Self {
        let error = ErrorObject::invalid_request("`Accept` must list `text/event-stream`");
        Self::new(StatusCode::NOT_ACCEPTABLE, error)
    }

    /// 406: the client does not accept both JSON and events.
    pub(crate) fn answer_not_accepted() -> Self {
        let error = ErrorObject::invalid_request(
            "`Accept` must list `application/json` and `text/event-stream`",
        );
        Self::new(StatusCode::NOT_ACCEPTABLE, error)
    }

    /// 503: a later request may succeed.
    pub(crate) fn unavailable(message: &str) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            ErrorObject::internal(message),
        )
    }

    /// 429: the caller has too many of these at once, and may retry after this delay.
    fn too_many(what: &str, retry: Duration) -> Self {
        record_refusal(RefusalKind::TooMany, None);
        let error = errors::too_many_at_once(what, retry);
        Self::new(StatusCode::TOO_MANY_REQUESTS, error)
    }

    /// 405: the HTTP method is not listed in `allow`.
    pub(crate) fn method_not_allowed(allow: &'static str) -> Response<HttpBody> {
        let error = ErrorObject::invalid_request("this HTTP method is not supported here");
        let mut response = Self::new(StatusCode::METHOD_NOT_ALLOWED, error).into_response();
        response
            .headers_mut()
            .insert(header::ALLOW, HeaderValue::from_static(allow));
        response
    }

    pub(crate) fn into_response(self) -> Response<HttpBody> {
        let mut out = Vec::with_capacity(128);
        encode::error(&mut out, self.id.as_ref(), &self.error);
        let mut response = json_response(self.status, out);
        if let Some(challenge) = self.challenge {
            let headers = response.headers_mut();
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("10"));
        }
        with_retry_after(response, &self.error)
    }
}

impl From<BudgetExceeded> for HttpRefusal {
    fn from(exceeded: BudgetExceeded) -> Self {
        match exceeded {
            BudgetExceeded::ByClient => {
                Self::too_many("unread answers for this caller", errors::RETRY_AFTER)
            }
            BudgetExceeded::ByOthers => Self::unavailable("there are too many unread answers"),
        }
    }
}

/// Adds a `Retry-After` header with the delay that the error specifies.
pub(crate) fn with_retry_after(
    mut response: Response<HttpBody>,
    error: &ErrorObject,
) -> Response<HttpBody> {
    if response.status() == StatusCode::TOO_MANY_REQUESTS
        && let Some(seconds) = errors::retry_after(error)
    {
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

// --- Writes server-sent events.

/// Approximate size of an event without its data, in bytes.
const EVENT_FRAME_BYTES: usize = 64;

/// Maximum length of a request id that is included in event ids, in bytes of JSON.
const MAX_REQUEST_BYTES: usize = 64;

/// The id of an event, from which a client can resume the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventId<'a> {
    pub(crate) stream: u64,
    /// The event's position in the stream.
    pub(crate) position: u64,
    /// The request whose answer the stream will carry, [encoded](encode_request). This lets any instance answer the
    /// request if the instance that should have done so is gone.
    pub(crate) request: Option<&'a str>,
}

/// Returns a request's id in the form used in event ids, unless the id is too long.
pub(crate) fn encode_request(id: &RequestId) -> Option<Box<str>> {
    let json = id.as_json();
    (json.len() <= MAX_REQUEST_BYTES).then(|| URL_SAFE_NO_PAD.encode(json).into())
}

/// Decodes a request's id from the form used in event ids.
pub(crate) fn decode_request(request: &str) -> Option<RequestId> {
    let json = String::from_utf8(URL_SAFE_NO_PAD.decode(request).ok()?).ok()?;
    RequestId::parse(&json)
}

/// Appends an event. `id` is sent to clients that can resume the stream.
pub(crate) fn write_event(out: &mut Vec<u8>, id: Option<EventId<'_>>, name: &str, data: &[u8]) {
    if let Some(id) = id {
        write_id(out, id);
    }
    out.reserve(data.len().saturating_add(EVENT_FRAME_BYTES));
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\ndata: ");
    let start = out.len();
    out.extend_from_slice(data);
    // In JSON, a line break between tokens is equivalent to a space, and strings cannot contain line breaks.
    if memchr::memchr2(b'\n', b'\r', data).is_some() {
        for byte in out.iter_mut().skip(start) {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    out.extend_from_slice(b"\n\n");
}

/// Returns the messages in `lines`, each of which ends with a newline.
pub(crate) fn split_messages(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    memchr::memchr_iter(b'\n', lines).filter_map(move |end| {
        let line = lines.get(start..end);
        start = end.saturating_add(1);
        line.filter(|line| !line.is_empty())
    })
}

/// Appends an event that contains only the id to resume from and the reconnection delay.
pub(crate) fn write_priming_event(out: &mut Vec<u8>, id: EventId<'_>) {
    write_id(out, id);
    out.extend_from_slice(b"retry: 500\ndata:\n\n");
}

/// A comment that keeps intermediaries from closing a silent stream.
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

fn write_id(out: &mut Vec<u8>, id: EventId<'_>) {
    let EventId {
        stream, position, ..
    } = id;
    // Writing to memory cannot fail.
    let _ = match id.request {
        Some(request) => writeln!(out, "id: {stream}:{position}:{request}"),
        None => writeln!(out, "id: {stream}:{position}"),
    };
}

/// Parses an event id.
pub(crate) fn parse_event_id(id: &str) -> Option<EventId<'_>> {
    let (stream, rest) = id.split_once(':')?;
    let (position, request) = match rest.split_once(':') {
        Some((position, request)) => (position, Some(request)),
        None => (rest, None),
    };
    if request.is_some_and(|request| decode_request(request).is_none()) {
        return None;
    }
    let is_plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_plain(stream) && is_plain(position)).then_some(())?;
    Some(EventId {
        stream: stream.parse().ok()?,
        position: position.parse().ok()?,
        request,
    })
}

#[cfg(test)]
mod tests {
    mod body {
        use std::future::poll_fn;

        use mcp_core::budget::{ByteBudget, Holder};

        use crate::response::*;

        /// Has one event of this size.
        struct OneEvent(usize);

        impl EventSource for OneEvent {
            fn poll_events(
                &mut self,
                _: &mut Context<'_>,
                out: &mut Vec<u8>,
                _: bool,
            ) -> StreamStatus {
                out.resize(self.0, b' ');
                StreamStatus::Ended
            }
        }

        #[tokio::test]
        async fn unsent_response_bytes_are_counted_if_they_are_many() {
            let (limits, shutdown) = (Limits::default(), CancellationToken::default());
            let whole = |size| HttpBody::from_bytes(vec![b' '; size]);
            let events = |size| HttpBody::from_events(OneEvent(size), &limits, &shutdown);
            for (mut body, size, is_counted) in [
                (whole(COUNTED_MESSAGE - 1), COUNTED_MESSAGE - 1, false),
                (whole(COUNTED_MESSAGE), COUNTED_MESSAGE, true),
                (whole(1 << 20), 1 << 20, true),
                (events(COUNTED_EVENTS - 1), COUNTED_EVENTS - 1, false),
                (events(COUNTED_EVENTS), COUNTED_EVENTS, true),
                (events(1 << 20), 1 << 20, true),
            ] {
                let expected = if is_counted { size } else { 0 };
                let budget = ByteBudget::new(100);
                body.count_unsent(|| budget.charge(&Holder::Anonymous(None)));
                let frame = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
                let data = frame.unwrap().unwrap().into_data().unwrap();
                drop(body);
                assert_eq!((data.len(), budget.held()), (size, expected));
                // A connection may send a part of it first.
                let rest = data.slice(size / 2..);
                drop(data);
                assert_eq!(budget.held(), expected);
                drop(rest);
                assert_eq!(budget.held(), 0);
            }
        }
    }

    mod sse {
        use crate::response::*;

        fn id(request: Option<&str>) -> EventId<'_> {
            EventId {
                stream: 3,
                position: 7,
                request,
            }
        }

        #[test]
        fn an_event_has_one_data_line_even_if_the_message_has_several_lines() {
            let mut out = Vec::new();
            write_event(&mut out, Some(id(None)), "message", b"{\"a\":\r\n1}");
            assert_eq!(
                String::from_utf8(out).unwrap(),
                "id: 3:7\nevent: message\ndata: {\"a\":  1}\n\n"
            );
        }

        #[test]
        fn only_event_ids_as_written_by_the_server_are_read() {
            for request in ["7", "\"a b\""] {
                let request = encode_request(&RequestId::from_valid(request)).unwrap();
                let mut out = Vec::new();
                write_id(&mut out, id(Some(&request)));
                let written = String::from_utf8(out).unwrap();
                let written = written.trim_end().strip_prefix("id: ").unwrap();
                assert_eq!(parse_event_id(written), Some(id(Some(&request))));
            }
            let long = format!("\"{}\"", "a".repeat(63));
            assert_eq!(encode_request(&RequestId::from_valid(&long)), None);
            assert_eq!(parse_event_id("3:7"), Some(id(None)));
            for id in [
                "",
                "3",
                ":",
                "3:",
                ":7",
                "+3:7",
                "3:7:",
                "3:7:1",
                "3:7:bnVsbA",
                "3:7:Nw:1",
                "3: 7",
                "99999999999999999999:1",
            ] {
                assert_eq!(parse_event_id(id), None, "{id}");
            }
        }
    }
}
