//! The transport for a client in the same process.

use std::collections::VecDeque;
use std::io;

use tokio::io::DuplexStream;

use crate::context::{Caller, Principal};
use crate::transport::{Connection, Transport};

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
#[cfg(any(feature = "cli", feature = "testing"))]
pub(crate) fn memories(clients: usize, caller: Caller) -> (Memory, Vec<DuplexStream>) {
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
