//! A built server that answers one message at a time, in a program without a tokio runtime.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::server::{BuiltServer, MessageSender, SealingKey, Selected};
use mcp_runtime::{Caller, Limits, Principal};
use serde_json::{Value, json};
use tests::{Version, schema};

/// What handlers of a test leave for it.
#[derive(Clone, Default)]
struct Seen(Arc<SeenCalls>);

#[derive(Default)]
struct SeenCalls {
    started: AtomicU32,
    dropped: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

/// Adds two integers.
#[tool(tags("single"), title = "Plus")]
fn plus(a: i64, b: i64) -> i64 {
    a + b
}

/// Is pending this many times before it answers.
#[tool(tags("single"))]
async fn patient(polls: u32) -> u32 {
    let mut left = polls;
    poll_fn(|task| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        task.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    polls
}

/// Answers once another thread has woken it.
#[tool(tags("single"))]
async fn woken() -> &'static str {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    thread::spawn(move || sender.send("from another thread"));
    receiver.await.unwrap()
}

/// Never answers.
#[tool(tags("single"), timeout = "50ms")]
async fn forever() -> &'static str {
    std::future::pending().await
}

/// Waits until it is dropped.
#[tool(tags("single"))]
async fn held(seen: State<Seen>) -> &'static str {
    struct Dropped(Seen);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.0.dropped.store(true, Ordering::SeqCst);
        }
    }
    let seen = Dropped(Seen(Arc::clone(&seen.0)));
    seen.0.0.started.fetch_add(1, Ordering::SeqCst);
    poll_fn(|task| {
        *seen.0.0.waker.lock().unwrap() = Some(task.waker().clone());
        Poll::<()>::Pending
    })
    .await;
    "not reached"
}

/// Panics.
#[tool(tags("single"))]
fn broken() -> String {
    panic!("on purpose")
}

/// Blocks its thread.
#[tool(tags("single"), blocking)]
fn heavy() -> bool {
    thread::current().name() != Some("the loop")
}

/// Reports progress and logs, which nobody can be sent.
#[tool(tags("single"))]
async fn chatty(ctx: Context) -> &'static str {
    ctx.progress(1);
    ctx.info("here");
    patient(1).await;
    "said"
}

/// Asks the user.
#[tool(tags("single"))]
async fn ask(ctx: Context) -> Result<String> {
    #[derive(Elicit)]
    struct Name {
        name: String,
    }
    let Name { name } = ctx.elicit("Who are you?").key("who").await?;
    Ok(format!("Hello, {name}!"))
}

/// Shows a value that is made when it is first needed.
#[tool(tags("single"))]
fn made(value: State<u64>) -> u64 {
    *value
}

/// Only for those who may.
#[tool(tags("single"), scopes("secrets"))]
fn secret() -> &'static str {
    "42"
}

fn server() -> Server {
    Server::new("single", "1")
        .only(Selected::tag("single"))
        .state(Seen::default())
        .state_with(|| async { Ok::<_, std::io::Error>(7_u64) })
}

fn built() -> BuiltServer {
    server().build().unwrap()
}

/// Runs a future on this thread, which has no runtime of any kind.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    assert!(tokio::runtime::Handle::try_current().is_err());
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut TaskContext::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            // A test does not wait without a limit.
            Poll::Pending => {
                let began = std::time::Instant::now();
                thread::park_timeout(Duration::from_secs(10));
                assert!(
                    began.elapsed() < Duration::from_secs(10),
                    "nothing woke the future"
                );
            }
        }
    }
}

fn sender(version: Version) -> MessageSender {
    MessageSender::default().with_protocol_version(match version {
        Version::V2026_07_28 => Version::V2025_03_26.protocol_version(),
        legacy => legacy.protocol_version(),
    })
}

/// Returns the parameters with what a request of this version carries.
fn dress(version: Version, mut params: Value) -> Value {
    if version.is_modern() {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": version.date(),
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        });
    }
    params
}

fn request(version: Version, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": "r", "method": method, "params": dress(version, params)})
}

/// Sends bytes, and returns the answer.
fn send(server: &BuiltServer, version: Version, bytes: &[u8]) -> Option<Value> {
    let answer = block_on(server.handle_from(bytes, sender(version)))?;
    assert!(!answer.contains(&b'\n'));
    Some(serde_json::from_slice(&answer).unwrap())
}

