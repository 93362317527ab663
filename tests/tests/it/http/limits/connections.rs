//! Bodies, headers and connections.

use std::time::Duration;

use mcp_runtime::Limits;
use serde_json::json;
use tests::client::PATIENCE;
use tests::http::{Request, connect, response, write};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{closed, serve};
use crate::http::support::{Served, until_reset};

// Covers: HTTP-13, SEC-05
// Limits: http.max_body_bytes
#[tokio::test]
async fn a_body_can_have_exactly_the_maximum_length() {
    let server = serve(Limits::default().with(|limits| limits.http.max_body_bytes = 4_096)).await;
    let of_size = |size: usize| {
        let mut request = Request::tool("nothing", json!({}));
        request.body.resize(size, b' ');
        request
    };
    assert_eq!(server.message(&of_size(4_096)).await.0, 200);
    server.refused(&of_size(4_097), 413, -32600).await;
    // The client sees the answer even if it insists on sending the whole body.
    server.refused(&of_size(3 << 20), 413, -32600).await;
    // The same applies if the client does not announce the length.
    let mut stream = connect(server.address).await;
    let request = of_size(5_000)
        .header("Transfer-Encoding", "chunked")
        .header("Content-Length", "x");
    let head = String::from_utf8(request.head())
        .unwrap()
        .replace("Content-Length: x\r\n", "");
    stream.write_all(head.as_bytes()).await.unwrap();
    for part in request.body.chunks(1_000) {
        stream
            .write_all(format!("{:x}\r\n", part.len()).as_bytes())
            .await
            .unwrap();
        stream.write_all(part).await.unwrap();
        stream.write_all(b"\r\n").await.unwrap();
    }
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    assert_eq!(response(stream, &request).await.unwrap().status, 413);
}

// Covers: SEC-05
// Limits: http.max_header_bytes, http.max_headers
#[tokio::test]
async fn headers_have_a_maximum_size() {
    let server = serve(Limits::default().with(|limits| {
        limits.http.max_header_bytes = 8 << 10;
        limits.http.max_headers = 20;
    }))
    .await;
    let long = Request::tool("nothing", json!({})).header("X-Long", &"x".repeat(16 << 10));
    let mut stream = connect(server.address).await;
    write(&mut stream, &long).await;
    let status = response(stream, &long)
        .await
        .map(|response| response.status);
    assert!(matches!(status, None | Some(431)), "{status:?}");
    let fitting = Request::tool("nothing", json!({})).header("X-Long", &"x".repeat(7 << 10));
    assert_eq!(server.send(&fitting).await.status, 200);
    for (fields, fits) in [(19, true), (20, true), (21, false), (50, false)] {
        let mut many = Request::tool("nothing", json!({}));
        // The first line is not a field, and the last line is empty.
        let there = many.head().split(|byte| *byte == b'\n').count() - 3;
        for number in there..fields {
            many = many.header(&format!("X-{number}"), "x");
        }
        let mut stream = connect(server.address).await;
        write(&mut stream, &many).await;
        let status = response(stream, &many).await;
        let status = status.map(|response| response.status);
        assert_eq!(status == Some(200), fits, "{fields}: {status:?}");
        assert!(matches!(status, None | Some(200 | 431)), "{status:?}");
    }
    assert_eq!(
        server.message(&Request::tool("nothing", json!({}))).await.0,
        200
    );
}

// Covers: HTTP-09, SEC-05
#[tokio::test]
async fn a_half_closed_connection_drops_its_call() {
    let server = serve(Limits::default()).await;
    let mut stream = connect(server.address).await;
    write(&mut stream, &Request::tool("wait", json!({}))).await;
    server.shared.started(1).await;
    stream.shutdown().await.unwrap();
    server.shared.dropped(1).await;
}

// Covers: SEC-05
#[tokio::test]
async fn a_client_that_stops_reading_is_disconnected() {
    let limits =
        Limits::default().with(|limits| limits.streams.stall_timeout = Duration::from_millis(300));
    let server = serve(limits).await;
    // This is more than the buffers of the system hold.
    let request = Request::tool("fill", json!({"bytes": 7_000_000}));
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = connect(server.address).await;
        write(&mut stream, &request).await;
        streams.push(stream);
    }
    for stream in &mut streams {
        until_reset(stream).await;
        let mut all = Vec::new();
        let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut all))
            .await
            .unwrap();
        assert!(all.len() < 7_000_000, "{}", all.len());
    }
    assert_eq!(
        server.message(&Request::tool("nothing", json!({}))).await.0,
        200
    );
}

/// Opens a connection and completes one request on it.
async fn used(server: &Served, request: &Request) -> TcpStream {
    let mut stream = connect(server.address).await;
    write(&mut stream, request).await;
    let mut answered = response(stream, request).await.unwrap();
    answered.message().await;
    answered.into_stream().into_inner()
}

// Covers: SEC-05
// Limits: http.max_connections
#[tokio::test]
async fn the_oldest_idle_connection_is_closed_for_a_new_one() {
    let server = serve(Limits::default().with(|limits| limits.http.max_connections = 3)).await;
    let request = Request::tool("nothing", json!({}));
    let mut busy = connect(server.address).await;
    write(&mut busy, &Request::tool("wait", json!({}))).await;
    server.shared.started(1).await;
    // The server has seen each of them before the next one arrives.
    let mut idle = used(&server, &request).await;
    let newer = used(&server, &request).await;
    assert_eq!(server.message(&request).await.0, 200);
    assert!(closed(&mut idle).await < Duration::from_secs(1));
    drop(newer);
    server.shared.0.go_on.notify_waiters();
    assert_eq!(response(busy, &request).await.unwrap().status, 200);
}
