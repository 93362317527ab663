//! Handshake, discovery, negotiation, and messages that precede either.

use serde_json::{Value, json};
use tests::{Client, Version};

use crate::fixture;
use crate::support::{client, connect, raw};

fn initialize(date: &str) -> Value {
    json!({"protocolVersion": date, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
}

fn fresh(version: Version) -> Client {
    raw(fixture::server(), version)
}

// Covers: LIFE-01, LIFE-02, LIFE-13
#[tokio::test]
async fn every_handshake_version_is_echoed() {
    for version in Version::LEGACY {
        let client = client(version).await;
        let result = &client.initialized;
        assert_eq!(result["protocolVersion"], version.date());
        assert_eq!(result["serverInfo"]["name"], "fixture");
        assert_eq!(result["serverInfo"]["version"], "1.2.3");
        assert_eq!(result["instructions"], "Call anything.");
        let offered = &result["capabilities"];
        assert_eq!(offered["tools"], json!({"listChanged": true}));
        assert_eq!(offered["prompts"], json!({"listChanged": true}));
        assert_eq!(
            offered["resources"],
            json!({"listChanged": true, "subscribe": true})
        );
        assert_eq!(offered["logging"], json!({}));
        assert_eq!(
            offered.get("completions").is_some(),
            version > Version::V2024_11_05
        );
        assert!(offered.get("tasks").is_none());
        assert_eq!(
            result["serverInfo"].get("title").is_some(),
            version >= Version::V2025_06_18
        );
    }
}

// Covers: LIFE-02
#[tokio::test]
async fn an_unknown_version_is_offered_the_newest_handshake_one() {
    for date in ["2026-07-28", "2099-01-01", "1.0", "", "2024-10-07"] {
        let mut client = fresh(Version::V2025_11_25);
        let result = client.ok("initialize", initialize(date)).await;
        assert_eq!(result["protocolVersion"], "2025-11-25", "{date}");
    }
}

// Covers: LIFE-05, LIFE-11
#[tokio::test]
async fn before_the_handshake_only_a_ping_is_answered() {
    let mut client = fresh(Version::V2025_11_25);
    assert_eq!(client.ok("ping", json!({})).await, json!({}));
    for method in [
        "tools/list",
        "tools/call",
        "logging/setLevel",
        "resources/subscribe",
    ] {
        client.fails(method, json!({}), -32600).await;
    }
    client.notify("notifications/initialized", json!({})).await;
    client.fails("tools/list", json!({}), -32600).await;
    let mut client = client.connect().await;
    assert_eq!(client.ok("ping", json!({})).await, json!({}));
}

// Covers: LIFE-06
#[tokio::test]
async fn a_second_handshake_is_refused_and_changes_nothing() {
    let mut client = client(Version::V2025_03_26).await;
    client
        .fails("initialize", initialize("2025-11-25"), -32600)
        .await;
    // Batches are served only in this protocol version, so the session still uses it.
    client
        .send(&json!([{"jsonrpc":"2.0","id":"x","method":"ping"}]))
        .await;
    assert!(client.read().await.unwrap().is_array());
}

// A handshake is answered as soon as it is read, so no cancellation finds it in progress; this test cannot fail while
// that remains the case. `batches` has the other half of LIFE-08.
// Covers: LIFE-08
#[tokio::test]
async fn a_handshake_cannot_be_cancelled() {
    let mut client = fresh(Version::V2025_11_25);
    let id = client.start("initialize", initialize("2025-11-25")).await;
    client.cancel(&id).await;
    client.response(&id).await.unwrap();
}

// Covers: LIFE-01
#[tokio::test]
async fn a_malformed_handshake_is_invalid_params() {
    for params in [
        json!({}),
        json!({"protocolVersion": 1, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
        json!({"protocolVersion": "2025-11-25", "capabilities": [], "clientInfo": {"name": "t", "version": "1"}}),
    ] {
        let mut client = fresh(Version::V2025_11_25);
        client.fails("initialize", params, -32602).await;
        client.connect().await.pass().await;
    }
}

// Covers: LIFE-09
#[tokio::test]
async fn requests_are_served_before_the_initialized_notification() {
    let mut client = fresh(Version::V2025_11_25);
    client.ok("initialize", initialize("2025-11-25")).await;
    assert_eq!(client.text("add", json!({"a": 1, "b": 2})).await, "3");
}

// Covers: LIFE-04
#[tokio::test]
async fn notifications_wait_until_the_client_is_initialized() {
    let mut client = fresh(Version::V2025_11_25);
    client.ok("initialize", initialize("2025-11-25")).await;
    client.tool("change_lists", json!({})).await;
    assert_eq!(client.drain().await, Vec::<Value>::new());
    client.notify("notifications/initialized", json!({})).await;
    client
        .notification("notifications/tools/list_changed")
        .await;
}

// Covers: DISC-01, DISC-02, DISC-04, DISC-05, META-04, CACHE-01
#[tokio::test]
async fn discovery_returns_versions_capabilities_and_instructions() {
    let mut client = fresh(Version::V2026_07_28);
    let result = client.ok("server/discover", json!({})).await;
    let versions: Vec<&str> = result["supportedVersions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(
        versions,
        [
            "2026-07-28",
            "2025-11-25",
            "2025-06-18",
            "2025-03-26",
            "2024-11-05"
        ]
    );
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["instructions"], "Call anything.");
    assert_eq!(result["ttlMs"], 0);
    assert_eq!(result["cacheScope"], "private");
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "fixture"
    );
    assert!(result["capabilities"].get("tasks").is_none());
    assert!(result["capabilities"]["tools"].is_object());
}

// Covers: BASE-10, DISC-05, LIFE-05
#[tokio::test]
async fn a_modern_request_needs_no_handshake() {
    let mut client = fresh(Version::V2026_07_28);
    assert_eq!(client.text("add", json!({"a": 1, "b": 2})).await, "3");
}

// Covers: BASE-10, STDIO-10
#[tokio::test]
async fn both_eras_are_served_on_one_connection() {
    let mut client = fresh(Version::V2026_07_28);
    client.ok("server/discover", json!({})).await;
    client.speak(Version::V2024_11_05);
    let result = client.ok("initialize", initialize("2024-11-05")).await;
    assert_eq!(result["protocolVersion"], "2024-11-05");
    client.notify("notifications/initialized", json!({})).await;
    client.text("add", json!({"a": 1, "b": 2})).await;
    client.speak(Version::V2026_07_28);
    let result = client.tool("structured", json!({})).await;
    assert_eq!(result["structuredContent"]["x"], 1);
    client.speak(Version::V2024_11_05);
    let result = client.tool("structured", json!({})).await;
    assert!(result.get("structuredContent").is_none());
}

// Covers: DISC-03, DISC-04
#[tokio::test]
async fn a_claim_of_a_version_that_is_not_modern_is_refused() {
    for date in ["2025-11-25", "2024-11-05", "2099-01-01", ""] {
        let mut client = fresh(Version::V2026_07_28);
        client.meta.insert("ignored".into(), json!(1));
        let params = json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": date,
            "io.modelcontextprotocol/clientCapabilities": {},
        }});
        let failure = client.fails("tools/list", params, -32022).await;
        assert_eq!(failure.data["requested"], date);
        assert!(
            failure.data["supported"]
                .as_array()
                .unwrap()
                .contains(&json!("2026-07-28"))
        );
    }
}

