//! Connections, and the data that is sent over them.

use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::http::HttpOptions;
use serde_json::json;
use tests::http::{Request, response, response_on, write};
use tests::wait::for_a_paused_day;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::time::{Instant, sleep};

use super::{Served, about, closed, just_above, just_below, serve, serve_with};

// Limits: http.header_timeout, http.idle_timeout
#[tokio::test(start_paused = true)]
async fn headers_and_idle_connections_have_timeouts() {
    let limits = Limits::default();
    let (head, idle) = (limits.http.header_timeout, limits.http.idle_timeout);
    let server = serve(limits);
    let request = Request::tool("nothing", json!({}));
    about(closed(&mut server.connect()).await, head);
    // The time is measured from the first byte of a head, including any later head.
    for wait in [just_below(head), just_above(head)] {
        let mut stream = server.connect();
        let bytes = [request.head(), request.body.clone()].concat();
        let (first, rest) = bytes.split_at(20);
        stream.write_all(first).await.unwrap();
        sleep(wait).await;
        let _ = stream.write_all(rest).await;
        let is_answered = response(stream, &request)
            .await
            .is_some_and(|response| response.status == 200);
        assert_eq!(is_answered, wait < head, "{wait:?}");
    }
    for wait in [just_below(idle), just_above(idle)] {
        let mut stream = server.connect();
        write(&mut stream, &request).await;
        let mut first = response(stream, &request).await.unwrap();
        first.message().await;
        let mut stream = first.into_stream();
        sleep(wait).await;
        write(stream.get_mut(), &request).await;
        let is_answered = response_on(stream, &request).await.is_some();
        assert_eq!(is_answered, wait < idle, "{wait:?}");
    }
}

/// Sends a body of `size` bytes in two parts with a pause in between; returns the status.
async fn in_two_parts(server: &Served, size: usize, first: usize, pause: Duration) -> u16 {
    let mut request = Request::tool("nothing", json!({}));
    request.body.resize(size, b' ');
    let mut stream = server.connect();
    stream.write_all(&request.head()).await.unwrap();
    stream.write_all(&request.body[..first]).await.unwrap();
    sleep(pause).await;
    let _ = stream.write_all(&request.body[first..]).await;
    let mut response = response(stream, &request).await.unwrap();
    response.text().await;
    response.status
}

// Limits: http.handshake_timeout
#[tokio::test(start_paused = true)]
async fn a_tls_handshake_has_a_timeout() {
    let limits = Limits::default();
    let most = limits.http.handshake_timeout;
    for (takes, served) in [(just_below(most), true), (just_above(most), false)] {
        let server = serve_with(limits.clone(), HttpOptions::new(), takes);
        let request = Request::tool("nothing", json!({}));
        let mut stream = server.connect();
        write(&mut stream, &request).await;
        assert_eq!(
            response(stream, &request).await.is_some(),
            served,
            "{takes:?}"
        );
    }
}

// Limits: http.body_timeout, http.min_body_bytes_per_second
#[tokio::test(start_paused = true)]
async fn a_body_has_a_timeout_and_a_minimum_rate() {
    let server = serve(Limits::default().with(|limits| {
        limits.http.body_timeout = Duration::from_secs(30);
        limits.http.min_body_bytes_per_second = 100;
    }));
    // A thousand bytes earn ten seconds in addition to the first five.
    let earned = Duration::from_secs(15);
    for (pause, status) in [(just_below(earned), 200), (just_above(earned), 408)] {
        assert_eq!(
            in_two_parts(&server, 2_000, 1_000, pause).await,
            status,
            "{pause:?}"
        );
    }
    // Regardless of its size, the body must be complete in time.
    let most = Duration::from_secs(30);
    for (pause, status) in [(just_below(most), 200), (just_above(most), 408)] {
        assert_eq!(
            in_two_parts(&server, 9_000, 8_000, pause).await,
            status,
            "{pause:?}"
        );
    }
}

// Limits: streams.stall_timeout
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_disconnected_after_the_stall_timeout() {
    let limits = Limits::default();
    let stalled = limits.streams.stall_timeout;
    let server = serve(limits);
    let request = Request::tool("fill", json!({"bytes": 1_000_000}));
    for (wait, whole) in [(just_below(stalled), true), (just_above(stalled), false)] {
        let mut stream = server.connect();
        write(&mut stream, &request).await;
        sleep(wait).await;
        let mut all = Vec::new();
        let _ = for_a_paused_day(BufReader::new(stream).read_to_end(&mut all)).await;
        assert_eq!(all.len() > 1_000_000, whole, "{wait:?}: {}", all.len());
    }
}

