//! A server over HTTP that also serves its metrics to Prometheus, at `/metrics`: `metrics [ADDRESS]`, by default 127.0.0.1:8000.
//! Needs the feature `metrics` of the examples.

use mcp_runtime::http::HttpOptions;
use mcp_runtime::prelude::*;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use tokio::net::TcpListener;

/// Bucket bounds in seconds, from a simple lookup to a call of a slow service.
const BUCKETS: [f64; 11] = [
    0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0,
];

/// Adds two integers.
#[tool(read_only)]
fn add(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

/// Divides two integers.
#[tool(read_only)]
fn divide(a: i64, b: i64) -> Result<i64> {
    match a.checked_div(b) {
        Some(quotient) => Ok(quotient),
        None => bail!("`b` must not be 0"),
    }
}

#[mcp_runtime::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8000".into());

    // Must run before the server starts, because the server describes its metrics to the recorder.
    let metrics = PrometheusBuilder::new()
        .set_buckets_for_metric(
            Matcher::Full("mcp_server_operation_duration".into()),
            &BUCKETS,
        )?
        .install_recorder()?;
    let options = HttpOptions::new().route("/metrics", move |_| metrics.render());

    let listener = TcpListener::bind(&address).await?;
    Ok(new_server!()
        .http(options)
        .serve_http_listener(listener)
        .await?)
}
