//! The service inside another program.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request as Incoming, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use mcp_runtime::Limits;
use mcp_runtime::http::{HttpOptions, HttpService};
use mcp_runtime::server::{Selected, ServerHandle};
use serde_json::json;
use tests::Version;
use tests::client::PATIENCE;
use tests::http::{Request, connect, response, send, write};
use tests::wait::in_time;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tower::ServiceExt as _;

use crate::fixture::{self, Shared};
use crate::http::support::{call, initialize, text};

/// A program that uses axum.
struct Program {
    address: SocketAddr,
    /// Asks the program to stop.
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Program {
    /// Serves until asked to stop, and then also stops `handle`.
    async fn start(app: Router, handle: ServerHandle) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let stopping = async move {
            let _ = stopped.await;
            handle.shut_down();
        };
        let serving = axum::serve(listener, app).with_graceful_shutdown(stopping);
        let task = tokio::spawn(async move { serving.await.unwrap() });
        Self {
            address,
            stop,
            task,
        }
    }

    /// Asks the program to stop and waits until it has.
    async fn stopped(self) {
        let _ = self.stop.send(());
        let ended = tokio::time::timeout(PATIENCE, self.task).await;
        ended.expect("the program ends in time").unwrap();
    }
}

fn service(options: HttpOptions) -> (HttpService, ServerHandle) {
    let server = fixture::server().http(options);
    let handle = server.handle();
    (server.into_http_service().unwrap(), handle)
}

/// Rejects requests whose body does not match the signature, which in this test is the body itself, in hexadecimal.
async fn check_signature(request: Incoming, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, 1 << 20).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let signed: String = body.iter().map(|byte| format!("{byte:02x}")).collect();
    if head
        .headers
        .get("signature")
        .is_none_or(|value| *value != *signed)
    {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    next.run(Incoming::from_parts(head, body.into())).await
}

// Covers: HTTP-16
#[tokio::test]
async fn axum_middleware_can_read_the_exact_body_and_pass_it_on() {
    let (service, handle) = service(HttpOptions::new());
    let app = Router::from(service).layer(from_fn(check_signature));
    let program = Program::start(app, handle).await;
    for request in [
        Request::tool("echo", json!({"text": "signed"})),
        initialize(Version::V2025_11_25),
    ] {
        let signature: String = request
            .body
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let signed = request.clone().header("Signature", &signature);
        let mut response = send(program.address, &signed).await;
        assert_eq!(response.status, 200);
        response.message().await;
        let forged = request.header("Signature", "00");
        assert_eq!(send(program.address, &forged).await.status, 401);
    }
    program.stopped().await;
}

