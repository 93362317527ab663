//! Serves the author's routes.
//!
//! Their requests pass the checks of the host and the origin, but need no token. The host may also be an IP address, by which
//! monitoring finds a machine: a page that lets its own name resolve to this machine sends that name.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use hyper::Response;
use hyper::body::Body;
use mcp_core::context::HttpParts;
use mcp_core::observe::RefusalKind;

use crate::options::HttpOptions;
use crate::request::body::read_any_body;
use crate::request::{RequestHeaders, check_repeated, guards};
use crate::response::{HttpBody, HttpRefusal};
use crate::service::request_origin;
use crate::state::ServiceState;

/// Serves a request to the route with this number.
pub(super) async fn serve_route<B: Body>(
    state: &ServiceState,
    number: usize,
    (peer, request): (Option<SocketAddr>, &Arc<HttpParts>),
    headers: &RequestHeaders<'_>,
    body: Pin<&mut B>,
) -> Response<HttpBody> {
    let (options, parts) = (&state.options, &request.parts);
    if let Err((kind, refusal)) = check_head(options, request, headers) {
        request_origin(peer, request).record_refusal(kind);
        return refusal.into_response();
    }
    if let Some(response) = guards::answer_preflight(options, &parts.method, headers) {
        return response;
    }
    let Some(route) = options.routes.get(number) else {
        return HttpRefusal::unknown_path().into_response();
    };
    let body = if body.is_end_stream() {
        Ok(Bytes::new())
    } else {
        read_any_body(body, headers, state.limits()).await
    };
    match body {
        Ok(body) => route.answer(Arc::clone(request), body),
        Err(refusal) => refusal.into_response(),
    }
}

fn check_head(
    options: &HttpOptions,
    request: &HttpParts,
    headers: &RequestHeaders<'_>,
) -> Result<(), (RefusalKind, HttpRefusal)> {
    let as_kind = |kind| move |refusal| (kind, refusal);
    let host = guards::check_host_or_address(options, &request.parts.uri, headers.host);
    host.map_err(as_kind(RefusalKind::Host))?;
    let origin = guards::check_origin(options, headers.origin);
    origin.map_err(as_kind(RefusalKind::Origin))?;
    check_repeated(headers.all).map_err(as_kind(RefusalKind::Malformed))
}
