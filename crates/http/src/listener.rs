//! The built-in listener, which accepts connections, disconnects slow clients, and shuts down gracefully.
//!
//! The requests on a connection are handled by `service`.

use std::collections::HashMap;
use std::future::{Future, poll_fn, ready};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use mcp_core::budget::ByteBudget;
use mcp_core::error::Error;
use mcp_core::observe::{RefusalKind, record_refusal};
use mcp_core::spawn::boxed;
use mcp_transport::{
    OUT_OF_RESOURCES, ProcessGuard, StopSequence, are_handlers_stuck, is_temporary_accept_error,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, Id, JoinSet};
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use crate::options::SSE_PATH;
use crate::request::{SESSION, VERSION};
use crate::response::{BusyGuard, ConnectionActivity};
use crate::service::{HttpResponseFuture, HttpService, Route};
use crate::timers::{Alarm, instant_after};

/// An open connection.
struct OpenConnection {
    task: AbortHandle,
    since: Instant,
    activity: Arc<ConnectionActivity>,
}

/// Serves all connections, including their handshakes, until `shutdown` is cancelled. Work in progress may then finish
/// within [`limits.calls.drain_timeout`](mcp_core::limits::Limits).
///
/// Dropping the future drops all connections, their calls, and all sessions.
pub async fn serve<L, S, H>(
    mut listener: L,
    handshake: impl Fn(L::Stream) -> H,
    service: HttpService,
) -> Result<(), Error>
where
    L: HttpListener,
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    H: Future<Output = io::Result<S>> + Send + 'static,
{
    let sessions = CloseSessionsOnDrop(service.clone());
    service.0.dispatcher.begin_work();
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
                    if open.len() >= limits.http.max_connections.max(1) && !close_oldest_idle_connection(&mut open) {
                        record_refusal(RefusalKind::Connection, peer);
                        continue;
                    }
                    let activity = Arc::new(ConnectionActivity::default());
                    let opening = handshake(stream);
                    let serving = serve_connection(opening, peer, service.clone(), Arc::clone(&activity));
                    let task = tasks.spawn(boxed(serving.in_current_span()));
                    open.insert(task.id(), OpenConnection { task, since: Instant::now(), activity });
                }
                Err(error) if is_temporary_accept_error(&error) => {
                    tracing::warn!(%error, "a client could not be accepted");
                    tokio::time::sleep(OUT_OF_RESOURCES).await;
                }
                Err(error) => return Err(error.into()),
            },
        }
    }
    drop(listener);
    let finishing = async { while tasks.join_next().await.is_some() {} };
    // Requests that have not finished within this time are dropped along with their tasks.
    let finishing = timeout(limits.calls.drain_timeout, finishing);
    // Until they finish, requests can start background work. Work that was already running has been notified of the
    // shutdown.
    let _ = finishing.await;
    service.0.dispatcher.drain_work().await;
    drop(sessions);
    Ok(())
}

/// Like [`serve`], but for a server that owns its process: the first stop signal starts the shutdown, and a second
/// signal ends the process immediately. The process also ends if draining takes too long because handlers are blocking
/// all of the runtime's worker threads.
///
/// The second returned value is `true` if handlers are still blocking threads. Dropping the runtime would wait for
/// them.
pub async fn serve_process(
    listener: impl HttpListener,
    service: HttpService,
) -> (Result<(), Error>, bool) {
    let state = &service.0;
    // New clients can always connect, so a disconnect never ends the process.
    let hung_up = Box::new(|| false);
    let stop = StopSequence {
        announced: state.stop_announced.clone(),
        delay: state.options.shutdown_delay,
        shutdown: state.shutdown.clone(),
    };
    let _process = match ProcessGuard::take_control_of_process(state.limits(), stop, hung_up) {
        Ok(process) => process,
        Err(error) => return (Err(error.into()), false),
    };
    let served = serve(listener, |stream| ready(Ok(stream)), service.clone()).await;
    let is_handler_running =
        || state.handler_watch.is_handler_running() || state.dispatcher.is_blocking();
    (served, are_handlers_stuck(is_handler_running).await)
}

/// Ends all sessions when dropped.
struct CloseSessionsOnDrop(HttpService);

impl Drop for CloseSessionsOnDrop {
    fn drop(&mut self) {
        self.0.0.sessions.close_all();
    }
}

