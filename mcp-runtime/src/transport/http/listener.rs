//! Serves all connections: one task for each, a maximum number of them, and a graceful shutdown.

use std::collections::HashMap;
use std::future::{Future, poll_fn, ready};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::{AbortHandle, Id, JoinSet};
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use super::accept::HttpListener;
use super::answer::HttpRefusal;
use super::io::{Activity, Busy, Patience, Timed};
use super::service::{HttpService, Responding};
use crate::error::Error;
use crate::jsonrpc::ErrorObject;
use crate::telemetry::{RefusalKind, refused};
#[cfg(feature = "cli")]
use crate::transport::process::{Process, is_stuck};
use crate::transport::serve::{OUT_OF_RESOURCES, is_passing};

/// Path, besides the endpoint, at which streams of 2024-11-05 are opened.
const SSE_PATH: &str = "/sse";

/// An open connection.
struct OpenConnection {
    task: AbortHandle,
    since: Instant,
    activity: Arc<Activity>,
}

/// Serves all connections, after their handshake, until `shutdown` is cancelled; then work in progress may finish within
/// [`limits.calls.drain_timeout`](crate::Limits).
///
/// Dropping the future drops all connections, their calls, and all sessions.
pub(crate) async fn serve<L, S, H>(
    mut listener: L,
    handshake: impl Fn(L::Stream) -> H,
    service: HttpService,
) -> Result<(), Error>
where
    L: HttpListener,
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    H: Future<Output = io::Result<S>> + Send + 'static,
{
    let sessions = Ends(service.clone());
    let limits = service.0.limits().clone();
    let shutdown = service.0.shutdown.clone();
    let mut tasks = JoinSet::new();
    let mut open: HashMap<Id, OpenConnection> = HashMap::new();
    loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            Some(ended) = tasks.join_next_with_id() => {
                let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
                open.remove(&id);
            }
            accepted = listener.accept() => match accepted {
                Ok(stream) => {
                    let peer = L::peer_address(&stream);
                    if open.len() >= limits.http.max_connections.max(1) && !make_room(&mut open) {
                        refused(RefusalKind::Connection, peer);
                        continue;
                    }
                    let activity = Arc::new(Activity::default());
                    let opening = handshake(stream);
                    let serving = connection(opening, peer, service.clone(), Arc::clone(&activity));
                    let task = tasks.spawn(serving.in_current_span());
                    open.insert(task.id(), OpenConnection { task, since: Instant::now(), activity });
                }
                Err(error) if is_passing(&error) => {
                    tracing::warn!(%error, "a client could not be accepted");
                    tokio::time::sleep(OUT_OF_RESOURCES).await;
                }
                Err(error) => return Err(error.into()),
            },
        }
    }
    drop(listener);
    let finishing = async { while tasks.join_next().await.is_some() {} };
    // Requests that are not finished by then are dropped with their tasks.
    let _ = timeout(limits.calls.drain_timeout, finishing).await;
    drop(sessions);
    Ok(())
}

/// Like [`serve`], for a server that owns its process: the first signal to stop starts the shutdown, and a second one ends
/// the process at once. So does a drain that takes too long because handlers block all workers of the runtime.
///
/// The second result is `true` if handlers still block threads; dropping the runtime would wait for them.
#[cfg(feature = "cli")]
pub(crate) async fn serve_process(
    listener: impl HttpListener,
    service: HttpService,
) -> (Result<(), Error>, bool) {
    let inner = &service.0;
    // There can always be further clients, so a disconnect never ends the process.
    let hung_up = Box::new(|| false);
    let _process = match Process::own(inner.limits(), &inner.shutdown, hung_up) {
        Ok(process) => process,
        Err(error) => return (Err(error.into()), false),
    };
    let served = serve(listener, |stream| ready(Ok(stream)), service.clone()).await;
    let is_inside = || inner.pulse.is_inside() || inner.dispatcher.is_blocking();
    (served, is_stuck(is_inside).await)
}

/// Ends all sessions when dropped.
struct Ends(HttpService);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.0.sessions.close();
    }
}

/// Closes the oldest connection that serves no request; `false` if there is none.
fn make_room(open: &mut HashMap<Id, OpenConnection>) -> bool {
    let idle = open.iter().filter(|(_, open)| !open.activity.is_busy());
    let Some((id, _)) = idle.min_by_key(|(_, open)| open.since) else {
        return false;
    };
    let id = *id;
    if let Some(closed) = open.remove(&id) {
        closed.task.abort();
    }
    true
}

/// Serves one connection, from its handshake to its end.
async fn connection<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
    opening: impl Future<Output = io::Result<S>>,
    peer: Option<SocketAddr>,
    service: HttpService,
    activity: Arc<Activity>,
) {
    let limits = service.0.limits().clone();
    let shutdown = service.0.shutdown.clone();
    let stream = tokio::select! {
        // First, because a connection that is already open may carry a request.
        biased;
        opened = timeout(limits.http.handshake_timeout, opening) => match opened {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return tracing::debug!(%error, "a handshake failed"),
            Err(_) => return tracing::debug!("a handshake took too long"),
        },
        () = shutdown.cancelled() => return,
    };
    let patience = Patience {
        idle: limits.http.idle_timeout,
        head: limits.http.header_timeout,
        unread: limits.streams.stall_timeout,
    };
    let stream = Timed::new(stream, Arc::clone(&activity), patience);
    let serve = service_fn(move |request| route(&service, peer, activity.begin(), request));
    let connection = http1::Builder::new()
        // The stream has the timers: hyper would create one for each request.
        .header_read_timeout(None)
        .max_headers(limits.http.max_headers)
        .max_buf_size(limits.http.max_header_bytes.max(8 << 10))
        .serve_connection(TokioIo::new(stream), serve);
    let mut connection = pin!(connection);
    let mut stopping = pin!(shutdown.cancelled());
    // Polled once: from then on it wakes this task, which never changes.
    let mut is_awaited = false;
    let ended = poll_fn(|cx| {
        let served = connection.as_mut().poll(cx);
        if served.is_ready() || (is_awaited && !shutdown.is_cancelled()) {
            return served.map(Some);
        }
        is_awaited = true;
        stopping.as_mut().poll(cx).map(|()| None)
    });
    let ended = if let Some(ended) = ended.await {
        ended
    } else {
        connection.as_mut().graceful_shutdown();
        connection.await
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Serves a request if its path is served; otherwise answers 404.
fn route(
    service: &HttpService,
    peer: Option<SocketAddr>,
    busy: Busy,
    mut request: Request<Incoming>,
) -> Responding {
    let options = &service.0.options;
    let path = request.uri().path();
    let is_stream = options.sse_2024 && path == SSE_PATH && *request.method() == Method::GET;
    #[cfg_attr(
        not(feature = "auth"),
        expect(unused_mut, reason = "more paths are added")
    )]
    let mut is_there = is_stream || path == options.path;
    #[cfg(feature = "auth")]
    if let Some(protection) = &service.0.protection {
        is_there |= protection.publishes(path, &options.path);
    }
    if is_stream {
        // Session headers of the client are ignored: this transport does not use them.
        request.headers_mut().remove(&super::headers::SESSION);
        request.headers_mut().remove(&super::headers::VERSION);
    }
    if is_there {
        return service.respond(peer, Some(busy), request);
    }
    let error = ErrorObject::invalid_request("nothing is served at this path");
    let mut response = HttpRefusal::new(StatusCode::NOT_FOUND, error).into_response();
    response.body_mut().hold(busy);
    Box::pin(ready(Ok(response)))
}
