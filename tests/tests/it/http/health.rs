//! Liveness and readiness, for orchestrators.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use axum::Router;
use mcp_runtime::http::HttpOptions;
use mcp_runtime::server::ErrorKind;
use mcp_runtime::{Limits, Server};
use serde_json::json;
use tests::Version;
use tests::http::{Request, response, send, write};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::fixture;
use crate::http::support::{
    Served, initialize, serve, serve_nobody, serve_server, serve_with, text,
};

fn sent(verb: &'static str, path: &str) -> Request {
    Request::new(verb, Version::V2026_07_28).to(path)
}

fn get(path: &str) -> Request {
    sent("GET", path)
}

/// Returns the status of an answer, which must have no body.
async fn status(served: &Served, request: &Request) -> u16 {
    let mut response = served.send(request).await;
    assert_eq!(response.header("transfer-encoding"), None);
    assert_eq!(response.text().await, "");
    response.status
}

#[tokio::test]
async fn probes_are_answered_without_authentication() {
    let served = serve_nobody().await;
    let call = Request::tool("echo", json!({"text": "x"}));
    assert_eq!(served.send(&call).await.status, 401);
    for path in ["/livez", "/readyz"] {
        for request in [
            get(path),
            get(&format!("{path}?verbose")),
            get(path).header("Host", "10.1.2.3:8000"),
            get(path).header("Origin", "https://evil.example.com"),
            get(path).header("Authorization", "Basic x"),
            get(path)
                .header("Mcp-Session-Id", "x")
                .header("Mcp-Session-Id", "y"),
            get(path).header("MCP-Protocol-Version", "1066-10-14"),
            sent("HEAD", path),
        ] {
            assert_eq!(status(&served, &request).await, 200, "{request:?}");
        }
        for verb in ["POST", "PUT", "DELETE", "OPTIONS", "BREW"] {
            let request = sent(verb, path);
            assert_eq!(status(&served, &request).await, 405);
            let response = served.send(&request).await;
            assert_eq!(response.header("allow"), Some("GET, HEAD"));
        }
    }
    for path in ["/livez/", "//livez", "/Livez", "/livez%2f", "/livez/../mcp"] {
        assert_eq!(served.send(&get(path)).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn malformed_http_to_a_probe_does_not_affect_other_requests() {
    let served = serve().await;
    for (bytes, expected) in [
        // A body that is announced but never sent.
        (&b"POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\nx"[..], "405"),
        (b"GET /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", "200"),
        (b"GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "400"),
        (b"GET http://elsewhere/livez HTTP/1.1\r\nHost: a\r\n\r\n", "200"),
        (b"GET /livez HTTP/1.0\r\n\r\n", "200"),
        (b"GET /livez HTTP/1.1\r\nX: \xff\xfe\r\n\r\n", "200"),
        (b"GET /live\0z HTTP/1.1\r\n\r\n", "400"),
    ] {
        let mut stream = tests::http::connect(served.address).await;
        stream.write_all(bytes).await.unwrap();
        let answer = response(stream, &get("/livez")).await.unwrap();
        assert_eq!(answer.status.to_string(), expected, "{}", bytes.escape_ascii());
    }
    assert_eq!(status(&served, &get("/livez")).await, 200);
}

#[tokio::test]
async fn paths_can_be_chosen_and_turned_off() {
    let chosen = HttpOptions::new().live_path("healthz").ready_path("/ready");
    let served = serve_with(chosen, Limits::default()).await;
    for (path, expected) in [
        ("/healthz", 200),
        ("/ready", 200),
        ("/livez", 404),
        ("/readyz", 404),
    ] {
        assert_eq!(served.send(&get(path)).await.status, expected, "{path}");
    }
    let served = serve_with(HttpOptions::new().health(false), Limits::default()).await;
    for path in ["/livez", "/readyz"] {
        assert_eq!(served.send(&get(path)).await.status, 404);
    }
    for options in [
        HttpOptions::new().path("/livez"),
        HttpOptions::new().live_path("/readyz"),
        HttpOptions::new().legacy_sse(true).ready_path("/sse"),
    ] {
        let refused = fixture::server().http(options).into_http_service();
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.to_string().contains("is used twice"), "{error}");
    }
    let turned_off = HttpOptions::new().path("/livez").health(false);
    let served = serve_with(turned_off, Limits::default()).await;
    let call = Request::tool("echo", json!({"text": "an endpoint"})).to("/livez");
    assert_eq!(text(&served.message(&call).await.1), "an endpoint");
}

/// Returns a server that depends on a database, which is up or down.
fn depends_on(up: &Arc<AtomicBool>) -> Server {
    let up = Arc::clone(up);
    fixture::server().ready_check("database", move || {
        let is_up = up.load(SeqCst);
        async move { if is_up { Ok(()) } else { Err("no route to it") } }
    })
}

#[tokio::test]
async fn a_failed_ready_check_makes_the_server_unready_but_it_still_serves() {
    let up = Arc::new(AtomicBool::new(false));
    let served = serve_server(depends_on(&up)).await;
    assert_eq!(status(&served, &get("/readyz")).await, 503);
    assert_eq!(status(&served, &get("/livez")).await, 200);
    let call = Request::tool("echo", json!({"text": "still here"}));
    assert_eq!(text(&served.message(&call).await.1), "still here");
    served.session(Version::V2025_11_25).await;
    up.store(true, SeqCst);
    // The outcome of a check is reused for one second.
    tests::wait::until(async || status(&served, &get("/readyz")).await == 200).await;
}

// Limits: http.ready_check_timeout
#[tokio::test]
async fn a_ready_check_has_a_timeout() {
    for (hangs, expected) in [(false, 200), (true, 503)] {
        let limits = Limits::default()
            .with(|limits| limits.http.ready_check_timeout = Duration::from_secs(1));
        let check = move || async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            Ok::<_, std::io::Error>(())
        };
        let depends = fixture::server().limits(limits).ready_check("slow", check);
        let served = serve_server(depends).await;
        assert_eq!(status(&served, &get("/readyz")).await, expected);
    }
    let none = Limits::default().with(|limits| limits.http.ready_check_timeout = Duration::ZERO);
    let error = fixture::server()
        .limits(none)
        .into_http_service()
        .unwrap_err();
    assert!(
        error.to_string().contains("http.ready_check_timeout"),
        "{error}"
    );
}

#[tokio::test]
async fn a_router_has_probes_if_they_are_enabled() {
    let up = Arc::new(AtomicBool::new(false));
    for (options, nested, expected) in [
        (
            HttpOptions::new(),
            false,
            [("/livez", 404), ("/readyz", 404)],
        ),
        (
            HttpOptions::new().health(true),
            false,
            [("/livez", 200), ("/readyz", 503)],
        ),
        (
            HttpOptions::new()
                .live_path("/up")
                .allow_origin("https://app.example.com"),
            true,
            [("/tools/up", 200), ("/tools/readyz", 503)],
        ),
    ] {
        let service = depends_on(&up).http(options).into_http_service().unwrap();
        let app = if nested {
            Router::new().nest("/tools", service.into())
        } else {
            Router::from(service)
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move { axum::serve(listener, app).await });
        for (path, expected) in expected {
            let request = get(path)
                .with("Host", "10.1.2.3")
                .header("Origin", "https://app.example.com");
            let mut response = send(address, &request).await;
            let is_readable = response.header("access-control-allow-origin").is_some();
            assert_eq!(is_readable, nested, "{path}");
            assert_eq!(
                (response.status, &*response.text().await),
                (expected, ""),
                "{path}"
            );
        }
        task.abort();
    }
}

// Covers: LIFE-11
#[tokio::test]
async fn a_server_that_is_shut_down_is_not_ready() {
    let served = serve().await;
    let mut stream = tests::http::connect(served.address).await;
    // The connection is open, with half a request, when the server is told to stop.
    stream.write_all(b"GET /readyz HTTP/1.1\r\n").await.unwrap();
    write(
        &mut tests::http::connect(served.address).await,
        &initialize(Version::V2025_11_25),
    )
    .await;
    served.handle.shut_down();
    stream.write_all(b"Host: a\r\n\r\n").await.unwrap();
    if let Some(answer) = response(stream, &get("/readyz")).await {
        assert_eq!(answer.status, 503);
    }
    served.refused_connection().await;
}
