//! How a session begins and ends: the handshake, and the DELETE request.

use std::time::Duration;

use hyper::header::HeaderValue;
use hyper::{Response, StatusCode};
use mcp_core::dispatch::SeenChanges;
use mcp_protocol::jsonrpc::{ErrorObject, Message, RequestId};
use mcp_protocol::negotiation::InitializeParams;
use mcp_protocol::{ProtocolVersion, encode, errors};
use mcp_stores::{SessionRecord, is_valid_id, random_id};

use crate::legacy::post::{declared_version, is_modern, whole_response};
use crate::request::{RequestHead, SESSION};
use crate::response;
use crate::response::{HttpBody, HttpRefusal, PendingResponse};
use crate::sessions::session_storage::SessionStorage;
use crate::state::ServiceState;

/// Answers `initialize`.
pub(super) fn handle_initialize<'s>(
    state: &'s ServiceState,
    head: RequestHead<'_>,
    id: RequestId,
    message: &Message<'_>,
) -> PendingResponse<'s> {
    let mut out = Vec::new();
    let timer = state.dispatcher.request_timer();
    let shaken = shake_hands(state, head, &id, message, &mut out);
    let agreed = shaken.as_ref().map(|(version, _)| *version);
    state
        .dispatcher
        .note_handshake(timer, (&id, &message.params), agreed);
    let session = shaken.map_or_else(
        |error| {
            out.clear();
            encode::error(&mut out, Some(&id), &error);
            NewSession::Unstored(None)
        },
        |(_, session)| session,
    );
    let mut response = whole_response(out, head.headers.accepts);
    match session {
        NewSession::Stored(record) => {
            let respond = store_and_respond(state, record, response, id.clone());
            PendingResponse::from_future(respond, Some(id))
        }
        NewSession::Unstored(id) => {
            if let Some(id) = id {
                response.headers_mut().insert(&SESSION, id);
            }
            PendingResponse::Over(response)
        }
    }
}

/// Stores a session, and then returns the response with the session's id.
async fn store_and_respond(
    state: &ServiceState,
    record: SessionRecord,
    mut response: Response<HttpBody>,
    request: RequestId,
) -> Response<HttpBody> {
    let SessionStorage::Store(store) = &state.sessions.storage else {
        return response;
    };
    let id = random_id();
    let refusal = match state.sessions.insert(&**store, &id, record).await {
        Ok(true) => {
            if let Ok(id) = HeaderValue::from_str(&id) {
                response.headers_mut().insert(&SESSION, id);
            }
            return response;
        }
        Ok(false) => HttpRefusal::unavailable("there are too many sessions"),
        Err(failed) => failed.into(),
    };
    refusal.with_id(Some(request)).into_response()
}

/// The session that a handshake starts.
enum NewSession {
    /// A session that must be stored.
    Stored(SessionRecord),
    /// A session that is not stored. The value is the session id that contains the sealed session, or `None` if the
    /// server has no sessions.
    Unstored(Option<HeaderValue>),
}

fn shake_hands(
    state: &ServiceState,
    head: RequestHead<'_>,
    id: &RequestId,
    message: &Message<'_>,
    out: &mut Vec<u8>,
) -> Result<(ProtocolVersion, NewSession), ErrorObject> {
    if !message.params.is_object() {
        return Err(errors::invalid_member("params", "an object"));
    }
    let storage = &state.sessions.storage;
    let is_lasting = storage.is_lasting();
    // A session that is not stored has no stream for change notifications.
    let seen = if is_lasting {
        state.dispatcher.seen_changes()
    } else {
        SeenChanges::default()
    };
    let origin = state.dispatcher.stateless_origin(
        head.caller.cloned(),
        head.network(),
        head.selection.cloned(),
    );
    let shaken = state
        .dispatcher
        .shake_hands(id, &message.params, (&origin, is_lasting), out);
    let (mut params, lists) = shaken?;
    if !is_lasting {
        // The server cannot send requests to this client.
        params.capabilities.roots = None;
        params.capabilities.sampling = None;
        params.capabilities.elicitation = None;
    }
    let record = SessionRecord::new(&params, &lists, seen, head.caller, head.network());
    let session = match storage {
        SessionStorage::Store(_) => {
            let max = state.limits().sessions.max_client_bytes;
            if record.client_bytes() > max {
                return Err(handshake_too_large_error(
                    &params,
                    &format!("a session can keep at most {max} bytes of client data"),
                ));
            }
            NewSession::Stored(record)
        }
        SessionStorage::Sealed(sealed) => {
            let max = state.limits().sessions.max_sealed_bytes;
            let token = sealed.seal(&record).filter(|token| token.len() <= max);
            let token = token.and_then(|token| HeaderValue::from_maybe_shared(token).ok());
            let limit =
                format!("the session id, which contains it, can have at most {max} characters");
            let token = token.ok_or_else(|| handshake_too_large_error(&params, &limit))?;
            NewSession::Unstored(Some(token))
        }
        SessionStorage::None => NewSession::Unstored(None),
    };
    Ok((params.version, session))
}

/// Returns an error for a client whose description of itself is too large. The error names the larger of the
/// description's two members.
fn handshake_too_large_error(params: &InitializeParams, limit: &str) -> ErrorObject {
    let size = |json: serde_json::Result<Vec<u8>>| json.map_or(0, |json| json.len());
    let info = size(serde_json::to_vec(&params.client_info));
    let capabilities = size(serde_json::to_vec(&params.capabilities));
    let (name, size) = if info >= capabilities {
        ("clientInfo", info)
    } else {
        ("capabilities", capabilities)
    };
    ErrorObject::invalid_params(format!("`{name}` is too large ({size} bytes): {limit}"))
}

/// Ends a session.
pub(crate) async fn handle_delete(
    state: &ServiceState,
    head: RequestHead<'_>,
) -> Response<HttpBody> {
    let ended = end_session(state, head).await;
    ended.unwrap_or_else(HttpRefusal::into_response)
}

async fn end_session(
    state: &ServiceState,
    head: RequestHead<'_>,
) -> Result<Response<HttpBody>, HttpRefusal> {
    let SessionStorage::Store(store) = &state.sessions.storage else {
        return Ok(HttpRefusal::method_not_allowed("POST"));
    };
    if is_modern(declared_version(head.headers)?) {
        return Ok(HttpRefusal::method_not_allowed("POST"));
    }
    let id = head
        .headers
        .session_id()
        .ok_or_else(HttpRefusal::session_required)?;
    let id = id.ok().filter(|id| is_valid_id(id));
    let id = id.ok_or_else(HttpRefusal::unknown_session)?;
    let time = state.limits().sessions.store_timeout;
    let record = store.load(id, Duration::ZERO).with_timeout(time).await?;
    if record.is_some_and(|record| !record.is_owned_by(head.caller)) {
        return Err(HttpRefusal::unknown_session());
    }
    let removed = store.remove(id).with_timeout(time).await?;
    state.sessions.end_session(id);
    state.sessions.announce_end(id).await;
    if !removed {
        return Err(HttpRefusal::unknown_session());
    }
    if let Some(events) = &state.sessions.events {
        // The result is ignored because the session has ended regardless, and its remaining events expire in the store.
        let _ = events.forget(id).with_timeout(time).await;
    }
    Ok(response::empty_response(StatusCode::NO_CONTENT))
}
