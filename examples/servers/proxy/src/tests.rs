//! The gateway, in front of servers in this process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::dynamic::{Arguments, DynamicPrompt, DynamicResource, DynamicTool};
use mcp_runtime::handler::IntoToolResult as _;
use mcp_runtime::prelude::*;
use mcp_runtime::serde_json::Value;
use mcp_runtime::server::{Capability, ServerHandle};
use mcp_runtime::testing::{Notification, TestClient};
use mcp_runtime::types::CallToolResult;

use crate::config::{Target, parse};
use crate::connect::Connector;
use crate::gateway;

/// A server that can be switched off.
#[derive(Clone, Default)]
struct Backend {
    running: Arc<Mutex<Option<ServerHandle>>>,
    is_off: Arc<AtomicBool>,
}

impl Backend {
    fn connector(&self) -> Connector {
        let backend = self.clone();
        Connector::Memory(Box::new(move || {
            if backend.is_off.load(Ordering::SeqCst) {
                return Err("it is switched off".to_owned());
            }
            let server = server();
            *backend.running.lock().unwrap() = Some(server.handle());
            let (transport, stream) = mcp_runtime::transport::memory();
            tokio::spawn(server.serve(transport));
            Ok(stream)
        }))
    }

    fn handle(&self) -> ServerHandle {
        self.running.lock().unwrap().clone().unwrap()
    }

    fn switch_off(&self) {
        self.is_off.store(true, Ordering::SeqCst);
        self.handle().shut_down();
    }

    fn switch_on(&self) {
        self.is_off.store(false, Ordering::SeqCst);
    }
}

fn tool(name: &str) -> DynamicTool {
    let schema =
        json!({"type": "object", "properties": {"value": {}, "fail": {"type": "boolean"}}});
    DynamicTool::new(name, schema, async |arguments: Arguments, _: Context| {
        let fails = arguments.0.get("fail") == Some(&json!(true));
        let mut result = Json(Value::Object(arguments.0)).into_tool_result()?;
        result.is_error = fails;
        Ok::<CallToolResult, HandlerError>(result)
    })
    .description("Returns its arguments")
    .read_only(true)
}

fn server() -> Server {
    let server = Server::new("backend", "1").capability(Capability::Tools);
    let handle = server.handle();
    handle.tools().insert(tool("echo")).unwrap();
    let review = DynamicPrompt::new("review", async |arguments: Arguments, _: Context| {
        Ok::<_, HandlerError>(format!("Review {}", arguments.get::<String>("file")?))
    });
    handle
        .prompts()
        .insert(review.required("file", "The file"))
        .unwrap();
    let motd = DynamicResource::new("motd://today", "motd", async |_: Context| "hello");
    handle
        .resources()
        .insert(motd.mime_type("text/plain"))
        .unwrap();
    server
}

async fn in_front_of(connectors: Vec<(&str, Connector)>) -> Server {
    let connectors = connectors.into_iter();
    let connectors = connectors.map(|(prefix, connector)| (prefix.to_owned(), connector));
    gateway(Server::new("gateway", "1"), connectors)
        .await
        .unwrap()
}

/// Waits until the condition holds.
async fn until(condition: impl AsyncFn() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting)
        .await
        .expect("the condition holds");
}

async fn tools(client: &TestClient) -> Vec<String> {
    let tools = client.tools().await.into_iter();
    let mut names: Vec<_> = tools.map(|tool| tool.name).collect();
    names.sort();
    names
}

#[tokio::test]
async fn definitions_of_all_servers_are_forwarded() {
    let connectors = vec![
        ("one", Backend::default().connector()),
        ("two", Backend::default().connector()),
    ];
    let client = TestClient::both(in_front_of(connectors).await).await;
    let mut listed = client.tools().await;
    listed.sort_by(|one, other| one.name.cmp(&other.name));
    assert_eq!(
        [&*listed[0].name, &*listed[1].name],
        ["one_echo", "two_echo"]
    );
    assert_eq!(
        listed[0].description.as_deref(),
        Some("Returns its arguments")
    );
    assert_eq!(
        listed[0].annotations.as_ref().unwrap().read_only_hint,
        Some(true)
    );
    let value = json!({"value": {"deep": [1, 2.5, null, "ü"]}});
    let result = client.call("one_echo", value.clone()).await.unwrap();
    assert_eq!(result.json(), value);
    let result = client
        .call("two_echo", json!({"fail": true}))
        .await
        .unwrap();
    assert!(result.is_error && result.structured_content.is_some());
    assert!(result.error_text().contains("fail"));
    let prompt = client
        .prompt("two_review", json!({"file": "main.rs"}))
        .await
        .unwrap();
    assert_eq!(prompt.text(), "Review main.rs");
    // Both servers have this resource. One of them is in the list.
    let resources = client.resources().await;
    assert_eq!(resources.len(), 1);
    assert!(resources[0].name.ends_with("_motd"));
    let read = client.read("motd://today").await.unwrap();
    assert_eq!(read.text(), "hello");
    let wrong = client
        .call("one_echo", json!({"fail": "no"}))
        .await
        .unwrap();
    assert!(wrong.error_text().contains("fail"));
}

