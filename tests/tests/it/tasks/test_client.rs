//! Tasks that tests start with the client for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcp_runtime::backend::Backend;
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::testing::{Response, TestClient};
use serde_json::{Value, json};

use super::test_store::TestStore;

#[derive(Elicit)]
struct Sure {
    /// Go on?
    sure: bool,
}

/// Set when the handler of `wait` is dropped.
#[derive(Clone, Default)]
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Imports a file.
#[tool(tags("task-client"), task)]
async fn import(ctx: &Context, name: String) -> Result<String> {
    ctx.progress((1, 2, "reading"));
    if name.is_empty() {
        bail!("name a file");
    }
    let Sure { sure } = ctx.elicit(format!("Import {name}?")).await?;
    if !sure {
        bail!("{name} is left alone");
    }
    Ok(format!("imported {name}"))
}

/// Ends when it is cancelled.
#[tool(tags("task-client"), task)]
async fn wait(ctx: &Context, dropped: &State<Arc<AtomicBool>>) {
    let _dropped = Dropped(Arc::clone(dropped));
    ctx.progress((1, 2, "waiting"));
    std::future::pending::<()>().await;
}

/// Panics.
#[tool(tags("task-client"), task)]
async fn explode() {
    panic!("boom")
}

/// Has no task.
#[tool(tags("task-client"))]
fn plain() -> &'static str {
    "plain"
}

fn server() -> (Server, Arc<AtomicBool>) {
    let dropped = Arc::new(AtomicBool::new(false));
    let server = Server::new("tasks", "1").only(Selected::tag("task-client"));
    (server.state(Arc::new(Arc::clone(&dropped))), dropped)
}

#[tokio::test(start_paused = true)]
async fn a_task_is_followed_to_its_result_through_its_questions() {
    let client = TestClient::both(server().0).await;
    client.answer(Sure { sure: true });
    let task = client.start_task("import", json!({"name": "a.csv"})).await;
    let task = task.unwrap();
    assert_eq!(task.result().await.unwrap().text(), "imported a.csv");
    assert_eq!(client.asked()[0].message(), "Import a.csv?");
    let state = task.state().await.unwrap();
    assert_eq!(state["status"], "completed");
    // The result is kept.
    assert_eq!(task.result().await.unwrap().text(), "imported a.csv");

    client.answer_with(|_| Some(Response::decline()));
    let task = client.start_task("import", json!({"name": "b.csv"})).await;
    let declined = task.unwrap().result().await.unwrap();
    assert_eq!(declined.error_text(), "the user declined");
}

#[tokio::test(start_paused = true)]
async fn failures_of_the_tool_are_results_and_panics_are_errors() {
    let client = TestClient::both(server().0).await;
    let task = client.start_task("import", json!({"name": ""})).await;
    let failed = task.unwrap().result().await.unwrap();
    assert_eq!(failed.error_text(), "name a file");

    let task = client.start_task("explode", json!({})).await.unwrap();
    assert_eq!(task.result().await.unwrap_err().code, -32603);
    assert_eq!(task.state().await.unwrap()["status"], "failed");

    let unknown = client.start_task("export", json!({})).await.unwrap_err();
    assert_eq!(unknown.code, -32602);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_task_drops_its_handler_and_has_no_result() {
    for connect in [TestClient::legacy, TestClient::modern] {
        let (server, dropped) = server();
        let client = connect(server).await;
        let task = client.start_task("wait", json!({})).await.unwrap();
        let waiting = |state: &Value| state["statusMessage"] == "waiting (1 of 2)";
        let state = task.wait_until(waiting).await.unwrap();
        assert_eq!(state["status"], "working");
        task.cancel().await.unwrap();
        let error = task.result().await.unwrap_err();
        assert_eq!(error.message, "the task was cancelled and has no result");
        while !dropped.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "`import` ended as Some(\"completed\") before it met the condition")]
async fn a_task_that_ends_before_it_is_in_a_state_fails_the_test() {
    let client = TestClient::modern(server().0).await;
    let task = client.start_task("import", json!({"name": ""})).await;
    drop(task.unwrap().wait_until(|_| false).await);
}

#[tokio::test(start_paused = true)]
async fn other_calls_of_the_tool_are_plain_calls() {
    let client = TestClient::both(server().0).await;
    client.answer(Sure { sure: true });
    let called = client.call("import", json!({"name": "a.csv"})).await;
    assert_eq!(called.unwrap().text(), "imported a.csv");
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "in 2026-07-28: the call to `plain` is not a task")]
async fn a_call_that_is_not_a_task_fails_the_test() {
    let client = TestClient::modern(server().0).await;
    drop(client.start_task("plain", json!({})).await);
}

/// Takes 29 seconds.
#[tool(tags("task-client"), task(poll = "3s"))]
async fn ripen() {
    tokio::time::sleep(Duration::from_secs(29)).await;
}

#[tokio::test(start_paused = true)]
async fn a_task_is_polled_no_faster_than_its_server_asks() {
    let store = TestStore::default();
    let server = server()
        .0
        .backend(Backend::new().tasks(Arc::new(store.clone())));
    let client = TestClient::modern(server).await;
    let task = client.start_task("ripen", json!({})).await.unwrap();
    let before = store.loads.load(Ordering::SeqCst);
    task.result().await.unwrap();
    // One more is that of the server, which records the end.
    assert_eq!(store.loads.load(Ordering::SeqCst) - before, 12);
}

/// What only other tools need.
struct Settings;

/// As in a command, where the settings may be missing.
#[tokio::test(start_paused = true)]
async fn a_task_is_followed_although_other_tools_lack_their_state() {
    let no_settings = || async { Err::<Settings, _>(std::io::Error::other("no settings")) };
    let client = TestClient::both(server().0.state_with(no_settings)).await;
    client.answer(Sure { sure: true });
    let task = client.start_task("import", json!({"name": "a.csv"})).await;
    let done = task.unwrap().result().await.unwrap();
    assert_eq!(done.text(), "imported a.csv");
}
