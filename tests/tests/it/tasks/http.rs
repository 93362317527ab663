//! Tasks over HTTP: headers that mirror the body, and callers who are isolated from each other.

use mcp_runtime::auth::{ProtectedResource, StaticTokens};
use mcp_runtime::http::HttpOptions;
use mcp_runtime::prelude::*;
use serde_json::{Value, json};
use tests::http::{Request, Response};
use tests::wait::until;

use super::{Bench, LEGACY, TASKS, accepted, count, server};
use crate::http::support::{Served, initialize, next_in_time, serve_server};

/// Creates a request from a client that declares tasks.
fn request(method: &str, mut params: Value) -> Request {
    let id = params["taskId"].as_str().map(str::to_owned);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({"elicitation": {}, "extensions": {TASKS: {}}});
    let request = Request::modern(1, method, params);
    match id {
        Some(id) => request.without("Mcp-Name").header("Mcp-Name", &id),
        None => request,
    }
}

fn by(request: Request, token: &str) -> Request {
    request.with("Authorization", &format!("Bearer {token}"))
}

async fn protected(bench: &Bench) -> Served {
    let tokens = StaticTokens::new()
        .token("a-token-of-alice-0123456789abcdef", Principal::new("alice"))
        .token("a-token-of-bob-0123456789abcdef00", Principal::new("bob"));
    let resource = ProtectedResource::new("https://mcp.example.com/mcp", tokens);
    serve_server(server(bench).http(HttpOptions::new().authenticate(resource))).await
}

const ALICE: &str = "a-token-of-alice-0123456789abcdef";
const BOB: &str = "a-token-of-bob-0123456789abcdef00";

/// Returns the next message of a response, which may be one message or a stream of them.
async fn next(response: &mut Response) -> Value {
    if response.is_events() {
        next_in_time(response).await
    } else {
        response.message().await
    }
}

async fn result(served: &Served, request: &Request) -> Value {
    let (status, message) = served.message(request).await;
    assert_eq!(status, 200, "{message}");
    assert_eq!(message["error"], Value::Null, "{message}");
    message["result"].clone()
}

// Covers: XTASK-09, HDR-03
#[tokio::test]
async fn the_mcp_name_header_mirrors_the_task_id() {
    let served = serve_server(server(&Bench::default()).trust_anonymous()).await;
    let task = result(&served, &request("tools/call", json!({"name": "deploy"}))).await;
    let id = &task["taskId"];
    for (method, params) in [
        ("tasks/get", json!({"taskId": id})),
        ("tasks/update", json!({"taskId": id, "inputResponses": {}})),
        ("tasks/cancel", json!({"taskId": id})),
    ] {
        for wrong in [
            request(method, params.clone()).with("Mcp-Name", "other"),
            request(method, params.clone()).with("Mcp-Method", "tools/call"),
        ] {
            served.refused(&wrong, 400, -32020).await;
        }
        result(&served, &request(method, params.clone())).await;
        // Some clients do not send the header.
        if method != "tasks/cancel" {
            result(&served, &request(method, params).without("Mcp-Name")).await;
        }
    }
    let undeclared = Request::modern(1, "tasks/get", json!({"taskId": id}));
    let undeclared = undeclared.without("Mcp-Name");
    let undeclared = undeclared.header("Mcp-Name", id.as_str().unwrap());
    served.refused(&undeclared, 400, -32021).await;
}

// Covers: XTASK-12, TASK-11, XTASK-07
#[tokio::test]
async fn a_task_belongs_to_its_caller() {
    let bench = Bench::default();
    let served = protected(&bench).await;
    let task = result(
        &served,
        &by(request("tools/call", json!({"name": "deploy"})), ALICE),
    )
    .await;
    let id = &task["taskId"];
    let get = || request("tasks/get", json!({"taskId": id}));
    until(async || result(&served, &by(get(), ALICE)).await["status"] == "input_required").await;
    let answers = json!({"sure": accepted(true)});
    let mut foreign = Vec::new();
    for (id, who) in [(id.clone(), BOB), (json!("A".repeat(32)), ALICE)] {
        for (method, params) in [
            ("tasks/get", json!({"taskId": id})),
            (
                "tasks/update",
                json!({"taskId": id, "inputResponses": answers}),
            ),
            ("tasks/cancel", json!({"taskId": id})),
        ] {
            let (status, message) = served.message(&by(request(method, params), who)).await;
            foreign.push((status, message["error"].clone()));
        }
    }
    assert_eq!(foreign[0].1["code"], -32602);
    foreign.dedup();
    assert_eq!(
        foreign.len(),
        1,
        "a foreign task is answered like an unknown one"
    );
    let task = result(&served, &by(get(), ALICE)).await;
    assert_eq!(task["status"], "input_required");
}

