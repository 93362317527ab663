//! Bodies, headers and connections.

use std::time::Duration;

use mcp_runtime::Limits;
use serde_json::json;
use tests::client::PATIENCE;
use tests::http::{Request, connect, response, response_on, write};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{closed, serve};

// Covers: HTTP-13, SEC-05
// Limits: http.max_body_bytes
#[tokio::test]
async fn a_body_may_be_as_long_as_the_limit_and_not_a_byte_longer() {
    let server = serve(Limits::default().with(|limits| limits.http.max_body_bytes = 4_096)).await;
    let of_size = |size: usize| {
        let mut request = Request::tool("nothing", json!({}));
        request.body.resize(size, b' ');
        request
    };
    assert_eq!(server.message(&of_size(4_096)).await.0, 200);
    server.refused(&of_size(4_097), 413, -32600).await;
    // The client gets to see the answer even if it insists on sending it all.
    server.refused(&of_size(3 << 20), 413, -32600).await;
    // And if it does not say how long it will be.
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
        // The first line is no field, and the last is empty.
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

// Covers: SEC-05
#[tokio::test]
async fn slow_headers_and_bodies_and_idle_connections_are_given_up() {
    let limits = Limits::default().with(|limits| {
        limits.http.header_timeout = Duration::from_millis(200);
        limits.http.body_timeout = Duration::from_millis(200);
        limits.http.idle_timeout = Duration::from_millis(600);
    });
    let server = serve(limits).await;
    // Nothing at all.
    let mut silent = connect(server.address).await;
    assert!(closed(&mut silent).await < Duration::from_secs(5));
    // A head that trickles in.
    let mut slow = connect(server.address).await;
    slow.write_all(b"POST /mcp HTTP/1.1\r\n").await.unwrap();
    assert!(closed(&mut slow).await < Duration::from_secs(5));
    // A body that does not come.
    let request = Request::tool("nothing", json!({}));
    let mut slow = connect(server.address).await;
    slow.write_all(&request.head()).await.unwrap();
    let mut refused = response(slow, &request).await.unwrap();
    assert_eq!(refused.status, 408);
    refused.text().await;
    assert!(closed(&mut refused.into_stream().into_inner()).await < Duration::from_secs(5));
    // A connection that was used may be idle for longer than a head may take, and is closed after that.
    let mut stream = connect(server.address).await;
    write(&mut stream, &request).await;
    let mut first = response(stream, &request).await.unwrap();
    first.message().await;
    let mut stream = first.into_stream();
    tokio::time::sleep(Duration::from_millis(300)).await;
    write(stream.get_mut(), &request).await;
    let mut second = response_on(stream, &request).await.expect("still open");
    second.message().await;
    let mut stream = second.into_stream();
    // A later head that trickles in.
    stream.get_mut().write_all(b"POST").await.unwrap();
    assert!(closed(stream.get_mut()).await < Duration::from_millis(550));
}

// Covers: HTTP-09, SEC-05
#[tokio::test]
async fn a_connection_that_is_half_closed_is_a_client_that_went_away() {
    let server = serve(Limits::default()).await;
    let mut stream = connect(server.address).await;
    write(&mut stream, &Request::tool("wait", json!({}))).await;
    server.shared.started(1).await;
    stream.shutdown().await.unwrap();
    server.shared.dropped(1).await;
}

// Covers: SEC-05
#[tokio::test]
async fn a_client_that_stops_reading_is_given_up() {
    let limits =
        Limits::default().with(|limits| limits.streams.stall_timeout = Duration::from_millis(300));
    let server = serve(limits).await;
    // More than the buffers of the system hold.
    let request = Request::tool("fill", json!({"bytes": 7_000_000}));
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = connect(server.address).await;
        write(&mut stream, &request).await;
        streams.push(stream);
    }
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    for stream in &mut streams {
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

// Covers: SEC-05
// Limits: http.max_connections
#[tokio::test]
async fn the_oldest_idle_connection_makes_room_for_a_new_one_and_a_busy_one_does_not() {
    let server = serve(Limits::default().with(|limits| limits.http.max_connections = 3)).await;
    let request = Request::tool("nothing", json!({}));
    let mut busy = connect(server.address).await;
    write(&mut busy, &Request::tool("wait", json!({}))).await;
    server.shared.started(1).await;
    let mut idle = connect(server.address).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let newer = connect(server.address).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(server.message(&request).await.0, 200);
    assert!(closed(&mut idle).await < Duration::from_secs(1));
    drop(newer);
    server.shared.0.go_on.notify_waiters();
    assert_eq!(response(busy, &request).await.unwrap().status, 200);
}
