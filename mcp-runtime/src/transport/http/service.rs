//! The service: guards, then the body, then the era.
//!
//! The first checks need no body: host, origin, method, headers. Then the body is read, within its limits, and decides the
//! era; the header alone never does. Specification: 2026-07-28, basic/transports; `docs/requirements.md`, section 3.3.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::Body;
use hyper::header;
use hyper::http::Extensions;
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Uri};
use tower_service::Service;

use super::answer::{self, HttpRefusal};
use super::body::{Events, HttpBody};
use super::head::Head;
use super::headers::{RequestHeaders, check_repeated};
use super::io::Busy;
use super::legacy::{self, Posted, SessionLookup};
use super::options::HttpOptions;
use super::places::StreamPermits;
#[cfg(feature = "auth")]
use super::protection::Protection;
use super::pulse::Pulse;
use super::sessions::Sessions;
use super::{access, batch, guards, handshake, incoming, modern, reading, sse_2024};
use crate::cancellation::CancellationToken;
use crate::dispatch::Dispatcher;
use crate::jsonrpc::{self, Incoming, Message, MetaMember};
use crate::limits::Limits;
use crate::telemetry::{Origin, RefusalKind};

/// A server as a `tower` service, to mount in a program that already serves HTTP.
///
/// Created by [`Server::into_http_service`](crate::Server::into_http_service). It answers at every path; the `axum::Router`
/// made from it with feature `axum` answers at the path of its [`HttpOptions`]. The program is then responsible for a limit
/// on connections, a timeout for request headers, TLS, and disabling compression of event streams.
#[derive(Clone)]
pub struct HttpService(pub(super) Arc<ServiceState>);

/// State shared by all requests.
pub(super) struct ServiceState {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) options: HttpOptions,
    pub(super) sessions: Arc<Sessions>,
    pub(super) shutdown: CancellationToken,
    pub(super) pulse: Arc<Pulse>,
    /// Permits for event streams that wait for events.
    pub(super) streams: Arc<StreamPermits>,
    #[cfg(feature = "auth")]
    pub(super) protection: Option<Protection>,
}

impl ServiceState {
    pub(super) fn limits(&self) -> &Limits {
        self.dispatcher.limits()
    }

    /// Returns a response that sends events as they occur.
    pub(super) fn stream(&self, events: impl Events + 'static) -> Response<HttpBody> {
        answer::stream(HttpBody::events(events, self.limits(), &self.shutdown))
    }

    /// Completes when the server was told to stop and the time to finish is over.
    async fn overdue(&self) {
        self.shutdown.cancelled().await;
        tokio::time::sleep(self.limits().calls.drain_timeout).await;
    }
}

impl HttpService {
    pub(crate) fn new(
        dispatcher: Arc<Dispatcher>,
        #[cfg_attr(
            not(feature = "auth"),
            expect(unused_mut, reason = "a host may be added")
        )]
        mut options: HttpOptions,
        shutdown: CancellationToken,
    ) -> Self {
        #[cfg(feature = "auth")]
        let protection = options.protected.as_ref().and_then(Protection::new);
        #[cfg(feature = "auth")]
        if let Some(protection) = &protection {
            options.hosts.push(protection.host().to_owned());
        }
        Self(Arc::new(ServiceState {
            sessions: Sessions::new(&dispatcher, &options),
            streams: StreamPermits::new(dispatcher.limits()),
            dispatcher,
            options,
            #[cfg(feature = "auth")]
            protection,
            shutdown,
            pulse: Arc::default(),
        }))
    }

    /// Returns an item that no caller could use because HTTP requests are not authenticated.
    pub(crate) fn closed_to_strangers(&self) -> Option<String> {
        #[cfg(feature = "auth")]
        if self.0.protection.is_some() {
            return None;
        }
        self.0.dispatcher.closed_to_strangers()
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
    type Future = Responding;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let peer = peer(request.extensions());
        self.respond(peer, None, request)
    }
}

/// Returns the address of the client, if the program that serves the request provides it.
#[cfg_attr(
    not(all(feature = "axum", feature = "telemetry")),
    expect(unused_variables, reason = "only axum provides the address")
)]
fn peer(extensions: &Extensions) -> Option<SocketAddr> {
    #[cfg(all(feature = "axum", feature = "telemetry"))]
    return super::axum::peer_address(extensions);
    #[cfg(not(all(feature = "axum", feature = "telemetry")))]
    None
}

/// A future response.
pub(super) type Responding =
    Pin<Box<dyn Future<Output = Result<Response<HttpBody>, Infallible>> + Send>>;

