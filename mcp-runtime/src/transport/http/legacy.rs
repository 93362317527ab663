//! Sessions of 2025: requests that rely on a handshake, the stream of a GET, and their end.
//!
//! A call goes on when its connection breaks: its session owns it. What is sent before the answer makes the response a
//! stream of events, which a client can come back to.
//!
//! Specification: 2025-11-25, basic/transports, "Streamable HTTP"; the decisions are those of `docs/requirements.md`,
//! section 3.3.

use std::cell::OnceCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::answer::{self, Refusal};
use super::body::{Events, HttpBody};
use super::events;
use super::headers::{Accepts, SESSION, VERSION, last_event, text};
use super::service::Inner;
use super::session::{Begun, HttpSession};
use super::stream::{Opening, Reader, STANDALONE, Stream};
use crate::dispatch::Decision;
use crate::jsonrpc::{ErrorObject, Message};
use crate::protocol::{Era, Method, ProtocolVersion, encode, errors};

/// How many bytes of change notices are taken at once.
const ROOM: usize = 64 << 10;

/// How far the answer to a POST is.
pub(super) enum Posted {
    /// Answered.
    Over(Response<HttpBody>),
    /// Answers will come on a stream.
    Waiting(Exchange),
}

/// A POST whose answers will come on a stream.
pub(super) struct Exchange {
    pub(super) session: Arc<HttpSession>,
    pub(super) stream: Arc<Stream>,
    pub(super) is_batch: bool,
    pub(super) accepts: Accepts,
}

impl From<Refusal> for Posted {
    fn from(refusal: Refusal) -> Self {
        Self::Over(refusal.into_response())
    }
}

impl From<Response<HttpBody>> for Posted {
    fn from(response: Response<HttpBody>) -> Self {
        Self::Over(response)
    }
}

/// What the header says about the revision.
pub(super) fn check_version(headers: &HeaderMap) -> Result<Option<ProtocolVersion>, Refusal> {
    match text(headers, &VERSION) {
        None => Ok(None),
        Some(Ok(date)) if let Some(version) = ProtocolVersion::from_wire(date) => Ok(Some(version)),
        Some(_) => {
            let error = ErrorObject::invalid_request("`MCP-Protocol-Version` is no revision")
                .with_data(json!({ "supported": ProtocolVersion::supported() }));
            Err(Refusal::new(StatusCode::BAD_REQUEST, error))
        }
    }
}

pub(super) fn is_modern(version: Option<ProtocolVersion>) -> bool {
    version.is_some_and(|version| version.era() == Era::Modern)
}

/// The session a request belongs to. None if it says none.
pub(super) fn find(
    inner: &Inner,
    headers: &HeaderMap,
) -> Result<Option<Arc<HttpSession>>, Refusal> {
    match text(headers, &SESSION) {
        None => Ok(None),
        Some(Ok(id)) if let Some(session) = inner.sessions.get(id, false, inner.limits()) => {
            Ok(Some(session))
        }
        Some(_) => Err(Refusal::unknown_session()),
    }
}

fn session_required() -> Refusal {
    Refusal::bad_request("`Mcp-Session-Id` is missing: send `initialize` first")
}

/// Serves one message without a claim.
pub(super) fn post(inner: &Inner, headers: &HeaderMap, message: &Message<'_>) -> Posted {
    let id = message.id.to_request_id();
    let version = match check_version(headers) {
        Ok(version) => version,
        Err(refusal) => return refusal.with_id(id).into(),
    };
    let Some(method) = message.method.clone() else {
        return match find(inner, headers) {
            Ok(Some(session)) => {
                session.decide(&inner.dispatcher, message, &mut Vec::new());
                answer::empty(StatusCode::ACCEPTED).into()
            }
            Ok(None) => Refusal::bad_request("a response needs a session").into(),
            Err(refusal) => refusal.into(),
        };
    };
    let Some(id) = id else {
        if is_modern(version) {
            return answer::empty(StatusCode::ACCEPTED).into();
        }
        return match find(inner, headers) {
            Ok(Some(session)) => {
                notify(inner, &session, message);
                answer::empty(StatusCode::ACCEPTED).into()
            }
            Ok(None) => session_required().into(),
            Err(refusal) => refusal.into(),
        };
    };
    if is_modern(version) || Method::named(&method).is_some_and(|method| !method.is_in(Era::Legacy))
    {
        // A header alone makes no request modern, nor does a method; and what claims to be modern is not served as legacy.
        let refusal = Refusal::new(StatusCode::BAD_REQUEST, errors::missing_claim());
        return refusal.with_id(Some(id)).into();
    }
    let accepts = Accepts::read(headers);
    if !accepts.json && !accepts.events {
        let error = ErrorObject::invalid_request(
            "`Accept` must list `application/json` and `text/event-stream`",
        );
        return Refusal::new(StatusCode::NOT_ACCEPTABLE, error)
            .with_id(Some(id))
            .into();
    }
    let session = match find(inner, headers) {
        Ok(session) => session,
        Err(refusal) => return refusal.with_id(Some(id)).into(),
    };
    let is_initialize = method == "initialize";
    match session {
        None if is_initialize => initialize(inner, message, accepts),
        None => session_required().with_id(Some(id)).into(),
        Some(_) if is_initialize => {
            let refusal = Refusal::new(StatusCode::BAD_REQUEST, errors::already_initialized());
            refusal.with_id(Some(id)).into()
        }
        Some(session) => request(inner, &session, message, accepts),
    }
}

