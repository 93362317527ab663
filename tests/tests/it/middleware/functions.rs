//! Functions around calls.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::extension::Sanitizer;
use mcp_runtime::handler::CallId;
use mcp_runtime::middleware::{Call, CallOutput, Kind, Next};
use mcp_runtime::prelude::*;
use mcp_runtime::types::CallToolResult;
use serde_json::{Value, json};
use tests::Version;
use tests::http::Request;
use tokio::time::advance;

use super::{Seen, noting, redact, server};
use crate::fixture::Shared;
use crate::http::support::serve_server;
use crate::support::connect;

#[tokio::test]
async fn calls_of_every_kind_pass_through_in_order() {
    for version in Version::ERAS {
        let seen = Seen::default();
        let server = server()
            .middleware(noting(&seen, "outer"))
            .middleware(noting(&seen, "inner"));
        let mut client = connect(server, version).await;
        for (method, params, what) in [
            (
                "tools/call",
                json!({"name": "greet", "arguments": {"name": "Ada"}}),
                r#"Tool greet {"name":"Ada"}"#,
            ),
            (
                "prompts/get",
                json!({"name": "review", "arguments": {"code": "x"}}),
                r#"Prompt review {"code":"x"}"#,
            ),
            (
                "resources/read",
                json!({"uri": "middleware://one"}),
                "Resource middleware://one {}",
            ),
            (
                "resources/read",
                json!({"uri": "middleware://many/7"}),
                r#"ResourceTemplate middleware://many/7 {"id":"7"}"#,
            ),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "code", "value": "t"}}),
                r#"Completer review {"code":"t"}"#,
            ),
        ] {
            client.ok(method, params).await;
            let expected = [
                format!("outer: {what}"),
                format!("inner: {what}"),
                "inner: true".into(),
                "outer: true".into(),
            ];
            assert_eq!(seen.take(), expected);
        }
        // Invalid arguments are a failure like any other, and are still reported one by one.
        let text = client.refused("greet", json!({"nam": "Ada"})).await;
        assert!(text.contains("did you mean `name`"), "{text}");
        assert_eq!(seen.take()[2], "inner: false");
        client.refused("fails", json!({})).await;
        assert_eq!(seen.take()[2], "inner: false");
        client
            .fails(
                "resources/read",
                json!({"uri": "middleware://many/none"}),
                if version.is_modern() { -32602 } else { -32002 },
            )
            .await;
        // A missing tool is not called.
        seen.take();
        client
            .fails("tools/call", json!({"name": "unknown"}), -32602)
            .await;
        client.ok("tools/list", json!({})).await;
        assert!(seen.take().is_empty());
    }
}

// Covers: TOOL-18
#[tokio::test]
async fn a_function_changes_arguments_and_answers_or_answers_by_itself() {
    for version in Version::ERAS {
        let server = server().middleware(async |mut call, next| {
            if call.kind() != Kind::Tool {
                return next.run(call).await;
            }
            match call.arguments().text("name") {
                Some("Eve") => bail!("not for {}", call.name()),
                Some("cached") => {
                    return Ok(CallOutput::Tool(CallToolResult::text("from a cache")));
                }
                _ => {}
            }
            if let Some(Value::String(name)) = call.arguments_mut().get_mut("name") {
                name.push_str(" Lovelace");
            }
            let mut answer = next.run(call).await?;
            if let CallOutput::Tool(result) = &mut answer {
                result.content.push("And a good day.".into());
            }
            Ok(answer)
        });
        let mut client = connect(server, version).await;
        let result = client.tool("greet", json!({"name": "Ada"})).await;
        assert_eq!(result["content"][0]["text"], "Hello, Ada Lovelace!");
        assert_eq!(result["content"][1]["text"], "And a good day.");
        assert_eq!(
            client.refused("greet", json!({"name": "Eve"})).await,
            "not for greet"
        );
        assert_eq!(
            client.text("greet", json!({"name": "cached"})).await,
            "from a cache"
        );
        // Changed arguments are checked just like those that were sent.
        let text = client.refused("greet", json!({"name": 5})).await;
        assert!(text.contains("name"), "{text}");
    }
}

