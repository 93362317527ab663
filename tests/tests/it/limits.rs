//! Each field of `Limits`: below, at, and above it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::transport::memory;
use mcp_runtime::{Context, Limits, State, tool};
use serde_json::{Value, json};
use tests::{Client, Revision};
use tokio::io::AsyncWriteExt as _;

use crate::fixture;
use crate::support::{connect, limited};

fn ping_of(length: usize) -> String {
    let empty =
        json!({"jsonrpc": "2.0", "id": "p", "method": "ping", "params": {"x": ""}}).to_string();
    let filler = "x".repeat(length - empty.len());
    json!({"jsonrpc": "2.0", "id": "p", "method": "ping", "params": {"x": filler}}).to_string()
}

async fn served(client: &mut Client, line: &str) -> bool {
    client.remember(&json!({"id": "p", "method": "ping"}));
    client.line(line).await;
    let answer = client.read().await.unwrap();
    client.pass().await;
    answer.get("result").is_some()
}

// Covers: SEC-05, STDIO-06
// Limits: message.max_line_bytes
#[tokio::test]
async fn the_length_of_a_line() {
    let mut client = limited(
        Revision::V2025_11_25,
        Limits::default().with(|limits| limits.message.max_line_bytes = 1_000),
    )
    .await;
    for (length, fits) in [(999, true), (1_000, true), (1_001, false), (5_000, false)] {
        assert_eq!(
            served(&mut client, &ping_of(length)).await,
            fits,
            "{length}"
        );
    }
}

// Covers: SEC-05
// Limits: message.max_depth
#[tokio::test]
async fn the_depth_of_a_message() {
    let mut client = limited(
        Revision::V2025_11_25,
        Limits::default().with(|limits| limits.message.max_depth = 10),
    )
    .await;
    // The message and its parameters are two levels.
    for (depth, fits) in [(9, true), (10, true), (11, false)] {
        let nested = format!("{}{}", "[".repeat(depth - 2), "]".repeat(depth - 2));
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":"p","method":"ping","params":{{"x":{nested}}}}}"#);
        assert_eq!(served(&mut client, &line).await, fits, "{depth}");
    }
}

// Covers: SEC-05
// Limits: message.max_values
#[tokio::test]
async fn the_values_in_a_message() {
    let mut client = limited(
        Revision::V2025_11_25,
        Limits::default().with(|limits| limits.message.max_values = 1_000),
    )
    .await;
    for (items, fits) in [(900, true), (980, true), (1_001, false)] {
        let line =
            json!({"jsonrpc": "2.0", "id": "p", "method": "ping", "params": {"x": vec![1; items]}})
                .to_string();
        assert_eq!(served(&mut client, &line).await, fits, "{items}");
    }
}

// Covers: SEC-05, BASE-02
// Limits: message.max_id_bytes
#[tokio::test]
async fn the_length_of_an_id() {
    let mut client = limited(
        Revision::V2025_11_25,
        Limits::default().with(|limits| limits.message.max_id_bytes = 10),
    )
    .await;
    for (length, fits) in [(9, true), (10, true), (11, false)] {
        let message = json!({"jsonrpc": "2.0", "id": "i".repeat(length), "method": "ping"});
        client.remember(&message);
        client.line(&message.to_string()).await;
        let answer = client.read().await.unwrap();
        assert_eq!(answer.get("result").is_some(), fits, "{length}");
        assert!(fits || answer["error"]["code"] == -32600);
    }
}

// Covers: SEC-05, TOOL-09
// Limits: message.max_name_bytes
#[tokio::test]
async fn the_length_of_a_name() {
    for revision in Revision::ERAS {
        let limits = Limits::default().with(|limits| limits.message.max_name_bytes = 10);
        let mut client = limited(revision, limits).await;
        for (length, fits) in [(9, true), (10, true), (11, false)] {
            for method in ["tools/call", "prompts/get"] {
                let name = json!({"name": "x".repeat(length)});
                let failure = client.fails(method, name, -32602).await;
                let refused = failure.message.contains("longer than 10 bytes");
                assert_eq!(refused, !fits, "{method}: {}", failure.message);
            }
        }
        // Nine letters, ten, and eleven, of tools that are there.
        client.refused("arguments", json!({})).await;
        client.tool("structured", json!({})).await;
        client
            .fails("tools/call", json!({"name": "panic_later"}), -32602)
            .await;
    }
}