/// Sends a request, and returns its answer, which fits the schema of its version.
fn answer(server: &BuiltServer, version: Version, method: &str, params: Value) -> Value {
    let request = request(version, method, params).to_string();
    let answer = send(server, version, request.as_bytes()).unwrap();
    schema::check(version, &answer, Some(method)).unwrap();
    assert_eq!(answer["id"], "r");
    answer
}

fn call(server: &BuiltServer, version: Version, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    answer(server, version, "tools/call", params)
}

fn title_of<'a>(list: &'a Value, tool: &str) -> Option<&'a Value> {
    let mut tools = list["result"]["tools"].as_array().unwrap().iter();
    tools
        .find(|listed| listed["name"] == tool)
        .unwrap()
        .get("title")
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap()
}

#[test]
fn every_version_lists_and_calls_tools_without_a_runtime() {
    let server = built();
    for version in Version::ALL {
        let list = answer(&server, version, "tools/list", json!({}));
        let tools = list["result"]["tools"].as_array().unwrap();
        assert!(tools.iter().any(|tool| tool["name"] == "plus"));
        let sum = call(&server, version, "plus", json!({"a": 1, "b": 2}));
        assert_eq!(text(&sum), "3");
        let wrong = call(&server, version, "plus", json!({"a": "x"}));
        assert_eq!(wrong["result"]["isError"], true, "{wrong}");
        let unknown = call(&server, version, "no_such_tool", json!({}));
        assert_eq!(unknown["error"]["code"], -32602);
    }
}

#[test]
fn a_legacy_client_initializes_and_gets_answers_of_its_version() {
    let server = built();
    for version in Version::LEGACY {
        let client = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": version.date(), "capabilities": {}, "clientInfo": client});
        let answered = answer(&server, version, "initialize", params);
        assert_eq!(answered["result"]["protocolVersion"], version.date());
        // Nothing can be sent later, so nothing of the kind is offered.
        assert_eq!(answered["result"]["capabilities"], json!({"tools": {}}));
        assert_eq!(
            answer(&server, version, "ping", json!({}))["result"],
            json!({})
        );
        let list = answer(&server, version, "tools/list", json!({}));
        assert_eq!(
            title_of(&list, "plus").is_some(),
            version >= Version::V2025_06_18
        );
    }
}

#[test]
fn a_legacy_request_of_an_unnamed_version_is_answered_in_the_one_that_servers_assume() {
    let request = request(Version::V2025_03_26, "tools/list", json!({})).to_string();
    let answer = block_on(built().handle(request.as_bytes())).unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    schema::check(Version::V2025_03_26, &answer, Some("tools/list")).unwrap();
    assert_eq!(title_of(&answer, "plus"), None);
}

#[test]
fn what_needs_a_channel_is_neither_offered_nor_served() {
    let server = built();
    let modern = Version::V2026_07_28;
    let discovered = answer(&server, modern, "server/discover", json!({}));
    assert_eq!(discovered["result"]["capabilities"], json!({"tools": {}}));
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let listen = answer(&server, modern, "subscriptions/listen", filter);
    assert_eq!(listen["error"]["code"], -32601);
    let level = answer(
        &server,
        Version::V2025_11_25,
        "logging/setLevel",
        json!({"level": "info"}),
    );
    assert_eq!(level["error"]["code"], -32601);
    for version in Version::ERAS {
        assert_eq!(text(&call(&server, version, "chatty", json!({}))), "said");
    }
}

#[test]
fn a_method_of_the_modern_era_needs_a_claim() {
    let server = built();
    let legacy = Version::V2025_11_25;
    let refused = answer(&server, legacy, "server/discover", json!({}));
    assert_eq!(refused["error"]["code"], -32602);
    let sender =
        MessageSender::default().with_protocol_version(Version::V2026_07_28.protocol_version());
    let request = request(legacy, "tools/list", json!({})).to_string();
    let answer = block_on(server.handle_from(request.as_bytes(), sender)).unwrap();
    assert!(String::from_utf8(answer).unwrap().contains("-32602"));
}

