//! A gateway: other MCP servers behind one. Their tools and prompts get the prefix of their server; resources keep their
//! URIs. A server that is down does not stop the gateway.
//!
//! `PROXY_CONFIG=proxy.json proxy tools` lists the tools of all servers.

mod config;
mod connect;
mod definitions;
mod forward;
#[cfg(test)]
mod tests;
mod upstream;

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::server::Capability;
use tokio::task::JoinSet;

use crate::config::Settings;
use crate::connect::Connector;
use crate::definitions::Registry;
use crate::upstream::Upstream;

/// The time that servers have for their first connection. Those that need longer appear in the lists later.
const FIRST_CONNECTION: Duration = Duration::from_secs(10);

#[mcp_runtime::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Fails if the program has chosen another provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = new_server!().env::<Settings>("PROXY_");
    let targets = server.env_value::<Settings>()?.targets()?;
    let connectors = targets
        .into_iter()
        .map(|(prefix, target)| (prefix, Connector::Target(target)));
    Ok(gateway(server, connectors).await?.run().await?)
}

/// Connects to the servers and adds their definitions.
async fn gateway(
    server: Server,
    connectors: impl IntoIterator<Item = (String, Connector)>,
) -> Result<Server, mcp_runtime::Error> {
    let server = server
        .only([]) // has nothing of its own, and starts even if all servers are down
        .capability(Capability::Tools)
        .capability(Capability::Prompts)
        .capability(Capability::Resources)
        // The servers have checked their results, and clients check them again.
        .skip_output_checks();
    let registry = Arc::new(Registry::new(server.handle())?);
    let mut starting = JoinSet::new();
    for (prefix, connector) in connectors {
        let upstream = Arc::new(Upstream::new(prefix, connector, Arc::clone(&registry)));
        starting.spawn(async move {
            let first = tokio::time::timeout(FIRST_CONNECTION, upstream.start()).await;
            (upstream, first.ok())
        });
    }
    while let Some(started) = starting.join_next().await {
        if let Ok((upstream, first)) = started {
            server.handle().spawn(upstream.run(first));
        }
    }
    Ok(server)
}
