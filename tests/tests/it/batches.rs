//! Batches, which exist in only one protocol version.

use mcp_runtime::dynamic::DynamicTool;
use serde_json::{Value, json};
use tests::Version;

use crate::support::{client, client_and_state, connect};

fn ping(id: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

async fn answers(client: &mut tests::Client, batch: Value) -> Vec<Value> {
    client.send(&batch).await;
    let mut answers = match client.read().await.unwrap() {
        Value::Array(answers) => answers,
        one => panic!("not a batch: {one}"),
    };
    answers.sort_by_key(|answer| answer["id"].to_string());
    answers
}

// Covers: BATCH-01, BATCH-03, BATCH-06, STDIO-01
#[tokio::test]
async fn a_batch_is_answered_on_one_line() {
    let mut client = client(Version::V2025_03_26).await;
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/unknown"});
    let call = json!({"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}});
    let unknown = json!({"jsonrpc": "2.0", "id": "u", "method": "no/such"});
    let all = answers(
        &mut client,
        json!([ping(json!("a")), notice, call, unknown]),
    )
    .await;
    assert_eq!(all.len(), 3);
    assert_eq!(all[0]["result"], json!({}));
    assert_eq!(all[1]["result"]["content"][0]["text"], "3");
    assert_eq!(all[2]["error"]["code"], -32601);
}

// Covers: BATCH-03
#[tokio::test]
async fn a_batch_of_notifications_or_answers_is_not_answered() {
    let mut client = client(Version::V2025_03_26).await;
    client
        .send(&json!([{"jsonrpc": "2.0", "method": "notifications/unknown"}]))
        .await;
    client
        .send(&json!([{"jsonrpc": "2.0", "id": 5, "result": {}}]))
        .await;
    assert_eq!(client.ok("ping", json!({})).await, json!({}));
    assert_eq!(client.drain().await, Vec::<Value>::new());
}

// Covers: BATCH-02, BATCH-03, LIFE-08
#[tokio::test]
async fn invalid_elements_of_a_batch_are_refused_one_by_one() {
    let mut client = client(Version::V2025_03_26).await;
    client.send(&json!([])).await;
    assert_eq!(client.anonymous().await.code, -32600);
    let initialize = json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {}});
    let all = answers(&mut client, json!([1, ping(json!("p")), "x", initialize])).await;
    assert_eq!(all.len(), 4);
    assert_eq!(
        all.iter()
            .filter(|answer| answer["error"]["code"] == -32600)
            .count(),
        3
    );
    let handshake = all.iter().find(|answer| answer["id"] == "i").unwrap();
    assert_eq!(handshake["error"]["code"], -32600);
}

// Covers: BATCH-02, BATCH-03
#[tokio::test]
async fn a_number_of_any_size_in_a_batch_leaves_every_id_intact() {
    let mut client = client(Version::V2025_03_26).await;
    let call = |id: &str, b: Value| {
        let meta = json!({"example.com/huge": "@huge@"});
        let params = json!({"name": "add", "arguments": {"a": 1, "b": b}, "_meta": meta});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let batch = json!([call("huge", json!("@huge@")), call("small", json!(2))]);
    client.remember(&batch);
    let batch = batch.to_string().replace("\"@huge@\"", "1e400");
    client.line(&batch).await;
    let Some(Value::Array(answers)) = client.read().await else {
        panic!("not a batch");
    };
    let text = |id: &str| {
        let answer = answers.iter().find(|answer| answer["id"] == id).unwrap();
        answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(text("small"), "3");
    assert_eq!(
        text("huge"),
        "/b: 1e400 is too large for a number; expected integer"
    );
}

// Covers: BATCH-05
#[tokio::test]
async fn no_other_version_has_batches() {
    for version in [
        Version::V2024_11_05,
        Version::V2025_06_18,
        Version::V2025_11_25,
        Version::V2026_07_28,
    ] {
        let mut client = client(version).await;
        client.line(&json!([ping(json!(1))]).to_string()).await;
        assert_eq!(client.anonymous().await.code, -32600);
        client.pass().await;
    }
}

// Covers: BATCH-05
#[tokio::test]
async fn a_batch_with_a_modern_element_is_refused_whole() {
    let mut client = client(Version::V2025_03_26).await;
    client.speak(Version::V2026_07_28);
    let params = client.dress(json!({}));
    client.speak(Version::V2025_03_26);
    let modern = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": params});
    client
        .line(&json!([ping(json!(1)), modern]).to_string())
        .await;
    assert_eq!(client.anonymous().await.code, -32600);
    client.pass().await;
}

// Covers: BATCH-06, CANC-01
#[tokio::test]
async fn a_cancelled_element_is_left_out() {
    let (mut client, shared) = client_and_state(Version::V2025_03_26).await;
    let wait =
        json!({"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": {"name": "wait"}});
    client.send(&json!([wait, ping(json!("p"))])).await;
    shared.started(1).await;
    client.cancel(&json!("w")).await;
    let answers = client.read().await.unwrap();
    assert_eq!(
        answers,
        json!([{"jsonrpc": "2.0", "id": "p", "result": {}}])
    );
}

// Covers: BATCH-01
#[tokio::test]
async fn a_large_list_in_a_batch_is_whole() {
    let server = crate::fixture::server().limits(tests::pages_of(1_000));
    for number in 0..100 {
        let name = format!("one_of_many_tools_{number}");
        let tool = DynamicTool::new(name, json!({"type": "object"}), async |_, _| "done");
        server.handle().tools().insert(tool).unwrap();
    }
    let mut client = connect(server, Version::V2025_03_26).await;
    let alone = client.ok("tools/list", json!({})).await;
    let size = alone.to_string().len();
    assert!(size > 10_000, "{size}");
    let list = json!({"jsonrpc": "2.0", "id": "list", "method": "tools/list"});
    let all = answers(&mut client, json!([ping(json!("ping")), list])).await;
    let list = all.iter().find(|answer| answer["id"] == "list");
    assert_eq!(list.unwrap()["result"], alone);
}