/// Shakes hands, which opens a session.
fn initialize(inner: &Inner, message: &Message<'_>, accepts: Accepts) -> Posted {
    let id = message.id.to_request_id();
    let unavailable = |message: &str| {
        let error = ErrorObject::internal(message);
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error).with_id(id.clone())
    };
    let Some(session) = HttpSession::new(&inner.dispatcher, false) else {
        return unavailable("no session can be opened").into();
    };
    let mut out = Vec::new();
    session.decide(&inner.dispatcher, message, &mut out);
    let mut response = whole(StatusCode::OK, &[out.into()], false, accepts);
    if session.version().is_some() {
        let Ok(name) = HeaderValue::from_str(&session.id) else {
            return unavailable("no session can be opened").into();
        };
        if !inner.sessions.insert(Arc::new(session), inner.limits()) {
            let mut response = unavailable("there are too many sessions").into_response();
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("10"));
            return response.into();
        }
        response.headers_mut().insert(&SESSION, name);
    }
    response.into()
}

/// Serves a notification.
pub(super) fn notify(inner: &Inner, session: &HttpSession, message: &Message<'_>) {
    let decision = session.decide(&inner.dispatcher, message, &mut Vec::new());
    if let Decision::Cancel(id) = decision {
        session.cancel(&id);
    }
}

/// Serves a request of a session.
fn request(
    inner: &Inner,
    session: &Arc<HttpSession>,
    message: &Message<'_>,
    accepts: Accepts,
) -> Posted {
    let stream = OnceCell::new();
    let open = || {
        let stream: &Arc<Stream> =
            stream.get_or_init(|| session.open_stream(accepts.events, 1, inner.limits()));
        Arc::clone(stream)
    };
    let answer = one(inner, session, message, &open);
    let is_open = stream.get().is_some();
    match answer {
        Some(answer) if is_open => open().answer(&answer),
        Some(answer) => return whole(StatusCode::OK, &[answer.into()], false, accepts).into(),
        // Taken back while it started; then its stream ends without an answer.
        None if !is_open => return whole(StatusCode::OK, &[], false, accepts).into(),
        None => {}
    }
    Posted::Waiting(Exchange {
        session: Arc::clone(session),
        stream: open(),
        is_batch: false,
        accepts,
    })
}

/// Serves one request; the answer, if it is there already. Otherwise it comes on the stream, or never.
pub(super) fn one(
    inner: &Inner,
    session: &Arc<HttpSession>,
    message: &Message<'_>,
    stream: &dyn Fn() -> Arc<Stream>,
) -> Option<Vec<u8>> {
    let id = message.id.to_request_id();
    let mut out = Vec::new();
    let prepared = match session.decide(&inner.dispatcher, message, &mut out) {
        Decision::Call(prepared) => prepared,
        Decision::Answered | Decision::Silent | Decision::Cancel(_) => return Some(out),
    };
    let error = match session.run(prepared, (inner.limits(), &inner.pulse), stream) {
        Begun::Done(answer) => return Some(answer),
        Begun::Running => return None,
        Begun::Cancelled => {
            stream().give_up();
            return None;
        }
        Begun::Repeated => ErrorObject::invalid_request("a request of this id is still open"),
        Begun::TooMany => errors::too_many("calls", Duration::from_secs(1)),
    };
    encode::error(&mut out, id.as_ref(), &error);
    Some(out)
}