// Covers: META-01, META-02
#[tokio::test]
async fn a_malformed_claim_is_invalid_params_and_names_the_key() {
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    for (meta, key) in [
        (json!({version: "2026-07-28"}), capabilities),
        (
            json!({version: "2026-07-28", capabilities: []}),
            capabilities,
        ),
        (
            json!({version: "2026-07-28", capabilities: null}),
            capabilities,
        ),
        (json!({version: 20_260_728, capabilities: {}}), version),
        (json!({version: null, capabilities: {}}), version),
    ] {
        let mut client = fresh(Version::V2026_07_28);
        let message =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
        client.send(&message).await;
        let failure = client.response(&json!(1)).await.unwrap_err();
        assert_eq!(failure.code, -32602, "{message}");
        assert!(failure.message.contains(key), "{}", failure.message);
    }
    let mut client = fresh(Version::V2026_07_28);
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover"}))
        .await;
    assert_eq!(client.response(&json!(1)).await.unwrap_err().code, -32602);
    // The name of the client is optional.
    let meta = json!({version: "2026-07-28", capabilities: {}});
    client
        .send(
            &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": meta}}),
        )
        .await;
    client.response(&json!(2)).await.unwrap();
}

// Covers: BASE-07, LOG-04
#[tokio::test]
async fn methods_of_the_other_era_do_not_exist() {
    let mut modern = fresh(Version::V2026_07_28);
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/get",
    ] {
        modern.fails(method, json!({}), -32601).await;
    }
    for version in Version::LEGACY {
        let mut legacy = client(version).await;
        legacy
            .fails("subscriptions/listen", json!({"notifications": {}}), -32601)
            .await;
        legacy.fails("no/such/method", json!({}), -32601).await;
        legacy.fails("server/discover", json!({}), -32602).await;
    }
}

