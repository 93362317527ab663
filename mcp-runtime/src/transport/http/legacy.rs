//! Sessions of 2025: POST requests, mainly those that rely on a handshake.
//!
//! A call survives a broken connection: its session owns it. If a message is sent before the answer, or nothing for too
//! long, the response becomes an event stream, which a client can resume.
//!
//! Specification: 2025-11-25, basic/transports, "Streamable HTTP"; the decisions are in `docs/requirements.md`, section
//! 3.3.

use std::cell::OnceCell;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::{Response, StatusCode};
use serde_json::json;

use super::answer::{self, HttpRefusal, Whole};
use super::body::HttpBody;
use super::calls::CallStart;
use super::found::{RequestSession, Save};
use super::handshake::{UnsavedSession, initialize};
use super::head::Head;
use super::headers::{Accepts, RequestHeaders};
use super::keeping::Keeping;
use super::reading::following;
use super::record::SessionUpdate;
use super::service::ServiceState;
use super::session::HttpSession;
use super::silence::Silence;
use super::stream::{ResponseStart as Begins, SessionStream};
use super::{access, events};
use crate::context::Principal;
use crate::dispatch::Decision;
use crate::jsonrpc::{ErrorObject, Message};
use crate::protocol::{Era, Method, ProtocolVersion, encode, errors};
use crate::telemetry::{RefusalKind, refused};

/// Result of a POST, as far as it is known without waiting.
pub(super) struct Posted {
    /// A change of the session to save before answering.
    pub(super) save: Option<Save>,
    pub(super) answer: PostResponse,
}

/// State of the answer to a POST.
pub(super) enum PostResponse {
    /// Available.
    Over(Response<HttpBody>),
    /// Available once the session is stored.
    Opening(UnsavedSession),
    /// To come on a stream.
    Waiting(Exchange),
}

/// A POST whose answers come on a stream.
pub(super) struct Exchange {
    pub(super) session: Arc<HttpSession>,
    pub(super) stream: Arc<SessionStream>,
    pub(super) is_batch: bool,
    pub(super) accepts: Accepts,
}

impl From<PostResponse> for Posted {
    fn from(answer: PostResponse) -> Self {
        Self { save: None, answer }
    }
}

impl From<HttpRefusal> for Posted {
    fn from(refusal: HttpRefusal) -> Self {
        refusal.into_response().into()
    }
}

impl From<Response<HttpBody>> for Posted {
    fn from(response: Response<HttpBody>) -> Self {
        PostResponse::Over(response).into()
    }
}

/// Reads the protocol version from the header.
pub(super) fn check_version(
    headers: &RequestHeaders<'_>,
) -> Result<Option<ProtocolVersion>, HttpRefusal> {
    match headers.version {
        None => Ok(None),
        Some(Ok(date)) if let Some(version) = ProtocolVersion::from_wire(date) => Ok(Some(version)),
        Some(_) => {
            let error = ErrorObject::invalid_request(
                "`MCP-Protocol-Version` is not a supported protocol version",
            )
            .with_data(json!({ "supported": ProtocolVersion::supported() }));
            Err(HttpRefusal::new(StatusCode::BAD_REQUEST, error))
        }
    }
}

pub(super) fn is_modern(version: Option<ProtocolVersion>) -> bool {
    version.is_some_and(|version| version.era() == Era::Modern)
}

fn is_of_the_modern_era(method: &str) -> bool {
    Method::named(method).is_some_and(|method| !method.is_in(Era::Legacy))
}

fn has_sessions(inner: &ServiceState) -> bool {
    !matches!(inner.sessions.keeping, Keeping::None)
}

pub(super) fn session_required() -> HttpRefusal {
    HttpRefusal::bad_request("`Mcp-Session-Id` is missing: send `initialize` first")
}

/// Result of looking up the session that a request names.
pub(super) type SessionLookup<'h> = Result<Option<RequestSession<'h>>, HttpRefusal>;

/// Serves one message that does not specify its own protocol version.
pub(super) fn post(
    inner: &ServiceState,
    head: Head<'_>,
    found: SessionLookup<'_>,
    message: &Message<'_>,
) -> Posted {
    let id = message.id.to_request_id();
    let with_id = |refusal: HttpRefusal| refusal.with_id(id.clone()).into();
    let version = match check_version(head.headers) {
        Ok(version) => version,
        Err(refusal) => return with_id(refusal),
    };
    let Some(method) = message.method.clone() else {
        return respond(inner, head.caller, found, message).unwrap_or_else(Posted::from);
    };
    let Some(id) = id.clone() else {
        if is_modern(version) {
            return answer::empty(StatusCode::ACCEPTED).into();
        }
        return notify(inner, head.caller, found, message).unwrap_or_else(Posted::from);
    };
    let missing_claim = || HttpRefusal::new(StatusCode::BAD_REQUEST, errors::missing_claim());
    if is_modern(version) {
        // A header alone does not make a request modern, and a request that claims to be modern is not served as legacy.
        return with_id(missing_claim());
    }
    let accepts = head.headers.accepts;
    if !accepts.json && !accepts.events {
        let error = ErrorObject::invalid_request(
            "`Accept` must list `application/json` and `text/event-stream`",
        );
        return with_id(HttpRefusal::new(StatusCode::NOT_ACCEPTABLE, error));
    }
    let found = match found {
        Ok(found) => found,
        Err(refusal) => return with_id(refusal),
    };
    match found {
        None if method == "initialize" => initialize(inner, head.caller, id, message, accepts),
        // In a session, or on a server without sessions, it is a legacy request for an unknown method.
        None if is_of_the_modern_era(&method) && has_sessions(inner) => with_id(missing_claim()),
        Some(_) if method == "initialize" => {
            let refusal = HttpRefusal::new(StatusCode::BAD_REQUEST, errors::already_initialized());
            with_id(refusal)
        }
        found => {
            let answered = session_of(inner, found.as_ref(), version).map(|session| {
                request(
                    inner,
                    found.as_ref(),
                    (&session, head.caller),
                    message,
                    accepts,
                )
            });
            answered.unwrap_or_else(with_id)
        }
    }
}

