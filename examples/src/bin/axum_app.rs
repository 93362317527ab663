//! An axum program with its own routes and middleware, and MCP in addition: `axum-app ADDRESS`. MCP requests need the
//! header `Authorization: Bearer open sesame`. At SIGTERM, running calls may finish.
//!
//! Without an address, the same tools are served over standard input and output, for clients that start servers
//! themselves. Commands such as `axum-app call visits` and `axum-app check` work as with every server. Needs the
//! feature `axum` of the examples.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, extract};
use mcp_runtime::prelude::*;
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

type Visits = Arc<AtomicU64>;

/// Counts the visits of the home page.
#[tool]
fn visits(visits: &State<Visits>) -> u64 {
    visits.load(Ordering::Relaxed)
}

/// Counts the visits of the home page during the next seconds.
#[tool]
async fn watch_visits(
    ctx: &Context,
    visits: &State<Visits>,
    #[arg(range(1..=60))] seconds: u32,
) -> u64 {
    let before = visits.load(Ordering::Relaxed);
    for second in 0..seconds {
        ctx.progress(second);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    visits.load(Ordering::Relaxed) - before
}

async fn home(visits: extract::State<Visits>) -> &'static str {
    visits.fetch_add(1, Ordering::Relaxed);
    "Welcome!"
}

async fn check_token(request: Request, next: Next) -> Response {
    match request.headers().get(AUTHORIZATION) {
        Some(token) if token == "Bearer open sesame" => next.run(request).await,
        _ => StatusCode::UNAUTHORIZED.into_response(),
    }
}

#[mcp_runtime::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let visits = Visits::default();
    let server = new_server!().state(visits.clone());
    let Some(server) = server.command_line().await? else {
        return Ok(()); // a command such as `check` was run
    };
    let Some(address) = std::env::args().nth(1) else {
        return Ok(server.run().await?); // over standard input and output, with its own log and signals
    };
    // The log goes to standard error, filtered by RUST_LOG.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(EnvFilter::from_default_env())
        .init();
    let handle = server.handle();
    let mcp = Router::from(server.into_http_service()?).layer(from_fn(check_token));
    let app = Router::new()
        .route("/", get(home))
        .with_state(visits)
        .merge(mcp);

    let listener = TcpListener::bind(address).await?;
    let stop = async move {
        mcp_runtime::server::shutdown_signal().await;
        handle.shut_down(); // ends the event streams, which axum waits for
    };
    Ok(axum::serve(listener, app)
        .with_graceful_shutdown(stop)
        .await?)
}