/// Closes the oldest connection that is not serving a request. Returns `false` if there is no such connection.
fn close_oldest_idle_connection(open: &mut HashMap<Id, OpenConnection>) -> bool {
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

/// A source of HTTP connections.
///
/// **Open**: implement it for any type that accepts byte streams. This trait is implemented for TCP listeners and, on
/// Unix, for local sockets, which are suitable for servers behind a proxy on the same machine.
pub trait HttpListener: Send + 'static {
    /// The type of a connection.
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;

    /// Accepts the next connection. Implementations must not wait for data from the client, because no other client can
    /// connect in the meantime.
    ///
    /// The future may be dropped and the method called again at any time. An error ends the server, unless it affects
    /// only a single client (an aborted or reset connection) or is caused by a lack of file descriptors or memory. In
    /// those cases, accepting is retried.
    fn accept(&mut self) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Returns the address of a connection's peer for use in logs, or `None` if the address is unknown. The default
    /// implementation returns `None`.
    fn peer_address(stream: &Self::Stream) -> Option<SocketAddr> {
        let _ = stream;
        None
    }

    /// Returns the network address that clients connect to, or `None` if the listener cannot be reached over a network.
    /// If other machines can reach the address, the server starts only if a host has been allowed
    /// ([`HttpOptions::allow_host`](crate::HttpOptions::allow_host)).
    ///
    /// # Errors
    ///
    /// Fails if the address cannot be determined.
    fn network_address(&self) -> io::Result<Option<SocketAddr>>;
}

impl HttpListener for TcpListener {
    type Stream = TcpStream;

    async fn accept(&mut self) -> io::Result<TcpStream> {
        let (stream, _) = TcpListener::accept(self).await?;
        // Each response is written in one piece, so waiting for more bytes would only delay it. Errors are ignored
        // because this option is not essential.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }

    fn peer_address(stream: &TcpStream) -> Option<SocketAddr> {
        stream.peer_addr().ok()
    }

    fn network_address(&self) -> io::Result<Option<SocketAddr>> {
        self.local_addr().map(Some)
    }
}

/// The socket's file permissions control access.
#[cfg(unix)]
impl HttpListener for tokio::net::UnixListener {
    type Stream = tokio::net::UnixStream;

    async fn accept(&mut self) -> io::Result<Self::Stream> {
        let (stream, _) = tokio::net::UnixListener::accept(self).await?;
        Ok(stream)
    }

    fn network_address(&self) -> io::Result<Option<SocketAddr>> {
        Ok(None)
    }
}

// --- Serves a single connection.

/// Serves a connection from the handshake until it closes.
async fn serve_connection<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
    opening: impl Future<Output = io::Result<S>>,
    peer: Option<SocketAddr>,
    service: HttpService,
    activity: Arc<ConnectionActivity>,
) {
    let limits = service.0.limits().clone();
    let shutdown = service.0.shutdown.clone();
    let stream = tokio::select! {
        // The handshake is polled first, because an open connection may already contain a request.
        biased;
        opened = timeout(limits.http.handshake_timeout, opening) => match opened {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return tracing::debug!(%error, "a handshake failed"),
            Err(_) => return tracing::debug!("a handshake took too long"),
        },
        () = shutdown.cancelled() => return,
    };
    let patience = ConnectionTimeouts {
        idle: limits.http.idle_timeout,
        headers: limits.http.header_timeout,
        unread: limits.streams.stall_timeout,
    };
    let stream = TimedSocket::new(
        stream,
        Arc::clone(&activity),
        patience,
        Arc::clone(&service.0.unsent),
    );
    let serve = service_fn(move |request| route(&service, peer, activity.mark_busy(), request));
    let connection = http1::Builder::new()
        // The stream has its own timers, whereas hyper would create a timer for each request.
        .header_read_timeout(None)
        .max_headers(limits.http.max_headers)
        .max_buf_size(limits.http.max_header_bytes.max(8 << 10))
        .serve_connection(TokioIo::new(stream), serve);
    let mut connection = pin!(connection);
    let mut stopping = pin!(shutdown.cancelled());
    // Polling once is enough because `stopping` then wakes this task, and the same task serves the connection until it
    // closes.
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

/// Serves a request, depending on its path.
fn route(
    service: &HttpService,
    peer: Option<SocketAddr>,
    busy: BusyGuard,
    mut request: Request<Incoming>,
) -> HttpResponseFuture {
    let options = &service.0.options;
    let path = request.uri().path();
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_stream = options.legacy_sse && path == SSE_PATH && is_read;
    #[cfg_attr(
        not(feature = "auth"),
        expect(unused_mut, reason = "more paths are added")
    )]
    let mut is_endpoint = is_stream || path == options.path;
    #[cfg(feature = "auth")]
    {
        let authentication = &service.0.authentication;
        is_endpoint |= authentication.publishes_metadata_at(path, &options.path);
    }
    let route = if is_endpoint {
        Route::Endpoint
    } else {
        let probe = options.health.probe_at(path).map(Route::Probe);
        let extra = || options.route_at(path).map(Route::Extra);
        probe.or_else(extra).unwrap_or(Route::Unknown)
    };
    if is_stream {
        // Session headers from the client are ignored because this transport does not use them.
        request.headers_mut().remove(&SESSION);
        request.headers_mut().remove(&VERSION);
    }
    service.respond(route, peer, Some(busy), request)
}