#[tokio::test]
async fn lists_follow_those_of_the_servers() {
    let backend = Backend::default();
    let server = in_front_of(vec![("one", backend.connector())]).await;
    let client = TestClient::legacy(server).await;
    backend.handle().tools().insert(tool("added")).unwrap();
    until(async || tools(&client).await == ["one_added", "one_echo"]).await;
    let notification = client.notification().await;
    assert!(matches!(
        notification,
        Notification::ListChanged(Capability::Tools)
    ));
    let result = client.call("one_added", json!({"value": 1})).await.unwrap();
    assert_eq!(result.json(), json!({"value": 1}));
    backend.handle().tools().remove("echo");
    until(async || tools(&client).await == ["one_added"]).await;
    assert!(client.call("one_echo", json!({})).await.is_err());
}

#[tokio::test]
async fn a_server_that_dies_is_an_error_until_it_is_back() {
    let (backend, other) = (Backend::default(), Backend::default());
    let connectors = vec![("one", backend.connector()), ("two", other.connector())];
    let client = TestClient::modern(in_front_of(connectors).await).await;
    let is_up = async || !client.call("one_echo", json!({})).await.unwrap().is_error;
    assert!(is_up().await);
    backend.switch_off();
    until(async || {
        let result = client.call("one_echo", json!({})).await.unwrap();
        result.is_error && result.error_text().contains("it is switched off")
    })
    .await;
    let message = client
        .call("one_echo", json!({}))
        .await
        .unwrap()
        .error_text();
    let expected = "the server `one` is not connected (it is switched off); the gateway keeps trying, so try again later";
    assert_eq!(message, expected);
    assert_eq!(
        client
            .call("two_echo", json!({"value": 1}))
            .await
            .unwrap()
            .json(),
        json!({"value": 1})
    );
    assert_eq!(tools(&client).await.len(), 2);
    backend.switch_on();
    until(async || {
        tokio::time::sleep(Duration::from_millis(200)).await;
        is_up().await
    })
    .await;
}

#[tokio::test]
async fn a_server_that_is_down_at_the_start_appears_later() {
    let backend = Backend::default();
    backend.is_off.store(true, Ordering::SeqCst);
    let missing = Connector::Target(Target::Command {
        program: "/no/such/program".to_owned(),
        arguments: Vec::new(),
        environment: std::collections::BTreeMap::new(),
    });
    let connectors = vec![("late", backend.connector()), ("missing", missing)];
    let client = TestClient::modern(in_front_of(connectors).await).await;
    assert!(tools(&client).await.is_empty());
    backend.switch_on();
    until(async || tools(&client).await == ["late_echo"]).await;
}

#[test]
fn mistakes_in_the_file_are_reported_together() {
    let file = json!({"servers": {
        "ok": {"command": ["x"], "env": {"A": "b"}, "pass_env": ["PATH"]},
        "with_underscore": {"url": "https://example.com/mcp"},
        "both": {"url": "https://example.com/mcp", "command": ["x"]},
        "neither": {},
        "ftp": {"url": "ftp://example.com"},
        "token": {"url": "https://example.com/mcp", "token_env": "NO_SUCH_VARIABLE"},
    }});
    let error = parse(&file.to_string()).err().unwrap().to_string();
    for expected in [
        "server `with_underscore`: a prefix has",
        "server `both`: it needs either",
        "server `neither`: it needs either",
        "server `ftp`: `ftp://example.com` is not an HTTP URL",
        "server `token`: `NO_SUCH_VARIABLE`: environment variable not found",
    ] {
        assert!(error.contains(expected), "{expected} is not in\n{error}");
    }
    assert!(!error.contains("server `ok`"), "{error}");
    let error = parse(r#"{"servers": {"a": {"comand": ["x"]}}}"#)
        .err()
        .unwrap();
    assert!(error.to_string().contains("comand"), "{error}");
}
