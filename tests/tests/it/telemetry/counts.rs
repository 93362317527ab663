//! Metrics after known traffic, and gauges that return to zero.

use std::collections::BTreeMap;

use mcp_runtime::prelude::*;
use serde_json::json;
use tests::Version;
use tests::http::{Request, connect as dial, write};

use crate::fixture::Shared;
use crate::http::support::{call, serve_server};
use crate::support::{connect, raw};
use crate::telemetry::capture::Counted;
use crate::telemetry::server;

const ACTIVE: &str = "mcp.server.active_requests";

/// Asks its caller.
#[tool(tags("telemetry"))]
async fn ask(ctx: &Context) -> Result<String> {
    #[derive(Elicit)]
    struct Name {
        name: String,
    }
    let Name { name } = ctx.elicit("Who are you?").await?;
    Ok(name)
}

fn counts<const N: usize>(expected: [(&str, i64); N]) -> BTreeMap<String, i64> {
    expected.map(|(key, count)| (key.to_owned(), count)).into()
}

#[tokio::test]
async fn requests_are_counted_by_target_and_outcome() {
    let (mut counted, _guard) = Counted::begin();
    let mut client = connect(server(), Version::V2026_07_28).await;
    for _ in 0..3 {
        client.tool("add", json!({"a": 1, "b": 2})).await;
    }
    client.tool("fail_shown", json!({})).await;
    client.tool("return_error", json!({})).await;
    client.tool("overrun", json!({})).await;
    for name in ["panic_now", "panic_later"] {
        client
            .fails("tools/call", json!({"name": name}), -32603)
            .await;
    }
    for name in ["a", "b", "c"] {
        client
            .fails("tools/call", json!({"name": name}), -32602)
            .await;
        let _ = client.request(name, json!({})).await;
        let _ = client
            .request("resources/read", json!({"uri": format!("item:///1{name}")}))
            .await;
    }
    client.capabilities = json!({"elicitation": {}});
    client.ok("tools/call", json!({"name": "ask"})).await;
    client.ok("prompts/get", json!({"name": "greet"})).await;
    client.ok("tools/list", json!({})).await;
    let tool = "mcp.method.name=tools/call outcome";
    let of = |name: &str, outcome: &str| format!("gen_ai.tool.name={name} {tool}={outcome}");
    assert_eq!(
        counted.all("mcp.server.requests"),
        counts([
            (&of("add", "ok"), 3),
            (&of("fail_shown", "tool_error"), 1),
            (&of("return_error", "tool_error"), 1),
            (&of("overrun", "timed_out"), 1),
            (&of("panic_now", "panicked"), 1),
            (&of("panic_later", "panicked"), 1),
            (&of("ask", "input_required"), 1),
            ("mcp.method.name=tools/call outcome=error", 3),
            ("mcp.method.name=_OTHER outcome=error", 3),
            ("mcp.method.name=resources/read outcome=error", 3),
            (
                "gen_ai.prompt.name=greet mcp.method.name=prompts/get outcome=ok",
                1
            ),
            ("mcp.method.name=tools/list outcome=ok", 1),
        ])
    );
    let durations = counted.all("mcp.server.operation.duration");
    let version = "mcp.protocol.version=2026-07-28";
    let add = format!(
        "gen_ai.operation.name=execute_tool gen_ai.tool.name=add mcp.method.name=tools/call {version}"
    );
    assert_eq!(durations.get(&add), Some(&3), "{durations:#?}");
    let panic = format!(
        "error.type=-32603 gen_ai.operation.name=execute_tool gen_ai.tool.name=panic_now \
         mcp.method.name=tools/call {version} rpc.response.status_code=-32603"
    );
    assert_eq!(durations.get(&panic), Some(&1), "{durations:#?}");
    assert_eq!(durations.values().sum::<i64>(), 20);
    assert_eq!(counted.one(ACTIVE), 0);
}

