//! A client in the same process.

use std::collections::VecDeque;
use std::io;

use tokio::io::DuplexStream;

use crate::transport::{Connection, Transport};

/// How much is kept between the two sides.
const BUFFER: usize = 64 << 10;

/// The server's side of [`memory`].
#[derive(Debug)]
pub struct Memory(VecDeque<DuplexStream>);

/// A transport of one client that is in the same process, and the client's side of it: a stream of lines.
///
/// Dropping the client's side ends the server.
#[must_use]
pub fn memory() -> (Memory, DuplexStream) {
    let (server, client) = tokio::io::duplex(BUFFER);
    (Memory(VecDeque::from([server])), client)
}

/// Several clients of one server that are all in the same process.
#[cfg(any(feature = "cli", feature = "testing"))]
pub(crate) fn memories(clients: usize) -> (Memory, Vec<DuplexStream>) {
    let pairs = (0..clients).map(|_| tokio::io::duplex(BUFFER));
    let (servers, clients) = pairs.unzip();
    (Memory(servers), clients)
}

impl Transport for Memory {
    async fn accept(&mut self) -> Option<io::Result<Connection>> {
        self.0
            .pop_front()
            .map(|stream| Ok(Connection::from_stream(stream).local()))
    }
}