// Covers: SEC-05, RES-04
// Limits: message.max_uri_bytes, message.max_cursor_bytes
#[tokio::test]
async fn the_length_of_an_address_and_of_a_cursor() {
    for revision in Revision::ERAS {
        let limits = Limits::default().with(|limits| {
            limits.message.max_uri_bytes = 13;
            limits.message.max_cursor_bytes = 20;
        });
        let mut client = limited(revision, limits).await;
        client
            .ok("resources/read", json!({"uri": "test://static"}))
            .await;
        client
            .fails("resources/read", json!({"uri": "test://several"}), -32602)
            .await;
        client
            .fails("tools/list", json!({"cursor": "x".repeat(21)}), -32602)
            .await;
        if !revision.is_modern() {
            client
                .ok("resources/subscribe", json!({"uri": "test://static"}))
                .await;
            client
                .fails(
                    "resources/subscribe",
                    json!({"uri": "test://static2"}),
                    -32602,
                )
                .await;
        }
    }
}

// Covers: SEC-05, BATCH-06
// Limits: message.max_batch
#[tokio::test]
async fn the_length_of_a_batch() {
    let mut client = limited(
        Revision::V2025_03_26,
        Limits::default().with(|limits| limits.message.max_batch = 3),
    )
    .await;
    for (length, fits) in [(2, true), (3, true), (4, false)] {
        let batch: Vec<Value> = (0..length)
            .map(|index| json!({"jsonrpc": "2.0", "id": format!("{index}"), "method": "ping"}))
            .collect();
        client.send(&json!(batch)).await;
        let answer = client.read().await.unwrap();
        assert_eq!(
            answer.as_array().map(Vec::len),
            fits.then_some(length),
            "{answer}"
        );
    }
}

// Covers: SEC-05
// Limits: calls.max_running, calls.max_queued
#[tokio::test]
async fn the_calls_under_way() {
    for revision in Revision::ERAS {
        let shared = fixture::Shared::default();
        let limits = Limits::default().with(|limits| {
            limits.calls.max_running = 2;
            limits.calls.max_queued = 1;
        });
        let server = fixture::server().state(shared.clone()).limits(limits);
        let mut client = connect(server, revision).await;
        let mut ids = Vec::new();
        for _ in 0..4 {
            ids.push(client.start("tools/call", json!({"name": "wait"})).await);
        }
        client.response(&ids[3]).await.unwrap_err();
        shared.started(2).await;
        client.cancel(&ids[0]).await;
        shared.started(3).await;
        shared.0.go_on.notify_waiters();
        client.response(&ids[1]).await.unwrap();
        client.response(&ids[2]).await.unwrap();
    }
}

// Covers: SEC-05, TOOL-11
// Limits: calls.max_result_bytes
#[tokio::test]
async fn the_size_of_a_result() {
    for revision in Revision::ERAS {
        let mut client = limited(
            revision,
            Limits::default().with(|limits| limits.calls.max_result_bytes = 10_000),
        )
        .await;
        let text = client.refused("fill", json!({"bytes": 11_000})).await;
        // In these words in every revision.
        let expected = "the result is larger than 10000 bytes, so ask for less";
        assert_eq!(text, expected);
        // What is around the text counts too, so the last length that fits is looked for.
        let (mut fits, mut exceeds) = (9_000, 10_000);
        while exceeds - fits > 1 {
            let bytes = usize::midpoint(fits, exceeds);
            let params = json!({"name": "fill", "arguments": {"bytes": bytes}});
            let result = client.request("tools/call", params).await.unwrap();
            let around = json!({"jsonrpc": "2.0", "id": 1, "result": result});
            if result["isError"] == true {
                exceeds = bytes;
            } else {
                fits = bytes;
                let length = around.to_string().len();
                // An id has one digit, or two.
                assert!(length <= 10_000, "{length}");
            }
        }
        assert!(fits > 9_500, "{fits}");
    }
}

