//! POST requests that contain a single message: a handshake, another request, a notification, or an answer to a request
//! from the server.
//!
//! Specification: 2025-11-25, basic/transports, "Streamable HTTP"; the decisions are recorded in
//! `docs/requirements.md`, section 3.3.

use hyper::StatusCode;

use crate::context::Principal;
use crate::http::legacy::handshake::handle_initialize;
use crate::http::legacy::pending_work::PendingWork;
use crate::http::legacy::requests::{handle_notification, require_live_session, serve_request};
use crate::http::legacy::version_header::{declared_version, is_modern};
use crate::http::request::head::RequestHead;
use crate::http::response::answer;
use crate::http::response::pending::PendingResponse;
use crate::http::response::refusal::HttpRefusal;
use crate::http::sessions::session_lookup::SessionLookup;
use crate::http::state::ServiceState;
use crate::http::stores::record::SessionUpdate;
use crate::http::stores::session_storage::SessionStorage;
use crate::jsonrpc::Message;
use crate::protocol::{ClientNotification, Era, Method, errors};

/// Serves a single message that does not specify its own protocol version.
pub(in crate::http) fn serve_message<'s>(
    state: &'s ServiceState,
    head: RequestHead<'_>,
    found: SessionLookup<'_>,
    message: &Message<'_>,
) -> PendingResponse<'s> {
    let id = message.id.to_request_id();
    let with_id = |refusal: HttpRefusal| refusal.with_id(id.clone()).into();
    let version = match declared_version(head.headers) {
        Ok(version) => version,
        Err(refusal) => return with_id(refusal),
    };
    let Some(method) = message.method.as_deref() else {
        return accept(
            state,
            handle_client_response(state, head.caller, found, message),
        );
    };
    let Some(id) = id.clone() else {
        if is_modern(version) {
            return accept(state, Ok(PendingWork::default()));
        }
        return accept(
            state,
            serve_notification(state, head.caller, found, message),
        );
    };
    let missing_claim = || HttpRefusal::new(StatusCode::BAD_REQUEST, errors::missing_claim());
    if is_modern(version) {
        // This header alone does not make a request modern, but a request with the header is not served as a legacy
        // request either.
        return with_id(missing_claim());
    }
    let method = Method::named(method);
    let is_handshake = method == Some(Method::Initialize);
    let is_only_modern = method.is_some_and(|method| !method.is_in(Era::Legacy));
    let accepts = head.headers.accepts;
    if !accepts.json && !accepts.events {
        return with_id(HttpRefusal::answer_not_accepted());
    }
    let found = match found {
        Ok(found) => found,
        Err(refusal) => return with_id(refusal),
    };
    match found {
        None if is_handshake => handle_initialize(state, head, id, message),
        // With a session, or on a server without sessions, this would be a legacy request for an unknown method.
        None if is_only_modern && has_sessions(state) => with_id(missing_claim()),
        Some(_) if is_handshake => {
            let refusal = HttpRefusal::new(StatusCode::BAD_REQUEST, errors::already_initialized());
            with_id(refusal)
        }
        found => {
            let answered = require_live_session(state, head, found.as_ref(), version)
                .map(|session| serve_request(state, found.as_ref(), &session, head, message));
            answered.unwrap_or_else(with_id)
        }
    }
}

/// Accepts a message that is not a request.
fn accept(state: &ServiceState, handled: Result<PendingWork, HttpRefusal>) -> PendingResponse<'_> {
    match handled {
        Ok(work) => {
            let accepted = answer::empty_response(StatusCode::ACCEPTED);
            work.then_respond(state, accepted, || None)
        }
        Err(refusal) => refusal.into(),
    }
}

/// Handles the client's response to a request from the server.
fn handle_client_response(
    state: &ServiceState,
    caller: Option<&Principal>,
    found: SessionLookup<'_>,
    message: &Message<'_>,
) -> Result<PendingWork, HttpRefusal> {
    let required = || HttpRefusal::bad_request("a response requires a session");
    let found = found?.ok_or_else(required)?;
    // The call that is waiting for the response runs in the session's live part, here or on another instance.
    let session = state.sessions.find_live(found.id);
    let outgoing = handle_notification(state, (session.as_deref(), found.id), caller, message);
    Ok(PendingWork {
        save: None,
        outgoing: outgoing.into_iter().collect(),
    })
}

/// Serves a notification.
fn serve_notification(
    state: &ServiceState,
    caller: Option<&Principal>,
    found: SessionLookup<'_>,
    message: &Message<'_>,
) -> Result<PendingWork, HttpRefusal> {
    let mut work = PendingWork::default();
    match found? {
        None if !has_sessions(state) => {}
        None => return Err(HttpRefusal::session_required()),
        // This notification alone does not create a live part, because every client sends it once and many send no
        // other message for a long time.
        Some(found) if is_initialized_notification(message) => {
            let change = SessionUpdate {
                ready: !found.record.is_ready(),
                ..SessionUpdate::default()
            };
            work.save = (!change.is_empty()).then(|| found.pending_save(change, None));
        }
        Some(found) => {
            let session = state.sessions.find_live(found.id);
            let session = (session.as_deref(), found.id);
            let outgoing = handle_notification(state, session, caller, message);
            work.outgoing.extend(outgoing);
        }
    }
    Ok(work)
}

fn is_initialized_notification(message: &Message<'_>) -> bool {
    let method = message.method.as_deref();
    method.and_then(ClientNotification::named) == Some(ClientNotification::Initialized)
}

fn has_sessions(state: &ServiceState) -> bool {
    !matches!(state.sessions.storage, SessionStorage::None)
}
