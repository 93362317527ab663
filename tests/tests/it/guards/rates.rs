//! The call rate of a handler and of the server.

use std::io;

use mcp_runtime::dynamic::{Arguments, DynamicPrompt, DynamicTool};
use mcp_runtime::http::{HttpOptions, TrustedProxies};
use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_runtime::transport::{Connection, Transport};
use mcp_runtime::{Limits, Principal};
use serde_json::{Value, json};
use tests::http::Request;
use tests::link::Hub;
use tests::{Answer, Client, Version};
use tokio::io::DuplexStream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::advance;

use super::{MILLISECOND, SECOND, retry_after, server};
use crate::http::support::{call, serve_server, text};
use crate::support::connect;

// Covers: SEC-06, TOOL-18
#[tokio::test(start_paused = true)]
async fn calls_above_a_rate_are_refused_with_the_time_to_try_again() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        for _ in 0..2 {
            assert_eq!(client.text("rare", json!({})).await, "called");
        }
        let refused = client.refused("rare", json!({})).await;
        assert_eq!(refused, "too many calls to `rare`; try again in 30 s");
        advance((30 * SECOND).saturating_sub(MILLISECOND)).await;
        let refused = client.refused("rare", json!({})).await;
        assert_eq!(refused, "too many calls to `rare`; try again in 1 ms");
        advance(MILLISECOND).await;
        client.text("rare", json!({})).await;
        client.refused("rare", json!({})).await;
        client.text("free", json!({})).await;
    }
}

// Covers: SEC-06, COMP-05
#[tokio::test(start_paused = true)]
async fn prompts_resources_templates_and_completers_have_rates_as_well() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        for (method, params) in [
            (
                "prompts/get",
                json!({"name": "greet", "arguments": {"word": "hello"}}),
            ),
            ("resources/read", json!({"uri": "guards://one"})),
            ("resources/read", json!({"uri": "guards://many/1"})),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "word", "value": ""}}),
            ),
        ] {
            client.ok(method, params.clone()).await;
            let failure = client.fails(method, params.clone(), 429).await;
            assert_eq!(retry_after(&failure), 60_000, "{failure:?}");
            assert!(
                failure.message.ends_with("; try again in 60 s"),
                "{failure:?}"
            );
            advance(60 * SECOND).await;
            client.ok(method, params).await;
        }
    }
}

/// Connections of principals and of anonymous callers.
struct People(UnboundedReceiver<(DuplexStream, Option<Principal>)>);

impl Transport for People {
    async fn accept(&mut self) -> Option<io::Result<Connection>> {
        let (stream, principal) = self.0.recv().await?;
        let connection = Connection::from_stream(stream);
        Some(Ok(match principal {
            Some(principal) => connection.with_principal(principal),
            None => connection,
        }))
    }
}

// Covers: SEC-06
#[tokio::test(start_paused = true)]
async fn each_caller_has_a_bucket_and_a_principal_one_for_all_connections() {
    for version in Version::ERAS {
        let (people, coming) = unbounded_channel();
        tokio::spawn(server().serve(People(coming)));
        let client = async |principal: Option<&str>| {
            let (client, server) = tokio::io::duplex(64 << 10);
            let principal = principal.map(Principal::new);
            people.send((server, principal)).unwrap();
            let (reader, writer) = tokio::io::split(client);
            Client::new(reader, writer, version).connect().await
        };
        let mut clients = [
            client(Some("alice")).await,
            client(Some("alice")).await,
            client(Some("bob")).await,
            client(None).await,
            client(None).await,
        ];
        clients[0].text("each", json!({})).await;
        clients[1].text("each", json!({})).await;
        for client in &mut clients[..2] {
            client.refused("each", json!({})).await;
        }
        for client in &mut clients[2..] {
            client.text("each", json!({})).await;
            client.text("each", json!({})).await;
            client.refused("each", json!({})).await;
        }
        // Without `per caller`, there is only one bucket.
        for client in &mut clients[..2] {
            client.text("rare", json!({})).await;
        }
        clients[4].refused("rare", json!({})).await;
    }
}

