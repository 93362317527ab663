//! Requests and notifications in a session.
//!
//! A call survives a broken connection because its session owns it. If a message is sent before the answer, or the call
//! is silent for too long, the response becomes an event stream, which a client can resume.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::context::Principal;
use crate::dispatch::{Decision, WrittenResponse, cancelled_request};
use crate::http::legacy::awaited_answers::AwaitedAnswers;
use crate::http::legacy::pending_work::PendingWork;
use crate::http::legacy::replies::whole_response;
use crate::http::request::head::RequestHead;
use crate::http::response::message::WholeMessage;
use crate::http::response::pending::PendingResponse;
use crate::http::response::refusal::HttpRefusal;
use crate::http::sessions::http_session::HttpSession;
use crate::http::sessions::other_instances::{OtherInstances, OutgoingMessage};
use crate::http::sessions::session_lookup::RequestSession;
use crate::http::state::ServiceState;
use crate::http::stores::session_storage::SessionStorage;
use crate::http::streams::session_stream::{AwaitedAnswer, SessionStream};
use crate::jsonrpc::{ErrorObject, Message, RequestId};
use crate::protocol::{Method, ProtocolVersion, encode, errors};
use crate::telemetry::{RefusalKind, record_refusal};

/// Returns the live part of the session that a request belongs to. On a server without sessions, the live part exists
/// only for this request.
pub(super) fn require_live_session(
    state: &ServiceState,
    head: RequestHead<'_>,
    found: Option<&RequestSession<'_>>,
    version: Option<ProtocolVersion>,
) -> Result<Arc<HttpSession>, HttpRefusal> {
    match (found, &state.sessions.storage) {
        (Some(found), _) => state.sessions.find_or_create_live(found, head.network()),
        (None, SessionStorage::None) => {
            let version = version.unwrap_or(ProtocolVersion::WITHOUT_HEADER);
            state
                .sessions
                .single_request_session(version, head.network())
        }
        (None, _) => Err(HttpRefusal::session_required()),
    }
}

/// Handles a notification or a response. Returns a message for another instance if that instance must handle it.
pub(super) fn handle_notification(
    state: &ServiceState,
    (session, id): (Option<&HttpSession>, &str),
    caller: Option<&Principal>,
    message: &Message<'_>,
) -> Option<OutgoingMessage> {
    let others = state.sessions.others.as_ref();
    if message.method.is_none() {
        if let Some(session) = session {
            session.decide_message(&state.dispatcher, (caller, None), message, &mut Vec::new());
        }
        return others?.forward_answer(id, message);
    }
    let cancelled = match session {
        Some(session) => {
            let sender = (caller, None);
            match session.decide_message(&state.dispatcher, sender, message, &mut Vec::new()) {
                Decision::Cancel(request) if !session.cancel(&request) => Some(request),
                _ => None,
            }
        }
        None => cancelled_request(message),
    };
    let cancelled = others.and(cancelled)?;
    Some(OtherInstances::forward_cancellation(id, &cancelled))
}

/// Serves a request in a session.
pub(super) fn serve_request<'s>(
    state: &'s ServiceState,
    found: Option<&RequestSession<'_>>,
    session: &Arc<HttpSession>,
    head: RequestHead<'_>,
    message: &Message<'_>,
) -> PendingResponse<'s> {
    let accepts = head.headers.accepts;
    let stream = OnceCell::new();
    let awaited = (message.id.valid()).map_or(AwaitedAnswer::Batch(1), AwaitedAnswer::One);
    let open = || {
        let stream: &Arc<SessionStream> =
            stream.get_or_init(|| session.open_stream(accepts.events, awaited, state.limits()));
        Arc::clone(stream)
    };
    let method = message.method.as_deref().and_then(Method::named);
    let is_remembered = method.is_some_and(Method::is_remembered_by_session);
    let answer = match try_serve_on_stream(state, session, head, message, &open) {
        Ok(answer) => answer,
        Err(error) => {
            let refusal = state.authentication.refuse_for_scopes(head.caller, *error);
            return refusal.with_id(message.id.to_request_id()).into();
        }
    };
    let is_open = stream.get().is_some();
    match answer {
        Some(answer) if is_open => open().push_answer(&answer.into_text()),
        Some(answer) => {
            let found = found.filter(|_| is_remembered);
            let save = |found: &RequestSession<'_>| {
                found.pending_save_if_changed(session, message.id.to_request_id())
            };
            let work = PendingWork {
                save: found.and_then(save),
                outgoing: Vec::new(),
            };
            let response = whole_response(answer, accepts);
            return work.then_respond(state, response, || message.id.to_request_id());
        }
        None => {}
    }
    if found.is_none() {
        state.sessions.keep_live(session);
    }
    let answers = AwaitedAnswers {
        session: Arc::clone(session),
        stream: open(),
        is_batch: false,
        accepts,
    };
    let respond = async move { answers.wait_for_answers(state).await };
    PendingResponse::from_future(respond, message.id.to_request_id())
}

/// Returns an error response as a message.
pub(super) fn error_message(id: Option<&RequestId>, error: &ErrorObject) -> Vec<u8> {
    let mut message = Vec::new();
    encode::error(&mut message, id, error);
    message
}

/// Serves a request whose answer does not determine an HTTP status. Returns the answer if it is already available;
/// otherwise, any answer is sent on the stream later.
pub(super) fn serve_on_stream(
    state: &ServiceState,
    session: &Arc<HttpSession>,
    head: RequestHead<'_>,
    message: &Message<'_>,
    stream: &dyn Fn() -> Arc<SessionStream>,
) -> Option<WholeMessage> {
    try_serve_on_stream(state, session, head, message, stream).unwrap_or_else(|error| {
        record_refusal(RefusalKind::Forbidden, None);
        Some(error_message(message.id.valid(), &error).into())
    })
}

/// Like [`serve_on_stream`], but returns an error that names the required scopes if the caller lacks any of them.
fn try_serve_on_stream(
    state: &ServiceState,
    session: &Arc<HttpSession>,
    head: RequestHead<'_>,
    message: &Message<'_>,
    stream: &dyn Fn() -> Arc<SessionStream>,
) -> Result<Option<WholeMessage>, Box<ErrorObject>> {
    let mut out = Vec::new();
    let sender = (head.caller, head.selection);
    match session.decide_message(&state.dispatcher, sender, message, &mut out) {
        Decision::Call(prepared) if let Some(id) = message.id.valid() => {
            let prepared = prepared.with_http_request(head.parts, session.public_id());
            let shared = (state.limits(), &state.heartbeat);
            match session.run_call((prepared, id), shared, stream) {
                Ok(answer) => return Ok(answer),
                Err(error) => encode::error(&mut out, Some(id), &error),
            }
        }
        Decision::Answered(WrittenResponse {
            error: Some(error), ..
        }) if errors::scopes_needed(&error).is_some() => return Err(error),
        Decision::Answered(WrittenResponse { shared, .. }) => {
            return Ok(Some(WholeMessage { text: out, shared }));
        }
        _ => {}
    }
    Ok(Some(out.into()))
}
