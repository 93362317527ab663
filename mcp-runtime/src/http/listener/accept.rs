//! Listeners: sources of HTTP connections.

use std::future::Future;
use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

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
