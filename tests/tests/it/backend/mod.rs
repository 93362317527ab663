//! All stores of a server in a single value: in a file, and as an author would write them.

mod definitions;
mod instances;
mod own;
mod relay;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_runtime::Limits;
use mcp_runtime::backend::{
    Backend, MemoryEvents, MemoryOnceStore, MemorySessions, MemoryTaskStore, TaskStatus,
    TaskStore as _, check_once_limits, few_once_entries,
};
use mcp_runtime::http::{HttpOptions, HttpSessions};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime_sqlite::{Sqlite, SqliteOptions};
use serde_json::json;
use tests::Version;
use tests::http::Request;
use tests::wait::until;

use crate::fixture;
use crate::http::support::{Served, call, next_in_time, serve_server, text};
use crate::support::raw;

/// A folder that is removed when dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("mcp-backend-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn open(&self) -> Sqlite {
        self.open_with(SqliteOptions::new())
    }

    pub(crate) fn open_with(&self, options: SqliteOptions) -> Sqlite {
        options.open(self.0.join("state.db")).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Ends as a task, or at once.
#[tool(tags("backend"), task)]
async fn in_the_backend(ctx: &Context) -> Result<String> {
    ctx.once("step", async || Ok("done".to_owned())).await
}

#[tokio::test(start_paused = true)]
async fn the_memory_stores_follow_the_rules() {
    let limits = Limits::default();
    let backend = Backend::new()
        .tasks(Arc::new(MemoryTaskStore::default()))
        .once(Arc::new(MemoryOnceStore::new()))
        .sessions(Arc::new(MemorySessions::new(&limits)))
        .events(Arc::new(MemoryEvents::new(&limits)));
    backend.check().await;
}

// Limits: once.max_steps, once.max_steps_per_caller, once.max_bytes, once.max_bytes_per_caller
#[tokio::test]
async fn each_caller_has_a_share_of_the_once_store() {
    check_once_limits(&MemoryOnceStore::with_limits(&few_once_entries())).await;
}

#[tokio::test]
async fn the_tasks_of_both_eras_are_in_the_backend() {
    for version in Version::ERAS {
        let folder = Folder::new();
        let store = folder.open();
        let server = new_server!()
            .only(Selected::tag("backend"))
            .backend(store.clone());
        let mut client = raw(server, version);
        client.capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        let mut client = client.connect().await;
        let mut params = json!({"name": "in_the_backend", "arguments": {}});
        if !version.is_modern() {
            params["task"] = json!({});
        }
        client.ok("tools/call", params).await;
        let task = async || {
            let page = store.list("trusted", None, 10).await.unwrap().unwrap();
            let [task] = &page.tasks[..] else {
                panic!("{page:?}")
            };
            task.status
        };
        until(async || task().await == TaskStatus::Completed).await;
    }
}

fn echo(session: &str) -> Request {
    let said = json!({"text": "still here"});
    call(session, 1, "echo", said, Version::V2025_11_25)
}

fn on_session(method: &'static str, session: &str) -> Request {
    Request::new(method, Version::V2025_11_25).header("Mcp-Session-Id", session)
}

async fn serve(backend: impl Into<Backend>, options: HttpOptions) -> Served {
    serve_server(fixture::server().backend(backend).http(options)).await
}

// Covers: LHTTP-08, LHTTP-12
#[tokio::test]
async fn a_session_and_its_streams_outlive_the_process() {
    let folder = Folder::new();
    let first = serve(folder.open(), HttpOptions::new()).await;
    let session = first.session(Version::V2025_11_25).await;
    let values = json!({"values": [1, 2]});
    let report = call(&session, 1, "report", values, Version::V2025_11_25);
    let mut stream = first.send(&report).await;
    let seen = loop {
        let event = stream.event().await.unwrap();
        if !event.data.is_empty() {
            break event.id.unwrap();
        }
    };
    let rest = stream.all().await;
    assert_eq!(rest.len(), 2);
    drop(first);
    let second = serve(folder.open(), HttpOptions::new()).await;
    assert_eq!(text(&second.message(&echo(&session)).await.1), "still here");
    let resume = on_session("GET", &session)
        .header("Last-Event-ID", &seen)
        .answering("tools/call");
    assert_eq!(second.send(&resume).await.all().await, rest);
    assert_eq!(
        second.send(&on_session("DELETE", &session)).await.status,
        204
    );
    let third = serve(folder.open(), HttpOptions::new()).await;
    assert_eq!(third.send(&echo(&session)).await.status, 404);
}

// Covers: LHTTP-08
#[tokio::test]
async fn calls_of_a_dead_process_on_a_shared_file_end_with_an_error() {
    let folder = Folder::new();
    let start = async || serve(folder.open(), HttpOptions::new()).await;
    let [dying, living] = [start().await, start().await];
    let session = dying.session(Version::V2025_11_25).await;
    let begin = async |server: &Served, id: i64| {
        let waits = call(
            &session,
            id,
            "report_and_wait",
            json!({}),
            Version::V2025_11_25,
        );
        let mut stream = server.send(&waits).await;
        loop {
            let event = stream.event().await.unwrap();
            if !event.data.is_empty() {
                return event.id.unwrap();
            }
        }
    };
    let (lost, kept) = (begin(&dying, 1).await, begin(&living, 2).await);
    drop(dying);
    let restarted = start().await;
    let resume = async |seen: &str| {
        let resume = on_session("GET", &session).header("Last-Event-ID", seen);
        restarted.send(&resume.answering("tools/call")).await
    };
    let (mut lost, mut kept) = (resume(&lost).await, resume(&kept).await);
    let told = next_in_time(&mut lost).await;
    let message = told["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("has ended"), "{told}");
    assert_eq!((&told["id"], lost.next().await), (&json!(1), None));
    // By then, the other call would have ended if its process counted as dead.
    living.shared.0.go_on.notify_waiters();
    assert_eq!(text(&next_in_time(&mut kept).await), "waited");
}

// Covers: LHTTP-13
#[tokio::test]
async fn a_response_reaches_the_asking_process_through_a_shared_file() {
    let folder = Folder::new();
    let start = async || serve(folder.open(), HttpOptions::new()).await;
    let [one, other] = [start().await, start().await];
    let session = instances::asking_session(&one, Version::V2025_11_25).await;
    let asks = call(&session, 1, "ask_name", json!({}), Version::V2025_11_25);
    let mut stream = one.send(&asks).await;
    let question = instances::question(&mut stream).await;
    let answer = json!({
        "jsonrpc": "2.0",
        "id": question["id"],
        "result": {"action": "accept", "content": {"name": "Ada"}},
    });
    let answer = Request::legacy(&session, &answer, Version::V2025_11_25);
    assert_eq!(other.send(&answer).await.status, 202);
    let answered = next_in_time(&mut stream).await;
    assert!(text(&answered).contains("Ada"), "{answered}");
}

#[tokio::test]
async fn a_store_that_is_set_by_itself_takes_precedence() {
    let folder = Folder::new();
    let in_memory = || HttpOptions::new().sessions(HttpSessions::Memory);
    let first = serve(folder.open(), in_memory()).await;
    let session = first.session(Version::V2025_11_25).await;
    assert_eq!(text(&first.message(&echo(&session)).await.1), "still here");
    for options in [HttpOptions::new(), in_memory()] {
        let other = serve(folder.open(), options).await;
        assert_eq!(other.send(&echo(&session)).await.status, 404);
    }
    let tasks = Arc::new(MemoryTaskStore::default());
    let server = new_server!().only(Selected::tag("backend"));
    let backend = Backend::from(folder.open()).tasks(tasks.clone());
    let mut client = raw(server.backend(backend), Version::V2025_11_25)
        .connect()
        .await;
    let params = json!({"name": "in_the_backend", "arguments": {}, "task": {}});
    client.ok("tools/call", params).await;
    let page = tasks.list("trusted", None, 10).await.unwrap().unwrap();
    assert_eq!(page.tasks.len(), 1);
    let page = folder.open().list("trusted", None, 10).await;
    assert_eq!(page.unwrap().unwrap().tasks.len(), 0);
}
