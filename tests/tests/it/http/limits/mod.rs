//! Sizes and numbers over HTTP: limits on the input and the resources of a client. Time limits are tested in `timeout`.

mod connections;
mod sessions;
mod stopping;
mod subscriptions;
mod unread;

use std::time::{Duration, Instant};

use mcp_runtime::Limits;
use mcp_runtime::http::{HttpOptions, TrustedProxies};
use serde_json::json;
use tests::Version;
use tests::client::PATIENCE;
use tests::http::Request;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::http::support::{Served, serve_with};

async fn serve(limits: Limits) -> Served {
    serve_with(HttpOptions::new(), limits).await
}

/// Serves clients behind a trusted proxy, which reports their addresses.
async fn serve_behind_proxy(limits: Limits) -> Served {
    let proxies = TrustedProxies::new(["127.0.0.1"]);
    serve_with(HttpOptions::new().trusted_proxies(proxies), limits).await
}

/// Returns the request as it comes from a client with this address.
fn from(address: &str, request: Request) -> Request {
    request.header("X-Forwarded-For", address)
}

fn ping(session: &str) -> Request {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    Request::legacy(session, &ping, Version::V2025_11_25)
}

/// Waits until the server closes the connection; returns how long that took.
async fn closed(stream: &mut TcpStream) -> Duration {
    let began = Instant::now();
    let mut rest = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
    // A reset also counts as an end.
    let _ = read.expect("the connection ends in time");
    began.elapsed()
}
