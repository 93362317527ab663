//! Tasks on a server that is stopped.

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::backend::{Backend, MemoryTaskStore, TaskStatus, TaskStore as _};
use mcp_runtime::transport::memory;
use serde_json::json;
use tests::wait::until;
use tests::{Client, Version};

use super::{Bench, TASKS, count, create, server, settled};

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_for_input_does_not_keep_the_server_running() {
    for version in Version::ERAS {
        let bench = Bench::default();
        let runs = Arc::downgrade(&bench.runs);
        let server = server(&bench);
        let handle = server.handle();
        let (transport, stream) = memory();
        let serving = tokio::spawn(server.serve(transport));
        let (reader, writer) = tokio::io::split(stream);
        let mut client = Client::new(reader, writer, version);
        client.capabilities = json!({"elicitation": {}, "extensions": {TASKS: {}}});
        let mut client = client.connect().await;
        let task = create(&mut client, "deploy", json!({})).await;
        settled(&mut client, &task).await;
        handle.shut_down();
        serving.await.unwrap().unwrap();
        drop((handle, client, bench));
        until(async || runs.strong_count() == 0).await;
    }
}

// Covers: TASK-13
#[tokio::test(start_paused = true)]
async fn running_tasks_may_finish_while_the_server_stops_and_are_cancelled_after_that() {
    for version in Version::ERAS {
        for finishes in [true, false] {
            let bench = Bench::default();
            let store = Arc::new(MemoryTaskStore::default());
            let server = server(&bench).backend(Backend::new().tasks(store.clone()));
            let handle = server.handle();
            let (transport, stream) = memory();
            let serving = tokio::spawn(server.serve(transport));
            let (reader, writer) = tokio::io::split(stream);
            let mut client = Client::new(reader, writer, version);
            client.capabilities = json!({"extensions": {TASKS: {}}});
            let mut client = client.connect().await;
            create(&mut client, "job", json!({})).await;
            until(async || count(&bench.started) == 1).await;
            handle.shut_down();
            if finishes {
                tokio::time::sleep(Duration::from_secs(1)).await;
                bench.go_on.add_permits(1);
            }
            serving.await.unwrap().unwrap();
            let mut tasks = Vec::new();
            for owner in ["", "trusted"] {
                let page = store.list(owner, None, 10).await.unwrap().unwrap();
                tasks.extend(page.tasks);
            }
            let [task] = &tasks[..] else {
                panic!("{tasks:?}")
            };
            let expected = if finishes {
                TaskStatus::Completed
            } else {
                TaskStatus::Cancelled
            };
            assert_eq!(task.status, expected);
            let message = task.message.as_deref().unwrap_or_default();
            assert_eq!(
                message.contains("server was stopped"),
                !finishes,
                "{message}"
            );
        }
    }
}