#[tokio::test]
async fn variables_and_partial_texts_can_be_changed() {
    let server = server().middleware(async |mut call, next| {
        let variable = match call.kind() {
            Kind::ResourceTemplate => "id",
            Kind::Completer => "code",
            _ => return next.run(call).await,
        };
        call.arguments_mut().insert(variable.into(), json!("tw"));
        let answer = next.run(call).await?;
        Ok(match answer {
            CallOutput::Completion(mut candidates) => {
                candidates.values.push("three".into());
                candidates.ranked = true;
                CallOutput::Completion(candidates)
            }
            other => other,
        })
    });
    let mut client = connect(server, Version::V2026_07_28).await;
    let read = client
        .ok("resources/read", json!({"uri": "middleware://many/7"}))
        .await;
    assert_eq!(read["contents"][0]["text"], "tw");
    let params = json!({"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "code", "value": "o"}});
    let completed = client.ok("completion/complete", params).await;
    assert_eq!(
        completed["completion"]["values"],
        json!(["one", "two", "three"])
    );
}

#[tokio::test]
async fn a_middleware_result_of_another_kind_is_an_internal_error() {
    let server =
        server().middleware(async |_, _| Ok(CallOutput::Tool(CallToolResult::text("text"))));
    let mut client = connect(server, Version::V2026_07_28).await;
    client.text("greet", json!({"name": "Ada"})).await;
    client
        .fails("resources/read", json!({"uri": "middleware://one"}), -32603)
        .await;
}

#[tokio::test]
async fn a_panic_in_middleware_ends_only_its_call() {
    for version in Version::ERAS {
        let server = server().middleware(|call: Call, next: Next| {
            assert_ne!(
                call.arguments().text("name"),
                Some("at once"),
                "before the future"
            );
            async move {
                assert_ne!(
                    call.arguments().text("name"),
                    Some("later"),
                    "in the future"
                );
                let answer = next.run(call).await;
                assert!(answer.is_ok(), "after the handler");
                answer
            }
        });
        let mut client = connect(server, version).await;
        for name in ["at once", "later"] {
            let call = json!({"name": "greet", "arguments": {"name": name}});
            client.fails("tools/call", call, -32603).await;
        }
        client
            .fails("tools/call", json!({"name": "fails"}), -32603)
            .await;
        client.text("greet", json!({"name": "Ada"})).await;
    }
}

#[tokio::test(start_paused = true)]
async fn cancellation_and_timeouts_apply_through_middleware() {
    for version in Version::ERAS {
        let (shared, seen) = (Shared::default(), Seen::default());
        let server = server()
            .state(shared.clone())
            .middleware(noting(&seen, "around"));
        let mut client = connect(server, version).await;
        let id = client.start("tools/call", json!({"name": "wait"})).await;
        shared.started(1).await;
        client.cancel(&id).await;
        shared.dropped(1).await;
        let id = client.start("tools/call", json!({"name": "wait"})).await;
        shared.started(2).await;
        advance(Duration::from_mins(5)).await;
        let result = client.response(&id).await.unwrap();
        assert_eq!(result["isError"], true, "{result}");
        shared.dropped(2).await;
        assert_eq!(
            seen.take(),
            ["around: Tool wait {}", "around: Tool wait {}"]
        );
    }
}

/// An audit log: one entry for each call, however many rounds it takes.
#[derive(Clone, Default)]
struct Audit(Arc<Mutex<BTreeMap<CallId, Vec<&'static str>>>>);

impl Audit {
    fn note(&self, call: CallId, what: &'static str) {
        let mut entries = self.0.lock().unwrap();
        entries.entry(call).or_default().push(what);
    }
}

// Covers: MRTR-06
#[tokio::test]
async fn middleware_can_audit_a_call_of_several_rounds_once() {
    for version in Version::ERAS {
        let audit = Audit::default();
        let entered = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&entered);
        let server = server().state(audit.clone()).middleware(move |call, next| {
            counter.fetch_add(1, Ordering::SeqCst);
            async move {
                let Some(audit) = call.context().state::<Audit>() else {
                    bail!("no audit, no call");
                };
                let id = call.context().call_id();
                if call.round() == 1 {
                    audit.note(id, "begun");
                }
                let answer = next.run(call).await;
                audit.note(id, "answered");
                answer
            }
        });
        let mut client = crate::support::raw(server, version);
        client.capabilities = json!({"elicitation": {"form": {}}});
        let mut client = client.connect().await;
        client.answer(|_| tests::Answer::accept(json!({"name": "Ada"})));
        let asked = client
            .ask("tools/call", json!({"name": "ask"}))
            .await
            .unwrap();
        assert_eq!(asked["content"][0]["text"], "Hello, Ada!");
        let entries: Vec<_> = audit.0.lock().unwrap().values().cloned().collect();
        assert_eq!(entries, [["begun", "answered"]], "{version:?}");
        let rounds = if version.is_modern() { 2 } else { 1 };
        assert_eq!(entered.load(Ordering::SeqCst), rounds);
    }
}

#[tokio::test]
async fn middleware_wraps_calls_over_http() {
    let seen = Seen::default();
    let server = server()
        .middleware(noting(&seen, "around"))
        .with(Sanitizer::new(redact));
    let server = serve_server(server).await;
    let (status, message) = server.message(&Request::tool("fails", json!({}))).await;
    assert_eq!(status, 200);
    assert_eq!(crate::http::support::text(&message), "the *** is out");
    let session = server.session(Version::V2025_11_25).await;
    let greet = crate::http::support::call(
        &session,
        1,
        "greet",
        json!({"name": "Ada"}),
        Version::V2025_11_25,
    );
    let (_, message) = server.message(&greet).await;
    assert_eq!(crate::http::support::text(&message), "Hello, Ada!");
    assert_eq!(
        seen.take(),
        [
            "around: Tool fails {}",
            "around: false",
            r#"around: Tool greet {"name":"Ada"}"#,
            "around: true"
        ]
    );
}
