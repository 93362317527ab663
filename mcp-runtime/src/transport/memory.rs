//! A client in the same process.

use std::io;

use tokio::io::DuplexStream;

use crate::transport::{Connection, Transport};

/// How much is kept between the two sides.
const BUFFER: usize = 64 << 10;

/// The server's side of [`memory`].
#[derive(Debug)]
pub struct Memory(Option<DuplexStream>);

/// A transport of one client that is in the same process, and the client's side of it: a stream of lines.
///
/// Dropping the client's side ends the server.
#[must_use]
pub fn memory() -> (Memory, DuplexStream) {
    let (server, client) = tokio::io::duplex(BUFFER);
    (Memory(Some(server)), client)
}

impl Transport for Memory {
    async fn accept(&mut self) -> Option<io::Result<Connection>> {
        self.0
            .take()
            .map(|stream| Ok(Connection::from_stream(stream).forgiving()))
    }
}
