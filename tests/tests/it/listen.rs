//! `subscriptions/listen`.

use mcp_runtime::Limits;
use serde_json::{Value, json};
use tests::Version;

use crate::fixture;
use crate::support::{client, connect, limited};

const KEY: &str = "io.modelcontextprotocol/subscriptionId";

// Covers: SUBS-01, SUBS-02, SUBS-03, SUBS-04, SUBS-05, SUBS-08, RES-08, TOOL-17, PROMPT-06, RES-09
#[tokio::test]
async fn each_listener_gets_matching_notifications_with_its_subscription_id() {
    let mut client = client(Version::V2026_07_28).await;
    let tools = json!({"toolsListChanged": true});
    assert_eq!(client.listen(json!(0), tools.clone()).await, tools);
    let rest = json!({"promptsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": ["test://static"]});
    assert_eq!(client.listen(json!(""), rest.clone()).await, rest);
    assert_eq!(client.listen(json!("0"), tools.clone()).await, tools);
    client.tool("change_lists", json!({})).await;
    client.tool("touch", json!({"uri": "test://static"})).await;
    client.tool("touch", json!({"uri": "test://json"})).await;
    let mut seen = Vec::new();
    for (method, count) in [
        ("tools/list_changed", 2),
        ("prompts/list_changed", 1),
        ("resources/list_changed", 1),
        ("resources/updated", 1),
    ] {
        for _ in 0..count {
            let params = client
                .notification(&format!("notifications/{method}"))
                .await;
            seen.push((method, params["_meta"][KEY].clone()));
        }
    }
    seen[..2].sort_by_key(|(_, id)| id.to_string());
    assert_eq!(
        seen,
        [
            ("tools/list_changed", json!("0")),
            ("tools/list_changed", json!(0)),
            ("prompts/list_changed", json!("")),
            ("resources/list_changed", json!("")),
            ("resources/updated", json!("")),
        ]
    );
    assert_eq!(client.drain().await, Vec::<Value>::new());
}

// Covers: SUBS-09, STDIO-05, CANC-03, CANC-04
#[tokio::test]
async fn a_cancelled_listener_gets_no_more_notifications() {
    let mut client = client(Version::V2026_07_28).await;
    client
        .listen(json!("l"), json!({"toolsListChanged": true}))
        .await;
    client.cancel(&json!("l")).await;
    client.tool("change_lists", json!({})).await;
    assert_eq!(client.drain().await, Vec::<Value>::new());
    assert!(!client.answered(&json!("l")));
    // The id is available again.
    client
        .listen(json!("l"), json!({"toolsListChanged": true}))
        .await;
}

// Covers: SUBS-06
#[tokio::test]
async fn a_listen_request_with_an_empty_filter_stays_open() {
    let mut client = client(Version::V2026_07_28).await;
    assert_eq!(client.listen(json!(1_000), json!({})).await, json!({}));
    client.tool("change_lists", json!({})).await;
    assert_eq!(client.drain().await, Vec::<Value>::new());
}

// Covers: SUBS-02, SUBS-06
#[tokio::test]
async fn filters_for_undeclared_capabilities_are_not_acknowledged() {
    let server = mcp_runtime::Server::new("prompts", "1")
        .only([mcp_runtime::prompt(fixture::prompts::lonely)]);
    let mut client = connect(server, Version::V2026_07_28).await;
    let wanted = json!({"toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["a://b"]});
    assert_eq!(
        client.listen(json!(1_000), wanted).await,
        json!({"promptsListChanged": true})
    );
}

// Covers: SUBS-01
#[tokio::test]
async fn a_malformed_filter_is_invalid_params() {
    let mut client = client(Version::V2026_07_28).await;
    for params in [
        json!({}),
        json!({"notifications": []}),
        json!({"notifications": null}),
        json!({"notifications": {"toolsListChanged": "yes"}}),
        json!({"notifications": {"resourceSubscriptions": "test://static"}}),
        json!({"notifications": {"resourceSubscriptions": [1]}}),
    ] {
        client.fails("subscriptions/listen", params, -32602).await;
    }
}

// Covers: SUBS-10, STDIO-08
#[tokio::test]
async fn a_server_that_stops_ends_its_listeners() {
    let server = fixture::server();
    let handle = server.handle();
    let mut client = connect(server, Version::V2026_07_28).await;
    client
        .listen(json!("l"), json!({"toolsListChanged": true}))
        .await;
    handle.shut_down();
    let result = client.response(&json!("l")).await.unwrap();
    assert_eq!(result["_meta"][KEY], "l");
    let cancelled = client.notification("notifications/cancelled").await;
    assert_eq!(cancelled["requestId"], "l");
    assert!(client.read().await.is_none());
}

// Covers: SUBS-07, BASE-10
#[tokio::test]
async fn legacy_subscriptions_and_modern_listeners_are_independent() {
    let mut client = client(Version::V2025_11_25).await;
    client
        .ok("resources/subscribe", json!({"uri": "test://json"}))
        .await;
    client.speak(Version::V2026_07_28);
    client
        .listen(
            json!("l"),
            json!({"resourceSubscriptions": ["test://static"]}),
        )
        .await;
    client.tool("touch", json!({"uri": "test://static"})).await;
    let update = client.notification("notifications/resources/updated").await;
    assert_eq!(update["_meta"][KEY], "l");
    client.tool("touch", json!({"uri": "test://json"})).await;
    let update = client.notification("notifications/resources/updated").await;
    assert_eq!(update["uri"], "test://json");
    assert!(update.get("_meta").is_none());
    assert_eq!(client.drain().await, Vec::<Value>::new());
}

// Covers: SUBS-11
// Limits: streams.max_subscriptions
#[tokio::test]
async fn the_resource_subscriptions_of_a_connection_are_limited() {
    let limits = Limits::default().with(|limits| limits.streams.max_subscriptions = 3);
    let mut client = limited(Version::V2026_07_28, limits.clone()).await;
    let wanted = |uris: &[&str]| json!({ "resourceSubscriptions": uris });
    let too_many = |uris: &[&str]| json!({ "notifications": wanted(uris) });
    let method = "subscriptions/listen";
    client
        .fails(method, too_many(&["a:1", "a:2", "a:3", "a:4"]), -32602)
        .await;
    // A URI that is requested twice is subscribed to once.
    let all = wanted(&["a:1", "a:2", "a:1"]);
    let followed = client.listen(json!("a"), all).await;
    assert_eq!(followed, wanted(&["a:1", "a:2"]));
    client
        .fails(method, too_many(&["a:3", "a:4"]), -32602)
        .await;
    client.listen(json!("b"), wanted(&["a:3"])).await;
    client.fails(method, too_many(&["a:4"]), -32602).await;
    for version in Version::LEGACY {
        let mut client = limited(version, limits.clone()).await;
        for number in 0..3 {
            let params = json!({"uri": format!("a:{number}")});
            client.ok("resources/subscribe", params).await;
        }
        let again = json!({"uri": "a:0"});
        client.ok("resources/subscribe", again).await;
        let params = json!({"uri": "a:3"});
        client.fails("resources/subscribe", params, -32602).await;
    }
}
