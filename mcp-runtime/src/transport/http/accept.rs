//! Where connections come from.

use std::future::Future;
use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// Where HTTP connections come from.
///
/// **Open**: implement it for whatever accepts streams of bytes. A TCP listener is one, and on Unix so is a local socket,
/// for servers behind a proxy on the same machine.
pub trait HttpListener: Send + 'static {
    /// A connection.
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;

    /// The next connection. It should not wait for anything the client sends: that would keep out everybody else.
    ///
    /// May be dropped and called again at any time. An error ends the server, except those that concern one client
    /// only: aborted or reset connections, and being out of descriptors or memory, which is tried again.
    fn accept(&mut self) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Who is at the other end of a connection, for logs; `None`, the default, if that cannot be told.
    fn peer_address(stream: &Self::Stream) -> Option<SocketAddr> {
        let _ = stream;
        None
    }

    /// The network address that clients connect to; `None` if no network leads here. The server does not start at one
    /// that other machines can reach unless a host was allowed
    /// ([`HttpOptions::allow_host`](crate::transport::HttpOptions::allow_host)).
    ///
    /// # Errors
    ///
    /// If it cannot be told.
    fn network_address(&self) -> io::Result<Option<SocketAddr>>;
}

impl HttpListener for TcpListener {
    type Stream = TcpStream;

    async fn accept(&mut self) -> io::Result<TcpStream> {
        let (stream, _) = TcpListener::accept(self).await?;
        // Answers are written whole; waiting for more would only delay them. Not essential.
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

/// Who may connect is decided by the permissions of the socket's file.
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