// Covers: SEC-05, TOOL-11
// Limits: calls.timeout
#[tokio::test(start_paused = true)]
async fn the_time_of_a_tool() {
    let limits = Limits::default().with(|limits| limits.calls.timeout = Duration::from_millis(50));
    for revision in Revision::ERAS {
        let mut client = limited(revision, limits.clone()).await;
        client.text("pause", json!({"ms": 49})).await;
        client.refused("pause", json!({"ms": 52})).await;
        client.refused("wait", json!({})).await;
        client.text("add", json!({"a": 1, "b": 2})).await;
    }
}

// Covers: SEC-05, SUBS-11
// Limits: streams.max_subscriptions, streams.max_listens
#[tokio::test]
async fn the_addresses_followed_and_the_listeners() {
    let limits = Limits::default().with(|limits| {
        limits.streams.max_subscriptions = 2;
        limits.streams.max_listens = 2;
    });
    let mut legacy = limited(Revision::V2025_11_25, limits.clone()).await;
    for (uri, fits) in [
        ("a://1", true),
        ("a://2", true),
        ("a://2", true),
        ("a://3", false),
    ] {
        assert_eq!(
            legacy
                .request("resources/subscribe", json!({"uri": uri}))
                .await
                .is_ok(),
            fits,
            "{uri}"
        );
    }
    let mut modern = limited(Revision::V2026_07_28, limits).await;
    let filter = json!({"notifications": {"resourceSubscriptions": ["a://1", "a://2", "a://3"]}});
    modern.fails("subscriptions/listen", filter, -32602).await;
    for _ in 0..2 {
        modern
            .start("subscriptions/listen", json!({"notifications": {}}))
            .await;
        modern
            .notification("notifications/subscriptions/acknowledged")
            .await;
    }
    modern
        .fails("subscriptions/listen", json!({"notifications": {}}), -32602)
        .await;
}

// Covers: SEC-05, SEC-06, COMP-05
// Limits: calls.max_completions_per_second, calls.max_completion_bytes
#[tokio::test]
async fn completions_their_input_and_their_rate() {
    for revision in Revision::ERAS {
        let limits = Limits::default().with(|limits| {
            limits.calls.max_completion_bytes = 10;
            limits.calls.max_completions_per_second = 5;
        });
        let mut client = limited(revision, limits).await;
        let params = |value: &str| json!({"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "language", "value": value}});
        client
            .ok("completion/complete", params(&"x".repeat(10)))
            .await;
        client
            .fails("completion/complete", params(&"x".repeat(11)), -32602)
            .await;
        let mut refused = 0;
        for _ in 0..40 {
            refused += u32::from(
                client
                    .request("completion/complete", params(""))
                    .await
                    .is_err(),
            );
        }
        assert!(refused > 10, "{refused} of 40 refused");
    }
}

// Covers: SEC-05, STDIO-03
#[tokio::test]
async fn the_time_output_may_stay_unread() {
    let (transport, stream) = memory();
    let limits = Limits::default().with(|limits| {
        limits.streams.stall_timeout = Duration::from_millis(200);
        limits.streams.max_outgoing_bytes = 10_000;
    });
    let server = tokio::spawn(fixture::server().limits(limits).serve(transport));
    let (reader, writer) = tokio::io::split(stream);
    let mut client = Client::new(reader, writer, Revision::V2025_11_25)
        .connect()
        .await;
    for id in 0..100 {
        let call = json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "fill", "arguments": {"bytes": 50_000}},
        });
        let line = format!("{call}\n");
        if client.try_bytes(line.as_bytes()).await.is_err() {
            break;
        }
    }
    let ended = tokio::time::timeout(tests::client::PATIENCE, server).await;
    let error = ended.expect("it is closed in time").unwrap().unwrap_err();
    assert!(error.to_string().contains("does not read"), "{error}");
}

