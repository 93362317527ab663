//! The service, which applies the guards and then serves the request within the remaining time.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use hyper::body::Body;
use hyper::{Method, Request, Response, Uri};
use tower_service::Service;

use crate::cancellation::CancellationToken;
use crate::context::{ClientAddresses, HttpParts};
use crate::dispatch::Dispatcher;
use crate::error::Error;
use crate::http::health::ReadyCheck;
use crate::http::options::HttpOptions;
use crate::http::request::body::finish_body;
use crate::http::request::headers::{RequestHeaders, check_repeated};
use crate::http::request::{cors, guards};
use crate::http::response::body::{BusyGuard, HttpBody};
use crate::http::response::refusal::HttpRefusal;
use crate::http::service::{mounted, routing};
use crate::http::state::ServiceState;
use crate::jsonrpc::RequestId;
use crate::observe::{HttpOrigin, Origin, RefusalKind};

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
        let peer = mounted::peer_address(request.extensions());
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
        let request = Arc::new(HttpParts::new(parts, addresses, &state.pending_challenges));
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
                    let served = pin!(routing::route_request(
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
                    cors::add_cors(&state.options, headers.origin, &mut response);
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
