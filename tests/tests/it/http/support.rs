//! Servers on free ports, and clients that complete the handshake with them.

use std::net::SocketAddr;

use mcp_runtime::auth::{AuthError, ProtectedResource};
use mcp_runtime::http::HttpOptions;
use mcp_runtime::prelude::*;
use mcp_runtime::server::{Selected, ServerHandle};
use mcp_runtime::{Limits, Principal};
use serde_json::{Value, json};
use tests::Version;
use tests::http::{Request, Response, send};
pub(crate) use tests::http::{call, initialize, text};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::fixture::{self, Shared};

/// Closes the client's connection, and answers after `go_on` is notified.
#[tool(tags("http"))]
async fn let_go(ctx: &Context, shared: State<Shared>) -> &'static str {
    let go_on = shared.0.go_on.notified();
    ctx.close_stream();
    shared
        .0
        .started
        .fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    shared.0.changed.notify_waiters();
    go_on.await;
    "came back"
}

/// Takes arguments that headers mirror.
#[tool(tags("http"))]
fn mirror(
    #[arg(header = "Region")] region: Option<String>,
    #[arg(header = "Count")] count: Option<i64>,
    #[arg(header = "Urgent")] urgent: Option<bool>,
) -> String {
    format!("{region:?} {count:?} {urgent:?}")
}

/// Reports progress once, then waits until it is told to continue or is cancelled.
#[tool(tags("http"))]
async fn report_and_wait(ctx: &Context, shared: State<Shared>) -> &'static str {
    ctx.progress(1);
    crate::fixture::waiting::wait(shared).await
}

/// Spawns a task that reports progress as soon as it is told to continue, then waits to be cancelled.
#[tool(tags("http"))]
async fn report_from_task(ctx: &Context, shared: State<Shared>) -> &'static str {
    let (ctx, counters) = (ctx.clone(), std::sync::Arc::clone(&shared.0));
    tokio::spawn(async move {
        let go_on = counters.go_on.notified();
        counters
            .started
            .fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        counters.changed.notify_waiters();
        go_on.await;
        ctx.progress(1);
        counters
            .started
            .fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        counters.changed.notify_waiters();
    });
    crate::fixture::waiting::wait(shared).await
}

/// Blocks the thread it runs on until it is released.
#[tool(tags("http"))]
fn hog(shared: State<Shared>) {
    shared
        .0
        .started
        .fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    shared.0.changed.notify_waiters();
    shared.block();
}

/// The name of a user.
#[derive(Elicit)]
struct Name {
    name: String,
}

/// Reports progress, then asks for a name.
#[tool(tags("http"))]
async fn ask_name(ctx: &Context) -> Result<String> {
    if ctx.can_elicit() {
        ctx.progress(1);
    }
    let Name { name } = ctx.elicit("Who are you?").key("who").await?;
    Ok(format!("Hello, {name}!"))
}

/// A server on a free port. It stops when this is dropped.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) shared: Shared,
    pub(crate) handle: ServerHandle,
    pub(crate) task: JoinHandle<Result<(), mcp_runtime::Error>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves the fixture server.
pub(crate) async fn serve() -> Served {
    serve_with(HttpOptions::new(), Limits::default()).await
}

/// Serves the fixture server with these options and limits.
pub(crate) async fn serve_with(options: HttpOptions, limits: Limits) -> Served {
    serve_server(fixture::server().limits(limits).http(options)).await
}

/// Serves the fixture server, which refuses every access token.
pub(crate) async fn serve_nobody() -> Served {
    serve_nobody_with(HttpOptions::new()).await
}

/// Serves the fixture server with these options. It refuses every access token.
pub(crate) async fn serve_nobody_with(options: HttpOptions) -> Served {
    let refuse = |_: String| async { Err::<Principal, _>(AuthError::invalid("nobody may")) };
    let resource = ProtectedResource::new("https://mcp.example.com/mcp", refuse);
    serve_with(options.authenticate(resource), Limits::default()).await
}

/// Serves this server, with the fixture tools that need HTTP.
pub(crate) async fn serve_server(server: Server) -> Served {
    let shared = Shared::default();
    let server = server.only(Selected::tag("http")).state(shared.clone());
    let handle = server.handle();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(server.serve_http_listener(listener));
    Served {
        address,
        shared,
        handle,
        task,
    }
}

impl Served {
    pub(crate) async fn send(&self, request: &Request) -> Response {
        send(self.address, request).await
    }

    /// Sends a request whose answer is one message.
    pub(crate) async fn message(&self, request: &Request) -> (u16, Value) {
        let mut response = self.send(request).await;
        (response.status, response.message().await)
    }

    /// Sends a request that must be refused with this status and code.
    pub(crate) async fn refused(&self, request: &Request, status: u16, code: i64) {
        let (got, message) = self.message(request).await;
        assert_eq!(
            (got, &message["error"]["code"]),
            (status, &json!(code)),
            "{message}"
        );
    }

    /// Completes the handshake and returns the id of the session.
    pub(crate) async fn session(&self, version: Version) -> String {
        let mut response = self.send(&initialize(version)).await;
        assert_eq!(response.status, 200);
        let session = response.header("mcp-session-id").unwrap().to_owned();
        let result = response.message().await;
        assert_eq!(result["result"]["protocolVersion"], version.date());
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let mut response = self.send(&Request::legacy(&session, &ready, version)).await;
        assert_eq!((response.status, &*response.text().await), (202, ""));
        session
    }
}

/// Creates a handshake with a client name and a client capability of these lengths.
pub(crate) fn initialize_at_length(name: usize, capability: usize) -> Request {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"experimental": {"x": {"y": "z".repeat(capability)}}},
        "clientInfo": {"name": "n".repeat(name), "version": "1"},
    });
    let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    Request::bare(&message, Version::V2025_11_25)
}

/// Returns the next message of a stream. Needs a timeout, because comments keep a silent stream open forever.
pub(crate) async fn next_in_time(stream: &mut Response) -> Value {
    let next = tokio::time::timeout(tests::client::PATIENCE, stream.next()).await;
    next.expect("it is told").expect("the stream is open")
}

impl Served {
    /// Waits until the server no longer listens.
    pub(crate) async fn refused_connection(mut self) {
        let ended = tokio::time::timeout(tests::client::PATIENCE, &mut self.task).await;
        ended.expect("the server ends in time").unwrap().unwrap();
        tokio::net::TcpStream::connect(self.address)
            .await
            .expect_err("no server listens");
    }
}

/// Writes until the server has closed the connection; a client that does not read cannot detect the end any other way.
pub(crate) async fn until_reset(stream: &mut (impl AsyncWrite + Unpin)) {
    tests::wait::until(async || {
        let written = async {
            stream.write_all(b"\r\n").await?;
            stream.flush().await
        };
        written.await.is_err()
    })
    .await;
}
