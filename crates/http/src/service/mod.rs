//! The `tower` service, which applies the guards, authenticates the caller, and reads the body to determine the era.
//!
//! This module determines only the order of these steps. The checks are in `request` and `access`; `modern` and
//! `legacy` answer the requests.

#[cfg(feature = "axum")]
mod axum;
mod extra_route;

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::Body;
use hyper::http::Extensions;
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Uri};
use mcp_core::budget::Holder;
use mcp_core::context::{ClientAddresses, HttpParts};
use mcp_core::dispatch::Dispatcher;
use mcp_core::error::Error;
use mcp_core::observe::{HttpOrigin, Origin, RefusalKind};
use mcp_core::sync::CancellationToken;
use mcp_protocol::jsonrpc;
use mcp_protocol::jsonrpc::{Incoming, Message, MetaMember, RequestId};
use mcp_stores::ReadyCheck;
use tower_service::Service;

use crate::health::HealthProbe;
use crate::legacy::{get, handshake, legacy_sse, post};
use crate::modern;
use crate::options::HttpOptions;
use crate::request::body::{finish_body, read_body};
use crate::request::{RequestHead, RequestHeaders, SESSION, check_repeated, guards, tags};
use crate::response::{BusyGuard, HttpBody, HttpRefusal, PendingResponse, RemainingWork};
use crate::service::extra_route::serve_route;
use crate::state::ServiceState;

/// A server as a `tower` service, for mounting in a program that already serves HTTP.
///
/// Created by `Server::into_http_service`. The service responds at every path; the
/// `axum::Router` created from it (with the `axum` feature) responds at the path set in its [`HttpOptions`]. The
/// program is responsible for limiting the number of connections, enforcing a timeout for request headers, providing
/// TLS, and disabling compression for event streams.
#[derive(Clone)]
pub struct HttpService(pub(crate) Arc<ServiceState>);

impl HttpService {
    #[doc(hidden)]
    pub fn new(
        dispatcher: Arc<Dispatcher>,
        options: HttpOptions,
        ready_checks: Vec<ReadyCheck>,
        shutdown: CancellationToken,
    ) -> Self {
        let state = ServiceState::new(dispatcher, options, ready_checks, shutdown);
        Self(Arc::new(state))
    }

    /// Returns the path of the endpoint.
    #[doc(hidden)]
    #[must_use]
    pub fn endpoint_path(&self) -> &str {
        self.0.options.endpoint_path()
    }

    /// Completes when the process receives a stop signal.
    #[doc(hidden)]
    pub async fn wait_for_stop_signal(&self) {
        self.0.stop_announced.cancelled().await;
    }

    /// Creates any state that does not exist yet, and runs what is to run when the server begins to serve.
    #[doc(hidden)]
    pub async fn prepare_to_serve(&self) -> Result<(), Error> {
        self.0.dispatcher.prepare_to_serve().await
    }

    /// Runs that with the first request.
    #[doc(hidden)]
    pub fn run_serve_hooks_with_first_request(&self) {
        self.0.dispatcher.run_serve_hooks_with_first_request();
    }

    /// Returns the name of a definition that no caller could use because HTTP requests are not authenticated, or `None`
    /// if there is no such definition.
    #[doc(hidden)]
    #[must_use]
    pub fn unusable_definition(&self) -> Option<String> {
        if self.0.authentication.is_required() {
            return None;
        }
        self.0.dispatcher.closed_to_anonymous()
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").finish_non_exhaustive()
    }
}

impl<B> Service<Request<B>> for HttpService
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Send,
{
    type Response = Response<HttpBody>;
    type Error = Infallible;
    type Future = HttpResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.0.dispatcher.begin_work();
        let peer = peer_address(request.extensions());
        let route = self.0.options.route_at(request.uri().path());
        let route = route.map_or(Route::Endpoint, Route::Extra);
        self.respond(route, peer, None, request)
    }
}

/// A future that resolves to a response.
pub(crate) type HttpResponseFuture =
    Pin<Box<dyn Future<Output = Result<Response<HttpBody>, Infallible>> + Send>>;

/// What a request is addressed to, which depends on its path alone.
#[derive(Clone, Copy)]
pub(crate) enum Route {
    /// The endpoint, or a document that a protected server publishes.
    Endpoint,
    /// A probe, to which neither the guards nor authentication apply.
    Probe(HealthProbe),
    /// The author's route with this number.
    Extra(usize),
    /// Nothing is served at this path, so there is nothing to guard.
    Unknown,
}