#[tokio::test]
async fn running_calls_and_open_sessions_are_counted_until_they_end() {
    for version in Version::ERAS {
        let (mut counted, _guard) = Counted::begin();
        let shared = Shared::default();
        let mut client = connect(server().state(shared.clone()), version).await;
        let sessions = i64::from(!version.is_modern());
        assert_eq!(counted.one("mcp.server.active_sessions"), sessions);
        let mut ids = Vec::new();
        for calls in 1..=3 {
            ids.push(client.start("tools/call", json!({"name": "wait"})).await);
            shared.started(calls).await;
            assert_eq!(counted.one(ACTIVE), i64::from(calls));
        }
        client.cancel(&ids[0]).await;
        shared.dropped(1).await;
        client.pass().await;
        assert_eq!(counted.one(ACTIVE), 2);
        client
            .fails("tools/call", json!({"name": "panic_later"}), -32603)
            .await;
        assert_eq!(counted.one(ACTIVE), 2);
        // The client has disconnected, so the call that it was waiting for is dropped.
        shared.0.go_on.notify_waiters();
        client.response(&ids[1]).await.unwrap();
        client.response(&ids[2]).await.unwrap();
        client.finish().await;
        assert_eq!(counted.one(ACTIVE), 0);
        let outcomes = counted.all("mcp.server.requests");
        let wait = "gen_ai.tool.name=wait mcp.method.name=tools/call outcome";
        assert_eq!(outcomes[&format!("{wait}=cancelled")], 1);
        assert_eq!(outcomes[&format!("{wait}=ok")], 2);
    }
}

#[tokio::test(start_paused = true)]
async fn gauges_return_to_zero_when_the_server_ends() {
    for version in Version::ERAS {
        let (mut counted, _guard) = Counted::begin();
        let shared = Shared::default();
        let server = server().state(shared.clone());
        let handle = server.handle();
        let mut client = raw(server, version).connect().await;
        client.start("tools/call", json!({"name": "wait"})).await;
        shared.started(1).await;
        if version.is_modern() {
            let filter = json!({"notifications": {"toolsListChanged": true}});
            client.start("subscriptions/listen", filter).await;
            client
                .notification("notifications/subscriptions/acknowledged")
                .await;
            assert_eq!(counted.one("mcp.server.active_subscriptions"), 1);
        }
        handle.shut_down();
        shared.dropped(1).await;
        while client.read().await.is_some() {}
        for name in [
            ACTIVE,
            "mcp.server.active_subscriptions",
            "mcp.server.active_sessions",
        ] {
            assert_eq!(counted.one(name), 0, "{name}");
        }
    }
}

#[tokio::test]
async fn over_http_a_client_that_goes_away_is_not_counted_any_more() {
    let (mut counted, _guard) = Counted::begin();
    let served = serve_server(server()).await;
    // For a modern client, the connection owns the call.
    let mut stream = dial(served.address).await;
    write(&mut stream, &Request::tool("wait", json!({}))).await;
    served.shared.started(1).await;
    assert_eq!(counted.one(ACTIVE), 1);
    drop(stream);
    served.shared.dropped(1).await;
    assert_eq!(counted.one(ACTIVE), 0);
    // For a legacy client, the session owns the call and ends with it.
    let session = served.session(Version::V2025_11_25).await;
    let mut stream = dial(served.address).await;
    write(
        &mut stream,
        &call(&session, 1, "wait", json!({}), Version::V2025_11_25),
    )
    .await;
    served.shared.started(2).await;
    assert_eq!(
        (
            counted.one(ACTIVE),
            counted.one("mcp.server.active_sessions")
        ),
        (1, 1)
    );
    let ended = Request::new("DELETE", Version::V2025_11_25).header("Mcp-Session-Id", &session);
    assert_eq!(served.send(&ended).await.status, 204);
    served.shared.dropped(2).await;
    assert_eq!(counted.one(ACTIVE), 0);
    let cancelled = "gen_ai.tool.name=wait mcp.method.name=tools/call outcome=cancelled";
    assert_eq!(counted.all("mcp.server.requests")[cancelled], 2);
    // Everything that still holds the live part of the session releases it.
    drop(stream);
    while counted.one("mcp.server.active_sessions") > 0 {
        tokio::task::yield_now().await;
    }
}
