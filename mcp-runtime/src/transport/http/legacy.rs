//! Sessions of 2025: what is posted, requests that rely on a handshake first of all.
//!
//! A call goes on when its connection breaks: its session owns it. What is sent before the answer makes the response a
//! stream of events, which a client can come back to.
//!
//! Specification: 2025-11-25, basic/transports, "Streamable HTTP"; the decisions are those of `docs/requirements.md`,
//! section 3.3.

use std::cell::OnceCell;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use hyper::{Response, StatusCode};
use serde_json::json;

use super::answer::{self, Refusal, Whole};
use super::body::HttpBody;
use super::calls::Begun;
use super::found::{Found, Save};
use super::handshake::{Opening, initialize};
use super::head::Head;
use super::headers::{Accepts, Fields};
use super::keeping::Keeping;
use super::reading::following;
use super::record::Change;
use super::service::Inner;
use super::session::HttpSession;
use super::stream::{Opening as Begins, Stream};
use super::{access, events};
use crate::context::Principal;
use crate::dispatch::Decision;
use crate::jsonrpc::{ErrorObject, Message};
use crate::protocol::{Era, Method, ProtocolVersion, encode, errors};
use crate::telemetry::{Refused, refused};

/// What a POST came to, as far as that is known without waiting.
pub(super) struct Posted {
    /// What has to be kept before it is answered.
    pub(super) save: Option<Save>,
    pub(super) answer: Answer,
}