/// Waits until it is known how the response begins. Dropping this leaves the calls running.
pub(super) async fn wait(inner: &Inner, exchange: Exchange) -> Response<HttpBody> {
    let Exchange {
        session,
        stream,
        is_batch,
        accepts,
    } = exchange;
    match poll_fn(|cx| stream.poll_opening(cx)).await {
        Opening::Answers(answers) => {
            session.forget(stream.number);
            whole(StatusCode::OK, &answers, is_batch, accepts)
        }
        Opening::Events => match stream.reader(1, true) {
            Some(reader) => following(inner, session, reader),
            None => whole(StatusCode::OK, &[], false, accepts),
        },
    }
}

/// Answers that are all there. None of them means that the request was taken back.
fn whole(
    status: StatusCode,
    messages: &[Box<[u8]>],
    is_batch: bool,
    accepts: Accepts,
) -> Response<HttpBody> {
    if messages.is_empty() {
        return if accepts.events {
            answer::stream(HttpBody::empty())
        } else {
            answer::empty(StatusCode::NO_CONTENT)
        };
    }
    let mut out = Vec::new();
    if !accepts.json {
        for message in messages {
            events::write(&mut out, None, "message", message);
        }
        return answer::stream(HttpBody::whole(out));
    }
    if !is_batch {
        return answer::json(status, messages.concat());
    }
    out.push(b'[');
    out.extend_from_slice(&messages.join(&b','));
    out.push(b']');
    answer::json(status, out)
}

/// Opens the stream of a session that no request opened, or goes on with one that broke.
pub(super) fn get(inner: &Inner, headers: &HeaderMap) -> Response<HttpBody> {
    let opened = check_version(headers).and_then(|version| {
        if is_modern(version) {
            return Ok(Refusal::method("POST"));
        }
        let Some(session) = find(inner, headers)? else {
            return Err(session_required());
        };
        if !Accepts::read(headers).events {
            let error = ErrorObject::invalid_request("`Accept` must list `text/event-stream`");
            return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, error));
        }
        let reader = match last_event(headers) {
            None => {
                let stream = session.standalone(inner.limits());
                let place = stream.unread_place();
                stream.reader(place, true)
            }
            Some(id) => id
                .ok()
                .and_then(events::read_id)
                .and_then(|(stream, place)| resume(inner, &session, stream, place)),
        };
        let gone = || Refusal::bad_request("there is nothing to resume after this event");
        Ok(following(inner, session, reader.ok_or_else(gone)?))
    });
    opened.unwrap_or_else(Refusal::into_response)
}

/// A reader of what came on a stream after an event.
fn resume(inner: &Inner, session: &HttpSession, stream: u64, place: u64) -> Option<Reader> {
    let stream = if stream == STANDALONE {
        session.standalone(inner.limits())
    } else {
        session.stream(stream, inner.limits())?
    };
    stream.reader(place.checked_add(1)?, false)
}

/// Ends a session.
pub(super) fn delete(inner: &Inner, headers: &HeaderMap) -> Response<HttpBody> {
    let ended = check_version(headers).and_then(|version| {
        if is_modern(version) {
            return Ok(Refusal::method("POST"));
        }
        let session = find(inner, headers)?.ok_or_else(session_required)?;
        inner.sessions.remove(&session.id);
        Ok(answer::empty(StatusCode::NO_CONTENT))
    });
    ended.unwrap_or_else(Refusal::into_response)
}

/// A response that follows a stream.
fn following(inner: &Inner, session: Arc<HttpSession>, reader: Reader) -> Response<HttpBody> {
    session.reader_came();
    let following = Following {
        session,
        reader,
        shutdown: Box::pin(inner.shutdown.clone().cancelled_owned()),
    };
    answer::stream(HttpBody::events(following, inner.limits().keep_alive))
}

/// A connection that follows a stream of a session.
struct Following {
    session: Arc<HttpSession>,
    reader: Reader,
    shutdown: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Events for Following {
    fn poll_events(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<bool> {
        let is_standalone = self.reader.stream.number == STANDALONE;
        if is_standalone && self.reader.is_current() {
            // A change rings only if it is the first since the last reading, so the bell comes before the reading.
            self.session.bell.register(cx.waker());
            self.session.pump(&self.reader.stream, ROOM);
        }
        let polled = self.reader.poll(cx, out);
        // A stream that awaits an answer goes on until it came, or the time to finish is over.
        if is_standalone && polled.is_pending() && self.shutdown.as_mut().poll(cx).is_ready() {
            return Poll::Ready(false);
        }
        polled
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.session.reader_left();
    }
}