/// Returns the live part of the session that a request belongs to; on a server without sessions, one for this request
/// only.
pub(super) fn session_of(
    inner: &ServiceState,
    found: Option<&RequestSession<'_>>,
    version: Option<ProtocolVersion>,
) -> Result<Arc<HttpSession>, HttpRefusal> {
    match (found, &inner.sessions.keeping) {
        (Some(found), _) => inner.sessions.resume(found),
        (None, Keeping::None) => {
            let version = version.unwrap_or(ProtocolVersion::V2025_03_26);
            inner.sessions.anonymous(version)
        }
        (None, _) => Err(session_required()),
    }
}

/// Takes the client's response to a request of the server.
fn respond(
    inner: &ServiceState,
    caller: Option<&Principal>,
    found: SessionLookup<'_>,
    message: &Message<'_>,
) -> Result<Posted, HttpRefusal> {
    let required = || HttpRefusal::bad_request("a response requires a session");
    let found = found?.ok_or_else(required)?;
    // The call that waits for it runs in the live part.
    if let Some(session) = inner.sessions.get(found.id) {
        session.decide(&inner.dispatcher, caller, message, &mut Vec::new());
    }
    Ok(answer::empty(StatusCode::ACCEPTED).into())
}

/// Serves a notification.
fn notify(
    inner: &ServiceState,
    caller: Option<&Principal>,
    found: SessionLookup<'_>,
    message: &Message<'_>,
) -> Result<Posted, HttpRefusal> {
    let mut posted = Posted::from(answer::empty(StatusCode::ACCEPTED));
    match found? {
        None if matches!(inner.sessions.keeping, Keeping::None) => {}
        None => return Err(session_required()),
        // No live part is created for this alone: every client sends it once, and many send nothing more for a long time.
        Some(found) if message.method.as_deref() == Some("notifications/initialized") => {
            let change = SessionUpdate {
                ready: !found.record.is_ready(),
                ..SessionUpdate::default()
            };
            posted.save = (!change.is_nothing()).then(|| found.save(change, None));
        }
        Some(found) => {
            if let Some(session) = inner.sessions.get(found.id) {
                take_notification(inner, &session, caller, message);
            }
        }
    }
    Ok(posted)
}

/// Takes a notification.
pub(super) fn take_notification(
    inner: &ServiceState,
    session: &HttpSession,
    caller: Option<&Principal>,
    message: &Message<'_>,
) {
    let decision = session.decide(&inner.dispatcher, caller, message, &mut Vec::new());
    if let Decision::Cancel(id) = decision {
        session.cancel(&id);
    }
}

/// Serves a request of a session.
fn request(
    inner: &ServiceState,
    found: Option<&RequestSession<'_>>,
    (session, caller): (&Arc<HttpSession>, Option<&Principal>),
    message: &Message<'_>,
    accepts: Accepts,
) -> Posted {
    let stream = OnceCell::new();
    let open = || {
        let stream: &Arc<SessionStream> =
            stream.get_or_init(|| session.open_stream(accepts.events, 1, inner.limits()));
        Arc::clone(stream)
    };
    let is_remembered = matches!(
        message.method.as_deref(),
        Some("logging/setLevel" | "resources/subscribe" | "resources/unsubscribe")
    );
    let answer = match try_one(inner, session, caller, message, &open) {
        Ok(answer) => answer,
        Err(error) => {
            let refusal = access::refuse(inner, caller, *error);
            return refusal.with_id(message.id.to_request_id()).into();
        }
    };
    let is_open = stream.get().is_some();
    match answer {
        Some(answer) if is_open => open().answer(&answer.into_text()),
        Some(answer) => {
            let found = found.filter(|_| is_remembered);
            let save =
                |found: &RequestSession<'_>| found.changed(session, message.id.to_request_id());
            return Posted {
                save: found.and_then(save),
                answer: PostResponse::Over(whole(answer, accepts)),
            };
        }
        // Cancelled while it started; its stream then ends without an answer.
        None if !is_open => return nothing(accepts).into(),
        None => {}
    }
    if found.is_none() {
        inner.sessions.hold(session);
    }
    let exchange = Exchange {
        session: Arc::clone(session),
        stream: open(),
        is_batch: false,
        accepts,
    };
    PostResponse::Waiting(exchange).into()
}

