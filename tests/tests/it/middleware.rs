//! What stands around calls: functions, tower layers, and what is done to texts.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::types::{CallToolResult, ResourceContents};
use mcp_runtime::{
    middleware::{Call, CallOutput, Kind, Next},
    once::CallId,
};
use serde_json::{Value, json};
use tests::http::Request;
use tests::{Client, Revision};
use tokio::time::advance;
use tower::limit::ConcurrencyLimitLayer;
use tower::timeout::TimeoutLayer;
use tower_service::Service;

use crate::fixture::Shared;
use crate::http_support::serve_server;
use crate::support::connect;

#[tool(tags("middleware"))]
fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

#[tool(tags("middleware"))]
fn fails() -> Result<String> {
    bail!("the secret is out")
}

#[tool(tags("middleware"))]
async fn wait(shared: State<Shared>) -> &'static str {
    crate::fixture::wait(shared).await
}

#[data(output)]
struct Report {
    text: String,
    lines: Vec<String>,
}

#[tool(tags("middleware"))]
fn report() -> Json<Report> {
    Json(Report {
        text: "a secret".into(),
        lines: vec!["secret one".into(), "two".into()],
    })
}

#[prompt(tags("middleware"))]
fn review(#[complete(["one", "two"])] code: &str) -> String {
    format!("Review the secret {code}")
}

#[resource("middleware://one", tags("middleware"))]
fn one() -> ResourceContents {
    ResourceContents::text("", "a secret")
}

#[resource_template("middleware://many/{id}", tags("middleware"))]
fn many(id: &str) -> Result<String> {
    if id == "none" {
        return Err(HandlerError::no_resource("no secret here"));
    }
    Ok(id.to_owned())
}

/// Somebody's name.
#[derive(Elicit)]
struct Name {
    name: String,
}

#[tool(tags("middleware"))]
async fn ask(ctx: Context) -> Result<String> {
    let Name { name } = ctx.elicit("Who?").key("who").await?;
    Ok(format!("Hello, {name}!"))
}

fn server() -> Server {
    Server::new("middleware", "1")
        .tags(["middleware"])
        .state(Shared::default())
        .state(Seen::default())
}

/// What middleware saw.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn push(&self, text: impl Into<String>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push(text.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Notes calls on their way in and out, under a name of its own.
fn noting(seen: &Seen, name: &'static str) -> impl Fn(Call, Next) -> Noting + Send + Sync + use<> {
    let seen = seen.clone();
    move |call, next| {
        let seen = seen.clone();
        Box::pin(async move {
            let what = format!(
                "{name}: {:?} {} {}",
                call.kind(),
                call.name(),
                Value::Object(call.arguments().0.clone())
            );
            seen.push(what);
            let answer = next.run(call).await;
            seen.push(format!("{name}: {}", answer.is_ok()));
            answer
        })
    }
}

type Noting = Pin<Box<dyn Future<Output = Result<CallOutput>> + Send>>;

