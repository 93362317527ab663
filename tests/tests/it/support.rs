//! Connects the raw client to a server in this process. The only file that names a transport.

use mcp_runtime::transport::memory;
use mcp_runtime::{Limits, Server};
use tests::{Client, Version};

use crate::fixture::{self, Shared};

/// Creates a client of the fixture server and completes the handshake if its protocol version has one.
pub(crate) async fn client(version: Version) -> Client {
    connect(fixture::server(), version).await
}

/// Creates a client of a fixture server with these limits.
pub(crate) async fn limited(version: Version, limits: Limits) -> Client {
    connect(fixture::server().limits(limits), version).await
}

/// Creates a client; also returns the state that the handlers of its server share.
pub(crate) async fn client_and_state(version: Version) -> (Client, Shared) {
    let shared = Shared::default();
    let server = fixture::server().state(shared.clone());
    (connect(server, version).await, shared)
}

/// Creates a client of this server that has completed the handshake.
pub(crate) async fn connect(server: Server, version: Version) -> Client {
    raw(server, version).connect().await
}

/// Creates a client of this server that has not sent anything yet.
pub(crate) fn raw(server: Server, version: Version) -> Client {
    let (transport, stream) = memory();
    tokio::spawn(async move {
        server
            .serve(transport)
            .await
            .expect("the server starts and ends well");
    });
    let (reader, writer) = tokio::io::split(stream);
    Client::new(reader, writer, version)
}
