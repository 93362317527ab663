//! Serves each connection in its own task, limits the number of connections, and shuts down gracefully.

use std::collections::HashMap;
use std::future::Future;
#[cfg(feature = "cli")]
use std::future::ready;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, Id, JoinSet};
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use crate::error::Error;
use crate::http::listener::connection::serve_connection;
use crate::http::response::body::ConnectionActivity;
use crate::http::service::http_service::HttpService;
use crate::observe::{RefusalKind, record_refusal};
use crate::spawn::boxed;
use crate::transport::{OUT_OF_RESOURCES, is_temporary_accept_error};
#[cfg(feature = "cli")]
use crate::transport::{ProcessGuard, StopSequence, are_handlers_stuck};

/// An open connection.
struct OpenConnection {
    task: AbortHandle,
    since: Instant,
    activity: Arc<ConnectionActivity>,
}

/// Serves all connections, including their handshakes, until `shutdown` is cancelled. Work in progress may then finish
/// within [`limits.calls.drain_timeout`](crate::Limits).
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
#[cfg(feature = "cli")]
pub(crate) async fn serve_process(
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
        || state.heartbeat.is_handler_running() || state.dispatcher.is_blocking();
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
    /// ([`HttpOptions::allow_host`](crate::http::HttpOptions::allow_host)).
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
