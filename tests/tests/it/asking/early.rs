//! Questions before the client has reported that it is initialized: legacy era only.

use serde_json::{Value, json};
use tests::asking::{Ledger, Setup, able};
use tests::{Answer, Client, Link, Served, Version};

use super::usual;

/// Creates a client that has received the answer to `initialize` but has not yet reported that it is initialized.
async fn shaking(served: &mut Served, version: Version) -> Client {
    let mut client = served.client(version);
    client.answer(usual);
    let info = json!({"name": "tests", "version": "1"});
    let params =
        json!({"protocolVersion": version.date(), "capabilities": able(), "clientInfo": info});
    client.ok("initialize", params).await;
    client
}

async fn call(client: &mut Client, tool: &str) -> Value {
    let params = json!({"name": tool, "arguments": {}});
    client.start("tools/call", params).await
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

// Covers: LIFE-04, LIFE-09, REQ-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_elicitation_is_sent_only_after_the_client_is_initialized() {
    for (link, version) in Link::visits(&Version::LEGACY) {
        let setup = Setup::default();
        let mut served = Served::start(link, &setup).await;
        let mut client = shaking(&mut served, version).await;
        let id = call(&mut client, "no_person").await;
        setup.ledger.until("before", 1).await;
        client.pass().await;
        assert_eq!(client.asked, [], "{link:?} {}", version.date());
        client.notify("notifications/initialized", json!({})).await;
        let result = client.response(&id).await.unwrap();
        assert_eq!(text(&result), "Paris 1");
        assert_eq!(setup.ledger.count("after"), 1);
    }
}

// Covers: LIFE-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_elicitation_before_initialization_times_out() {
    for (link, version) in Link::visits(&[Version::V2024_11_05, Version::V2025_11_25]) {
        let setup = Setup {
            question_ms: Some(100),
            ..Setup::default()
        };
        let mut served = Served::start(link, &setup).await;
        let mut client = shaking(&mut served, version).await;
        let id = call(&mut client, "no_person").await;
        let result = client.response(&id).await.unwrap();
        assert_eq!(text(&result), "no answer within 100ms");
        // A question that was not sent is not cancelled.
        client.notify("notifications/initialized", json!({})).await;
        assert_eq!(client.drain().await, [] as [Value; 0]);
        assert_eq!(client.asked, []);
    }
}

// Covers: LIFE-04
#[tokio::test]
async fn a_call_cancelled_before_initialization_sends_no_elicitation() {
    let ledger = Ledger::new();
    let setup = Setup {
        ledger: ledger.clone(),
        ..Setup::default()
    };
    let mut served = Served::start(Link::Memory, &setup).await;
    let mut client = shaking(&mut served, Version::V2025_11_25).await;
    client.answer(|_| Answer::Silence);
    let id = call(&mut client, "in_a_hurry").await;
    ledger.until("before", 1).await;
    client.cancel(&id).await;
    ledger.until("dropped", 1).await;
    client.notify("notifications/initialized", json!({})).await;
    assert_eq!(client.drain().await, [] as [Value; 0]);
    assert_eq!(client.asked, []);
}
