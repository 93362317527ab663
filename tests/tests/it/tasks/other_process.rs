//! Tasks that another process goes on with: two servers over one store, of which the first dies or stops.

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::backend::{
    Backend, ClaimExceptions, NewTask, StoredTask, TaskChange, TaskCreation, TaskStatus,
    TaskStore as _,
};
use mcp_runtime::server::ServerHandle;
use mcp_runtime::transport::memory;
use mcp_runtime::{Error, Server};
use serde_json::{Value, json};
use tests::wait::until;
use tests::{Client, Version};
use tokio::task::JoinHandle;

use super::test_store::TestStore;
use super::{
    Bench, LEGACY, MODERN, TASKS, accepted, answer, count, create, get, server, settled, text,
};
use crate::telemetry::capture::Counted;

/// A server with a client.
pub(super) struct Process {
    pub(super) client: Client,
    pub(super) bench: Bench,
    handle: ServerHandle,
    serving: JoinHandle<Result<(), Error>>,
}

impl Process {
    pub(super) async fn start(store: &TestStore, version: Version) -> Self {
        Self::start_with(store, version, |server| server).await
    }

    /// Starts a server with these settings.
    pub(super) async fn start_with(
        store: &TestStore,
        version: Version,
        set: impl FnOnce(Server) -> Server,
    ) -> Self {
        let bench = Bench::default();
        let server = set(server(&bench).backend(Backend::new().tasks(Arc::new(store.clone()))));
        let handle = server.handle();
        let (transport, stream) = memory();
        let serving = tokio::spawn(server.serve(transport));
        let (reader, writer) = tokio::io::split(stream);
        let mut client = Client::new(reader, writer, version);
        client.capabilities = json!({"elicitation": {}, "extensions": {TASKS: {}}});
        let client = client.connect().await;
        Self {
            client,
            bench,
            handle,
            serving,
        }
    }

    /// Drops all that runs, without a word to the store.
    pub(super) async fn die(self) {
        self.serving.abort();
        assert!(self.serving.await.unwrap_err().is_cancelled());
    }
}

pub(super) fn shared_store() -> TestStore {
    TestStore {
        outlives: true,
        ..TestStore::default()
    }
}

pub(super) async fn load(store: &TestStore) -> StoredTask {
    let page = store.list("trusted", None, 10).await.unwrap().unwrap();
    let [task] = &page.tasks[..] else {
        panic!("{page:?}")
    };
    task.clone()
}