/// How many pings are taken from a client that reads none of the answers.
async fn taken_unread(outgoing: usize) -> usize {
    let (transport, mut stream) = memory();
    let limits = Limits::default().with(|limits| limits.streams.max_outgoing_bytes = outgoing);
    let server = tokio::spawn(fixture::server().limits(limits).serve(transport));
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}
"#;
    let mut taken = 0;
    // The clock moves on only when nothing else does.
    while tokio::time::timeout(Duration::from_millis(10), stream.write_all(ping))
        .await
        .is_ok()
    {
        taken += 1;
    }
    server.abort();
    taken
}

// Covers: STDIO-03
// Limits: streams.max_outgoing_bytes
#[tokio::test(start_paused = true)]
async fn the_bytes_that_wait_to_be_written() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.len() + 1;
    // What both sides hold besides is the same each time.
    let less = taken_unread(10_000).await;
    let more = taken_unread(100_000).await;
    let expected = 90_000 / answer;
    assert!(
        (expected - 250..=expected + 250).contains(&(more - less)),
        "{less}, {more}"
    );
}

// Covers: SEC-05, STDIO-07
#[tokio::test]
async fn the_time_work_may_go_on_after_the_end_of_input() {
    for (drain, finished) in [(50, false), (5_000, true)] {
        let limits = Limits::default()
            .with(|limits| limits.calls.drain_timeout = Duration::from_millis(drain));
        let mut client = limited(Revision::V2025_11_25, limits).await;
        client
            .start(
                "tools/call",
                json!({"name": "pause", "arguments": {"ms": 500}}),
            )
            .await;
        client.close().await;
        let mut results = 0;
        while let Some(message) = client.read().await {
            // Work that is cut short is refused, so that every request has its one answer.
            results += i32::from(
                message
                    .get("result")
                    .is_some_and(|result| result["isError"] != true),
            );
        }
        assert_eq!(results, i32::from(finished), "{drain} ms");
    }
}

