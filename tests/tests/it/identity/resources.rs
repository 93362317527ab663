//! Callers can subscribe to whatever they may read.

use serde_json::{Value, json};
use tests::link::Hub;
use tests::{Client, Version};

use super::{ADMIN, Identity, READER, STAFF, server};

const URIS: [&str; 5] = [
    "identity:open",
    "identity:notes",
    "identity:staff",
    "note:///7",
    "identity:nonsense",
];

// Covers: AUTH-13, RES-08
#[tokio::test]
async fn a_session_can_subscribe_only_to_resources_its_caller_can_read() {
    for version in Version::LEGACY {
        let hub = Hub::serve(server());
        for (who, codes) in [
            (Identity::Anonymous, [0, 403, -32002, 403, -32002]),
            (READER, [0, 0, -32002, 0, -32002]),
            (STAFF, [0, 403, 0, 403, -32002]),
            (ADMIN, [0, 0, 0, 0, -32002]),
        ] {
            let mut client = who.connect(&hub, version).await;
            for (uri, code) in URIS.into_iter().zip(codes) {
                let followed = client
                    .request("resources/subscribe", json!({"uri": uri}))
                    .await;
                let failed = followed.err().map_or(0, |failure| failure.code);
                assert_eq!(failed, code, "{uri} for {who:?}");
                // Unsubscribing is never refused.
                client
                    .ok("resources/unsubscribe", json!({"uri": uri}))
                    .await;
                if code == 0 {
                    client.ok("resources/subscribe", json!({"uri": uri})).await;
                }
            }
            let heard: Vec<_> = URIS
                .into_iter()
                .zip(codes)
                .filter(|(_, code)| *code == 0)
                .collect();
            assert_eq!(heard_of(&mut client).await.len(), heard.len(), "{who:?}");
        }
    }
}

// Covers: AUTH-13, SUBS-03
#[tokio::test]
async fn a_listener_is_notified_of_resources_its_caller_can_read() {
    let hub = Hub::serve(server());
    for (who, followed) in [
        (Identity::Anonymous, vec!["identity:open"]),
        (READER, vec!["identity:notes", "identity:open", "note:///7"]),
        (STAFF, vec!["identity:open", "identity:staff"]),
    ] {
        let mut client = who.connect(&hub, Version::V2026_07_28).await;
        let wanted = json!({"resourceSubscriptions": URIS});
        let honoured = client.listen("resources", wanted).await;
        let uris = &honoured["resourceSubscriptions"];
        assert_eq!(*uris, json!(followed), "{who:?}");
        assert_eq!(heard_of(&mut client).await.len(), followed.len());
    }
}

/// Returns the resources that the client is notified of when all of them change.
async fn heard_of(client: &mut Client) -> Vec<Value> {
    for uri in URIS {
        client.tool("touch", json!({"uri": uri})).await;
    }
    let mut heard = client.drain().await;
    heard.retain(|message| message["method"] == "notifications/resources/updated");
    heard
}

#[tokio::test]
async fn without_scopes_any_uri_can_be_subscribed() {
    for version in Version::LEGACY {
        let mut client = crate::support::client(version).await;
        let params = json!({"uri": "not:there:yet"});
        client.ok("resources/subscribe", params).await;
    }
}
