//! Notifications of an extension, and the members of the listen filter with which clients request them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_runtime::Limits;
use mcp_runtime::extension::{Extension, FilterMember};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::Version;
use tests::link::Hub;

use super::{GARDEN, NEW, declaring, gardener, gardener_of, is_owner, principal, server};
use crate::support::raw;

const KEY: &str = "io.modelcontextprotocol/subscriptionId";
const MODERN: Version = Version::V2026_07_28;

// Covers: EXT-05, SUBS-03
#[tokio::test]
async fn each_listener_is_notified_of_the_keys_that_it_asked_for() {
    let mut client = gardener(MODERN).await;
    let beds = client
        .listen("beds", json!({"gardenBeds": ["roses", "hidden", "roses"]}))
        .await;
    assert_eq!(beds, json!({"gardenBeds": ["roses"]}));
    let flag = client
        .listen(
            "flag",
            json!({"gardenChanged": true, "toolsListChanged": true}),
        )
        .await;
    assert_eq!(
        flag,
        json!({"gardenChanged": true, "toolsListChanged": true})
    );
    let off = client
        .listen(
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

// Covers: SUBS-03
#[tokio::test]
async fn subscriptions_listen_exists_if_there_is_something_to_listen_to() {
    let bare = || Server::new("garden", "1").only([]);
    let params = json!({"notifications": {}});
    let mut client = raw(bare(), MODERN).connect().await;
    client.fails("subscriptions/listen", params, -32601).await;
    let changed = FilterMember::flag("gardenChanged");
    let garden = Extension::new(GARDEN).notification("notifications/garden/changed", changed);
    let server = bare().with(garden);
    let mut client = declaring(server, MODERN, json!({GARDEN: {}})).await;
    let filter = json!({"gardenChanged": true});
    assert_eq!(client.listen("flag", filter.clone()).await, filter);
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

// Covers: SUBS-03
#[tokio::test]
async fn a_key_is_honoured_for_the_callers_that_see_it() {
    let hub = Hub::serve(server());
    for (subject, expected) in [
        ("owner", json!(["hidden", "roses"])),
        ("other", json!(["roses"])),
    ] {
        let mut client = gardener_of(&hub, subject, MODERN).await;
        let filter = json!({"gardenBeds": ["roses", "hidden"]});
        let honoured = client.listen("beds", filter).await;
        assert_eq!(honoured, json!({"gardenBeds": expected}), "{subject}");
    }
}

#[tokio::test]
async fn the_number_and_length_of_keys_are_checked_before_their_visibility() {
    let decided = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&decided);
    let member = FilterMember::keys("keys").visible_if(move |_, key| {
        count.fetch_add(1, Ordering::SeqCst);
        key != "hidden"
    });
    let extension = Extension::new(GARDEN).notification("notifications/keys", member);
    let limits = Limits::default().with(|limits| {
        limits.streams.max_subscriptions = 2;
        limits.message.max_uri_bytes = 64;
    });
    let server = new_server!()
        .only(Selected::tag("extension"))
        .with(extension);
    let mut client = declaring(server.limits(limits), MODERN, json!({GARDEN: {}})).await;
    for (keys, expected) in [
        (json!(["a", "hidden", "b"]), "at most 2 resources and keys"),
        (json!(["k".repeat(65)]), "longer than 64 bytes"),
    ] {
        let params = json!({"notifications": {"keys": keys}});
        let failure = client.fails("subscriptions/listen", params, -32602).await;
        assert!(failure.message.contains(expected), "{failure:?}");
    }
    assert_eq!(decided.load(Ordering::SeqCst), 0);
    let honoured = client
        .listen("keys", json!({"keys": ["a", "hidden"]}))
        .await;
    assert_eq!(honoured, json!({"keys": ["a"]}));
    assert_eq!(decided.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_program_may_notify_one_principal_or_those_it_chooses() {
    for version in Version::ERAS {
        let server = server();
        let notify = server.handle().notify();
        let hub = Hub::serve(server);
        let mut clients = [
            gardener_of(&hub, "owner", version).await,
            gardener_of(&hub, "other", version).await,
        ];
        for client in &mut clients {
            if version.is_modern() {
                let filter = json!({"gardenChanged": true, "gardenBeds": ["roses"]});
                client.listen("garden", filter).await;
            }
            client.pass().await;
        }
        for (notifier, expected) in [
            (notify.for_principal(&principal("other")), [false, true]),
            (notify.for_callers(is_owner), [true, false]),
            (notify, [true, true]),
        ] {
            notifier.extension("notifications/garden/changed", json!({}));
            notifier.extension_key("notifications/garden/watered", "roses", json!({}));
            // Legacy clients have no keys.
            let sent = if version.is_modern() { 2 } else { 1 };
            for (client, expected) in clients.iter_mut().zip(expected) {
                let count = client.drain().await.len();
                assert_eq!(count, if expected { sent } else { 0 }, "{version:?}");
            }
        }
    }
}

// Covers: EXT-06
#[tokio::test]
async fn a_legacy_client_that_declares_the_extension_gets_its_flags_unsolicited() {
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