// --- A socket that disconnects clients that send their request headers too slowly or do not read responses.

/// Time limits for a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionTimeouts {
    /// Maximum time between a response and the next request.
    pub(super) idle: Duration,
    /// Maximum time from the first byte of the request headers, or from the start of the connection, to the end of the
    /// headers.
    pub(super) headers: Duration,
    /// Maximum time that may pass without the client accepting any bytes sent to it.
    pub(super) unread: Duration,
}

/// A socket with time limits.
pub(super) struct TimedSocket<S> {
    socket: S,
    activity: Arc<ConnectionActivity>,
    patience: ConnectionTimeouts,
    /// What all clients have not yet read.
    unsent: Arc<ByteBudget>,
    /// `true` once request headers have begun to arrive.
    has_begun: bool,
    /// Deadline for the rest of the headers or for the first byte of the next request, while waiting for either.
    due: Option<Instant>,
    reading: Alarm,
    /// Time at which the client stopped accepting bytes, or `None` while it accepts them.
    blocked: Option<Instant>,
    writing: Alarm,
}

/// Maximum time that may pass without the client accepting any bytes if there is little room for what clients have not
/// yet read.
const MAX_UNREAD_TIME: Duration = Duration::from_secs(5);

/// Interval at which a connection that has waited for so long looks whether there is little room.
const ROOM_CHECK_INTERVAL: Duration = Duration::from_secs(1);

const IDLE: &str = "the client sent no further request in time";

const SLOW: &str = "the headers of a request are arriving too slowly";

const UNREAD: &str = "the client is not reading the data sent to it";

fn timeout_error<T>(what: &'static str) -> Poll<io::Result<T>> {
    Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, what)))
}

impl<S> TimedSocket<S> {
    pub(super) fn new(
        socket: S,
        activity: Arc<ConnectionActivity>,
        patience: ConnectionTimeouts,
        unsent: Arc<ByteBudget>,
    ) -> Self {
        Self {
            socket,
            activity,
            patience,
            unsent,
            has_begun: true,
            due: Some(instant_after(Instant::now(), patience.headers)),
            reading: Alarm::default(),
            blocked: None,
            writing: Alarm::default(),
        }
    }

    /// Limits how long a write may wait: less long if there is little room for what clients have not yet read.
    fn track_write<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.blocked = None;
            return polled;
        }
        let since = *self.blocked.get_or_insert_with(Instant::now);
        let last = instant_after(since, self.patience.unread);
        loop {
            let now = Instant::now();
            let is_over = now >= last || now >= since + MAX_UNREAD_TIME && self.unsent.is_scarce();
            if is_over {
                return timeout_error(UNREAD);
            }
            let next_look = (since + MAX_UNREAD_TIME)
                .max(now + ROOM_CHECK_INTERVAL)
                .min(last);
            ready!(self.writing.poll(next_look, cx));
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedSocket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.socket).poll_read(cx, buffer);
        if this.activity.is_busy() {
            (this.has_begun, this.due) = (false, None);
            return polled;
        }
        if polled.is_ready() {
            if buffer.filled().len() > before && !this.has_begun {
                // Most headers arrive all at once, so the time limit starts only when the socket must wait for more
                // data.
                (this.has_begun, this.due) = (true, None);
            }
            return polled;
        }
        let (time, what) = if this.has_begun {
            (this.patience.headers, SLOW)
        } else {
            (this.patience.idle, IDLE)
        };
        let begin = || instant_after(Instant::now(), time);
        let due = *this.due.get_or_insert_with(begin);
        ready!(this.reading.poll(due, cx));
        timeout_error(what)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedSocket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.track_write(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write_vectored(cx, slices);
        self.track_write(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.socket).poll_flush(cx);
        self.track_write(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Over TLS, shutting down writes a closing message.
        let polled = Pin::new(&mut self.socket).poll_shutdown(cx);
        self.track_write(cx, polled)
    }
}