impl HttpService {
    /// Responds to a request from this peer. `busy` marks the connection as busy until the response has been written.
    pub(crate) fn respond<B>(
        &self,
        route: Route,
        peer: Option<SocketAddr>,
        busy: Option<BusyGuard>,
        request: Request<B>,
    ) -> HttpResponseFuture
    where
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Send,
    {
        let state = Arc::clone(&self.0);
        let (parts, body) = request.into_parts();
        let proxies = state.options.proxies.as_ref();
        let proxy = proxies.filter(|proxies| proxies.contains_peer(peer));
        let client = match proxy {
            Some(proxies) => proxies.reported_client(&parts.headers),
            None => peer.map(|peer| peer.ip().to_canonical()),
        };
        let addresses = ClientAddresses {
            peer,
            client,
            is_from_trusted_proxy: proxy.is_some(),
        };
        #[cfg(feature = "axum")]
        let original_uri = axum::original_uri(&parts);
        #[cfg(not(feature = "axum"))]
        let original_uri = None;
        let challenges = &state.pending_challenges;
        let request = Arc::new(HttpParts::new(parts, original_uri, addresses, challenges));
        Box::pin(async move {
            let mut body = pin!(body);
            let parts = &request.parts;
            let headers = RequestHeaders::read(&parts.headers);
            let mut response = match route {
                Route::Endpoint => {
                    let origin = request_origin(peer, &request);
                    serve_endpoint(&state, &origin, &request, &headers, body.as_mut()).await
                }
                Route::Extra(number) => {
                    let from = (peer, &request);
                    Box::pin(serve_route(&state, number, from, &headers, body.as_mut())).await
                }
                Route::Probe(probe) => Box::pin(state.answer_probe(probe, &parts.method)).await,
                // The page of a client that looks for something here sees the status only after its preflight request.
                Route::Unknown => guards::answer_preflight(&state.options, &parts.method, &headers)
                    .unwrap_or_else(|| HttpRefusal::unknown_path().into_response()),
            };
            guards::add_cors(&state.options, headers.origin, &mut response);
            if !body.is_end_stream() {
                response = Box::pin(finish_body(body, &parts.headers, response)).await;
            }
            if let Some(busy) = busy {
                response.body_mut().keep_busy(busy);
            }
            Ok(response)
        })
    }
}

/// Returns where a request comes from, for logs and observers.
fn request_origin(peer: Option<SocketAddr>, request: &HttpParts) -> Origin {
    Origin::http(peer, || {
        let session = request.parts.headers.get(&SESSION);
        let session = session.and_then(|id| id.to_str().ok());
        HttpOrigin::new(session, request.trace_context())
    })
}

/// Serves a request to the endpoint, if it passes the guards.
#[expect(
    clippy::manual_async_fn,
    reason = "an `async fn` has room for its arguments twice"
)]
fn serve_endpoint<B: Body>(
    state: &Arc<ServiceState>,
    origin: &Origin,
    request: &Arc<HttpParts>,
    headers: &RequestHeaders<'_>,
    body: Pin<&mut B>,
) -> impl Future<Output = Response<HttpBody>> {
    async move {
        let parts = &request.parts;
        if let Err((kind, refusal)) = check_head(state, &parts.uri, headers) {
            origin.record_refusal(kind);
            return refusal.into_response();
        }
        let waiting = OnceLock::new();
        let served = pin!(route_request(
            state, origin, request, headers, body, &waiting
        ));
        let mut response = with_timeout(state, served, &waiting).await;
        state
            .authentication
            .challenge_if_reauthorization_needed(request, &mut response);
        record_if_refused(origin, &parts.method, headers, response.status());
        response
    }
}

/// Records that a request was refused, if its status says so.
fn record_if_refused(
    origin: &Origin,
    method: &Method,
    headers: &RequestHeaders<'_>,
    status: StatusCode,
) {
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    match RefusalKind::of_status(status.as_u16()) {
        // Clients ask for a stream before there is a session to see whether they need a token.
        Some(RefusalKind::Malformed) if is_read && !headers.names_session() => {
            let peer = origin.peer().map(tracing::field::display);
            tracing::debug!(peer, "a client asked for a stream without a session");
        }
        Some(kind) => origin.record_refusal(kind),
        None => {}
    }
}