impl HttpService {
    /// Responds to a request of this peer; `busy` marks the connection as busy until the response is written.
    pub(super) fn respond<B>(
        &self,
        peer: Option<SocketAddr>,
        busy: Option<Busy>,
        request: Request<B>,
    ) -> Responding
    where
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Send,
    {
        let inner = Arc::clone(&self.0);
        let (parts, body) = request.into_parts();
        Box::pin(async move {
            let headers = RequestHeaders::read(&parts.headers);
            let origin = Origin::http(peer, |name| parts.headers.get(name)?.to_str().ok());
            let mut response = if let Err((kind, refusal)) = guard(&inner, &parts.uri, &headers) {
                origin.refused(kind);
                refusal.into_response()
            } else {
                let served = pin!(serve(&inner, &origin, &parts, &headers, body));
                let mut response = within_time(&inner, served).await;
                if let Some(kind) = RefusalKind::of_status(response.status().as_u16()) {
                    origin.refused(kind);
                }
                guards::add_cors(&inner.options, headers.origin, &mut response);
                response
            };
            if response.status() == StatusCode::REQUEST_TIMEOUT {
                // The rest of the body would be read as the next request.
                let close = header::HeaderValue::from_static("close");
                response.headers_mut().insert(header::CONNECTION, close);
            }
            if let Some(busy) = busy {
                response.body_mut().hold(busy);
            }
            Ok(response)
        })
    }
}

/// Waits for a response until the server was told to stop and the time to finish is over. Most responses are available at
/// once and need no timer.
async fn within_time(
    inner: &ServiceState,
    mut served: Pin<&mut impl Future<Output = Response<HttpBody>>>,
) -> Response<HttpBody> {
    let mut overdue = None;
    poll_fn(|cx| {
        if let Poll::Ready(response) = served.as_mut().poll(cx) {
            return Poll::Ready(response);
        }
        let overdue = overdue.get_or_insert_with(|| Box::pin(inner.overdue()));
        let is_over = overdue.as_mut().poll(cx);
        is_over.map(|()| HttpRefusal::stopping().into_response())
    })
    .await
}

/// Checks a request before anything of it is used.
fn guard(
    inner: &ServiceState,
    uri: &Uri,
    headers: &RequestHeaders<'_>,
) -> Result<(), (RefusalKind, HttpRefusal)> {
    let as_kind = |kind| move |refusal| (kind, refusal);
    guards::check_host(&inner.options, uri, headers.host).map_err(as_kind(RefusalKind::Host))?;
    guards::check_origin(&inner.options, headers.origin).map_err(as_kind(RefusalKind::Origin))?;
    check_repeated(headers.all).map_err(as_kind(RefusalKind::Malformed))
}

/// Serves a request. Futures that few requests need are boxed, so that the others need not move them.
async fn serve<B: Body>(
    inner: &Arc<ServiceState>,
    origin: &Origin,
    parts: &Parts,
    headers: &RequestHeaders<'_>,
    body: B,
) -> Response<HttpBody> {
    let options = &inner.options;
    if parts.method == Method::OPTIONS && !options.origins.is_empty() && headers.origin.is_some() {
        let mut response = answer::empty(StatusCode::NO_CONTENT);
        guards::preflight(headers.all, &mut response);
        return response;
    }
    #[cfg(feature = "auth")]
    if let Some(protection) = &inner.protection {
        let path = asked_path(parts);
        if protection.publishes(path, &options.path) {
            return protection.publish(&parts.method, path, &inner.dispatcher);
        }
    }
    if !matches!(parts.method, Method::POST | Method::GET | Method::DELETE) {
        let is_lasting = inner.sessions.keeping.is_lasting();
        return HttpRefusal::method(if is_lasting {
            "GET, POST, DELETE"
        } else {
            "POST"
        });
    }
    let caller = match access::caller(inner, parts).await {
        Ok(caller) => caller,
        Err(refusal) => return refusal.into_response(),
    };
    let head = Head {
        uri: &parts.uri,
        headers,
        caller: caller.as_ref(),
        origin,
    };
    if parts.method != Method::POST
        && let Err(refusal) = headers.check_legacy()
    {
        return refusal.into_response();
    }
    match parts.method {
        Method::GET => Box::pin(get(inner, head, parts)).await,
        Method::DELETE => Box::pin(handshake::delete(inner, head)).await,
        _ => post(inner, head, body).await,
    }
}

