//! Calls through the search: they ask questions and are limited as direct calls are.

use serde_json::json;
use tests::Version;
use tests::link::Hub;

use super::search::{anonymous, searching, through};

#[tokio::test]
async fn questions_are_asked_through_the_search() {
    let hub = Hub::serve(searching());
    for version in [
        Version::V2025_06_18,
        Version::V2025_11_25,
        Version::V2026_07_28,
    ] {
        let mut client = hub.client(version);
        client.capabilities = crate::asking::able();
        let mut client = client.connect().await;
        client.answer(|_| tests::Answer::accept(json!({"city": "Bern"})));
        let sent = client
            .ask("tools/call", through("send_parcel", json!({"weight": 5})))
            .await
            .unwrap();
        assert_eq!(sent["content"][0]["text"], "5 g to Bern");
    }
    let mut unable = anonymous(&hub, Version::V2026_07_28).await;
    unable
        .fails(
            "tools/call",
            through("send_parcel", json!({"weight": 5})),
            -32021,
        )
        .await;
}

#[tokio::test]
async fn limits_apply_through_the_search() {
    let hub = Hub::serve(searching());
    let mut client = anonymous(&hub, Version::V2026_07_28).await;
    let long = client
        .request(
            "tools/call",
            through("count_parcels", json!({"long": true})),
        )
        .await;
    assert!(!format!("{long:?}").contains("xxx"), "{long:?}");
    // The one call of this hour has been made.
    let refused = client
        .request("tools/call", through("count_parcels", json!({})))
        .await;
    assert!(
        format!("{refused:?}").contains("retry") || format!("{refused:?}").contains("again"),
        "{refused:?}"
    );
}
