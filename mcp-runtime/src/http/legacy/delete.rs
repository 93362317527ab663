//! DELETE requests, which end a session.

use std::time::Duration;

use hyper::{Response, StatusCode};

use crate::http::legacy::post::{declared_version, is_modern};
use crate::http::request::head::RequestHead;
use crate::http::response::answer;
use crate::http::response::body::HttpBody;
use crate::http::response::refusal::HttpRefusal;
use crate::http::state::ServiceState;
use crate::http::stores::session_storage::SessionStorage;
use crate::http::stores::session_store::is_valid_id;

/// Ends a session.
pub(in crate::http) async fn handle_delete(
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
    Ok(answer::empty_response(StatusCode::NO_CONTENT))
}