/// How many calls of `hold` run, and how many ran at most at once.
#[derive(Default)]
struct Held {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// Holds a thread for a moment.
#[tool(tags("limits"), blocking)]
fn hold(held: &State<Held>) {
    let now = held.now.fetch_add(1, Ordering::SeqCst) + 1;
    held.most.fetch_max(now, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(50));
    held.now.fetch_sub(1, Ordering::SeqCst);
}

/// Logs so many messages.
#[tool(tags("limits"))]
fn chatter(ctx: &Context, messages: u32) {
    for message in 0..messages {
        ctx.warning(message);
    }
}

/// Reports so many steps at once.
#[tool(tags("limits"))]
fn steps(ctx: &Context, steps: u32) {
    for step in 1..=steps {
        ctx.progress((step, steps));
    }
}

async fn tight(revision: Revision, limits: Limits) -> (Client, State<Held>) {
    let held = State(Arc::new(Held::default()));
    let server = mcp_runtime::Server::new("limits", "1")
        .tags(["limits"])
        .shared_state(Arc::clone(&held.0))
        .limits(limits);
    (connect(server, revision).await, held)
}

// Covers: SEC-05
// Limits: calls.max_blocking
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_threads_that_may_be_blocked() {
    for (calls, most) in [(1, 1), (2, 2), (3, 2), (6, 2)] {
        let limits = Limits::default().with(|limits| limits.calls.max_blocking = 2);
        let (mut client, held) = tight(Revision::V2026_07_28, limits).await;
        let mut ids = Vec::new();
        for _ in 0..calls {
            ids.push(client.start("tools/call", json!({"name": "hold"})).await);
        }
        for id in ids {
            client.response(&id).await.unwrap();
        }
        assert_eq!(held.most.load(Ordering::SeqCst), most, "{calls}");
    }
}

// Covers: SEC-05, SEC-06, LOG-06
// Limits: log.max_per_second
#[tokio::test]
async fn the_log_messages_of_a_session() {
    for (messages, arrive) in [(9, 9), (10, 10), (11, 10), (500, 10)] {
        let limits = Limits::default().with(|limits| limits.log.max_per_second = 5);
        let (mut client, _) = tight(Revision::V2025_11_25, limits).await;
        client.tool("chatter", json!({"messages": messages})).await;
        // One more may have been let through while the messages were made.
        let seen = client.drain().await.len();
        assert!((arrive..=arrive + 1).contains(&seen), "{messages}: {seen}");
    }
}

// Covers: SEC-05, SEC-06, PROG-03
// Limits: calls.max_progress_per_second
#[tokio::test]
async fn the_progress_of_a_call() {
    for (steps, least, most) in [(4, 4, 4), (5, 5, 5), (6, 6, 6), (500, 6, 7)] {
        let limits = Limits::default().with(|limits| limits.calls.max_progress_per_second = 5);
        let (mut client, _) = tight(Revision::V2025_11_25, limits).await;
        let params = json!({"name": "steps", "arguments": {"steps": steps}, "_meta": {"progressToken": "t"}});
        client.ok("tools/call", params).await;
        let seen = client.drain().await;
        assert!(
            (least..=most).contains(&seen.len()),
            "{steps}: {}",
            seen.len()
        );
        assert_eq!(
            seen.last().unwrap()["params"]["progress"],
            steps,
            "the last is never lost"
        );
    }
}

#[test]
fn strict_limits_are_nowhere_looser() {
    let (strict, usual) = (Limits::strict(), Limits::default());
    for (name, strict, usual) in [
        (
            "message.max_line_bytes",
            strict.message.max_line_bytes,
            usual.message.max_line_bytes,
        ),
        (
            "message.max_depth",
            strict.message.max_depth,
            usual.message.max_depth,
        ),
        (
            "message.max_values",
            strict.message.max_values,
            usual.message.max_values,
        ),
        (
            "calls.max_running",
            strict.calls.max_running,
            usual.calls.max_running,
        ),
        (
            "calls.max_queued",
            strict.calls.max_queued,
            usual.calls.max_queued,
        ),
        (
            "calls.max_blocking",
            strict.calls.max_blocking,
            usual.calls.max_blocking,
        ),
        (
            "outgoing",
            strict.streams.max_outgoing_bytes,
            usual.streams.max_outgoing_bytes,
        ),
        (
            "calls.max_result_bytes",
            strict.calls.max_result_bytes,
            usual.calls.max_result_bytes,
        ),
        (
            "subscriptions",
            strict.streams.max_subscriptions,
            usual.streams.max_subscriptions,
        ),
        (
            "streams.max_listens",
            strict.streams.max_listens,
            usual.streams.max_listens,
        ),
    ] {
        assert!(strict < usual, "{name}");
    }
    assert!(
        strict.calls.timeout < usual.calls.timeout
            && strict.log.max_per_second < usual.log.max_per_second
    );
}

#[tokio::test]
async fn a_limit_of_zero_is_refused_at_the_start() {
    let limits = Limits::default().with(|limits| {
        limits.calls.max_running = 0;
        limits.streams.max_outgoing_bytes = 0;
    });
    let server = fixture::server().limits(limits);
    let error = server.serve(memory().0).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("running") && text.contains("outgoing"),
        "{text}"
    );
}

// Covers: SEC-05
// Limits: calls.max_blocking_queued
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_a_thread_is_bounded_and_no_time_of_the_tool() {
    let limits = Limits::default().with(|limits| {
        limits.calls.max_blocking = 1;
        limits.calls.max_blocking_queued = 2;
        limits.calls.timeout = Duration::from_millis(120);
    });
    let (mut client, _) = tight(Revision::V2026_07_28, limits).await;
    // Each takes 50 ms, one after another: the third waits for longer than a tool may take.
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(client.start("tools/call", json!({"name": "hold"})).await);
    }
    for id in ids {
        let result = client.response(&id).await.unwrap();
        assert_eq!(result.get("isError"), None, "{result}");
    }
    let mut refused = 0;
    let mut ids = Vec::new();
    for _ in 0..8 {
        ids.push(client.start("tools/call", json!({"name": "hold"})).await);
    }
    for id in ids {
        let result = client.response(&id).await.unwrap();
        if result["isError"] == true {
            let text = "too many calls that block a thread at once; try again in 1 s";
            assert_eq!(result["content"][0]["text"], text);
            refused += 1;
        }
    }
    assert!(refused >= 1, "{refused}");
}
