//! A caller's cursors, states and the like are of no use to other callers.

use std::sync::Arc;

use mcp_runtime::backend::{Backend, MemoryOnceStore};
use mcp_runtime::server::SealingKey;
use serde_json::{Value, json};
use tests::link::Hub;
use tests::{Answer, Version};

use super::{ADMIN, Identity, WRITER, server};

fn params() -> Value {
    json!({"name": "erase", "arguments": {}})
}

// Covers: AUTH-11, MRTR-08
#[tokio::test]
async fn the_state_of_a_call_is_of_no_use_to_another_caller() {
    let hub = Hub::serve(server());
    let mut writer = WRITER.connect(&hub, Version::V2026_07_28).await;
    writer.answer(|_| Answer::accept(json!({"sure": true})));
    let asked = writer.request("tools/call", params()).await.unwrap();
    let next = writer.retry(&params(), &asked);
    for who in [
        ADMIN,
        Identity::Owner,
        Identity::Known("Writer", &["notes:write"]),
        Identity::Known("writer ", &["notes:write"]),
    ] {
        let mut other = who.connect(&hub, Version::V2026_07_28).await;
        let failure = other.fails("tools/call", next.clone(), -32602).await;
        assert!(!failure.message.contains("writer"), "{failure:?}");
    }
    // The same caller continues over another connection and with another token.
    let again = Identity::Known("writer", &["notes:write", "more"]);
    let mut again = again.connect(&hub, Version::V2026_07_28).await;
    let result = again.request("tools/call", next).await.unwrap();
    assert_eq!(result["content"][0]["text"], "erased: true");
}

// Covers: AUTH-13
#[tokio::test]
async fn scopes_are_looked_at_in_every_round() {
    let hub = Hub::serve(server());
    let mut writer = WRITER.connect(&hub, Version::V2026_07_28).await;
    writer.answer(|_| Answer::accept(json!({"sure": true})));
    let asked = writer.request("tools/call", params()).await.unwrap();
    let next = writer.retry(&params(), &asked);
    let mut demoted = Identity::Known("writer", &["notes:read"])
        .connect(&hub, Version::V2026_07_28)
        .await;
    let failure = demoted.fails("tools/call", next.clone(), 403).await;
    assert_eq!(failure.data, json!({"scopes": ["notes:write"]}));
    writer.ok("tools/call", next).await;
}

#[tokio::test]
async fn concurrent_equal_calls_of_different_callers_are_independent() {
    // Both servers share a store and a key: the id of a call is sealed into its state.
    let keys = [SealingKey::from_bytes([7; 32])];
    let hub = Hub::serve(
        server()
            .sealing_keys(keys)
            .backend(Backend::new().once(Arc::new(MemoryOnceStore::default()))),
    );
    let mut states = Vec::new();
    for who in [WRITER, ADMIN] {
        let mut client = who.connect(&hub, Version::V2026_07_28).await;
        client.answer(|_| Answer::accept(json!({"sure": true})));
        let asked = client.request("tools/call", params()).await.unwrap();
        states.push((client.retry(&params(), &asked), client));
    }
    let (first, second) = (states[0].0.clone(), states[1].0.clone());
    assert_ne!(first["requestState"], second["requestState"]);
    for (index, (own, client)) in states.iter_mut().enumerate() {
        let other = if index == 0 { &second } else { &first };
        client.fails("tools/call", other.clone(), -32602).await;
        client.ok("tools/call", own.clone()).await;
    }
}
