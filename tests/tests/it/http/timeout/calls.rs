//! Calls that are silent for a long time: their response begins as an event stream if the client accepts one.

use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::http::{HttpOptions, HttpSessions};
use mcp_runtime::prelude::*;
use serde_json::{Value, json};
use tests::Version;
use tests::http::Request;
use tests::wait::for_a_paused_day;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::time::{Instant, sleep};

use super::{Served, about, just_below, serve_with};
use crate::fixture::Shared;
use crate::fixture::waiting::wait;
use crate::http::support::{self, call, initialize, text};

/// After a while, uses a capability that the client has not declared, which is an error with a separate status in the
/// modern era.
#[tool(tags("http"))]
async fn ask_after(ctx: &Context, seconds: u64) -> Result<()> {
    sleep(Duration::from_secs(seconds)).await;
    ctx.roots().await?;
    Ok(())
}

/// Logs after a while, then waits until it is released or cancelled.
#[tool(tags("http"))]
async fn log_after(ctx: &Context, shared: State<Shared>, seconds: u64) -> &'static str {
    sleep(Duration::from_secs(seconds)).await;
    ctx.info("at work");
    wait(shared).await
}

/// A way to call the server.
#[derive(Clone, Copy, Debug)]
enum Way {
    Modern,
    Session(Version),
    Sealed,
    Stateless,
}

impl Way {
    const ALL: [Self; 6] = [
        Self::Modern,
        Self::Session(Version::V2025_03_26),
        Self::Session(Version::V2025_06_18),
        Self::Session(Version::V2025_11_25),
        Self::Sealed,
        Self::Stateless,
    ];

    fn serve(self, limits: Limits) -> Served {
        let sessions = match self {
            Self::Sealed => HttpSessions::Sealed,
            Self::Stateless => HttpSessions::None,
            Self::Modern | Self::Session(_) => HttpSessions::Memory,
        };
        let options = HttpOptions::new().sessions(sessions);
        serve_with(limits, options, Duration::ZERO)
    }

    /// Returns a tool call, after a handshake if one is necessary.
    async fn call(self, server: &Served, name: &str, arguments: Value) -> Request {
        let version = match self {
            Self::Modern => return Request::tool(name, arguments),
            Self::Session(version) => version,
            Self::Sealed | Self::Stateless => Version::V2025_11_25,
        };
        let hello = server.send(&initialize(version)).await;
        let session = hello.header("mcp-session-id").unwrap_or_default();
        let request = call(session, 1, name, arguments, version);
        if session.is_empty() {
            return request.without("Mcp-Session-Id");
        }
        request
    }
}

/// Returns the next line of a body that is neither empty nor the size of a chunk.
async fn line(body: &mut BufReader<impl AsyncRead + Unpin>) -> String {
    loop {
        let mut line = String::new();
        let read = for_a_paused_day(body.read_line(&mut line)).await;
        assert_ne!(read.unwrap(), 0);
        if line.contains(':') {
            return line;
        }
    }
}

/// Releases the waiting calls.
fn go_on(server: &Served) {
    server.shared.0.go_on.notify_waiters();
}

// Covers: HTTP-06, HTTP-08
// Limits: http.silence_timeout
#[tokio::test(start_paused = true)]
async fn a_silent_call_becomes_a_stream_of_comments_that_ends_with_its_answer() {
    for way in Way::ALL {
        let limits = Limits::default();
        let (stream_after, keep_alive) = (
            limits.http.silence_timeout,
            limits.streams.keep_alive_interval,
        );
        let server = way.serve(limits);
        let call = way.call(&server, "wait", json!({})).await;
        // Just before the limit, the response consists of the answer alone.
        let soon = async {
            sleep(just_below(stream_after)).await;
            go_on(&server);
        };
        let (mut response, ()) = tokio::join!(server.send(&call), soon);
        let kind = response.header("content-type");
        assert_eq!(kind, Some("application/json"), "{way:?}");
        assert_eq!(text(&response.message().await), "waited");

        let began = Instant::now();
        let response = server.send(&call).await;
        about(began.elapsed(), stream_after);
        assert_eq!((response.status, response.is_events()), (200, true));
        assert_eq!(response.header("x-accel-buffering"), Some("no"));
        let (began, mut body) = (Instant::now(), response.into_stream());
        for comments in 1..=2 {
            while !line(&mut body).await.starts_with(':') {}
            about(began.elapsed(), keep_alive * comments);
        }
        go_on(&server);
        let answer = loop {
            if let Some(data) = line(&mut body).await.strip_prefix("data: ") {
                break serde_json::from_str::<Value>(data).unwrap();
            }
        };
        assert_eq!(text(&answer), "waited", "{way:?}");
    }
}

