//! Time limits of HTTP, on a simulated clock, so that each can be tested just below and just above its value.

mod calls;
mod connections;
mod jobs;
mod sessions;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use mcp_runtime::http::{HttpListener, HttpOptions};
use mcp_runtime::server::{Selected, ServerHandle};
use mcp_runtime::{Limits, Server};
use serde_json::json;
use tests::Version;
use tests::http::{Request, Response, response, write};
use tests::wait::for_a_paused_day;
use tokio::io::{AsyncReadExt as _, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::fixture::{self, Shared};
use crate::http::support::initialize;

/// Less than any difference that matters here.
const MOMENT: Duration = Duration::from_millis(20);

fn just_below(limit: Duration) -> Duration {
    limit.saturating_sub(MOMENT)
}

fn just_above(limit: Duration) -> Duration {
    limit + MOMENT
}

/// Connections that never leave the process.
struct Inside(mpsc::UnboundedReceiver<DuplexStream>);

impl HttpListener for Inside {
    type Stream = DuplexStream;

    async fn accept(&mut self) -> io::Result<DuplexStream> {
        match self.0.recv().await {
            Some(stream) => Ok(stream),
            None => std::future::pending().await,
        }
    }

    fn network_address(&self) -> io::Result<Option<SocketAddr>> {
        Ok(None)
    }
}

struct Served {
    connections: mpsc::UnboundedSender<DuplexStream>,
    shared: Shared,
    handle: ServerHandle,
    task: JoinHandle<Result<(), mcp_runtime::Error>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn serve(limits: Limits) -> Served {
    serve_with(limits, HttpOptions::new(), Duration::ZERO)
}

/// Serves connections whose handshake takes this long.
fn serve_with(limits: Limits, options: HttpOptions, handshake: Duration) -> Served {
    let server = fixture::server().only(Selected::tag("http")).limits(limits);
    serve_server(server.http(options), handshake)
}

/// Serves connections whose handshake takes this long, using this server.
fn serve_server(server: Server, handshake: Duration) -> Served {
    let (connections, accepted) = mpsc::unbounded_channel();
    let shared = Shared::default();
    let server = server.state(shared.clone());
    let handle = server.handle();
    let serving = server.serve_http_with(Inside(accepted), move |stream| async move {
        sleep(handshake).await;
        io::Result::Ok(stream)
    });
    Served {
        connections,
        shared,
        handle,
        task: tokio::spawn(serving),
    }
}

impl Served {
    fn connect(&self) -> DuplexStream {
        let (here, there) = duplex(64 << 10);
        self.connections.send(there).unwrap();
        here
    }

    async fn send(&self, request: &Request) -> Response<DuplexStream> {
        let mut stream = self.connect();
        write(&mut stream, request).await;
        response(stream, request).await.expect("an answer")
    }

    async fn status(&self, request: &Request) -> u16 {
        let mut response = self.send(request).await;
        response.text().await;
        response.status
    }

    async fn session(&self) -> String {
        let hello = self.send(&initialize(Version::V2025_11_25)).await;
        hello.header("mcp-session-id").unwrap().to_owned()
    }

    /// Creates a session whose client has completed initialization.
    async fn ready_session(&self) -> String {
        let session = self.session().await;
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let ready = Request::legacy(&session, &ready, Version::V2025_11_25);
        assert_eq!(self.status(&ready).await, 202);
        session
    }
}

/// Returns the time until the server closes the connection.
async fn closed(stream: &mut DuplexStream) -> Duration {
    let began = Instant::now();
    let mut rest = Vec::new();
    let _ = for_a_paused_day(stream.read_to_end(&mut rest)).await;
    began.elapsed()
}

fn about(took: Duration, limit: Duration) {
    assert!(
        took >= limit && took <= limit + Duration::from_secs(1),
        "{took:?} instead of {limit:?}"
    );
}
