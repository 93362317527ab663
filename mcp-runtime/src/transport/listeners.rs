//! Sockets that carry lines: TCP and, on Unix, local sockets.
//!
//! Nobody is asked who they are. A TCP listener belongs on a loopback address, or behind something that asks.

use std::io;

use tokio::net::TcpListener;

use crate::transport::{Connection, Transport};

/// Each TCP connection is a client. Lines in the clear and without authentication: listen on a loopback address.
impl Transport for TcpListener {
    async fn accept(&mut self) -> Option<io::Result<Connection>> {
        let accepted = TcpListener::accept(self).await;
        Some(accepted.map(|(stream, _)| {
            // Answers are written whole; waiting for more would only delay them. Not essential.
            let _ = stream.set_nodelay(true);
            let (reader, writer) = stream.into_split();
            Connection::new(reader, writer)
        }))
    }
}

/// Each connection to a local socket is a client. Who may connect is decided by the permissions of the socket's file.
#[cfg(unix)]
impl Transport for tokio::net::UnixListener {
    async fn accept(&mut self) -> Option<io::Result<Connection>> {
        let accepted = tokio::net::UnixListener::accept(self).await;
        Some(accepted.map(|(stream, _)| {
            let (reader, writer) = stream.into_split();
            Connection::new(reader, writer)
        }))
    }
}