// Covers: HTTP-06
#[tokio::test(start_paused = true)]
async fn a_client_that_accepts_only_json_waits_for_its_response() {
    for way in Way::ALL {
        let limits = Limits::default()
            .with(|limits| limits.http.silence_timeout = Duration::from_millis(100));
        let server = way.serve(limits);
        let call = way.call(&server, "wait", json!({})).await;
        let call = call.with("Accept", "application/json");
        let later = async {
            sleep(Duration::from_secs(10)).await;
            go_on(&server);
        };
        let (mut response, ()) = tokio::join!(server.send(&call), later);
        let kind = response.header("content-type");
        assert_eq!(kind, Some("application/json"), "{way:?}");
        assert_eq!(text(&response.message().await), "waited");
    }
}

#[tokio::test(start_paused = true)]
async fn no_silent_call_becomes_a_stream_if_that_is_disabled() {
    for way in Way::ALL {
        let server =
            way.serve(Limits::default().with(|limits| limits.http.silence_timeout = Duration::MAX));
        let call = way.call(&server, "wait", json!({})).await;
        let later = async {
            sleep(Duration::from_secs(15)).await;
            go_on(&server);
        };
        let (response, ()) = tokio::join!(server.send(&call), later);
        assert!(!response.is_events(), "{way:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_silent_call_becomes_a_stream_after_shutdown_started() {
    for way in Way::ALL {
        let limits =
            Limits::default().with(|limits| limits.calls.drain_timeout = Duration::from_secs(15));
        let server = way.serve(limits);
        let call = way.call(&server, "wait", json!({})).await;
        let stop = async {
            sleep(Duration::from_secs(1)).await;
            server.handle.shut_down();
            sleep(Duration::from_secs(10)).await;
            go_on(&server);
        };
        let (mut response, ()) = tokio::join!(server.send(&call), stop);
        assert!(!response.is_events(), "{way:?}");
        assert_eq!(text(&response.message().await), "waited");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_after_the_headers_is_the_last_event() {
    for way in Way::ALL {
        let server = way.serve(Limits::default());
        let early = way.call(&server, "ask_after", json!({"seconds": 1})).await;
        let status = if matches!(way, Way::Modern) { 400 } else { 200 };
        assert_eq!(server.status(&early).await, status, "{way:?}");
        let late = way.call(&server, "ask_after", json!({"seconds": 10})).await;
        let mut response = server.send(&late).await;
        assert_eq!((response.status, response.is_events()), (200, true));
        let all = response.all().await;
        assert_eq!(all.len(), 1, "{all:?}");
        if matches!(way, Way::Modern) {
            assert_eq!(all[0]["error"]["code"], -32021);
        } else {
            assert_eq!(all[0]["result"]["isError"], true);
        }
        assert_eq!(all[0]["id"], 1);
    }
}

// Covers: HTTP-06, LOG-05, PROG-01
#[tokio::test(start_paused = true)]
async fn a_message_of_a_call_opens_its_event_stream_at_once() {
    for way in Way::ALL {
        // Without a stored session there are no log messages.
        let logs = !matches!(way, Way::Sealed | Way::Stateless);
        let server = way.serve(Limits::default());
        let mut call = way.call(&server, "log_after", json!({"seconds": 2})).await;
        if matches!(way, Way::Modern) {
            let level = json!({"io.modelcontextprotocol/logLevel": "info"});
            let params = json!({"name": "log_after", "arguments": {"seconds": 2}, "_meta": level});
            call = Request::modern(1, "tools/call", params);
        }
        let began = Instant::now();
        let mut response = server.send(&call).await;
        about(
            began.elapsed(),
            Duration::from_secs(if logs { 2 } else { 5 }),
        );
        if logs {
            let message = response.next().await.unwrap();
            assert_eq!(message["params"]["data"], "at work", "{way:?}");
        }
        go_on(&server);
        assert_eq!(text(&response.next().await.unwrap()), "waited");

        let mut call = way.call(&server, "report_and_wait", json!({})).await;
        if matches!(way, Way::Modern) {
            let params = json!({"name": "report_and_wait", "_meta": {"progressToken": 1}});
            call = Request::modern(1, "tools/call", params);
        }
        let began = Instant::now();
        let mut response = server.send(&call).await;
        about(began.elapsed(), Duration::ZERO);
        let message = response.next().await.unwrap();
        assert_eq!(message["method"], "notifications/progress", "{way:?}");
        go_on(&server);
        assert_eq!(text(&response.next().await.unwrap()), "waited");
    }
    // A modern client that requests no log messages gets none.
    let server = Way::Modern.serve(Limits::default());
    let call = Request::tool("log_after", json!({"seconds": 1}));
    let began = Instant::now();
    let mut response = server.send(&call).await;
    about(began.elapsed(), Duration::from_secs(5));
    go_on(&server);
    assert_eq!(text(&response.all().await[0]), "waited");
}

// Covers: HTTP-09, LHTTP-05, LHTTP-08, LHTTP-09
#[tokio::test(start_paused = true)]
async fn a_disconnect_after_the_headers_drops_a_modern_call_only() {
    let server = Way::Modern.serve(Limits::default());
    let call = Request::tool("wait", json!({}));
    drop(server.send(&call).await);
    server.shared.dropped(1).await;

    let way = Way::Session(Version::V2025_11_25);
    let server = way.serve(Limits::default());
    let call = way.call(&server, "wait", json!({})).await;
    let mut response = server.send(&call).await;
    let first = response.event().await.unwrap();
    assert_eq!(first.data, "");
    drop(response);
    go_on(&server);
    let session = call.headers.iter();
    let (_, session) = session
        .clone()
        .find(|(name, _)| name == "Mcp-Session-Id")
        .unwrap();
    let get = Request::new("GET", Version::V2025_11_25)
        .header("Mcp-Session-Id", session)
        .header("Last-Event-ID", &first.id.unwrap())
        .answering("tools/call");
    let mut response = server.send(&get).await;
    assert_eq!(text(&response.next().await.unwrap()), "waited");
}

// Covers: BATCH-04
#[tokio::test(start_paused = true)]
async fn an_array_with_a_silent_call_becomes_a_stream() {
    let way = Way::Session(Version::V2025_03_26);
    let server = way.serve(Limits::default());
    let mut call = way.call(&server, "wait", json!({})).await;
    let slow: Value = serde_json::from_slice(&call.body).unwrap();
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    call.body = json!([slow, ping]).to_string().into_bytes();
    let began = Instant::now();
    let mut response = server.send(&call).await;
    about(began.elapsed(), Duration::from_secs(5));
    let first = response.event().await.unwrap();
    assert!(first.data.contains("\"id\":2"), "{first:?}");
    go_on(&server);
    let answer: Value = serde_json::from_str(&response.event().await.unwrap().data).unwrap();
    assert_eq!(text(&answer), "waited");
}

// Covers: HTTP-08
#[tokio::test]
async fn over_tcp_a_silent_call_sends_headers_and_comments_before_its_response() {
    let limits = Limits::default().with(|limits| {
        limits.http.silence_timeout = Duration::from_millis(50);
        limits.streams.keep_alive_interval = Duration::from_millis(50);
    });
    let server = support::serve_with(HttpOptions::new(), limits).await;
    let session = server.session(Version::V2025_11_25).await;
    for call in [
        Request::tool("wait", json!({})),
        call(&session, 1, "wait", json!({}), Version::V2025_11_25),
    ] {
        let response = server.send(&call).await;
        assert!(response.is_events());
        let mut body = response.into_stream();
        while line(&mut body).await != ": keep-alive\n" {}
        server.shared.0.go_on.notify_waiters();
        while !line(&mut body).await.contains("waited") {}
    }
}
