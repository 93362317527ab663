//! Determines a POST request's era from its body, never from its headers alone.
//!
//! Specification: 2026-07-28, basic/transports; `docs/requirements.md`, section 3.3.

use hyper::StatusCode;

use crate::http::legacy::{batch, legacy_sse};
use crate::http::request::head::RequestHead;
use crate::http::response::pending::PendingResponse;
use crate::http::response::refusal::HttpRefusal;
use crate::http::sessions::session_lookup::SessionLookup;
use crate::http::state::ServiceState;
use crate::http::{legacy, modern};
use crate::jsonrpc::{self, Incoming, Message, MetaMember};

/// Determines a message's era from the body and serves the message.
pub(super) fn serve_body<'s>(
    state: &'s ServiceState,
    head: RequestHead<'_>,
    found: SessionLookup<'_>,
    body: &[u8],
) -> PendingResponse<'s> {
    if state.options.legacy_sse
        && let Some(connection) = legacy_sse::connection_id(head.uri)
    {
        return PendingResponse::Over(legacy_sse::handle_post(state, head, connection, body));
    }
    match jsonrpc::parse(body, &state.limits().message.parse_limits()) {
        Ok(Incoming::Message(message)) => serve_message(state, head, found, &message),
        Ok(Incoming::Batch(elements)) => match head.headers.check_legacy() {
            Ok(()) => batch::serve_batch(state, head, found, &elements),
            Err(refusal) => refusal.into(),
        },
        Err((id, error)) => HttpRefusal::new(StatusCode::BAD_REQUEST, error)
            .with_id(id)
            .into(),
    }
}

fn serve_message<'s>(
    state: &'s ServiceState,
    head: RequestHead<'_>,
    found: SessionLookup<'_>,
    message: &Message<'_>,
) -> PendingResponse<'s> {
    let is_modern = message.params.meta(MetaMember::ProtocolVersion).is_some();
    let Some(method) = message.method.as_deref().filter(|_| is_modern) else {
        if let Err(refusal) = head.headers.check_legacy() {
            return refusal.with_id(message.id.to_request_id()).into();
        }
        return legacy::post::serve_message(state, head, found, message);
    };
    match message.id.to_request_id() {
        Some(id) => modern::post::serve_request(state, head, id, method, message),
        None => PendingResponse::Over(modern::post::answer_notification(
            state,
            head.headers,
            &message.params,
        )),
    }
}