/// Serves one request that has no HTTP status of its own. Returns the answer if it is available already; otherwise it comes
/// on the stream, or never.
pub(super) fn one(
    inner: &ServiceState,
    session: &Arc<HttpSession>,
    caller: Option<&Principal>,
    message: &Message<'_>,
    stream: &dyn Fn() -> Arc<SessionStream>,
) -> Option<Whole> {
    try_one(inner, session, caller, message, stream).unwrap_or_else(|error| {
        let mut out = Vec::new();
        encode::error(&mut out, message.id.to_request_id().as_ref(), &error);
        Some(out.into())
    })
}

/// Like [`one`]; an error names the scopes that the caller lacks.
fn try_one(
    inner: &ServiceState,
    session: &Arc<HttpSession>,
    caller: Option<&Principal>,
    message: &Message<'_>,
    stream: &dyn Fn() -> Arc<SessionStream>,
) -> Result<Option<Whole>, Box<ErrorObject>> {
    let mut out = Vec::new();
    let prepared = match session.decide(&inner.dispatcher, caller, message, &mut out) {
        Decision::Call(prepared) => prepared,
        Decision::Around(gap, page) => {
            let page = Some((gap, page));
            return Ok(Some(Whole { text: out, page }));
        }
        Decision::Answered | Decision::Silent | Decision::Cancel(_) => return Ok(Some(out.into())),
        Decision::Forbidden(_, error) => return Err(error),
    };
    let error = match session.run(prepared, (inner.limits(), &inner.pulse), stream) {
        CallStart::Done(answer) => return Ok(Some(answer.into())),
        CallStart::Running => return Ok(None),
        CallStart::Cancelled => {
            stream().give_up();
            return Ok(None);
        }
        CallStart::Repeated => ErrorObject::invalid_request("a request with this id is still open"),
        CallStart::TooMany => {
            refused(RefusalKind::TooMany, None);
            errors::too_many("calls", Duration::from_secs(1))
        }
    };
    encode::error(&mut out, message.id.to_request_id().as_ref(), &error);
    Ok(Some(out.into()))
}

/// Does the part that has to wait. Dropping the future leaves calls running.
pub(super) async fn finish(inner: &ServiceState, posted: Posted) -> Response<HttpBody> {
    if let Some(save) = posted.save
        && let Err(refusal) = inner.sessions.save(save).await
    {
        return refusal.into_response();
    }
    match posted.answer {
        PostResponse::Over(response) => response,
        PostResponse::Opening(opening) => opening.finish(inner).await,
        PostResponse::Waiting(exchange) => wait(inner, exchange).await,
    }
}

/// Waits until it is decided whether the response is JSON or an event stream.
async fn wait(inner: &ServiceState, exchange: Exchange) -> Response<HttpBody> {
    let Exchange {
        session,
        stream,
        is_batch,
        accepts,
    } = exchange;
    let mut silence = accepts
        .events
        .then(|| Silence::new(inner.limits(), &inner.shutdown));
    let mut is_due = |cx: &mut Context<'_>| silence.as_mut().is_some_and(|it| it.is_over(cx));
    let opening = poll_fn(|cx| match stream.poll_opening(cx) {
        Poll::Pending if is_due(cx) => Poll::Ready(Begins::Events),
        polled => polled,
    });
    match opening.await {
        Begins::Answers(answers) => {
            session.forget(stream.number);
            all(&answers, is_batch, accepts)
        }
        Begins::Events => match stream.reader(1, true) {
            Some(reader) => following(inner, session, reader),
            None => nothing(accepts),
        },
    }
}

/// Returns the response for an answer that is available.
pub(super) fn whole(answer: impl Into<Whole>, accepts: Accepts) -> Response<HttpBody> {
    let answer = answer.into();
    if accepts.json {
        return answer::json(StatusCode::OK, answer);
    }
    let mut out = Vec::new();
    events::write(&mut out, None, "message", &answer.into_text());
    answer::stream(HttpBody::whole(out))
}

/// Returns the response without an answer: the request was cancelled.
fn nothing(accepts: Accepts) -> Response<HttpBody> {
    if accepts.events {
        answer::stream(HttpBody::empty())
    } else {
        answer::empty(StatusCode::NO_CONTENT)
    }
}

/// Returns the response for answers that are all available, of one request or of a batch.
fn all(messages: &[Arc<[u8]>], is_batch: bool, accepts: Accepts) -> Response<HttpBody> {
    match messages {
        [] => nothing(accepts),
        [message] if !is_batch => whole(message.to_vec(), accepts),
        messages if accepts.json => {
            let mut out = vec![b'['];
            out.extend_from_slice(&messages.join(&b','));
            out.push(b']');
            answer::json(StatusCode::OK, out)
        }
        messages => {
            let mut out = Vec::new();
            for message in messages {
                events::write(&mut out, None, "message", message);
            }
            answer::stream(HttpBody::whole(out))
        }
    }
}
