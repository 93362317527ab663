//! The `tower` service, which applies the guards, authenticates the caller, and reads the body to determine the era.
//!
//! This module determines only the order of these steps. The checks are in `request` and `access`; `modern` and
//! `legacy` answer the requests.

#[cfg(feature = "axum")]
mod axum;

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::Body;
use hyper::http::Extensions;
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Uri};
use tower_service::Service;

use crate::budget::Holder;
use crate::context::{ClientAddresses, HttpParts};
use crate::dispatch::Dispatcher;
use crate::error::Error;
use crate::http::health::ReadyCheck;
use crate::http::legacy::{get, handshake, legacy_sse, post};
use crate::http::options::HttpOptions;
use crate::http::request::body::{finish_body, read_body};
use crate::http::request::{RequestHead, RequestHeaders, check_repeated, guards, tags};
use crate::http::response::{BusyGuard, HttpBody, HttpRefusal, PendingResponse};
use crate::http::state::ServiceState;
use crate::http::{modern, response};
use crate::jsonrpc;
use crate::jsonrpc::{Incoming, Message, MetaMember, RequestId};
use crate::observe::{HttpOrigin, Origin, RefusalKind};
use crate::sync::CancellationToken;

/// A server as a `tower` service, for mounting in a program that already serves HTTP.
///
/// Created by [`Server::into_http_service`](crate::Server::into_http_service). The service responds at every path; the
/// `axum::Router` created from it (with the `axum` feature) responds at the path set in its [`HttpOptions`]. The
/// program is responsible for limiting the number of connections, enforcing a timeout for request headers, providing
/// TLS, and disabling compression for event streams.
#[derive(Clone)]
pub struct HttpService(pub(in crate::http) Arc<ServiceState>);

impl HttpService {
    pub(crate) fn new(
        dispatcher: Arc<Dispatcher>,
        options: HttpOptions,
        ready_checks: Vec<ReadyCheck>,
        shutdown: CancellationToken,
    ) -> Self {
        let state = ServiceState::new(dispatcher, options, ready_checks, shutdown);
        Self(Arc::new(state))
    }

    /// Completes when the process receives a stop signal.
    #[cfg(feature = "cli")]
    pub(crate) async fn wait_for_stop_signal(&self) {
        self.0.stop_announced.cancelled().await;
    }

    /// Creates any state that does not exist yet.
    pub(crate) async fn make_states(&self) -> Result<(), Error> {
        self.0.dispatcher.make_states().await
    }

    /// Returns the name of a definition that no caller could use because HTTP requests are not authenticated, or `None`
    /// if there is no such definition.
    pub(crate) fn unusable_definition(&self) -> Option<String> {
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
        self.respond(peer, None, request)
    }
}

/// A future that resolves to a response.
pub(in crate::http) type HttpResponseFuture =
    Pin<Box<dyn Future<Output = Result<Response<HttpBody>, Infallible>> + Send>>;

impl HttpService {
    /// Responds to a request from this peer. `busy` marks the connection as busy until the response has been written.
    pub(in crate::http) fn respond<B>(
        &self,
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
        let original_uri = parts.extensions.get::<::axum::extract::OriginalUri>();
        #[cfg(feature = "axum")]
        let original_uri = original_uri.map(|original| original.0.clone());
        #[cfg(not(feature = "axum"))]
        let original_uri = None;
        let challenges = &state.pending_challenges;
        let request = Arc::new(HttpParts::new(parts, original_uri, addresses, challenges));
        Box::pin(async move {
            let mut body = pin!(body);
            let parts = &request.parts;
            let headers = RequestHeaders::read(&parts.headers);
            let origin = Origin::http(peer, || {
                let session = parts.headers.get("mcp-session-id");
                let session = session.and_then(|id| id.to_str().ok());
                HttpOrigin::new(session, request.trace_context())
            });
            let mut response =
                if let Err((kind, refusal)) = check_head(&state, &parts.uri, &headers) {
                    origin.record_refusal(kind);
                    refusal.into_response()
                } else {
                    let waiting = OnceLock::new();
                    let served = pin!(route_request(
                        &state,
                        &origin,
                        &request,
                        &headers,
                        (body.as_mut(), &waiting)
                    ));
                    let mut response = with_timeout(&state, served, &waiting).await;
                    state
                        .authentication
                        .challenge_if_reauthorization_needed(&request, &mut response);
                    let kind = RefusalKind::of_status(response.status().as_u16());
                    let is_read = matches!(parts.method, Method::GET | Method::HEAD);
                    match kind {
                        // Clients ask for a stream before there is a session to see whether they need a token.
                        Some(RefusalKind::Malformed) if is_read && !headers.names_session() => {
                            let peer = peer.map(tracing::field::display);
                            tracing::debug!(peer, "a client asked for a stream without a session");
                        }
                        Some(kind) => origin.record_refusal(kind),
                        None => {}
                    }
                    guards::add_cors(&state.options, headers.origin, &mut response);
                    response
                };
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
async fn route_request<B: Body>(
    state: &Arc<ServiceState>,
    origin: &Origin,
    request: &Arc<HttpParts>,
    headers: &RequestHeaders<'_>,
    (body, waiting): (Pin<&mut B>, &OnceLock<RequestId>),
) -> Response<HttpBody> {
    let (options, parts) = (&state.options, &request.parts);
    if parts.method == Method::OPTIONS && guards::is_granted(options, headers.origin) {
        let mut response = response::empty_response(StatusCode::NO_CONTENT);
        guards::preflight(headers.all, &mut response);
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
    let mut response = match parts.method {
        Method::GET | Method::HEAD => Box::pin(route_get(state, head, parts)).await,
        Method::DELETE => Box::pin(handshake::handle_delete(state, head)).await,
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
    if state.options.legacy_sse
        && let Some(connection) = legacy_sse::connection_id(head.uri)
    {
        let serve = || legacy_sse::handle_post(state, head, connection, &body);
        return head.origin.run_as_current(serve);
    }
    let incoming = match jsonrpc::parse(&body, &state.limits().message.parse_limits()) {
        Ok(incoming) => incoming,
        Err((id, error)) => {
            let refusal = HttpRefusal::new(StatusCode::BAD_REQUEST, error);
            return refusal.with_id(id).into_response();
        }
    };
    // The era depends on the body, never on the headers alone: `docs/requirements.md`, section 3.3.
    let pending = match incoming {
        Incoming::Message(message) if is_modern(&message) => {
            let serve = || modern::serve_message(state, head, &message);
            head.origin.run_as_current(serve)
        }
        // Boxed, because the message is kept while the session is loaded.
        incoming => Box::pin(post::serve(state, head, incoming)).await,
    };
    // Nothing of the request is kept while its response is awaited.
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