/// Waits for a response until shutdown has begun and the time allowed for finishing requests has run out. Most
/// responses are available immediately and do not need a timer. `waiting` is the id of the request, once it is known and
/// its response has to be awaited.
fn with_timeout(
    state: &ServiceState,
    mut served: Pin<&mut impl Future<Output = Response<HttpBody>>>,
    waiting: &OnceLock<RequestId>,
) -> impl Future<Output = Response<HttpBody>> {
    let mut overdue = None;
    poll_fn(move |cx| {
        if let Poll::Ready(response) = served.as_mut().poll(cx) {
            return Poll::Ready(response);
        }
        let overdue = overdue.get_or_insert_with(|| Box::pin(state.drain_timed_out()));
        let is_over = overdue.as_mut().poll(cx);
        is_over.map(|()| {
            let refusal = HttpRefusal::shutting_down();
            refusal.with_id(waiting.get().cloned()).into_response()
        })
    })
}

/// Checks a request before any part of it is used.
fn check_head(
    state: &ServiceState,
    uri: &Uri,
    headers: &RequestHeaders<'_>,
) -> Result<(), (RefusalKind, HttpRefusal)> {
    let as_kind = |kind| move |refusal| (kind, refusal);
    let checked = state.known_host.check(&state.options, uri, headers.host);
    checked.map_err(as_kind(RefusalKind::Host))?;
    guards::check_origin(&state.options, headers.origin).map_err(as_kind(RefusalKind::Origin))?;
    check_repeated(headers.all).map_err(as_kind(RefusalKind::Malformed))
}

// --- Routes requests by HTTP method, and POST requests by their body.

/// Time for which a request waits until clients have read enough of their answers. It is longer than it takes to close
/// connections that read nothing.
const UNSENT_PATIENCE: Duration = Duration::from_secs(10);

