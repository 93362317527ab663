//! Listeners: sources of HTTP connections.

use std::future::Future;
use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// A source of HTTP connections.
///
/// **Open**: implement it for anything that accepts streams of bytes. It is implemented for TCP listeners and, on Unix,
/// for local sockets, for servers behind a proxy on the same machine.
pub trait HttpListener: Send + 'static {
    /// The type of a connection.
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;

    /// Accepts the next connection. Do not wait for anything the client sends: that would keep out all other clients.
    ///
    /// May be dropped and called again at any time. An error ends the server, except for errors that concern a single
    /// client (aborted or reset connections) and a lack of descriptors or memory, after which accepting is retried.
    fn accept(&mut self) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Returns the address at the other end of a connection, for logs; `None`, the default, if it is unknown.
    fn peer_address(stream: &Self::Stream) -> Option<SocketAddr> {
        let _ = stream;
        None
    }

    /// Returns the network address that clients connect to; `None` if no network leads here. At an address that other
    /// machines can reach, the server starts only if a host was allowed
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
        // Responses are written whole; waiting for more bytes would only delay them. Not essential.
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

/// Access is controlled by the permissions of the socket's file.
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
