//! The byte transports of `mcp-runtime`: memory, sockets, standard input and output, and any other kind of byte stream.
//!
//! **Internal to `mcp-runtime`.** Depend on that crate, which re-exports everything that servers need. Items in this crate
//! may change or disappear in any release, including patch releases.
//!
//! A [`Transport`] yields [`Connection`]s. Each connection is a channel of newline-delimited messages, which is driven
//! by `duplex`; the dispatcher interprets the messages. A server that owns its process also finds here what ends it: stop
//! signals, and handlers that block their thread.
// Specification: basic/transports, "stdio" and "Custom transports".
#![forbid(unsafe_code)]

mod duplex;
mod serve;
mod signals;
mod stdio;
mod watchdog;

use std::collections::VecDeque;
use std::future::Future;
use std::{fmt, io};

#[cfg(fuzzing)]
#[doc(hidden)]
pub use duplex::fuzzing;
use mcp_core::context::{Caller, Principal};
use mcp_core::observe::Origin;
#[doc(hidden)]
pub use serve::{OUT_OF_RESOURCES, is_temporary_accept_error};
#[doc(hidden)]
pub use serve::{serve, serve_process};
pub use signals::shutdown_signal;
#[doc(hidden)]
pub use signals::{ProcessGuard, StopSequence, are_handlers_stuck};
#[doc(hidden)]
pub use stdio::ParentProcess;
pub use stdio::Stdio;
#[cfg(unix)]
#[doc(hidden)]
pub use stdio::replace_unread_output;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
#[doc(hidden)]
pub use watchdog::{HandlerBeat, SupervisedChannel, Watchdog};

/// A source of client connections.
///
/// **Open**: implement it for any medium that carries bytes in both directions, reliably and in order. Messages are
/// lines, each consisting of one JSON-RPC message (or, in protocol version 2025-03-26, one array of messages) followed
/// by a line feed. Each connection serves a single client, with its own handshake, request ids and subscriptions. A
/// client cancels a call with `notifications/cancelled`. After a connection ends, running calls may finish within
/// [`limits.calls.drain_timeout`](mcp_core::limits::Limits) and are then dropped.
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
    /// Returns the next client, or `None` if no more clients will follow. In that case, the server shuts down once all
    /// clients have been served.
    ///
    /// The future may be dropped and the method called again at any time. An error ends the server unless it affects
    /// only a single client (an aborted, refused or reset connection), is an interruption, or indicates a lack of
    /// descriptors or memory. In these cases, the server tries again.
    fn accept(&mut self) -> impl Future<Output = Option<io::Result<Connection>>> + Send;

    /// Returns the maximum number of concurrent clients. Defaults to 1,024. While this many clients are connected, no
    /// further clients are accepted.
    fn max_connections(&self) -> usize {
        1_024
    }
}

/// A connection to a single client, which carries bytes in both directions.
///
/// A connection ends at the first line that is not JSON, or immediately if its first byte cannot be the start of a
/// message. Otherwise, a web page could make a browser send a request to any port on its machine, and the server would
/// handle every line of that request. Only standard input and [`memory`], which web pages cannot reach, answer such a
/// line and continue.
pub struct Connection {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// `true` if the connection continues after lines that are not JSON.
    forgiving: bool,
    /// Origin of the connection's messages, for observers.
    origin: Origin,
    caller: Caller,
}

impl Connection {
    /// Creates a connection from a reader and a writer. Neither may block, because both are polled by the task that
    /// serves the connection.
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

    /// Creates a connection from a stream that is both a reader and a writer.
    pub fn from_stream(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self::new(reader, writer)
    }

    /// Sets the origin of the connection's messages.
    fn with_origin(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    /// Sets the principal that uses the connection. Take it from a source that the client cannot forge, such as a TLS
    /// client certificate or the user at the other end of a local socket.
    ///
    /// By default, the caller is anonymous and has no scopes.
    #[must_use]
    pub fn with_principal(self, principal: Principal) -> Self {
        Self {
            caller: principal.into(),
            ..self
        }
    }

    /// Gives the client full access. Scopes do not apply, as with standard input and output.
    #[must_use]
    pub fn trusted(self) -> Self {
        Self {
            caller: Caller::trusted(),
            ..self
        }
    }

    /// Marks the client as local, which means that it is trusted and that the connection continues after lines that are
    /// not JSON. Use this only for clients that cannot be impersonated, for example by a web page.
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

/// A single connection is a transport with a single client.
impl Transport for Option<Connection> {
    async fn accept(&mut self) -> Option<io::Result<Connection>> {
        self.take().map(Ok)
    }
}

/// Maximum number of bytes that may be in transit in each direction.
const BUFFER: usize = 64 << 10;

/// The server's end of a [`memory`] transport.
#[derive(Debug)]
pub struct Memory {
    streams: VecDeque<DuplexStream>,
    caller: Caller,
}

/// Creates a transport for a single client in the same process. Also returns the client's end, which is a stream of
/// lines.
///
/// The client is trusted ([`Caller`]) unless [`Memory::with_principal`] sets the principal on whose behalf it acts.
/// Dropping the client's end stops the server.
#[must_use]
pub fn memory() -> (Memory, DuplexStream) {
    let (server, client) = tokio::io::duplex(BUFFER);
    let memory = Memory {
        streams: VecDeque::from([server]),
        caller: Caller::trusted(),
    };
    (memory, client)
}

/// Creates a transport for several clients in the same process. Also returns the client's end of each connection.
#[must_use]
pub fn memories(clients: usize, caller: Caller) -> (Memory, Vec<DuplexStream>) {
    let pairs = (0..clients).map(|_| tokio::io::duplex(BUFFER));
    let (streams, clients) = pairs.unzip();
    (Memory { streams, caller }, clients)
}

impl Memory {
    /// Sets the principal on whose behalf the client acts. The permissions of that principal then apply.
    #[must_use]
    pub fn with_principal(self, principal: Principal) -> Self {
        Self {
            caller: principal.into(),
            ..self
        }
    }
}

impl Transport for Memory {
    async fn accept(&mut self) -> Option<io::Result<Connection>> {
        let mut connection = Connection::from_stream(self.streams.pop_front()?).local();
        connection.caller = self.caller.clone();
        Some(Ok(connection))
    }
}