fn of_tenant(subject: &str, tenant: Option<Value>) -> Principal {
    let claims = tenant.map(|tenant| ("tenant".to_owned(), tenant));
    Principal::new(subject).with_claims(claims.into_iter().collect())
}

/// Calls a tool with a client of its own, and returns `true` if the call is admitted.
async fn is_admitted(hub: &Hub, (version, who): (Version, Option<&Principal>), tool: &str) -> bool {
    let client = match who.cloned() {
        Some(who) => hub.client_as(version, |connection| connection.with_principal(who)),
        None => hub.client(version),
    };
    let mut client = client.connect().await;
    client.tool(tool, json!({})).await["isError"] != true
}

// Covers: SEC-06
#[tokio::test(start_paused = true)]
async fn each_tenant_has_a_bucket_for_all_of_its_callers() {
    for version in Version::ERAS {
        let hub = Hub::serve(server());
        let acme = json!("acme");
        for (subject, tenant, admitted) in [
            ("alice", Some(acme.clone()), true),
            ("bob", Some(acme.clone()), true),
            ("carol", Some(acme.clone()), false),
            ("alice", Some(json!("other")), true),
            ("alice", Some(json!({"id": 1})), true),
            ("bob", Some(json!({"id": 1})), true),
            ("bob", Some(json!({"id": 1})), false),
            // Without the claim, all share a bucket.
            ("alice", None, true),
            ("bob", None, true),
            ("carol", None, false),
        ] {
            let who = of_tenant(subject, tenant.clone());
            assert_eq!(
                is_admitted(&hub, (version, Some(&who)), "each_tenant").await,
                admitted,
                "{subject} {tenant:?}"
            );
        }
        assert!(!is_admitted(&hub, (version, None), "each_tenant").await);
    }
}

// Covers: SEC-06
// Limits: calls.max_rate_callers
#[tokio::test(start_paused = true)]
async fn tenants_above_the_limit_share_a_bucket() {
    let limits = Limits::default().with(|limits| limits.calls.max_rate_callers = 2);
    let hub = Hub::serve(server().limits(limits));
    for (tenant, calls) in [(1, 2), (2, 2), (3, 2), (4, 0), (5, 0)] {
        let who = of_tenant("alice", Some(json!(tenant)));
        let caller = (Version::V2026_07_28, Some(&who));
        for _ in 0..calls {
            assert!(is_admitted(&hub, caller, "each_tenant").await, "{tenant}");
        }
        assert!(!is_admitted(&hub, caller, "each_tenant").await, "{tenant}");
    }
}

// Covers: SEC-06
#[tokio::test]
async fn a_header_counts_for_a_rate_only_if_a_trusted_proxy_has_set_it() {
    let proxy = |address: &str| HttpOptions::new().trusted_proxies(TrustedProxies::new([address]));
    let tool = |tenant: &str| Request::tool("each_header", json!({})).header("x-tenant", tenant);
    for (address, is_trusted) in [("127.0.0.1", true), ("10.0.0.1", false)] {
        let server = serve_server(server().http(proxy(address))).await;
        for (tenant, is_admitted) in [
            ("acme", true),
            ("acme", true),
            ("acme", false),
            ("other", is_trusted),
        ] {
            let (_, message) = server.message(&tool(tenant)).await;
            let expected = if is_admitted {
                "called"
            } else {
                "too many calls"
            };
            assert!(text(&message).starts_with(expected), "{tenant}: {message}");
        }
    }
    // A variable stands in for the header.
    let connect = |tenant: &str| TestClient::modern(super::server()).header("X-Tenant", tenant);
    let client = connect("acme").await;
    for expected in ["called", "called", "too many calls"] {
        let called = client.call("each_header", json!({})).await.unwrap();
        let text = match expected {
            "called" => called.text(),
            _ => called.error_text(),
        };
        assert!(text.starts_with(expected), "{text}");
    }
}