/// How far the answer to a POST is.
pub(super) enum Answer {
    /// It is there.
    Over(Response<HttpBody>),
    /// It is there once the session is kept.
    Opening(Opening),
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

impl From<Answer> for Posted {
    fn from(answer: Answer) -> Self {
        Self { save: None, answer }
    }
}

impl From<Refusal> for Posted {
    fn from(refusal: Refusal) -> Self {
        refusal.into_response().into()
    }
}

impl From<Response<HttpBody>> for Posted {
    fn from(response: Response<HttpBody>) -> Self {
        Answer::Over(response).into()
    }
}

/// What the header says about the revision.
pub(super) fn check_version(headers: &Fields<'_>) -> Result<Option<ProtocolVersion>, Refusal> {
    match headers.version {
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

pub(super) fn session_required() -> Refusal {
    Refusal::bad_request("`Mcp-Session-Id` is missing: send `initialize` first")
}

/// What was found of the session a request says it belongs to.
pub(super) type Finding<'h> = Result<Option<Found<'h>>, Refusal>;

/// Serves one message without a claim.
pub(super) fn post(
    inner: &Inner,
    head: Head<'_>,
    found: Finding<'_>,
    message: &Message<'_>,
) -> Posted {
    let id = message.id.to_request_id();
    let with_id = |refusal: Refusal| refusal.with_id(id.clone()).into();
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
    if is_modern(version) || Method::named(&method).is_some_and(|method| !method.is_in(Era::Legacy))
    {
        // A header alone makes no request modern, nor does a method; and what claims to be modern is not served as legacy.
        let refusal = Refusal::new(StatusCode::BAD_REQUEST, errors::missing_claim());
        return with_id(refusal);
    }
    let accepts = head.headers.accepts;
    if !accepts.json && !accepts.events {
        let error = ErrorObject::invalid_request(
            "`Accept` must list `application/json` and `text/event-stream`",
        );
        return with_id(Refusal::new(StatusCode::NOT_ACCEPTABLE, error));
    }
    let found = match found {
        Ok(found) => found,
        Err(refusal) => return with_id(refusal),
    };
    match found {
        None if method == "initialize" => initialize(inner, head.caller, id, message, accepts),
        Some(_) if method == "initialize" => {
            let refusal = Refusal::new(StatusCode::BAD_REQUEST, errors::already_initialized());
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

/// The live part of the session a request belongs to; one for this request alone if there are no sessions.
pub(super) fn session_of(
    inner: &Inner,
    found: Option<&Found<'_>>,
    version: Option<ProtocolVersion>,
) -> Result<Arc<HttpSession>, Refusal> {
    match (found, &inner.sessions.keeping) {
        (Some(found), _) => inner.sessions.resume(found),
        (None, Keeping::None) => {
            let version = version.unwrap_or(ProtocolVersion::V2025_03_26);
            inner.sessions.anonymous(version)
        }
        (None, _) => Err(session_required()),
    }
}

/// Takes the answer to a question.
fn respond(
    inner: &Inner,
    caller: Option<&Principal>,
    found: Finding<'_>,
    message: &Message<'_>,
) -> Result<Posted, Refusal> {
    let required = || Refusal::bad_request("a response needs a session");
    let found = found?.ok_or_else(required)?;
    // Whoever asked is there.
    if let Some(session) = inner.sessions.get(found.id) {
        session.decide(&inner.dispatcher, caller, message, &mut Vec::new());
    }
    Ok(answer::empty(StatusCode::ACCEPTED).into())
}

/// Serves a notification.
fn notify(
    inner: &Inner,
    caller: Option<&Principal>,
    found: Finding<'_>,
    message: &Message<'_>,
) -> Result<Posted, Refusal> {
    let mut posted = Posted::from(answer::empty(StatusCode::ACCEPTED));
    match found? {
        None if matches!(inner.sessions.keeping, Keeping::None) => {}
        None => return Err(session_required()),
        // For this alone no live part is made: each client says it once, and many then nothing for long.
        Some(found) if message.method.as_deref() == Some("notifications/initialized") => {
            let change = Change {
                ready: !found.record.is_ready(),
                ..Change::default()
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
    inner: &Inner,
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
    inner: &Inner,
    found: Option<&Found<'_>>,
    (session, caller): (&Arc<HttpSession>, Option<&Principal>),
    message: &Message<'_>,
    accepts: Accepts,
) -> Posted {
    let stream = OnceCell::new();
    let open = || {
        let stream: &Arc<Stream> =
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
            let save = |found: &Found<'_>| found.changed(session, message.id.to_request_id());
            return Posted {
                save: found.and_then(save),
                answer: Answer::Over(whole(answer, accepts)),
            };
        }
        // Taken back while it started; then its stream ends without an answer.
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
    Answer::Waiting(exchange).into()
}

/// Serves one request, as one that has no status of its own; the answer, if it is there already. Otherwise it comes on the
/// stream, or never.
pub(super) fn one(
    inner: &Inner,
    session: &Arc<HttpSession>,
    caller: Option<&Principal>,
    message: &Message<'_>,
    stream: &dyn Fn() -> Arc<Stream>,
) -> Option<Whole> {
    try_one(inner, session, caller, message, stream).unwrap_or_else(|error| {
        let mut out = Vec::new();
        encode::error(&mut out, message.id.to_request_id().as_ref(), &error);
        Some(out.into())
    })
}

/// The same. An error says which scopes the caller lacks.
fn try_one(
    inner: &Inner,
    session: &Arc<HttpSession>,
    caller: Option<&Principal>,
    message: &Message<'_>,
    stream: &dyn Fn() -> Arc<Stream>,
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
        Begun::Done(answer) => return Ok(Some(answer.into())),
        Begun::Running => return Ok(None),
        Begun::Cancelled => {
            stream().give_up();
            return Ok(None);
        }
        Begun::Repeated => ErrorObject::invalid_request("a request with this id is still open"),
        Begun::TooMany => {
            refused(Refused::TooMany, None);
            errors::too_many("calls", Duration::from_secs(1))
        }
    };
    encode::error(&mut out, message.id.to_request_id().as_ref(), &error);
    Ok(Some(out.into()))
}

/// Does what has to be waited for. Dropping this leaves calls running.
pub(super) async fn finish(inner: &Inner, posted: Posted) -> Response<HttpBody> {
    if let Some(save) = posted.save
        && let Err(refusal) = inner.sessions.save(save).await
    {
        return refusal.into_response();
    }
    match posted.answer {
        Answer::Over(response) => response,
        Answer::Opening(opening) => opening.finish(inner).await,
        Answer::Waiting(exchange) => wait(inner, exchange).await,
    }
}

/// Waits until it is known how the response begins.
async fn wait(inner: &Inner, exchange: Exchange) -> Response<HttpBody> {
    let Exchange {
        session,
        stream,
        is_batch,
        accepts,
    } = exchange;
    match poll_fn(|cx| stream.poll_opening(cx)).await {
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

/// The answer of one request, which is there.
pub(super) fn whole(answer: impl Into<Whole>, accepts: Accepts) -> Response<HttpBody> {
    let answer = answer.into();
    if accepts.json {
        return answer::json(StatusCode::OK, answer);
    }
    let mut out = Vec::new();
    events::write(&mut out, None, "message", &answer.into_text());
    answer::stream(HttpBody::whole(out))
}

/// No answer: the request was taken back.
fn nothing(accepts: Accepts) -> Response<HttpBody> {
    if accepts.events {
        answer::stream(HttpBody::empty())
    } else {
        answer::empty(StatusCode::NO_CONTENT)
    }
}

/// Answers that are all there, of one request or of an array of them.
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