// Covers: HTTP-04
#[tokio::test]
async fn an_axum_program_merges_the_server_with_its_own_routes_and_state() {
    let (service, handle) = service(HttpOptions::new());
    let app = Router::new()
        .route(
            "/",
            get(async |State(greeting): State<&'static str>| greeting),
        )
        .merge(service)
        .with_state("home");
    let program = Program::start(app, handle).await;
    let mut home = send(
        program.address,
        &Request::new("GET", Version::V2026_07_28).to("/"),
    )
    .await;
    assert_eq!(home.text().await, "home");
    let request = Request::tool("echo", json!({"text": "mounted"}));
    let mut answer = send(program.address, &request).await;
    assert_eq!(text(&answer.message().await), "mounted");
    let response = send(program.address, &initialize(Version::V2025_11_25)).await;
    assert!(response.header("mcp-session-id").is_some());
    // The server's guards apply here, too.
    let evil = request.with("Origin", "http://evil.example.com");
    assert_eq!(send(program.address, &evil).await.status, 403);
}

// Covers: HTTP-04
#[tokio::test]
async fn the_2024_11_05_endpoint_includes_the_path_of_a_nested_server() {
    let nested = |service: HttpService| Router::new().nest("/tools", service.into());
    let at_a_path = |service: HttpService| Router::new().nest_service("/tools/mcp", service);
    for app in [nested, at_a_path] {
        let (service, handle) = service(HttpOptions::new().legacy_sse(true));
        let program = Program::start(app(service), handle).await;
        let request = Request::tool("echo", json!({"text": "nested"})).to("/tools/mcp");
        let mut answer = send(program.address, &request).await;
        assert_eq!(text(&answer.message().await), "nested");
        let elsewhere = send(program.address, &request.to("/mcp")).await;
        assert_eq!(elsewhere.status, 404);
        let open = Request::new("GET", Version::V2024_11_05).to("/tools/mcp");
        let mut stream = send(program.address, &open).await;
        let endpoint = stream.event().await.unwrap().data;
        assert!(endpoint.starts_with("/tools/mcp?"), "{endpoint}");
    }
}

#[tokio::test]
async fn axum_middleware_runs_before_the_server() {
    async fn check(request: Incoming, next: Next) -> Response {
        if request.headers().contains_key("authorization") {
            next.run(request).await
        } else {
            StatusCode::UNAUTHORIZED.into_response()
        }
    }
    let (service, handle) = service(HttpOptions::new());
    let app = Router::new()
        .route("/", get(async || "home"))
        .merge(Router::from(service).layer(from_fn(check)));
    let program = Program::start(app, handle).await;
    let home = send(
        program.address,
        &Request::new("GET", Version::V2026_07_28).to("/"),
    )
    .await;
    assert_eq!(home.status, 200);
    let request = Request::tool("nothing", json!({}));
    assert_eq!(send(program.address, &request).await.status, 401);
    let request = request.header("Authorization", "Bearer x");
    assert_eq!(send(program.address, &request).await.status, 200);
}

// Covers: LIFE-11
#[tokio::test]
async fn a_program_that_is_stopped_ends_though_streams_are_open() {
    let (service, handle) = service(HttpOptions::new().legacy_sse(true));
    let program = Program::start(Router::from(service), handle).await;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let listen = Request::modern(7, "subscriptions/listen", filter);
    let mut listening = send(program.address, &listen).await;
    listening.next().await.unwrap();
    let hello = send(program.address, &initialize(Version::V2025_11_25)).await;
    let session = hello.header("mcp-session-id").unwrap().to_owned();
    let get = Request::new("GET", Version::V2025_11_25).header("Mcp-Session-Id", &session);
    let mut standalone = send(program.address, &get).await;
    let mut old = send(program.address, &Request::new("GET", Version::V2024_11_05)).await;
    assert_eq!(old.event().await.unwrap().name, "endpoint");

    program.stopped().await;
    assert_eq!(listening.next().await.unwrap()["id"], 7);
    assert_eq!(listening.next().await, None);
    assert_eq!(standalone.next().await, None);
    assert_eq!(old.next().await, None);
}

// Covers: LIFE-11
#[tokio::test]
async fn a_program_that_is_stopped_waits_for_calls_only_so_long() {
    let shared = Shared::default();
    let limits =
        Limits::default().with(|limits| limits.calls.drain_timeout = Duration::from_millis(100));
    let server = fixture::server()
        .only(Selected::tag("http"))
        .state(shared.clone())
        .limits(limits);
    let handle = server.handle();
    let app = Router::new().merge(server.into_http_service().unwrap());
    let program = Program::start(app, handle).await;
    let hello = send(program.address, &initialize(Version::V2025_11_25)).await;
    let session = hello.header("mcp-session-id").unwrap().to_owned();
    let streaming = json!({"name": "report_and_wait", "_meta": {"progressToken": 1}});
    let mut waiting = Vec::new();
    for (request, status) in [
        (Request::tool("wait", json!({})), 503),
        (
            call(&session, 1, "wait", json!({}), Version::V2025_11_25),
            503,
        ),
        (Request::modern(2, "tools/call", streaming), 200),
        (
            call(
                &session,
                3,
                "report_and_wait",
                json!({}),
                Version::V2025_11_25,
            ),
            200,
        ),
    ] {
        let mut stream = connect(program.address).await;
        write(&mut stream, &request).await;
        waiting.push((stream, request, status));
    }
    shared.started(4).await;
    program.stopped().await;
    for (stream, request, status) in waiting {
        let mut answer = response(stream, &request).await.unwrap();
        assert_eq!(answer.status, status);
        if status == 503 {
            let message = answer.message().await;
            assert_eq!(message["id"], 1, "{message}");
            assert_eq!(message["error"]["message"], "the server is stopping");
        } else {
            answer.text().await;
        }
    }
    shared.dropped(4).await;
}

#[tokio::test]
async fn background_work_ends_when_the_program_drops_the_service() {
    let (service, handle) = service(HttpOptions::new());
    let (events, mut seen) = mpsc::unbounded_channel();
    handle.spawn(async move {
        events.send("begins").unwrap();
        std::future::pending::<()>().await;
    });
    let request = Incoming::new(axum::body::Body::empty());
    let response = service.clone().oneshot(request).await.unwrap();
    assert!(response.status().is_client_error());
    assert_eq!(in_time(seen.recv()).await, Some("begins"));
    drop((response, service));
    let next = tokio::time::timeout(PATIENCE, seen.recv()).await;
    assert_eq!(next.expect("the work is dropped"), None);
}
