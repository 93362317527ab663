//! Transports: byte streams of any kind, memory, sockets, standard input and output.
//!
//! A [`Transport`] yields [`Connection`]s. Each is a channel of newline-delimited messages, driven by `duplex`; the
//! dispatcher interprets the messages. Specification: basic/transports, "stdio" and "Custom transports".

mod dispatched;
mod duplex;
mod listeners;
mod memory;
mod peer;
mod process;
mod serve;
mod signals;
mod stdio;
mod watchdog;

use std::fmt;
use std::future::Future;
use std::io;

use tokio::io::{AsyncRead, AsyncWrite};

#[cfg(fuzzing)]
pub(crate) use duplex::fuzzing;
#[cfg(any(feature = "cli", feature = "testing"))]
pub(crate) use memory::memories;
pub use memory::{Memory, memory};
#[cfg(all(feature = "cli", feature = "http"))]
pub(crate) use process::{Process, is_stuck};
#[cfg(feature = "http")]
pub(crate) use serve::{OUT_OF_RESOURCES, is_passing};
pub(crate) use serve::{serve, serve_process};
pub use signals::shutdown_signal;
pub use stdio::Stdio;
#[cfg(feature = "http")]
pub(crate) use watchdog::{Beat, Watchdog, Watched};

use crate::context::{Caller, Principal};
use crate::telemetry::Origin;

/// A source of client connections.
///
/// **Open**: implement it for anything that carries bytes in both directions, reliably and in order. Messages are lines: one
/// JSON-RPC message (or, in protocol version 2025-03-26, one array of them) and a line feed. Each connection is one client,
/// with a handshake, request ids and subscriptions that no other connection shares. A client cancels a call with
/// `notifications/cancelled`; when its connection ends, running calls may finish within
/// [`limits.calls.drain_timeout`](crate::Limits), and are dropped after that.
///
/// ```
/// use std::io;
///
/// use mcp_runtime::transport::{Connection, Transport};
/// use tokio::net::TcpListener;
///
/// /// Accepts every client. (A `TcpListener` is already a transport.)
/// struct Everybody(TcpListener);
///
/// impl Transport for Everybody {
///     async fn accept(&mut self) -> Option<io::Result<Connection>> {
///         let accepted = self.0.accept().await;
///         Some(accepted.map(|(stream, _)| Connection::from_stream(stream)))
///     }
/// }
/// ```
pub trait Transport: Send + 'static {
    /// Returns the next client; `None` when there will be no more, which ends the server once all clients are served.
    ///
    /// The future may be dropped and the method called again at any time. An error ends the server, except for errors of a
    /// single client (aborted, refused or reset connections), interruptions, and lack of descriptors or memory: the server
    /// then tries again.
    fn accept(&mut self) -> impl Future<Output = Option<io::Result<Connection>>> + Send;

    /// Returns the maximum number of concurrent clients. Default 1,024. While it is reached, no client is accepted.
    fn most_connections(&self) -> usize {
        1_024
    }
}

/// A connection to one client, as bytes in both directions.
///
/// A connection ends at the first line that is not JSON, and at once if its first byte cannot begin a message: a web page
/// can make a browser send a request to any port of its machine, and the server would handle every line of that request.
/// Only standard input and [`memory`], which no web page can reach, answer such a line and continue.
pub struct Connection {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// `true` if it continues after lines that are not JSON.
    forgiving: bool,
    /// Origin of its messages, for telemetry.
    origin: Origin,
    caller: Caller,
}

impl Connection {
    /// Creates a connection from a reader and a writer. Neither may block: they are polled by the task that serves the
    /// connection.
    pub fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self {
            reader: Box::new(reader),
            writer: Box::new(writer),
            forgiving: false,
            origin: Origin::default(),
            caller: Caller::anonymous(),
        }
    }

    /// Creates a connection from a stream that is both.
    pub fn from_stream(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self::new(reader, writer)
    }

    /// Sets the origin of its messages.
    fn with_origin(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    /// Sets the principal that sends over the connection. Take it from a source that the client cannot forge: the certificate
    /// of a TLS client, or the user at the other end of a local socket.
    ///
    /// Default: an anonymous caller, without any scopes.
    #[must_use]
    pub fn with_principal(self, principal: Principal) -> Self {
        Self {
            caller: principal.into(),
            ..self
        }
    }

    /// Lets the client do everything: scopes do not apply, as on standard input and output.
    #[must_use]
    pub fn trusted(self) -> Self {
        Self {
            caller: Caller::trusted(),
            ..self
        }
    }

    /// Marks the client as local, for clients that nothing else, such as a web page, can impersonate: it is trusted, and the
    /// connection continues after lines that are not JSON.
    fn local(self) -> Self {
        Self {
            forgiving: true,
            ..self.trusted()
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

/// A connection is a transport with one client.
impl Transport for Option<Connection> {
    async fn accept(&mut self) -> Option<io::Result<Connection>> {
        self.take().map(Ok)
    }
}