// Covers: XTASK-10, XTASK-12
#[tokio::test]
async fn callers_are_not_notified_of_tasks_of_other_callers() {
    let bench = Bench::default();
    let served = protected(&bench).await;
    let task = result(
        &served,
        &by(request("tools/call", json!({"name": "job"})), ALICE),
    )
    .await;
    let ids = json!({"notifications": {"taskIds": [task["taskId"]]}});
    let listen = || request("subscriptions/listen", ids.clone());
    let mut of_alice = served.send(&by(listen(), ALICE)).await;
    let mut of_bob = served.send(&by(listen(), BOB)).await;
    for stream in [&mut of_alice, &mut of_bob] {
        // Both get the same message, so that an id does not reveal whether such a task exists.
        let told = next_in_time(stream).await;
        assert_eq!(told["params"]["notifications"], ids["notifications"]);
    }
    bench.go_on.add_permits(1);
    loop {
        let told = next_in_time(&mut of_alice).await;
        assert_eq!(told["method"], "notifications/tasks");
        if told["params"]["status"] == "completed" {
            break;
        }
    }
    served.handle.notify().tools_changed();
    served.handle.shut_down();
    let told = of_bob.all().await;
    let is_told = told
        .iter()
        .any(|told| told["method"] == "notifications/tasks");
    assert!(!is_told, "{told:?}");
}

// Covers: TASK-11
#[tokio::test]
async fn anonymous_callers_cannot_list_tasks() {
    let bench = Bench::default();
    for (served, token, lists) in [
        (serve_server(server(&bench)).await, None, false),
        (
            serve_server(server(&bench).trust_anonymous()).await,
            None,
            false,
        ),
        (protected(&bench).await, Some(ALICE), true),
    ] {
        let as_caller = |request: Request| match token {
            Some(token) => by(request, token),
            None => request,
        };
        let mut response = served.send(&as_caller(initialize(LEGACY))).await;
        let session = response.header("mcp-session-id").unwrap().to_owned();
        let offered = response.message().await["result"]["capabilities"]["tasks"].clone();
        assert_eq!(offered["list"].is_object(), lists, "{offered}");
        assert!(offered["cancel"].is_object());
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let ready = Request::legacy(&session, &ready, LEGACY);
        assert_eq!(served.send(&as_caller(ready)).await.status, 202);
        let send = async |method: &str, params: Value| {
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            let request = as_caller(Request::legacy(&session, &message, LEGACY));
            let mut response = served.send(&request).await;
            loop {
                let next = next(&mut response).await;
                if next["id"] == 1 {
                    return next;
                }
            }
        };
        let params = json!({"name": "job", "arguments": {}, "task": {"ttl": 7_200_000}});
        let created = send("tools/call", params).await;
        let task = &created["result"]["task"];
        assert_eq!(task["status"], "working", "{created}");
        // Callers who share a limit on the number of tasks cannot keep them longer than the tool says.
        let ttl = if lists { 7_200_000 } else { 600_000 };
        assert_eq!(task["ttl"], ttl);
        let listed = send("tasks/list", json!({})).await;
        if lists {
            assert_eq!(listed["result"]["tasks"][0]["taskId"], task["taskId"]);
        } else {
            assert_eq!(listed["error"]["code"], -32601);
        }
        bench.go_on.add_permits(1);
        let result = send("tasks/result", json!({"taskId": task["taskId"]})).await;
        assert_eq!(super::text(&result["result"]), "done ", "{result}");
    }
    assert_eq!(count(&bench.started), 3);
}

/// Starts a session for Alice with these capabilities and returns its id.
async fn session(served: &Served, capabilities: Value) -> String {
    let params = json!({
        "protocolVersion": LEGACY.date(),
        "capabilities": capabilities,
        "clientInfo": {"name": "tests", "version": "1"},
    });
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let response = served.send(&by(Request::bare(&hello, LEGACY), ALICE)).await;
    let session = response.header("mcp-session-id").unwrap().to_owned();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let ready = by(Request::legacy(&session, &ready, LEGACY), ALICE);
    assert_eq!(served.send(&ready).await.status, 202);
    session
}

// Covers: TASK-09
#[tokio::test]
async fn elicitations_of_a_task_are_sent_only_to_sessions_that_declare_them() {
    let served = protected(&Bench::default()).await;
    let asked = session(&served, json!({"elicitation": {}})).await;
    let unasked = session(&served, json!({})).await;
    let send = async |session: &str, message: Value| {
        let request = Request::legacy(session, &message, LEGACY);
        served.send(&by(request, ALICE)).await
    };
    let request = |id: u8, method: &str, params: &Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let params = json!({"name": "deploy", "arguments": {}, "task": {}});
    let mut created = send(&asked, request(1, "tools/call", &params)).await;
    let created = next(&mut created).await;
    let params = json!({"taskId": created["result"]["task"]["taskId"]});
    let mut other = send(&unasked, request(2, "tasks/result", &params)).await;
    while next(&mut other).await["params"]["status"] != "input_required" {}
    let mut own = send(&asked, request(3, "tasks/result", &params)).await;
    let result = loop {
        let message = next(&mut own).await;
        if message["method"] == "elicitation/create" {
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": accepted(true)});
            assert_eq!(send(&asked, answer).await.status, 202);
        } else if message["id"] == 3 {
            break message;
        }
    };
    assert!(
        super::text(&result["result"]).starts_with("true true 0 "),
        "{result}"
    );
    loop {
        let message = next(&mut other).await;
        assert_ne!(message["method"], "elicitation/create", "{message}");
        if message["id"] == 2 {
            assert_eq!(message["result"]["content"], result["result"]["content"]);
            break;
        }
    }
}
