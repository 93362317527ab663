//! A server with well-behaved and misbehaving tools.

use std::io::{Error, Write as _};
use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::transport::Stdio;
use mcp_runtime::{Limits, bail};
use tokio::net::TcpListener;

/// The URI of the resource that clients subscribe to.
pub(crate) const WATCHED: &str = "soak://watched";

/// Adds two integers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

/// Says what it was told.
#[tool]
fn echo(text: String) -> String {
    text
}

/// Takes its time.
#[tool]
async fn slow(milliseconds: u64) -> &'static str {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    "slept"
}

/// Panics.
#[tool]
fn panics() -> String {
    panic!("as it was told to")
}

/// Fails.
#[tool]
fn fails() -> Result<String> {
    bail!("as it was told to")
}

/// Reports, and pauses between the reports.
#[tool]
async fn reports(ctx: Context, steps: u32) -> u32 {
    for step in 1..=steps {
        ctx.progress((step, steps));
        ctx.info("a step");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    steps
}

/// Says that something changed.
#[tool]
fn touch(ctx: &Context) {
    ctx.server().notify().resource_updated(WATCHED);
}

/// Something that changes.
#[resource("soak://watched")]
fn watched() -> &'static str {
    "changed"
}

#[tokio::main(worker_threads = 2)]
pub(crate) async fn serve() -> Result<(), Error> {
    // Abandoned sessions end after 20 seconds, so that the number of sessions becomes stable within the first minute.
    let limits =
        Limits::default().with(|limits| limits.sessions.idle_timeout = Duration::from_secs(20));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stderr(), "{}", listener.local_addr()?)?;
    let over_http = new_server!()
        .limits(limits.clone())
        .serve_http_listener(listener);
    let over_stdio = new_server!().limits(limits).serve(Stdio::open()?);
    // Runs until the parent process stops this one.
    let served = tokio::try_join!(over_http, over_stdio);
    served.map(|_| ()).map_err(Error::other)
}