#[test]
fn notifications_and_responses_get_no_answer() {
    let server = built();
    for version in Version::ERAS {
        for message in [
            json!({"jsonrpc": "2.0", "method": "notifications/initialized", "params": dress(version, json!({}))}),
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "r"}}),
            json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "broken"}}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        ] {
            assert_eq!(
                send(&server, version, message.to_string().as_bytes()),
                None,
                "{message}"
            );
        }
    }
}

#[test]
fn a_batch_is_answered_as_one_array_in_its_version() {
    let server = built();
    let version = Version::V2025_03_26;
    let one = |id: u32, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let batch = json!([
        one(
            1,
            "tools/call",
            json!({"name": "patient", "arguments": {"polls": 3}})
        ),
        one(
            2,
            "tools/call",
            json!({"name": "plus", "arguments": {"a": 1, "b": 2}})
        ),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        one(3, "initialize", json!({})),
        json!("not a message"),
    ]);
    let answers = send(&server, version, batch.to_string().as_bytes()).unwrap();
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 4);
    assert_eq!((&answers[0]["id"], text(&answers[0])), (&json!(1), "3"));
    assert_eq!((&answers[1]["id"], text(&answers[1])), (&json!(2), "3"));
    assert_eq!(
        (&answers[2]["id"], &answers[2]["error"]["code"]),
        (&json!(3), &json!(-32600))
    );
    assert_eq!(answers[3]["error"]["code"], -32600);

    let silent = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    assert_eq!(send(&server, version, silent.to_string().as_bytes()), None);
    // Other versions have no batches.
    let refused = send(&server, Version::V2025_11_25, batch.to_string().as_bytes()).unwrap();
    assert_eq!(refused["error"]["code"], -32600);
}

#[test]
fn bytes_that_are_no_message_get_the_error_for_it() {
    let server = built();
    let deep = "[".repeat(100_000);
    for (bytes, code) in [
        (&b""[..], -32700),
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"null", -32600),
        (b"5", -32600),
        (b"[]", -32600),
        (b"{}", -32600),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":5}"#,
            -32602,
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#,
            -32602,
        ),
        (deep.as_bytes(), -32700),
    ] {
        let answer = send(&server, Version::V2025_03_26, bytes).unwrap();
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    // An id that can be read is in the error.
    let answer = send(
        &server,
        Version::V2025_03_26,
        br#"{"jsonrpc":"2.0","id":7,"method":5}"#,
    );
    let answer = answer.unwrap();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(7), &json!(-32600))
    );
}

// Limits: message.max_line_bytes
#[test]
fn a_message_may_be_as_long_as_a_line() {
    let limits = Limits::default().with(|limits| limits.message.max_line_bytes = 400);
    let server = server().limits(limits).build().unwrap();
    let mut message = request(Version::V2026_07_28, "tools/list", json!({})).to_string();
    while message.len() < 400 {
        message.push(' ');
    }
    let fits = send(&server, Version::V2026_07_28, message.as_bytes()).unwrap();
    assert!(fits.get("result").is_some(), "{fits}");
    message.push(' ');
    let refused = send(&server, Version::V2026_07_28, message.as_bytes()).unwrap();
    assert_eq!(refused["error"]["code"], -32600);
    assert_eq!(
        refused["error"]["message"],
        "a message is longer than 400 bytes"
    );
}

#[test]
fn a_panic_is_an_error_of_its_request_only() {
    let server = built();
    for version in Version::ERAS {
        let failed = call(&server, version, "broken", json!({}));
        let shown = failed.to_string();
        assert!(
            shown.contains("internal error") && !shown.contains("on purpose"),
            "{shown}"
        );
        assert_eq!(
            text(&call(&server, version, "plus", json!({"a": 1, "b": 2}))),
            "3"
        );
    }
}

#[test]
fn a_pending_handler_is_polled_until_it_answers() {
    let server = built();
    for version in Version::ERAS {
        for polls in [1, 2, 50] {
            let answered = call(&server, version, "patient", json!({"polls": polls}));
            assert_eq!(text(&answered), polls.to_string());
        }
        assert_eq!(
            text(&call(&server, version, "woken", json!({}))),
            "from another thread"
        );
    }
}

