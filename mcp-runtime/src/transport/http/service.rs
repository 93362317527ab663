//! The service: guards, then the body, then the era.
//!
//! What is checked first needs no body: host, origin, method, fields. Then the body is read, within its limits, and decides
//! the era; the header alone never does. Specification: 2026-07-28, basic/transports; `docs/requirements.md`, section 3.3.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::Body;
use hyper::header::{self, HeaderMap};
use hyper::{Method, Request, Response, StatusCode, Uri};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use super::answer::{self, Refusal};
use super::body::HttpBody;
use super::headers::{SESSION, VERSION, check_content, check_repeated};
use super::legacy::{self, Posted};
use super::options::HttpOptions;
use super::pulse::Pulse;
use super::sessions::Sessions;
use super::{batch, guards, incoming, modern, sse_2024};
use crate::dispatch::Dispatcher;
use crate::jsonrpc::{self, Incoming, Message, MetaMember};
use crate::limits::Limits;

/// A server as a `tower` service, to be mounted into a program that serves HTTP already.
///
/// It answers at whatever path it is given. Made by [`Server::into_http_service`](crate::Server::into_http_service). What
/// is then the program's own duty: limits on connections and on how slowly a head may come, TLS, authentication,
/// compression switched off for event streams.
#[derive(Clone)]
pub struct HttpService(pub(super) Arc<Inner>);

/// What all requests share.
pub(super) struct Inner {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) options: HttpOptions,
    pub(super) sessions: Sessions,
    pub(super) shutdown: CancellationToken,
    pub(super) pulse: Arc<Pulse>,
}

impl Inner {
    pub(super) fn limits(&self) -> &Limits {
        self.dispatcher.limits()
    }
}

impl HttpService {
    pub(crate) fn new(
        dispatcher: Arc<Dispatcher>,
        options: HttpOptions,
        shutdown: CancellationToken,
    ) -> Self {
        Self(Arc::new(Inner {
            dispatcher,
            options,
            sessions: Sessions::new(),
            shutdown,
            pulse: Arc::default(),
        }))
    }
}

#[cfg(feature = "cli")]
impl HttpService {
    /// Says when the server is to stop.
    pub(crate) fn shutdown(&self) -> CancellationToken {
        self.0.shutdown.clone()
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
    type Future = Pin<Box<dyn Future<Output = Result<Response<HttpBody>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            inner.sessions.sweep(inner.limits());
            let (parts, body) = request.into_parts();
            let origin = parts.headers.get(header::ORIGIN).cloned();
            let served = serve(&inner, &parts.method, &parts.uri, &parts.headers, body);
            let mut response = match guard(&inner, &parts.uri, &parts.headers) {
                Ok(()) => {
                    let mut response = served.await;
                    guards::add_cors(&inner.options, origin.as_ref(), &mut response);
                    response
                }
                Err(refusal) => refusal.into_response(),
            };
            if response.status() == StatusCode::REQUEST_TIMEOUT {
                // The rest of the body would be taken for the next request.
                let close = header::HeaderValue::from_static("close");
                response.headers_mut().insert(header::CONNECTION, close);
            }
            Ok(response)
        })
    }
}

/// What is checked before anything of the request is used.
fn guard(inner: &Inner, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
    guards::check_host(&inner.options, uri, headers.get(header::HOST))?;
    guards::check_origin(&inner.options, headers.get(header::ORIGIN))?;
    check_repeated(headers)
}

async fn serve<B: Body>(
    inner: &Arc<Inner>,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: B,
) -> Response<HttpBody> {
    let options = &inner.options;
    match *method {
        Method::POST => post(inner, uri, headers, body).await,
        Method::GET => {
            let says_nothing = !headers.contains_key(&SESSION) && !headers.contains_key(&VERSION);
            if options.sse_2024 && says_nothing {
                sse_2024::open(inner, headers)
            } else {
                legacy::get(inner, headers)
            }
        }
        Method::DELETE => legacy::delete(inner, headers),
        Method::OPTIONS if !options.origins.is_empty() && headers.contains_key(header::ORIGIN) => {
            let mut response = answer::empty(StatusCode::NO_CONTENT);
            guards::preflight(headers, &mut response);
            response
        }
        _ => Refusal::method("GET, POST, DELETE"),
    }
}

async fn post<B: Body>(
    inner: &Inner,
    uri: &Uri,
    headers: &HeaderMap,
    body: B,
) -> Response<HttpBody> {
    let body = match check_content(headers) {
        Ok(()) => incoming::read(body, headers, inner.limits()).await,
        Err(refusal) => Err(refusal),
    };
    let body = match body {
        Ok(body) => body,
        Err(refusal) => return refusal.into_response(),
    };
    // What is borrowed from the body is gone before anything is awaited.
    let begun = inner.pulse.run(|| begin(inner, uri, headers, &body));
    drop(body);
    match begun {
        Begun::Over(response) => response,
        Begun::Modern(call) => modern::run(inner, call).await,
        Begun::Legacy(exchange) => legacy::wait(inner, exchange).await,
    }
}

enum Begun {
    Over(Response<HttpBody>),
    Modern(modern::Call),
    Legacy(legacy::Exchange),
}

impl From<Posted> for Begun {
    fn from(posted: Posted) -> Self {
        match posted {
            Posted::Over(response) => Self::Over(response),
            Posted::Waiting(exchange) => Self::Legacy(exchange),
        }
    }
}

impl From<modern::Begun> for Begun {
    fn from(begun: modern::Begun) -> Self {
        match begun {
            modern::Begun::Over(response) => Self::Over(response),
            modern::Begun::Running(call) => Self::Modern(call),
        }
    }
}

/// Decides by the body which era a message belongs to.
fn begin(inner: &Inner, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Begun {
    if inner.options.sse_2024
        && let Some(connection) = sse_2024::connection(uri)
    {
        return Begun::Over(sse_2024::post(inner, connection, body));
    }
    match jsonrpc::parse(body, inner.limits()) {
        Ok(Incoming::Message(message)) => one(inner, headers, &message),
        Ok(Incoming::Batch(elements)) => batch::post(inner, headers, &elements).into(),
        Err((id, error)) => {
            let refusal = Refusal::new(StatusCode::BAD_REQUEST, error).with_id(id);
            Begun::Over(refusal.into_response())
        }
    }
}

fn one(inner: &Inner, headers: &HeaderMap, message: &Message<'_>) -> Begun {
    let is_modern = message.params.meta(MetaMember::ProtocolVersion).is_some();
    let Some(method) = message.method.clone().filter(|_| is_modern) else {
        return legacy::post(inner, headers, message).into();
    };
    match message.id.to_request_id() {
        Some(id) => modern::begin(inner, headers, id, &method, message).into(),
        None => Begun::Over(modern::notification(headers, &message.params)),
    }
}
