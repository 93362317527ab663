//! Routes requests by HTTP method, and POST requests by their body.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper::body::Body;
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};

use crate::budget::Holder;
use crate::context::HttpParts;
use crate::http::legacy::{batch, delete, get, legacy_sse};
use crate::http::options::HttpOptions;
use crate::http::request::body::read_body;
use crate::http::request::head::RequestHead;
use crate::http::request::headers::RequestHeaders;
use crate::http::request::{cors, tags};
use crate::http::response::answer;
use crate::http::response::answer::PendingResponse;
use crate::http::response::body::HttpBody;
use crate::http::response::refusal::HttpRefusal;
#[cfg(any(feature = "auth", feature = "axum"))]
use crate::http::service::mounted;
use crate::http::sessions::live_sessions::SessionLookup;
use crate::http::state::ServiceState;
use crate::http::{legacy, modern};
use crate::jsonrpc;
use crate::jsonrpc::{Incoming, Message, MetaMember, RequestId};
use crate::observe::Origin;

/// Time for which a request waits until clients have read enough of their answers. It is longer than it takes to close
/// connections that read nothing.
const UNSENT_PATIENCE: Duration = Duration::from_secs(10);

/// Serves a request. `waiting` is set to the id of a request whose response has to be awaited. Rarely needed futures are
/// boxed so that other requests do not pay for moving them.
pub(super) async fn route_request<B: Body>(
    state: &Arc<ServiceState>,
    origin: &Origin,
    request: &Arc<HttpParts>,
    headers: &RequestHeaders<'_>,
    (body, waiting): (Pin<&mut B>, &OnceLock<RequestId>),
) -> Response<HttpBody> {
    let (options, parts) = (&state.options, &request.parts);
    if parts.method == Method::OPTIONS && cors::is_granted(options, headers.origin) {
        let mut response = answer::empty_response(StatusCode::NO_CONTENT);
        cors::preflight(headers.all, &mut response);
        return response;
    }
    #[cfg(feature = "auth")]
    if let Some(document) = state.authentication.public_document(
        parts,
        mounted::full_path,
        &options.path,
        &state.dispatcher,
    ) {
        return document;
    }
    if !matches!(
        parts.method,
        Method::POST | Method::GET | Method::HEAD | Method::DELETE
    ) {
        let is_lasting = state.sessions.storage.is_lasting();
        return HttpRefusal::method_not_allowed(if is_lasting {
            "GET, HEAD, POST, DELETE"
        } else {
            "POST"
        });
    }
    let caller = match state
        .authentication
        .authenticate(request, &state.dispatcher)
        .await
    {
        Ok(caller) => caller,
        Err(refusal) => return refusal.into_response(),
    };
    let selection =
        match tags::read_selection(&state.dispatcher, &parts.uri, headers, caller.as_ref()) {
            Ok(selection) => selection,
            Err(refusal) => return refusal.into_response(),
        };
    let head = RequestHead {
        parts: request,
        uri: &parts.uri,
        headers,
        caller: caller.as_ref(),
        selection: selection.as_ref(),
        origin,
    };
    if parts.method != Method::POST
        && let Err(refusal) = headers.check_legacy()
    {
        return refusal.into_response();
    }
    let mut response = match parts.method {
        Method::GET | Method::HEAD => Box::pin(route_get(state, head, parts)).await,
        Method::DELETE => Box::pin(delete::handle_delete(state, head)).await,
        _ => match request.take_earlier_demand(caller.as_ref()) {
            Some(error) => state
                .authentication
                .refuse_until_reauthorized(error)
                .into_response(),
            None => route_post(state, head, body, waiting).await,
        },
    };
    // This is `head.holder()`. If `head` were used here, the future would keep it while the request is served, and would be
    // larger than what the allocator caches.
    let network = || request.client_address().map(Into::into);
    let charge = || {
        state
            .unsent
            .charge(&Holder::new(caller.as_ref(), network()))
    };
    response.body_mut().count_unsent(charge);
    response
}

async fn route_get(
    state: &Arc<ServiceState>,
    head: RequestHead<'_>,
    parts: &Parts,
) -> Response<HttpBody> {
    let (options, headers) = (&state.options, head.headers);
    let is_plain = headers.session_id().is_none() && headers.version.is_none();
    if parts.method == Method::HEAD {
        // A stream is described without being opened, because opening it would have effects.
        return if options.legacy_sse && is_plain {
            legacy_sse::describe_sse_connection(headers)
        } else {
            get::describe_stream(state, head).await
        };
    }
    let permit = match state.stream_permits.acquire(head.caller) {
        Ok(permit) => permit,
        Err(refused) => return HttpRefusal::from(refused).into_response(),
    };
    let mut response = if options.legacy_sse && is_plain {
        legacy_sse::open_sse_connection(state, head, mounted_path(options, parts))
    } else {
        get::handle_get(state, head).await
    };
    response.body_mut().hold_permit(permit);
    response
}

/// Returns the path of the endpoint as the client sees it.
#[cfg_attr(
    not(feature = "axum"),
    expect(unused_variables, reason = "only a router knows the path")
)]
fn mounted_path<'a>(options: &'a HttpOptions, parts: &'a Parts) -> &'a str {
    #[cfg(feature = "axum")]
    if let Some(path) = mounted::original_path(parts) {
        return path;
    }
    &options.path
}

async fn route_post<B: Body>(
    state: &ServiceState,
    head: RequestHead<'_>,
    body: Pin<&mut B>,
    waiting: &OnceLock<RequestId>,
) -> Response<HttpBody> {
    if state.unsent.is_scarce() {
        let holder = head.holder();
        let waiting = Box::pin(state.unsent.wait_for_room(&holder, UNSENT_PATIENCE));
        if let Err(shortage) = waiting.await {
            return HttpRefusal::from(shortage).into_response();
        }
    }
    let body = match read_body(body, head.headers, state.limits()).await {
        Ok(body) => body,
        Err(refusal) => return refusal.into_response(),
    };
    let found = state.sessions.find(head).await;
    // Nothing borrowed from the body is held across an await.
    let pending = head
        .origin
        .run_as_current(|| serve_body(state, head, found, &body));
    drop(body);
    match pending {
        PendingResponse::Over(response) => response,
        PendingResponse::Waiting(rest) => {
            if let Some(id) = rest.id {
                // Each request sets it only once.
                let _ = waiting.set(id);
            }
            rest.response.await
        }
    }
}

// Determines a POST request's era from its body, never from its headers alone.
//
// Specification: 2026-07-28, basic/transports; `docs/requirements.md`, section 3.3.

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