// Covers: SEC-06
#[tokio::test(start_paused = true)]
async fn definitions_with_a_tag_share_a_quota() {
    for version in Version::ERAS {
        let hub = Hub::serve(server().rate_for("quota", "3/min per claim tenant"));
        let (acme, other) = (
            of_tenant("alice", Some(json!("acme"))),
            of_tenant("bob", Some(json!("other"))),
        );
        for (tool, who, admitted) in [
            ("each_tenant", &acme, true),
            ("each_tenant", &acme, true),
            ("each_header", &acme, true),
            ("each_header", &acme, false),
            ("each_header", &other, true),
            ("free", &acme, true),
        ] {
            let caller = (version, Some(who));
            assert_eq!(is_admitted(&hub, caller, tool).await, admitted, "{tool}");
        }
    }
    for (tag, rate, expected) in [
        ("qutoa", "1/s", "qutoa"),
        (
            "quota",
            "1/s per tenant",
            "the rate `1/s per tenant` is not valid",
        ),
    ] {
        let (transport, _client) = mcp_runtime::transport::memory();
        let error = server().rate_for(tag, rate).serve(transport).await;
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

// Covers: SEC-05
// Limits: calls.max_rate_callers
#[tokio::test(start_paused = true)]
async fn callers_above_the_limit_share_a_bucket() {
    let limits = Limits::default().with(|limits| limits.calls.max_rate_callers = 2);
    let hub = Hub::serve(server().limits(limits));
    for (caller, calls) in [(1, 2), (2, 2), (3, 2), (4, 0), (5, 0)] {
        let mut client = hub.client(Version::V2026_07_28).connect().await;
        for _ in 0..calls {
            client.text("each", json!({})).await;
        }
        assert!(
            !client.refused("each", json!({})).await.is_empty(),
            "{caller}"
        );
    }
    advance(60 * SECOND).await;
    let mut client = hub.client(Version::V2026_07_28).connect().await;
    client.text("each", json!({})).await;
}

// Covers: SEC-06
#[tokio::test(start_paused = true)]
async fn the_rate_of_the_server_holds_for_all_handlers_together() {
    for version in Version::ERAS {
        let mut client = connect(server().rate("3/min"), version).await;
        client.text("free", json!({})).await;
        client.text("rare", json!({})).await;
        client
            .ok("resources/read", json!({"uri": "guards://one"}))
            .await;
        client.refused("free", json!({})).await;
        // A call that the server refuses is not charged to the handler.
        for _ in 0..3 {
            client.refused("rare", json!({})).await;
        }
        advance(20 * SECOND).await;
        client.text("rare", json!({})).await;
        client.ok("tools/list", json!({})).await;
    }
}

// Covers: SEC-06, MRTR-06
#[tokio::test(start_paused = true)]
async fn a_call_with_rounds_is_charged_once_and_a_repeated_round_again() {
    for version in Version::ERAS {
        let mut client = crate::support::raw(server(), version);
        client.capabilities = json!({"elicitation": {"form": {}}});
        let mut client = client.connect().await;
        client.answer(|_| Answer::accept(json!({"name": "Ada"})));
        let params = json!({"name": "ask_twice"});
        let result = client.ask("tools/call", params.clone()).await.unwrap();
        assert_eq!(result["content"][0]["text"], "Ada and Ada", "{result}");
        client.refused("ask_twice", json!({})).await;
        if !version.is_modern() {
            continue;
        }
        advance(3_600 * SECOND).await;
        let first = client.request("tools/call", params.clone()).await.unwrap();
        let next = client.retry(&params, &first);
        let second = client.request("tools/call", next.clone()).await.unwrap();
        assert_eq!(second["resultType"], "input_required", "{second}");
        for _ in 0..2 {
            let again = client.request("tools/call", next.clone()).await.unwrap();
            assert_eq!(again["isError"], true, "{again}");
        }
        let last = client.retry(&params, &second);
        let result = client.request("tools/call", last).await.unwrap();
        assert_eq!(result["content"][0]["text"], "Ada and Ada", "{result}");
    }
}

#[tokio::test(start_paused = true)]
async fn dynamic_definitions_have_the_same_guards() {
    let server = server();
    let handle = server.handle();
    let tool = |name: &str| {
        let schema = json!({"type": "object"});
        DynamicTool::new(name, schema, async |_: Arguments, _: Context| {
            "x".repeat(500)
        })
    };
    handle.tools().insert(tool("rated").rate("1/min")).unwrap();
    handle
        .tools()
        .insert(tool("small").max_output(300))
        .unwrap();
    let prompt = DynamicPrompt::new("rated", async |_, _| "hello")
        .rate("1/min")
        .concurrency(1);
    handle.prompts().insert(prompt).unwrap();
    let mut client = connect(server, Version::V2026_07_28).await;
    client.tool("rated", json!({})).await;
    client.refused("rated", json!({})).await;
    for (tool, problem) in [
        (tool("a").rate("often"), "`often` is not valid"),
        (tool("a").concurrency(0), "`concurrency` is zero"),
        (tool("a").max_output(0), "`max_output` is zero"),
    ] {
        let error = handle.tools().insert(tool).unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
    }
    client.refused("small", json!({})).await;
    client.ok("prompts/get", json!({"name": "rated"})).await;
    client
        .fails("prompts/get", json!({"name": "rated"}), 429)
        .await;
}

#[tokio::test]
async fn an_invalid_rate_is_an_error_at_startup() {
    let (transport, _client) = mcp_runtime::transport::memory();
    let error = server().rate("0/s").serve(transport).await.unwrap_err();
    assert!(
        error.to_string().contains("the rate `0/s` allows no calls"),
        "{error}"
    );
}

// Covers: SEC-06, COMP-05
#[tokio::test]
async fn over_http_a_refusal_has_a_status_and_a_header() {
    let server = serve_server(server()).await;
    let read = Request::modern(1, "resources/read", json!({"uri": "guards://one"}));
    assert_eq!(server.message(&read).await.0, 200);
    let mut response = server.send(&read).await;
    assert_eq!(response.status, 429);
    let seconds: u64 = response.header("retry-after").unwrap().parse().unwrap();
    let message = response.message().await;
    let milliseconds = message["error"]["data"]["retryAfterMs"].as_u64().unwrap();
    assert_eq!(seconds, milliseconds.div_ceil(1_000), "{message}");
    assert!((50..=60).contains(&seconds), "{seconds}");
    // The model is told why a tool was not called, so this counts as an answer.
    let tool = Request::tool("each", json!({}));
    for expected in ["called", "called", "too many calls to `each`"] {
        let (status, message) = server.message(&tool).await;
        assert_eq!(status, 200);
        assert!(text(&message).starts_with(expected), "{message}");
    }
    // Each session is a separate caller and remains the same caller even while none of its requests is in progress.
    for _ in 0..2 {
        let session = server.session(Version::V2025_11_25).await;
        for expected in ["called", "called", "too many calls to `each`"] {
            let request = call(&session, 1, "each", json!({}), Version::V2025_11_25);
            let (status, message) = server.message(&request).await;
            assert_eq!(status, 200);
            assert!(text(&message).starts_with(expected), "{message}");
        }
    }
}

// Covers: SEC-06, COMP-05
#[tokio::test]
async fn completions_over_http_have_a_rate_without_sessions() {
    let limits = Limits::default().with(|limits| limits.calls.max_completions_per_second = 1);
    let server = serve_server(crate::fixture::server().limits(limits)).await;
    let params: Value = json!({"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "language", "value": ""}});
    let mut statuses = Vec::new();
    for id in 0..10 {
        let request = Request::modern(id, "completion/complete", params.clone());
        statuses.push(server.send(&request).await.status);
    }
    assert_eq!(statuses[..2], [200, 200]);
    assert!(statuses[2..].contains(&429), "{statuses:?}");
}