// Limits: tasks.lease
#[tokio::test(start_paused = true)]
async fn a_running_task_goes_on_in_another_process_when_its_own_dies() {
    for version in Version::ERAS {
        let (mut counted, _guard) = Counted::begin();
        let store = shared_store();
        let mut one = Process::start(&store, version).await;
        let created = tokio::time::Instant::now();
        let task = create(&mut one.client, "job", json!({"label": "x"})).await;
        until(async || count(&one.bench.started) == 1).await;
        one.die().await;
        let mut other = Process::start(&store, version).await;
        assert_eq!(get(&mut other.client, &task).await["status"], "working");
        until(async || count(&other.bench.started) == 1).await;
        // Not before the lease has lapsed, and soon after it.
        let waited = created.elapsed();
        assert!((30..40).contains(&waited.as_secs()), "{waited:?}");
        assert_eq!(load(&store).await.attempt, 2);
        let lapses = counted.all("mcp.server.task_lapses");
        assert_eq!(lapses, [("gen_ai.tool.name=job".to_owned(), 1)].into());
        other.bench.go_on.add_permits(1);
        let ended = settled(&mut other.client, &task).await;
        assert_eq!(ended["status"], "completed", "{ended}");
        if version.is_modern() {
            assert_eq!(text(&ended["result"]), "done x");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_step_is_repeated_only_if_it_is_repeatable() {
    for version in Version::ERAS {
        for retry in [false, true] {
            let store = shared_store();
            let mut one = Process::start(&store, version).await;
            let task = create(&mut one.client, "fetch", json!({"retry": retry})).await;
            until(async || count(&one.bench.started) == 1).await;
            one.die().await;
            let mut other = Process::start(&store, version).await;
            other.bench.go_on.add_permits(1);
            until(async || load(&store).await.status != TaskStatus::Working).await;
            let ended = get(&mut other.client, &task).await;
            assert_eq!(count(&other.bench.once), usize::from(retry));
            if retry {
                assert_eq!(ended["status"], "input_required", "{ended}");
            } else {
                let outcome = format!("{:?}", load(&store).await.outcome);
                assert!(outcome.contains("`fetch` in this call"), "{outcome}");
                continue;
            }
            // The result of the step is kept: the next run does not need it again.
            let parked = load(&store).await;
            let key = "keep".to_owned();
            if version.is_modern() {
                answer(&mut other.client, &task, json!({key: accepted(true)})).await;
                let ended = settled(&mut other.client, &task).await;
                assert_eq!(text(&ended["result"]), "0 true", "{ended}");
                assert_eq!(count(&other.bench.once), 1);
            } else {
                assert!(parked.state.contains(&key), "{}", parked.state);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_waiting_for_input_continues_in_another_process() {
    let store = shared_store();
    let mut one = Process::start(&store, MODERN).await;
    let task = create(&mut one.client, "deploy", json!({})).await;
    settled(&mut one.client, &task).await;
    let sure = json!({"sure": accepted(true)});
    answer(&mut one.client, &task, sure).await;
    let asking = settled(&mut one.client, &task).await;
    let key = asking["inputRequests"].as_object().unwrap().keys().next();
    assert_eq!(count(&one.bench.once), 1);
    let key = key.unwrap().clone();
    one.die().await;
    let mut other = Process::start(&store, MODERN).await;
    answer(&mut other.client, &task, json!({key: accepted(true)})).await;
    let ended = settled(&mut other.client, &task).await;
    assert!(
        text(&ended["result"]).starts_with("true true 0 "),
        "{ended}"
    );
    // The work inside `once` was done in the first process, and its result was kept.
    assert_eq!(count(&other.bench.once), 0);
    assert!(load(&store).await.call.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_gives_its_tasks_back() {
    for version in Version::ERAS {
        let store = shared_store();
        let mut one = Process::start(&store, version).await;
        let task = create(&mut one.client, "narrow_job", json!({})).await;
        until(async || count(&one.bench.started) == 1).await;
        // Waits for the first one.
        create(&mut one.client, "narrow_job", json!({})).await;
        one.handle.shut_down();
        one.serving.await.unwrap().unwrap();
        let page = store.list("trusted", None, 10).await.unwrap().unwrap();
        for task in page.tasks {
            assert_eq!((task.status, task.tries), (TaskStatus::Working, 0));
        }
        let now = tokio::time::Instant::now();
        let mut other = Process::start(&store, version).await;
        until(async || count(&other.bench.started) == 1).await;
        assert!(
            now.elapsed() < Duration::from_secs(1),
            "{:?}",
            now.elapsed()
        );
        other.bench.go_on.add_permits(2);
        assert_eq!(
            settled(&mut other.client, &task).await["status"],
            "completed"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_released_task_is_claimed_at_once_if_the_store_notifies() {
    for version in Version::ERAS {
        let store = TestStore {
            given_back: Some(Arc::default()),
            ..shared_store()
        };
        let other = Process::start(&store, version).await;
        let mut one = Process::start(&store, version).await;
        create(&mut one.client, "job", json!({"label": "x"})).await;
        until(async || count(&one.bench.started) == 1).await;
        one.handle.shut_down();
        one.serving.await.unwrap().unwrap();
        let stopped = tokio::time::Instant::now();
        until(async || count(&other.bench.started) == 1).await;
        let waited = stopped.elapsed();
        assert!(waited < Duration::from_millis(100), "{waited:?}");
    }
}

/// Puts a task into the store whose process has died `deaths` times, and returns its status message once it has ended.
async fn ended_message(call: &Value, deaths: usize) -> String {
    let store = shared_store();
    let mut task = NewTask::new("trusted", "job");
    task.call = call.to_string().into();
    task.state = json!({"journal": "{\"r\":0}"}).to_string().into();
    task.lease = Duration::ZERO;
    let created = store.create(task).await.unwrap();
    assert!(matches!(created, TaskCreation::Created(_)));
    for _ in 1..deaths {
        store
            .claim_due(Duration::ZERO, &ClaimExceptions::default())
            .await
            .unwrap();
    }
    let process = Process::start(&store, LEGACY).await;
    process.bench.go_on.add_permits(1);
    until(async || load(&store).await.status.is_final()).await;
    let ended = load(&store).await;
    let is_completed = ended.status == TaskStatus::Completed;
    assert!(is_completed || ended.status == TaskStatus::Failed);
    ended.message.as_deref().unwrap_or("completed").to_owned()
}

// Limits: tasks.max_attempts
#[tokio::test(start_paused = true)]
async fn a_task_that_cannot_be_continued_fails_with_a_reason() {
    let call = json!({
        "format": 1, "tool": "job", "arguments": {}, "protocol_version": "2025-11-25",
        "caller": "trusted", "capabilities": {},
    });
    let with = |member: &str, value: Value| {
        let mut call = call.clone();
        call[member] = value;
        call
    };
    assert_eq!(ended_message(&call, 1).await, "completed");
    assert_eq!(ended_message(&call, 2).await, "completed");
    let tough = with("tool", json!("tough_job"));
    assert_eq!(ended_message(&tough, 4).await, "completed");
    for (call, deaths, expected) in [
        (call.clone(), 3, "started 3 times"),
        (with("tool", json!("delicate_job")), 1, "started once"),
        (tough, 5, "started 5 times"),
        (with("tool", json!("gone")), 1, "`gone` no longer exists"),
        (with("format", json!(2)), 1, "stored in format 2"),
        (
            with("protocol_version", json!("1999-01-01")),
            1,
            "1999-01-01",
        ),
        (with("caller", json!("someone")), 1, "cannot be read"),
        (json!("nonsense"), 1, "cannot be read"),
    ] {
        let message = ended_message(&call, deaths).await;
        assert!(message.contains(expected), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stale_process_writes_nothing() {
    let store = shared_store();
    let mut one = Process::start(&store, MODERN).await;
    create(&mut one.client, "job", json!({})).await;
    until(async || count(&one.bench.started) == 1).await;
    // As if the process had not been heard of for long.
    let task = load(&store).await;
    store
        .release(&task.id, task.attempt, Duration::ZERO)
        .await
        .unwrap();
    let claimed = store
        .claim(&task.id, Duration::from_mins(5))
        .await
        .unwrap()
        .unwrap();
    one.bench.go_on.add_permits(1);
    until(async || count(&one.bench.dropped) + one.bench.go_on.available_permits() == 0).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let found = load(&store).await;
    assert_eq!(
        (found.status, found.version),
        (TaskStatus::Working, claimed.version)
    );
    let done = TaskChange::to(TaskStatus::Completed);
    store.change(&task.id, claimed.version, done).await.unwrap();
}
