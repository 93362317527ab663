//! Log messages to the client.

use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::Version;

use crate::support::{capture, client, connect};

const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

fn levels(seen: &[Value]) -> Vec<&str> {
    seen.iter()
        .inspect(|message| assert_eq!(message["method"], "notifications/message"))
        .filter_map(|message| message["params"]["level"].as_str())
        .collect()
}

// Covers: LOG-01, LOG-02
#[tokio::test]
async fn a_session_sets_its_log_level() {
    for version in Version::LEGACY {
        let mut client = client(version).await;
        for (index, level) in LEVELS.iter().enumerate() {
            assert_eq!(
                client.ok("logging/setLevel", json!({"level": level})).await,
                json!({})
            );
            client.tool("log_all", json!({})).await;
            let seen = client.drain().await;
            assert_eq!(levels(&seen), LEVELS[index..], "{level}");
            assert_eq!(seen[0]["params"]["data"], "hello");
        }
        for params in [json!({"level": "loud"}), json!({"level": 3}), json!({})] {
            client.fails("logging/setLevel", params, -32602).await;
        }
    }
}

// Covers: LOG-03, META-06, STDIO-04
#[tokio::test]
async fn a_modern_request_sets_its_own_log_level() {
    let mut client = client(Version::V2026_07_28).await;
    client.tool("log_all", json!({})).await;
    assert_eq!(client.drain().await, Vec::<Value>::new(), "no level is set");
    let key = "io.modelcontextprotocol/logLevel";
    client
        .ok(
            "tools/call",
            json!({"name": "log_all", "_meta": {key: "error"}}),
        )
        .await;
    assert_eq!(levels(&client.drain().await), LEVELS[4..]);
    client.tool("log_all", json!({})).await;
    assert_eq!(
        client.drain().await,
        Vec::<Value>::new(),
        "nothing is remembered"
    );
    for level in [json!("loud"), json!(3), json!(null)] {
        client
            .fails(
                "tools/call",
                json!({"name": "nothing", "_meta": {key: level}}),
                -32602,
            )
            .await;
    }
}

/// Says the same so often.
#[mcp_runtime::tool(tags("flood"))]
fn flood(ctx: &mcp_runtime::Context, messages: u32) {
    for _ in 0..messages {
        ctx.info("again");
    }
}

// Covers: LOG-06, SEC-06
#[tokio::test(start_paused = true)]
async fn log_messages_of_a_call_are_rate_limited() {
    for version in Version::ALL {
        let limits = mcp_runtime::Limits::default().with(|limits| limits.log.max_per_second = 10);
        let server = mcp_runtime::Server::new("flood", "1").only(Selected::tag("flood"));
        let mut client = connect(server.limits(limits), version).await;
        if version.is_modern() {
            let key = "io.modelcontextprotocol/logLevel";
            client.meta.insert(key.into(), json!("debug"));
        } else {
            client
                .ok("logging/setLevel", json!({"level": "debug"}))
                .await;
        }
        // A burst of two seconds' worth of messages is let through, and no more.
        client.tool("flood", json!({"messages": 100})).await;
        assert_eq!(levels(&client.drain().await), ["info"; 20], "{version:?}");
        client.tool("flood", json!({"messages": 20})).await;
        let seen = client.drain().await;
        assert_eq!(seen, Vec::<Value>::new(), "{version:?}");
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        client.tool("flood", json!({"messages": 100})).await;
        let seen = client.drain().await;
        assert_eq!(levels(&seen[..1]), ["warning"]);
        let said = "100 log messages were dropped: too many at once";
        assert_eq!(seen[0]["params"]["data"], said);
        assert_eq!(levels(&seen[1..]), ["info"; 10], "{version:?}");
    }
}

/// Succeeds, and logs a message for the operator.
#[mcp_runtime::tool(tags("traced"))]
async fn traced() {
    tracing::debug!("details");
    tracing::info!("started");
    tokio::task::yield_now().await;
    tracing::error!(attempt = 2, reason = "full", "failed");
}

// Covers: LOG-07
#[tokio::test]
async fn events_of_a_handler_reach_its_client() {
    let _guard = capture(mcp_runtime::server::client_logs());
    tracing::error!("outside of any call");
    for version in Version::ALL {
        let server = mcp_runtime::Server::new("traced", "1").only(Selected::tag("traced"));
        let mut client = connect(server, version).await;
        let key = "io.modelcontextprotocol/logLevel";
        let mut params = json!({"name": "traced"});
        if version == Version::V2026_07_28 {
            params["_meta"] = json!({key: "info"});
        }
        client.ok("tools/call", params).await;
        let seen = client.drain().await;
        assert_eq!(levels(&seen), ["info", "error"], "{version:?}");
        assert_eq!(seen[0]["params"]["data"], "started");
        assert_eq!(seen[0]["params"]["logger"], "it::logging");
        let failed = json!({"attempt": 2, "reason": "full", "message": "failed"});
        assert_eq!(seen[1]["params"]["data"], failed);
    }
}
