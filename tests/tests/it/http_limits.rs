//! How much, how slowly and how often: what a client cannot make the server hold.

use std::time::{Duration, Instant};

use mcp_runtime::Limits;
use mcp_runtime::http::HttpOptions;
use serde_json::json;
use tests::Revision;
use tests::client::PATIENCE;
use tests::http::{Request, connect, response, response_on, write};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http_support::{Served, call, initialize, serve_with};

async fn serve(limits: Limits) -> Served {
    serve_with(HttpOptions::new(), limits).await
}

fn ping(session: &str) -> Request {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    Request::legacy(session, &ping, Revision::V2025_11_25)
}

/// Waits until the server closes the connection, and says how long that took.
async fn closed(stream: &mut TcpStream) -> Duration {
    let began = Instant::now();
    let mut rest = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
    // A reset is an end too.
    let _ = read.expect("the connection ends in time");
    began.elapsed()
}

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
async fn a_head_may_only_be_so_long() {
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
async fn slow_heads_bodies_and_idle_connections_are_given_up() {
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

// Covers: LHTTP-19, SEC-02
// Limits: sessions.max_sessions
#[tokio::test]
async fn sessions_are_bounded_and_the_longest_idle_one_ends_first() {
    let server = serve(Limits::default().with(|limits| limits.sessions.max_sessions = 2)).await;
    let first = server.session(Revision::V2025_11_25).await;
    let second = server.session(Revision::V2025_11_25).await;
    server.message(&ping(&first)).await;
    let third = server.session(Revision::V2025_11_25).await;
    assert_eq!(server.message(&ping(&second)).await.0, 404);
    for session in [&first, &third] {
        let mut stream = connect(server.address).await;
        write(
            &mut stream,
            &call(session, 1, "wait", json!({}), Revision::V2025_11_25),
        )
        .await;
        std::mem::forget(stream);
    }
    server.shared.started(2).await;
    // None of them is idle now.
    let response = server.send(&initialize(Revision::V2025_11_25)).await;
    assert_eq!(response.status, 503);
    assert!(response.header("retry-after").is_some());
}

// Covers: LHTTP-12, LHTTP-19
#[tokio::test]
async fn idle_sessions_end_and_busy_ones_do_not() {
    let limits = Limits::default().with(|limits| {
        limits.sessions.start_timeout = Duration::from_millis(600);
        limits.sessions.idle_timeout = Duration::from_millis(1_500);
    });
    let server = serve(limits).await;
    let unused = server.send(&initialize(Revision::V2025_11_25)).await;
    let unused = unused.header("mcp-session-id").unwrap().to_owned();
    let idle = server.session(Revision::V2025_11_25).await;
    let busy = server.session(Revision::V2025_11_25).await;
    let streaming = server.session(Revision::V2025_11_25).await;
    let mut stream = connect(server.address).await;
    let waiting = call(&busy, 7, "wait", json!({}), Revision::V2025_11_25);
    write(&mut stream, &waiting).await;
    server.shared.started(1).await;
    let get = Request::new("GET", Revision::V2025_11_25).header("Mcp-Session-Id", &streaming);
    let open = server.send(&get).await;
    tokio::time::sleep(Duration::from_millis(800)).await;
    assert_eq!(server.message(&ping(&unused)).await.0, 404);
    assert_eq!(server.message(&ping(&idle)).await.0, 200);
    tokio::time::sleep(Duration::from_millis(1_800)).await;
    assert_eq!(server.message(&ping(&idle)).await.0, 404);
    assert_eq!(server.message(&ping(&busy)).await.0, 200);
    assert_eq!(server.message(&ping(&streaming)).await.0, 200);
    drop(open);
    server.shared.0.go_on.notify_waiters();
    assert_eq!(response(stream, &waiting).await.unwrap().status, 200);
}

// Covers: LHTTP-19
#[tokio::test]
async fn sessions_that_are_opened_and_abandoned_are_all_reaped() {
    let limits = Limits::default().with(|limits| {
        limits.sessions.start_timeout = Duration::from_millis(1);
        limits.sessions.max_sessions = 100_000;
    });
    let server = serve(limits).await;
    let request = initialize(Revision::V2025_11_25);
    let mut stream = tokio::io::BufReader::new(connect(server.address).await);
    let mut last = String::new();
    for _ in 0..10_000 {
        write(stream.get_mut(), &request).await;
        let mut response = response_on(stream, &request).await.unwrap();
        last = response.header("mcp-session-id").unwrap().to_owned();
        response.text().await;
        stream = response.into_stream();
    }
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(server.message(&ping(&last)).await.0, 404);
}

// Covers: SEC-05
// Limits: streams.max_open
#[tokio::test]
async fn streams_of_all_clients_together_are_bounded() {
    let options = HttpOptions::new().legacy_sse(true);
    let limits = Limits::default().with(|limits| limits.streams.max_open = 3);
    let server = serve_with(options, limits).await;
    let session = server.session(Revision::V2025_11_25).await;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let listen = Request::modern(1, "subscriptions/listen", filter);
    let get = Request::new("GET", Revision::V2025_11_25).header("Mcp-Session-Id", &session);
    let old = Request::new("GET", Revision::V2024_11_05);
    // One below, and at the limit.
    let mut open = Vec::new();
    for request in [&listen, &get, &old] {
        let response = server.send(request).await;
        assert_eq!(response.status, 200);
        open.push(response);
    }
    // Above: nobody gets one more, and everything else goes on.
    for request in [&listen, &get, &old] {
        let mut response = server.send(request).await;
        assert_eq!(response.status, 503);
        assert!(response.header("retry-after").is_some());
        assert!(response.text().await.contains("too many event streams"));
    }
    let report =
        json!({"name": "report", "arguments": {"values": [1]}, "_meta": {"progressToken": 1}});
    let mut called = server.send(&Request::modern(1, "tools/call", report)).await;
    assert_eq!(called.all().await.len(), 2);
    // One that ends makes room.
    open.pop();
    let made_room = async {
        while server.send(&listen).await.status != 200 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, made_room).await.unwrap();
}

// Covers: LHTTP-19
#[tokio::test]
async fn calls_of_a_session_are_bounded_and_a_refused_one_is_told() {
    let server = serve(Limits::default().with(|limits| limits.calls.max_running = 2)).await;
    let session = server.session(Revision::V2025_11_25).await;
    let mut streams = Vec::new();
    for id in 1..=2 {
        let mut stream = connect(server.address).await;
        write(
            &mut stream,
            &call(&session, id, "wait", json!({}), Revision::V2025_11_25),
        )
        .await;
        streams.push(stream);
    }
    server.shared.started(2).await;
    let (status, message) = server
        .message(&call(
            &session,
            3,
            "pause",
            json!({"ms": 1}),
            Revision::V2025_11_25,
        ))
        .await;
    assert_eq!((status, &message["error"]["code"]), (200, &json!(429)));
    assert_eq!(server.message(&ping(&session)).await.0, 200);
}

// Covers: LHTTP-08, LHTTP-19
#[tokio::test]
async fn what_is_no_longer_kept_cannot_be_resumed() {
    let limits = Limits::default().with(|limits| {
        limits.streams.max_replay_events = 2;
        limits.calls.max_progress_per_second = 1_000;
    });
    let server = serve(limits).await;
    let session = server.session(Revision::V2025_11_25).await;
    let values: Vec<i32> = (0..20).collect();
    let request = call(
        &session,
        1,
        "report",
        json!({"values": values}),
        Revision::V2025_11_25,
    );
    let mut stream = server.send(&request).await;
    let mut ids = Vec::new();
    while let Some(event) = stream.event().await {
        ids.extend(event.id);
    }
    let get = |id: &str| {
        Request::new("GET", Revision::V2025_11_25)
            .header("Mcp-Session-Id", &session)
            .header("Last-Event-ID", id)
            .answering("tools/call")
    };
    server.refused(&get(&ids[1]), 400, -32600).await;
    let mut rest = server.send(&get(&ids[ids.len() - 2])).await;
    assert_eq!(rest.all().await.len(), 1);
}

// Covers: LIFE-11
#[tokio::test]
async fn a_server_that_is_stopped_finishes_what_is_under_way() {
    let server = serve(Limits::default()).await;
    let session = server.session(Revision::V2025_11_25).await;
    let mut waiting = Vec::new();
    for request in [
        Request::tool("wait", json!({})),
        call(&session, 1, "wait", json!({}), Revision::V2025_11_25),
    ] {
        let mut stream = connect(server.address).await;
        write(&mut stream, &request).await;
        waiting.push((stream, request));
    }
    server.shared.started(2).await;
    let get = Request::new("GET", Revision::V2025_11_25).header("Mcp-Session-Id", &session);
    let mut open = server.send(&get).await;
    let shared = server.shared.clone();
    server.handle.shut_down();
    assert_eq!(open.all().await.len(), 0);
    shared.0.go_on.notify_waiters();
    for (stream, request) in waiting {
        let mut answer = response(stream, &request).await.unwrap();
        assert_eq!(crate::http_support::text(&answer.message().await), "waited");
    }
    server.refused_connection().await;
}

// Covers: LIFE-11
#[tokio::test]
async fn a_server_that_is_stopped_waits_only_so_long() {
    let server = serve(
        Limits::default().with(|limits| limits.calls.drain_timeout = Duration::from_millis(100)),
    )
    .await;
    let session = server.session(Revision::V2025_11_25).await;
    let mut streams = Vec::new();
    for request in [
        Request::tool("wait", json!({})),
        call(&session, 1, "wait", json!({}), Revision::V2025_11_25),
    ] {
        let mut stream = connect(server.address).await;
        write(&mut stream, &request).await;
        streams.push(stream);
    }
    server.shared.started(2).await;
    let shared = server.shared.clone();
    server.handle.shut_down();
    server.refused_connection().await;
    shared.dropped(2).await;
}

// Covers: LIFE-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_its_thread_holds_up_nobody_else() {
    let server = serve(Limits::default()).await;
    for _ in 0..3 {
        let mut stream = connect(server.address).await;
        write(&mut stream, &Request::tool("hog", json!({}))).await;
        server.shared.started(1).await;
        let began = Instant::now();
        assert_eq!(
            server.message(&Request::tool("nothing", json!({}))).await.0,
            200
        );
        assert!(
            began.elapsed() < Duration::from_millis(400),
            "{:?}",
            began.elapsed()
        );
        server
            .shared
            .0
            .started
            .store(0, std::sync::atomic::Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
}