// Limits: calls.drain_timeout
#[tokio::test(start_paused = true)]
async fn running_calls_have_the_drain_timeout_after_shutdown_started() {
    for (longer, served) in [(false, true), (true, false)] {
        let limits = Limits::default();
        let drain = limits.calls.drain_timeout;
        let server = serve(limits);
        let mut stream = server.connect();
        let waiting = Request::tool("wait", json!({}));
        write(&mut stream, &waiting).await;
        server.shared.started(1).await;
        server.handle.shut_down();
        sleep(if longer {
            just_above(drain)
        } else {
            just_below(drain)
        })
        .await;
        server.shared.0.go_on.notify_waiters();
        let answered = response(stream, &waiting).await;
        assert_eq!(answered.is_some_and(|answer| answer.status == 200), served);
    }
}

// Covers: SEC-05
#[tokio::test(start_paused = true)]
async fn slow_headers_and_bodies_and_idle_connections_are_given_up() {
    let limits = Limits::default().with(|limits| {
        limits.http.header_timeout = Duration::from_millis(200);
        limits.http.body_timeout = Duration::from_millis(200);
        limits.http.idle_timeout = Duration::from_millis(600);
    });
    let server = serve(limits);
    // Nothing is sent at all.
    let mut silent = server.connect();
    assert!(closed(&mut silent).await < Duration::from_secs(5));
    // A request head that trickles in.
    let mut slow = server.connect();
    slow.write_all(b"POST /mcp HTTP/1.1\r\n").await.unwrap();
    assert!(closed(&mut slow).await < Duration::from_secs(5));
    // A body that does not arrive.
    let request = Request::tool("nothing", json!({}));
    let mut slow = server.connect();
    slow.write_all(&request.head()).await.unwrap();
    let mut refused = response(slow, &request).await.unwrap();
    assert_eq!(refused.status, 408);
    refused.text().await;
    assert!(closed(&mut refused.into_stream().into_inner()).await < Duration::from_secs(5));
    // A connection that has been used may be idle for longer than a head may take; after that, it is closed.
    let mut stream = server.connect();
    write(&mut stream, &request).await;
    let mut first = response(stream, &request).await.unwrap();
    first.message().await;
    let mut stream = first.into_stream();
    sleep(Duration::from_millis(300)).await;
    write(stream.get_mut(), &request).await;
    let mut second = response_on(stream, &request).await.expect("still open");
    second.message().await;
    let mut stream = second.into_stream();
    // A later head that trickles in.
    stream.get_mut().write_all(b"POST").await.unwrap();
    assert!(closed(stream.get_mut()).await < Duration::from_millis(550));
}

/// Calls a tool with a large result and reads nothing of it.
async fn unread_answer(server: &Served, bytes: usize) -> DuplexStream {
    let mut stream = server.connect();
    write(&mut stream, &Request::tool("fill", json!({"bytes": bytes}))).await;
    // The head has arrived, so the rest waits to be read.
    stream.read_exact(&mut [0; 100]).await.unwrap();
    stream
}

// Limits: http.max_unsent_bytes
#[tokio::test(start_paused = true)]
async fn a_request_waits_while_its_client_leaves_answers_unread() {
    const LARGE: usize = 1_000_000;
    let (hurry, nothing) = (Duration::from_secs(5), Request::tool("nothing", json!({})));
    for (limit, waits) in [(2 * LARGE, true), (3 * LARGE, false)] {
        let limits = Limits::default().with(|limits| limits.http.max_unsent_bytes = limit);
        let server = serve(limits);
        let mut unread = unread_answer(&server, LARGE).await;
        let began = Instant::now();
        assert_eq!(server.status(&nothing).await, 200);
        if waits {
            about(began.elapsed(), hurry);
            // The connection that reads nothing has been closed.
            assert_eq!(closed(&mut unread).await, Duration::ZERO);
        } else {
            assert_eq!(began.elapsed(), Duration::ZERO);
            drop(unread);
        }
        // A large answer is possible as long as no other one is unread.
        let mut answer = server
            .send(&Request::tool("fill", json!({"bytes": 2 * LARGE})))
            .await;
        assert!(answer.text().await.len() > 2 * LARGE);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_client_reads_too_slowly_is_refused_before_it_runs() {
    const LARGE: usize = 1_000_000;
    let limits = Limits::default().with(|limits| limits.http.max_unsent_bytes = LARGE);
    let server = serve(limits);
    let mut slow = unread_answer(&server, LARGE).await;
    let reading = tokio::spawn(async move {
        // It reads something often enough for the connection to stay open.
        while slow.read_exact(&mut [0; 2_000]).await.is_ok() {
            sleep(Duration::from_secs(1)).await;
        }
    });
    let began = Instant::now();
    let refused = server.send(&Request::tool("nothing", json!({}))).await;
    about(began.elapsed(), Duration::from_secs(10));
    assert_eq!(refused.status, 429);
    assert!(refused.header("retry-after").is_some());
    reading.abort();
    let _ = reading.await;
    assert_eq!(
        server.status(&Request::tool("nothing", json!({}))).await,
        200
    );
}