async fn get(inner: &Arc<ServiceState>, head: Head<'_>, parts: &Parts) -> Response<HttpBody> {
    let (options, headers) = (&inner.options, head.headers);
    let place = match inner.streams.take(head.caller) {
        Ok(place) => place,
        Err(refusal) => return refusal.into_response(),
    };
    let says_nothing = headers.session().is_none() && headers.version.is_none();
    let mut response = if options.sse_2024 && says_nothing {
        sse_2024::open(inner, head, path(options, parts))
    } else {
        reading::get(inner, head).await
    };
    response.body_mut().occupy(place);
    response
}

/// Returns the full path of a request, also in nested routers.
#[cfg(feature = "auth")]
fn asked_path(parts: &Parts) -> &str {
    #[cfg(feature = "axum")]
    if let Some(path) = super::axum::original_path(&parts.extensions) {
        return path;
    }
    parts.uri.path()
}

/// Returns the path of the endpoint, as the client sees it.
#[cfg_attr(
    not(feature = "axum"),
    expect(unused_variables, reason = "only a router knows the path")
)]
fn path<'a>(options: &'a HttpOptions, parts: &'a Parts) -> &'a str {
    #[cfg(feature = "axum")]
    if let Some(path) = super::axum::original_path(&parts.extensions) {
        return path;
    }
    &options.path
}

async fn post<B: Body>(inner: &ServiceState, head: Head<'_>, body: B) -> Response<HttpBody> {
    let body = match incoming::read(pin!(body), head.headers, inner.limits()).await {
        Ok(body) => body,
        Err(refusal) => return refusal.into_response(),
    };
    let found = inner.sessions.find(head).await;
    // Nothing borrowed from the body is held across an await.
    let begun = head.origin.cover(|| begin(inner, head, found, &body));
    drop(body);
    match begun {
        PendingResponse::Over(response) => response,
        PendingResponse::Waiting(rest) => rest.await,
    }
}

/// Result of a request, as far as nothing has to be waited for.
pub(super) enum PendingResponse<'i> {
    /// The response.
    Over(Response<HttpBody>),
    /// The rest of the work, which yields the response.
    Waiting(Pin<Box<dyn Future<Output = Response<HttpBody>> + Send + 'i>>),
}

impl<'i> PendingResponse<'i> {
    pub(super) fn waiting(rest: impl Future<Output = Response<HttpBody>> + Send + 'i) -> Self {
        Self::Waiting(Box::pin(rest))
    }

    /// Saves changes of the session before a legacy request is answered, if there are any.
    fn legacy(inner: &'i ServiceState, posted: Posted) -> Self {
        match posted {
            Posted {
                save: None,
                answer: legacy::PostResponse::Over(response),
            } => Self::Over(response),
            posted => Self::waiting(legacy::finish(inner, posted)),
        }
    }
}

impl From<HttpRefusal> for PendingResponse<'_> {
    fn from(refusal: HttpRefusal) -> Self {
        Self::Over(refusal.into_response())
    }
}

/// Determines the era of a message from the body, and serves the message.
fn begin<'i>(
    inner: &'i ServiceState,
    head: Head<'_>,
    found: SessionLookup<'_>,
    body: &[u8],
) -> PendingResponse<'i> {
    if inner.options.sse_2024
        && let Some(connection) = sse_2024::connection(head.uri)
    {
        return PendingResponse::Over(sse_2024::post(inner, head.caller, connection, body));
    }
    match jsonrpc::parse(body, &inner.limits().message.parse_limits()) {
        Ok(Incoming::Message(message)) => one(inner, head, found, &message),
        Ok(Incoming::Batch(elements)) => match head.headers.check_legacy() {
            Ok(()) => PendingResponse::legacy(inner, batch::post(inner, head, found, &elements)),
            Err(refusal) => refusal.into(),
        },
        Err((id, error)) => HttpRefusal::new(StatusCode::BAD_REQUEST, error)
            .with_id(id)
            .into(),
    }
}

fn one<'i>(
    inner: &'i ServiceState,
    head: Head<'_>,
    found: SessionLookup<'_>,
    message: &Message<'_>,
) -> PendingResponse<'i> {
    let is_modern = message.params.meta(MetaMember::ProtocolVersion).is_some();
    let Some(method) = message.method.as_deref().filter(|_| is_modern) else {
        if let Err(refusal) = head.headers.check_legacy() {
            return refusal.with_id(message.id.to_request_id()).into();
        }
        return PendingResponse::legacy(inner, legacy::post(inner, head, found, message));
    };
    match message.id.to_request_id() {
        Some(id) => modern::begin(inner, head, id, method, message),
        None => PendingResponse::Over(modern::notification(head.headers, &message.params)),
    }
}