/// Serves a request. `waiting` is set to the id of a request whose response has to be awaited. Rarely needed futures are
/// boxed so that other requests do not pay for moving them.
#[expect(
    clippy::manual_async_fn,
    reason = "an `async fn` has room for its arguments twice"
)]
fn route_request<B: Body>(
    state: &Arc<ServiceState>,
    origin: &Origin,
    request: &Arc<HttpParts>,
    headers: &RequestHeaders<'_>,
    body: Pin<&mut B>,
    waiting: &OnceLock<RequestId>,
) -> impl Future<Output = Response<HttpBody>> {
    async move {
        let (options, parts) = (&state.options, &request.parts);
        if let Some(response) = guards::answer_preflight(options, &parts.method, headers) {
            return response;
        }
        #[cfg(feature = "auth")]
        if let Some(document) =
            state
                .authentication
                .public_document(parts, full_path, &options.path, &state.dispatcher)
        {
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
        if parts.method == Method::POST
            && let Some(error) = request.take_earlier_demand(caller.as_ref())
        {
            let refusal = state.authentication.refuse_until_reauthorized(error);
            return refusal.into_response();
        }
        let mut response = match parts.method {
            Method::GET | Method::HEAD => Box::pin(route_get(state, head, parts)).await,
            Method::DELETE => Box::pin(handshake::handle_delete(state, head)).await,
            _ => route_post(state, head, body, waiting).await,
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
        Err(refusal) => return refusal.into_response(),
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
    if let Some(path) = original_path(parts) {
        return path;
    }
    &options.path
}

#[expect(
    clippy::manual_async_fn,
    reason = "an `async fn` has room for its arguments twice"
)]
fn route_post<B: Body>(
    state: &ServiceState,
    head: RequestHead<'_>,
    body: Pin<&mut B>,
    waiting: &OnceLock<RequestId>,
) -> impl Future<Output = Response<HttpBody>> {
    async move {
        if state.unsent.is_scarce() {
            let holder = head.holder();
            let waiting = Box::pin(state.unsent.wait_for_room(&holder, UNSENT_PATIENCE));
            if let Err(exceeded) = waiting.await {
                return HttpRefusal::from(exceeded).into_response();
            }
        }
        let body = match read_body(body, head.headers, state.limits()).await {
            Ok(body) => body,
            Err(refusal) => return refusal.into_response(),
        };
        let rest = {
            let unfinished = match serve_body(state, head, &body) {
                ControlFlow::Break(response) => return response,
                ControlFlow::Continue(unfinished) => unfinished,
            };
            match unfinished {
                Unfinished::Response(rest) => rest,
                Unfinished::Session(serving) => match serving.await {
                    PendingResponse::Over(response) => return response,
                    PendingResponse::Waiting(rest) => rest,
                },
            }
        };
        // Nothing of the request is kept while its response is awaited.
        drop(body);
        if let Some(id) = rest.id {
            // Each request sets it only once.
            let _ = waiting.set(id);
        }
        rest.response.await
    }
}

// Determines a POST request's era from its body, never from its headers alone.
//
// Specification: 2026-07-28, basic/transports; `docs/requirements.md`, section 3.3.

/// What has to be awaited for the response to a POST request.
enum Unfinished<'s, 'b> {
    Response(RemainingWork<'s>),
    /// The session of a legacy request has to be loaded before the request is served. The box contains the message, which
    /// would otherwise make the future of every request larger.
    Session(Pin<Box<dyn Future<Output = PendingResponse<'s>> + Send + 'b>>),
}

/// Serves a body as far as possible without waiting. Breaks with the response, if that is all.
fn serve_body<'s: 'b, 'b>(
    state: &'s ServiceState,
    head: RequestHead<'b>,
    body: &'b [u8],
) -> ControlFlow<Response<HttpBody>, Unfinished<'s, 'b>> {
    if state.options.legacy_sse
        && let Some(connection) = legacy_sse::connection_id(head.uri)
    {
        let serve = || legacy_sse::handle_post(state, head, connection, body);
        return ControlFlow::Break(head.origin.run_as_current(serve));
    }
    let message = match jsonrpc::parse(body, &state.limits().message.parse_limits()) {
        Ok(Incoming::Message(message)) if is_modern(&message) => message,
        Ok(incoming) => {
            let serving = Box::pin(post::serve(state, head, incoming));
            return ControlFlow::Continue(Unfinished::Session(serving));
        }
        Err((id, error)) => {
            let refusal = HttpRefusal::new(StatusCode::BAD_REQUEST, error);
            return ControlFlow::Break(refusal.with_id(id).into_response());
        }
    };
    let serve = || modern::serve_message(state, head, &message);
    match head.origin.run_as_current(serve) {
        PendingResponse::Over(response) => ControlFlow::Break(response),
        PendingResponse::Waiting(rest) => ControlFlow::Continue(Unfinished::Response(rest)),
    }
}

/// Returns `true` if a message claims a protocol version in its body. A response is never modern.
fn is_modern(message: &Message<'_>) -> bool {
    message.method.is_some() && message.params.meta(MetaMember::ProtocolVersion).is_some()
}

/// Returns the client's address, if the program serves its router with `into_make_service_with_connect_info`.
#[cfg(feature = "axum")]
pub(super) fn peer_address(extensions: &Extensions) -> Option<SocketAddr> {
    use ::axum::extract::ConnectInfo;
    extensions.get().map(|ConnectInfo(peer)| *peer)
}

/// Returns `None`, because only axum provides the client's address.
#[cfg(not(feature = "axum"))]
pub(super) const fn peer_address(_: &Extensions) -> Option<SocketAddr> {
    None
}

/// Returns a request's path as the client sees it, even within nested routers.
#[cfg(feature = "axum")]
fn original_path(parts: &Parts) -> Option<&str> {
    use ::axum::extract::OriginalUri;
    let original = parts.extensions.get();
    original.map(|OriginalUri(uri)| uri.path())
}

/// Returns a request's full path, even within nested routers.
#[cfg(feature = "auth")]
fn full_path(parts: &Parts) -> &str {
    #[cfg(feature = "axum")]
    if let Some(path) = original_path(parts) {
        return path;
    }
    parts.uri.path()
}

#[cfg(test)]
mod tests {
    use hyper::body::{Bytes, Frame};

    use super::*;

    /// A body of the size of the one that connections have.
    struct EmptyBody([usize; 3]);

    impl Body for EmptyBody {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            assert_eq!(self.0, [0; 3]);
            Poll::Ready(None)
        }
    }

    #[test]
    fn a_request_is_served_in_memory_that_the_allocator_caches() {
        // glibc keeps freed memory of up to this size for each thread; anything larger costs a request several percent.
        const MAX: usize = 1_032;
        let server = mcp_runtime::Server::new("test", "1").only([]);
        let server = server.build().unwrap();
        let dispatcher = Arc::clone(server.dispatcher());
        let shutdown = server.shutdown().clone();
        let service = HttpService::new(dispatcher, HttpOptions::new(), Vec::new(), shutdown);
        let request = Request::new(EmptyBody([0; 3]));
        let future = service.respond(Route::Endpoint, None, None, request);
        let size = size_of_val(&*future);
        assert!(size <= MAX, "{size} bytes");
    }
}
