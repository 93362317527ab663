//! Framing and bytes: any stream of bytes, memory, sockets, standard input and output.
//!
//! A [`Transport`] yields [`Connection`]s. Each is a channel of newline-delimited messages, driven by `duplex`; what a
//! message means is the dispatcher's business. Specification: basic/transports, "stdio" and "Custom transports".

mod dispatched;
mod duplex;
#[cfg(feature = "http")]
pub(crate) mod http;
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
#[cfg(feature = "http")]
pub use http::{
    EventStore, HttpBody, HttpListener, HttpOptions, HttpService, HttpSessions, MaybeReady,
    MemoryEvents, MemorySessions, SessionRecord, SessionStore, StreamEntry,
};
#[cfg(any(feature = "cli", feature = "testing"))]
pub(crate) use memory::memories;
pub use memory::{Memory, memory};
pub(crate) use serve::{serve, serve_process};
pub use signals::shutdown_signal;
pub use stdio::Stdio;

use crate::context::{Caller, Principal};
use crate::telemetry::Origin;

/// Where clients come from.
///
/// **Open**: implement it for whatever carries bytes both ways, reliably and in order. Messages are lines: one JSON-RPC
/// message (or, in revision 2025-03-26, one array of them) and a line feed. Each connection is one client: what it agreed
/// on in a handshake, its request ids, and what it listens to are its own. A client cancels a call with
/// `notifications/cancelled`; when its connection ends, calls under way may finish within
/// [`Limits::drain`](crate::Limits::drain), and are dropped after that.
///
/// ```
/// use std::io;
///
/// use mcp_runtime::transport::{Connection, Transport};
/// use tokio::net::TcpListener;
///
/// /// Whoever connects. (A `TcpListener` is a transport already.)
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
    /// The next client; `None` when there will be no more, which ends the server once all clients are served.
    ///
    /// May be dropped and called again at any time. An error ends the server, except those that concern one client
    /// only: aborted or reset connections, and being out of descriptors or memory, which is tried again.
    fn accept(&mut self) -> impl Future<Output = Option<io::Result<Connection>>> + Send;

    /// How many clients there may be at once. Default 1,024. While there are as many, nobody is accepted.
    fn most_connections(&self) -> usize {
        1_024
    }
}

/// Bytes from and to one client.
///
/// A connection ends at the first line that is not JSON, and at once if its first byte cannot begin a message: a web page
/// can make a browser send a request to any port of its machine, and every line of that request would be looked at. Only
/// standard input and [`memory`], which no web page reaches, answer such a line and go on.
pub struct Connection {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// Goes on after lines that are not JSON.
    forgiving: bool,
    /// Where its messages come from.
    origin: Origin,
    caller: Caller,
}

impl Connection {
    /// From both directions. Neither may block: they are polled by the task that serves the connection.
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

    /// From a stream that is both.
    pub fn from_stream(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self::new(reader, writer)
    }

    /// The same, of which it is known where its messages come from.
    fn with_origin(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    /// Whoever sends over it is this principal, as something that the client cannot make up says: the certificate of a TLS
    /// client, or the user at the other end of a local socket.
    ///
    /// Default: nobody in particular, who may do nothing that needs a scope.
    #[must_use]
    pub fn principal(self, principal: Principal) -> Self {
        Self {
            caller: principal.into(),
            ..self
        }
    }

    /// Whoever sends over it may do everything: scopes do not apply, as on standard input and output.
    #[must_use]
    pub fn trusted(self) -> Self {
        Self {
            caller: Caller::trusted(),
            ..self
        }
    }

    /// For clients that nobody else can pretend to be, also no web page: trusted, and lines that are not JSON are answered.
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

/// A connection is a transport of one client.
impl Transport for Option<Connection> {
    async fn accept(&mut self) -> Option<io::Result<Connection>> {
        self.take().map(Ok)
    }
}
