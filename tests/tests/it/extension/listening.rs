//! Notifications of an extension, and the members of the listen filter with which clients ask for them.

use mcp_runtime::Limits;
use serde_json::{Value, json};
use tests::{Client, Version};

use super::{GARDEN, NEW, declaring, gardener, server};

const KEY: &str = "io.modelcontextprotocol/subscriptionId";
const MODERN: Version = Version::V2026_07_28;

async fn listen(client: &mut Client, id: &str, filter: Value) -> Value {
    let params = client.dress(json!({"notifications": filter}));
    let request =
        json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params});
    client.send(&request).await;
    let method = "notifications/subscriptions/acknowledged";
    client.notification(method).await["notifications"].clone()
}

// Covers: EXT-05, SUBS-03
#[tokio::test]
async fn each_listener_hears_of_the_keys_that_it_asked_for() {
    let mut client = gardener(MODERN).await;
    let beds = listen(
        &mut client,
        "beds",
        json!({"gardenBeds": ["roses", "hidden", "roses"]}),
    )
    .await;
    assert_eq!(beds, json!({"gardenBeds": ["roses"]}));
    let flag = listen(
        &mut client,
        "flag",
        json!({"gardenChanged": true, "toolsListChanged": true}),
    )
    .await;
    assert_eq!(
        flag,
        json!({"gardenChanged": true, "toolsListChanged": true})
    );
    let off = listen(
        &mut client,
        "off",
        json!({"gardenChanged": false, "gardenBeds": null, "unknown": 1}),
    )
    .await;
    assert_eq!(off, json!({}));
    for bed in ["tulips", "hidden", "roses"] {
        client
            .ok("garden/water", json!({"bed": bed, "litres": 1}))
            .await;
    }
    let watered = client.notification("notifications/garden/watered").await;
    assert_eq!(watered["bed"], "roses");
    assert_eq!(watered["_meta"], json!({KEY: "beds"}));
    let changed = client.notification("notifications/garden/changed").await;
    assert_eq!(changed["_meta"], json!({KEY: "flag", "com.example/x": 2}));
    let rest = client.drain().await;
    let watered = |message: &Value| message["method"] == "notifications/garden/watered";
    assert!(!rest.iter().any(watered), "{rest:?}");
}

// Covers: EXT-03
#[tokio::test]
async fn a_filter_of_an_undeclared_extension_or_of_the_wrong_type_is_refused() {
    let mut client = declaring(server(), MODERN, json!({NEW: {}})).await;
    for filter in [json!({"gardenChanged": true}), json!({"gardenBeds": []})] {
        let params = json!({"notifications": filter});
        let failure = client.fails("subscriptions/listen", params, -32021).await;
        assert_eq!(
            failure.data["requiredCapabilities"],
            json!({"extensions": {GARDEN: {}}})
        );
    }
    let limits = Limits::default().with(|limits| limits.streams.max_subscriptions = 2);
    let mut client = declaring(server().limits(limits), MODERN, json!({GARDEN: {}})).await;
    for filter in [
        json!({"gardenChanged": 1}),
        json!({"gardenChanged": ["a"]}),
        json!({"gardenBeds": true}),
        json!({"gardenBeds": [1]}),
        json!({"gardenBeds": ["a", "b", "c"]}),
        json!({"gardenBeds": ["a", "b"], "resourceSubscriptions": ["a:b"]}),
    ] {
        let params = json!({"notifications": filter});
        client.fails("subscriptions/listen", params, -32602).await;
    }
}

// Covers: EXT-06
#[tokio::test]
async fn a_legacy_client_that_declares_the_extension_hears_its_flags_unasked() {
    for version in Version::LEGACY {
        let mut client = gardener(version).await;
        client.ok("garden/water", json!({"bed": "roses"})).await;
        let changed = client.notification("notifications/garden/changed").await;
        assert_eq!(changed, json!({"beds": 1, "_meta": {"com.example/x": 2}}));
        let rest = client.drain().await;
        let watered = |message: &Value| message["method"] == "notifications/garden/watered";
        assert!(!rest.iter().any(watered), "{rest:?}");
    }
}
