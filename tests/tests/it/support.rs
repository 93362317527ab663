//! Connects the raw client to a server in this process. The only file that names a transport.

use mcp_runtime::transport::memory;
use mcp_runtime::{Limits, Server};
use tests::{Client, Revision};

use crate::fixture::{self, Shared};

/// A client of the fixture server that has shaken hands, if its revision asks for that.
pub(crate) async fn client(revision: Revision) -> Client {
    connect(fixture::server(), revision).await
}

/// A client of a fixture server that keeps to other limits.
pub(crate) async fn limited(revision: Revision, limits: Limits) -> Client {
    connect(fixture::server().limits(limits), revision).await
}

/// A client and what the handlers of its server share.
pub(crate) async fn client_and_state(revision: Revision) -> (Client, Shared) {
    let shared = Shared::default();
    let server = fixture::server().state(shared.clone());
    (connect(server, revision).await, shared)
}

/// A client of this server that has shaken hands.
pub(crate) async fn connect(server: Server, revision: Revision) -> Client {
    raw(server, revision).connect().await
}

/// A client of this server that has said nothing yet.
pub(crate) fn raw(server: Server, revision: Revision) -> Client {
    let (transport, stream) = memory();
    tokio::spawn(async move {
        server
            .serve(transport)
            .await
            .expect("the server starts and ends well");
    });
    let (reader, writer) = tokio::io::split(stream);
    Client::new(reader, writer, revision)
}