// Covers: BASE-07, DISC-02, TOOL-01, PROMPT-01, RES-01, COMP-01, COMP-04
#[tokio::test]
async fn methods_of_undeclared_capabilities_are_not_found() {
    for version in Version::ALL {
        let server = mcp_runtime::Server::new("empty", "1")
            .only([mcp_runtime::prompt(fixture::prompts::lonely)]);
        let mut client = connect(server, version).await;
        for method in [
            "tools/list",
            "tools/call",
            "resources/list",
            "resources/read",
            "completion/complete",
        ] {
            client
                .fails(method, json!({"name": "x", "uri": "x"}), -32601)
                .await;
        }
        client.ok("prompts/list", json!({})).await;
    }
}

// Covers: BASE-14
#[tokio::test]
async fn empty_results_are_empty() {
    for version in Version::LEGACY {
        let mut client = client(version).await;
        for (method, params) in [
            ("ping", json!({})),
            ("logging/setLevel", json!({"level": "info"})),
            ("resources/subscribe", json!({"uri": "test://static"})),
            ("resources/unsubscribe", json!({"uri": "test://static"})),
        ] {
            assert_eq!(client.ok(method, params).await, json!({}));
        }
    }
}

// Covers: LIFE-07, TOOL-01
#[tokio::test]
async fn a_session_is_notified_only_of_declared_capabilities() {
    for version in Version::LEGACY {
        let server = mcp_runtime::Server::new("prompts", "1")
            .only([mcp_runtime::prompt(fixture::prompts::lonely)]);
        let handle = server.handle();
        let mut client = connect(server, version).await;
        let tool = mcp_runtime::dynamic::DynamicTool::new(
            "late",
            json!({"type": "object"}),
            |_, _| async { "late" },
        );
        handle.tools().insert(tool).unwrap();
        handle.notify().prompts_changed();
        client
            .notification("notifications/prompts/list_changed")
            .await;
        assert_eq!(client.drain().await, Vec::<Value>::new());
    }
}

// Covers: META-01
#[tokio::test]
async fn an_incomplete_claim_is_invalid_params() {
    let mut client = raw(fixture::server(), Version::V2026_07_28);
    let key = "io.modelcontextprotocol/clientCapabilities";
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {key: {}}}});
    client.send(&request).await;
    let failure = client.response(&json!(1)).await.unwrap_err();
    assert_eq!(failure.code, -32602);
    assert!(
        failure.message.contains("protocolVersion"),
        "{}",
        failure.message
    );
}