#[test]
fn timeouts_values_and_blocking_handlers_work_without_a_runtime() {
    let server = built();
    for version in Version::ERAS {
        let late = call(&server, version, "forever", json!({}));
        assert!(late.to_string().contains("50ms"), "{late}");
        assert_eq!(text(&call(&server, version, "made", json!({}))), "7");
    }
    let looping = thread::Builder::new().name("the loop".to_owned());
    let heavy = looping.spawn(move || call(&server, Version::V2026_07_28, "heavy", json!({})));
    assert_eq!(text(&heavy.unwrap().join().unwrap()), "true");
}

// Covers: MRTR-08
#[test]
fn a_question_ends_the_round_and_its_answer_comes_with_the_next_request() {
    let key = SealingKey::from_bytes([7; 32]);
    let server = || server().sealing_keys([key.clone()]).build().unwrap();
    let version = Version::V2026_07_28;
    let asked = call(&server(), version, "ask", json!({}));
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required");
    assert_eq!(
        result["inputRequests"]["who"]["method"],
        "elicitation/create"
    );
    // Another process with the same key continues.
    let given = json!({"who": {"action": "accept", "content": {"name": "Ada"}}});
    let next = json!({"name": "ask", "arguments": {}, "inputResponses": given, "requestState": result["requestState"]});
    let answered = answer(&server(), version, "tools/call", next);
    assert_eq!(text(&answered), "Hello, Ada!");
    // In the legacy era there is no session through which the server could ask.
    let refused = call(&server(), Version::V2025_11_25, "ask", json!({}));
    assert_eq!(refused["result"]["isError"], true, "{refused}");
}

#[test]
fn nothing_runs_before_the_first_poll_and_dropping_the_future_drops_the_handler() {
    for version in Version::ERAS {
        let seen = Seen::default();
        let server = Server::new("single", "1").only(Selected::tag("single"));
        let server = server.state(seen.clone()).state(7_u64).build().unwrap();
        let request = request(version, "tools/call", json!({"name": "held"})).to_string();
        drop(server.handle_from(request.as_bytes(), sender(version)));
        assert_eq!(seen.0.started.load(Ordering::SeqCst), 0);

        let mut answer = Box::pin(server.handle_from(request.as_bytes(), sender(version)));
        let mut task = TaskContext::from_waker(Waker::noop());
        assert!(answer.as_mut().poll(&mut task).is_pending());
        assert_eq!(seen.0.started.load(Ordering::SeqCst), 1);
        assert!(!seen.0.dropped.load(Ordering::SeqCst));
        drop(answer);
        assert!(seen.0.dropped.load(Ordering::SeqCst));
    }
}

#[test]
fn two_messages_are_in_progress_at_once() {
    let server = built();
    let version = Version::V2026_07_28;
    let held = request(version, "tools/call", json!({"name": "held"})).to_string();
    let mut first = Box::pin(server.handle(held.as_bytes()));
    assert!(
        first
            .as_mut()
            .poll(&mut TaskContext::from_waker(Waker::noop()))
            .is_pending()
    );
    // The same id is another request of, perhaps, another client.
    assert_eq!(
        text(&call(&server, version, "plus", json!({"a": 1, "b": 2}))),
        "3"
    );
}

#[test]
fn the_sender_decides_which_tools_there_are() {
    let server = built();
    let version = Version::V2026_07_28;
    let request = request(version, "tools/call", json!({"name": "secret"})).to_string();
    let as_caller = |caller: Caller| {
        let sender = MessageSender::new(caller);
        let answer = block_on(server.handle_from(request.as_bytes(), sender)).unwrap();
        serde_json::from_slice::<Value>(&answer).unwrap()
    };
    assert!(as_caller(Caller::anonymous()).get("error").is_some());
    let known = Principal::new("ada").with_scopes(["secrets"]);
    assert_eq!(text(&as_caller(known.into())), "42");
}

#[test]
fn a_server_that_has_been_told_to_stop_refuses_requests() {
    let server = server();
    let handle = server.handle();
    let server = server.build().unwrap();
    handle.shut_down();
    let refused = call(
        &server,
        Version::V2026_07_28,
        "plus",
        json!({"a": 1, "b": 2}),
    );
    assert_eq!(refused["error"]["message"], "the server is shutting down");
}

#[test]
fn mistakes_in_definitions_are_found_when_the_server_is_built() {
    let limits = Limits::default().with(|limits| limits.message.max_depth = 0);
    let failed = server().limits(limits).build().unwrap_err();
    assert!(failed.to_string().contains("max_depth"), "{failed}");
}