#[tokio::test]
async fn calls_of_every_kind_pass_through_in_order() {
    for revision in Revision::ERAS {
        let seen = Seen::default();
        let server = server()
            .middleware(noting(&seen, "outer"))
            .middleware(noting(&seen, "inner"));
        let mut client = connect(server, revision).await;
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
        // Arguments that do not fit are a failure like others, and are still said one by one.
        let text = client.refused("greet", json!({"nam": "Ada"})).await;
        assert!(text.contains("did you mean `name`"), "{text}");
        assert_eq!(seen.take()[2], "inner: false");
        client.refused("fails", json!({})).await;
        assert_eq!(seen.take()[2], "inner: false");
        client
            .fails(
                "resources/read",
                json!({"uri": "middleware://many/none"}),
                if revision.is_modern() { -32602 } else { -32002 },
            )
            .await;
        // What is not there is not called.
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
    for revision in Revision::ERAS {
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
        let mut client = connect(server, revision).await;
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
        // What was changed is checked like what came.
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
    let mut client = connect(server, Revision::V2026_07_28).await;
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
async fn the_answer_of_another_kind_is_an_internal_error() {
    let server =
        server().middleware(async |_, _| Ok(CallOutput::Tool(CallToolResult::text("text"))));
    let mut client = connect(server, Revision::V2026_07_28).await;
    client.text("greet", json!({"name": "Ada"})).await;
    client
        .fails("resources/read", json!({"uri": "middleware://one"}), -32603)
        .await;
}

#[tokio::test]
async fn a_panic_in_middleware_ends_the_call_alone() {
    for revision in Revision::ERAS {
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
        let mut client = connect(server, revision).await;
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
async fn cancelling_and_the_time_limit_reach_through_middleware() {
    for revision in Revision::ERAS {
        let (shared, seen) = (Shared::default(), Seen::default());
        let server = server()
            .state(shared.clone())
            .middleware(noting(&seen, "around"));
        let mut client = connect(server, revision).await;
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
async fn a_call_of_several_rounds_has_one_entry_and_one_answer() {
    for revision in Revision::ERAS {
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
        let mut client = crate::support::raw(server, revision);
        client.capabilities = json!({"elicitation": {"form": {}}});
        let mut client = client.connect().await;
        client.answer(|_| tests::Answer::accept(json!({"name": "Ada"})));
        let asked = client
            .ask("tools/call", json!({"name": "ask"}))
            .await
            .unwrap();
        assert_eq!(asked["content"][0]["text"], "Hello, Ada!");
        let entries: Vec<_> = audit.0.lock().unwrap().values().cloned().collect();
        assert_eq!(entries, [["begun", "answered"]], "{revision:?}");
        let rounds = if revision.is_modern() { 2 } else { 1 };
        assert_eq!(entered.load(Ordering::SeqCst), rounds);
    }
}

#[tokio::test(start_paused = true)]
async fn tower_layers_stand_around_calls() {
    for revision in Revision::ERAS {
        let (shared, seen) = (Shared::default(), Seen::default());
        let server = server()
            .state(shared.clone())
            .middleware(noting(&seen, "around"))
            .layer(TimeoutLayer::new(Duration::from_secs(3)))
            .layer_tool("wait", ConcurrencyLimitLayer::new(1));
        let mut client = connect(server, revision).await;
        client.text("greet", json!({"name": "Ada"})).await;
        // Failures of handlers are answers to a layer, and arrive as they were.
        assert_eq!(
            client.refused("fails", json!({})).await,
            "the secret is out"
        );
        seen.take();
        let first = client.start("tools/call", json!({"name": "wait"})).await;
        let second = client.start("tools/call", json!({"name": "wait"})).await;
        shared.started(1).await;
        client.text("greet", json!({"name": "Ada"})).await;
        shared.0.go_on.notify_waiters();
        client.response(&first).await.unwrap();
        shared.started(2).await;
        advance(Duration::from_secs(3)).await;
        // An error of a layer is for the log only.
        let result = client.response(&second).await.unwrap();
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("internal error"), "{result}");
        assert_eq!(seen.take().last().unwrap(), "around: false");
    }
}

/// A service of our own: counts, and calls a second time if the first call fails.
#[derive(Clone)]
struct Again<S>(S, Arc<AtomicUsize>);

impl<S> Service<Call> for Again<S>
where
    S: Service<Call, Response = Result<CallOutput>> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Result<CallOutput>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, task: &mut TaskContext<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(task)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let (mut service, counter) = (self.0.clone(), Arc::clone(&self.1));
        Box::pin(async move {
            counter.fetch_add(1, Ordering::SeqCst);
            let answer = service.call(call.clone()).await?;
            if answer.is_ok() {
                return Ok(answer);
            }
            counter.fetch_add(1, Ordering::SeqCst);
            service.call(call).await
        })
    }
}

#[tokio::test]
async fn a_layer_may_call_again() {
    let counter = Arc::new(AtomicUsize::new(0));
    let shared = Arc::clone(&counter);
    let layer = tower::layer::layer_fn(move |next: Next| Again(next, Arc::clone(&shared)));
    let mut client = connect(server().layer(layer), Revision::V2026_07_28).await;
    client.refused("fails", json!({})).await;
    assert_eq!(counter.load(Ordering::SeqCst), 2);
    client.text("greet", json!({"name": "Ada"})).await;
    assert_eq!(counter.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_layer_around_a_tool_that_is_not_there_is_an_error_at_the_start() {
    let (transport, _client) = mcp_runtime::transport::memory();
    let server = server().layer_tool("greeet", ConcurrencyLimitLayer::new(1));
    let error = server.serve(transport).await.unwrap_err().to_string();
    assert!(error.contains("there is no tool `greeet`"), "{error}");
}

fn redact(text: &str) -> Cow<'_, str> {
    if text.contains("secret") {
        Cow::Owned(text.replace("secret", "***"))
    } else {
        Cow::Borrowed(text)
    }
}

async fn said(client: &mut Client, method: &str, params: Value) -> String {
    match client.request(method, params).await {
        Ok(result) => result.to_string(),
        Err(failure) => failure.message,
    }
}

// Covers: TOOL-18
#[tokio::test]
async fn every_text_a_model_reads_is_sanitized() {
    for revision in Revision::ERAS {
        let server = server()
            .sanitize(redact)
            .sanitize(mcp_runtime::text::strip_invisible);
        let mut client = connect(server, revision).await;
        for (method, params) in [
            ("tools/call", json!({"name": "report"})),
            ("tools/call", json!({"name": "fails"})),
            (
                "tools/call",
                json!({"name": "greet", "arguments": {"name": "secret"}}),
            ),
            (
                "tools/call",
                json!({"name": "greet", "arguments": {"name": 1, "secret": 2}}),
            ),
            (
                "prompts/get",
                json!({"name": "review", "arguments": {"code": "x"}}),
            ),
            (
                "prompts/get",
                json!({"name": "review", "arguments": {"code": "x", "secret": "y"}}),
            ),
            ("resources/read", json!({"uri": "middleware://one"})),
            ("resources/read", json!({"uri": "middleware://many/none"})),
        ] {
            let said = said(&mut client, method, params.clone()).await;
            assert!(
                said.contains("***") && !said.contains("secret"),
                "{params}: {said}"
            );
        }
        let report = client.tool("report", json!({})).await;
        assert_eq!(
            report["structuredContent"],
            json!({"text": "a ***", "lines": ["*** one", "two"]})
        );
        let text = client
            .text("greet", json!({"name": "\u{1b}[1mAda\u{E0041}"}))
            .await;
        assert_eq!(text, "Hello, Ada!");
    }
}

#[tokio::test]
async fn a_panic_while_texts_are_sanitized_lets_nothing_out() {
    let server = server().sanitize(|text| {
        assert!(!text.contains("secret"), "cannot be cleaned");
        Cow::Borrowed(text)
    });
    let mut client = connect(server, Revision::V2026_07_28).await;
    let failure = client
        .fails("tools/call", json!({"name": "report"}), -32603)
        .await;
    assert_eq!(failure.message, "internal error");
    client.text("greet", json!({"name": "Ada"})).await;
}

#[tokio::test]
async fn middleware_stands_around_calls_over_http() {
    let seen = Seen::default();
    let server = server()
        .middleware(noting(&seen, "around"))
        .sanitize(redact);
    let server = serve_server(server).await;
    let (status, message) = server.message(&Request::tool("fails", json!({}))).await;
    assert_eq!(status, 200);
    assert_eq!(crate::http_support::text(&message), "the *** is out");
    let session = server.session(Revision::V2025_11_25).await;
    let greet = crate::http_support::call(
        &session,
        1,
        "greet",
        json!({"name": "Ada"}),
        Revision::V2025_11_25,
    );
    let (_, message) = server.message(&greet).await;
    assert_eq!(crate::http_support::text(&message), "Hello, Ada!");
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
