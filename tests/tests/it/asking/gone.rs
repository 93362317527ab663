//! Clients that take too long or go away, over every link.

use serde_json::{Value, json};
use tests::asking::{Setup, able};
use tests::{Answer, Client, Link, Served, Version};

/// Creates a client that supports every kind of question and answers none.
async fn silent(served: &mut Served, version: Version) -> Client {
    let mut client = served.client(version);
    client.capabilities = able();
    client.answer(|_| Answer::Silence);
    client.connect().await
}

fn params(tool: &str) -> Value {
    json!({"name": tool, "arguments": {}})
}

// Covers: REQ-05, LIFE-10, CANC-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unanswered_elicitation_times_out_and_is_cancelled() {
    for (link, version) in Link::visits(&Version::LEGACY) {
        let setup = Setup {
            question_ms: Some(100),
            ..Setup::default()
        };
        let mut served = Served::start(link, &setup).await;
        let mut client = silent(&mut served, version).await;
        let result = client.ok("tools/call", params("no_person")).await;
        assert_eq!(result["content"][0]["text"], "no answer within 100ms");
        let told = client.notification("notifications/cancelled").await;
        assert_eq!(told["requestId"].to_string(), client.asked[0].key);
        // An answer that arrives too late is ignored.
        let Answer::Result(said) = Answer::said("Paris") else {
            unreachable!()
        };
        let late = json!({"jsonrpc": "2.0", "id": told["requestId"], "result": said});
        client.line(&late.to_string()).await;
        client.pass().await;
        let done = ["before", "after"].map(|what| setup.ledger.count(what));
        assert_eq!(done, [1, 0], "{link:?}");
    }
}

// Covers: MRTR-09, MRTR-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_comes_back_too_late_is_refused() {
    let setup = Setup {
        state_seconds: Some(1),
        ..Setup::default()
    };
    let mut late = Vec::new();
    for (link, version) in Link::visits(&[Version::V2026_07_28]) {
        let mut served = Served::start(link, &setup).await;
        let mut client = silent(&mut served, version).await;
        client.answer(|_| Answer::accept(json!({"name": "Ada"})));
        let asked = client.ok("tools/call", params("one")).await;
        let next = client.retry(&params("one"), &asked);
        late.push((served, client, next));
    }
    // A state expires by the system clock, in whole seconds. Trying it earlier would continue the call.
    tests::wait::for_seconds_of_the_system(2).await;
    for (_served, client, next) in &mut late {
        let failure = client.fails("tools/call", next.clone(), -32602).await;
        assert!(failure.message.contains("expired"), "{failure:?}");
        let asked = client.ok("tools/call", params("one")).await;
        assert_eq!(asked["resultType"], "input_required");
    }
    assert_eq!(setup.ledger.count("after"), 0);
}

// Covers: REQ-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_disconnects_during_an_elicitation_ends_its_call() {
    for (link, version) in Link::visits(&[Version::V2025_06_18, Version::V2025_11_25]) {
        let setup = Setup::default();
        let mut served = Served::start(link, &setup).await;
        let mut client = silent(&mut served, version).await;
        client.start("tools/call", params("in_a_hurry")).await;
        client.until_asked(1).await;
        assert_eq!(setup.ledger.count("dropped"), 0);
        // The end of the stream, of a process's input, of a session, or of the single stream of 2024.
        drop(client);
        setup.ledger.until("dropped", 1).await;
        served.ended().await;
        assert_eq!(setup.ledger.count("after"), 0, "{link:?}");
    }
}

// Covers: MRTR-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn between_rounds_the_server_holds_no_state_of_a_call() {
    for (link, version) in Link::visits(&[Version::V2026_07_28]) {
        let setup = Setup::default();
        let mut served = Served::start(link, &setup).await;
        let mut client = silent(&mut served, version).await;
        let asked = client.ok("tools/call", params("in_a_hurry")).await;
        assert_eq!(asked["resultType"], "input_required");
        assert_eq!(setup.ledger.count("dropped"), 1, "{link:?}");
        drop(client);
        served.ended().await;
        assert_eq!(setup.ledger.count("after"), 0);
    }
}
