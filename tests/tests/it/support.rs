//! Connects the raw client to a server in this process. The only file that names a transport.

use std::sync::LazyLock;

use mcp_runtime::transport::memory;
use mcp_runtime::{Limits, Server};
use tests::{Client, Version};
use tracing::Dispatch;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::{Registry, registry};

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

/// Sends what is logged on this thread to a layer until the returned guard is dropped.
pub(crate) fn capture(layer: impl Layer<Registry> + Send + Sync) -> DefaultGuard {
    // While there is only one subscriber, `tracing` asks the thread that logs first whether anyone is interested in an
    // event, and that thread may not have a subscriber. It asks all subscribers if there are more than one.
    static OTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(registry()));
    LazyLock::force(&OTHER);
    tracing::subscriber::set_default(registry().with(layer))
}
