//! The tools with which clients that do not support tasks wait for their jobs.

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::backend::{Backend, MemoryTaskStore, TaskStore as _};
use mcp_runtime::dynamic::{Arguments, DynamicTool};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::transport::memory;
use serde_json::{Value, json};
use tests::client::Answer;
use tests::wait::until;
use tests::{Client, Version};
use tokio::time::sleep;

use super::super::{Bench, client_of, count, text};
use super::{connect_plain, job_of, job_status, lone, patient_server};
use crate::support::connect;

/// Returns the names in a list.
async fn names(client: &mut Client) -> Vec<String> {
    let (tools, _) = client.list("tools/list", "tools").await;
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

#[tokio::test]
async fn only_clients_without_tasks_have_the_tools_for_jobs() {
    let both = |names: &[String]| {
        let found = ["job_status", "job_cancel"].map(|job| names.iter().any(|name| name == job));
        assert_eq!(found[0], found[1], "{names:?}");
        found[0]
    };
    for version in Version::ALL {
        let bench = Bench::default();
        let mut client =
            connect_plain(patient_server(&bench).limits(tests::pages_of(2)), version).await;
        assert!(both(&names(&mut client).await));
        let mut client = client_of(patient_server(&bench), version).await;
        let has_tasks = version.is_modern();
        assert_eq!(both(&names(&mut client).await), !has_tasks);
        if has_tasks {
            let call = json!({"name": "job_status", "arguments": {"job_id": "x"}});
            let unknown = client.fails("tools/call", call, -32602).await;
            assert!(
                unknown.message.contains("no tool `job_status`"),
                "{unknown:?}"
            );
        }
        // Servers without tasks and servers that make clients wait do not have these tools.
        let server = new_server!().only(Selected::tag("tasks-none"));
        server.handle().tools().insert(lone()).unwrap();
        let mut client = connect(server, version).await;
        assert!(!both(&names(&mut client).await));
        let limits = Limits::default().with(|limits| limits.tasks.patience = Duration::MAX);
        let mut client = connect(patient_server(&bench).limits(limits), version).await;
        assert!(!both(&names(&mut client).await));
    }
}

#[tokio::test]
async fn the_names_of_the_job_tools_are_reserved() {
    let own = || {
        let schema = json!({"type": "object"});
        DynamicTool::new("job_status", schema, |_: Arguments, _: Context| async {
            "mine"
        })
    };
    let server = patient_server(&Bench::default());
    server.handle().tools().insert(own()).unwrap();
    let (transport, _stream) = memory();
    let refused = server.serve(transport).await.unwrap_err().to_string();
    assert!(
        refused.contains("job_status") && refused.contains("patience"),
        "{refused}"
    );
    // These names are not reserved on other servers.
    let server = new_server!().only(Selected::tag("tasks-none"));
    server.handle().tools().insert(own()).unwrap();
    let mut client = connect(server, Version::V2026_07_28).await;
    assert_eq!(client.text("job_status", json!({})).await, "mine");
}

#[tokio::test(start_paused = true)]
async fn unknown_foreign_and_expired_job_ids_get_the_same_error() {
    for version in Version::ERAS {
        let limits = Limits::default().with(|limits| limits.tasks.ttl = Duration::from_mins(4));
        let server = patient_server(&Bench::default()).limits(limits);
        let mut client = connect_plain(server, version).await;
        let id = job_of(&mut client, "ponder").await;
        assert_eq!(id.len(), 32);
        let unknown = client.refused("job_status", json!({"job_id": "x"})).await;
        let random = client
            .refused("job_cancel", json!({"job_id": "A".repeat(32)}))
            .await;
        assert_eq!(unknown, random);
        sleep(Duration::from_mins(4)).await;
        let expired = client.refused("job_status", json!({"job_id": id})).await;
        assert_eq!(unknown, expired);
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_can_be_cancelled() {
    for version in Version::ERAS {
        let bench = Bench::default();
        let mut client = connect_plain(patient_server(&bench), version).await;
        let id = job_of(&mut client, "ponder").await;
        let cancelled = client.text("job_cancel", json!({"job_id": id})).await;
        assert!(cancelled.contains("was cancelled"), "{cancelled}");
        until(async || count(&bench.dropped) == 1).await;
        let again = client.text("job_cancel", json!({"job_id": id})).await;
        assert!(again.contains("had already ended"), "{again}");
        let ended = client.refused("job_status", json!({"job_id": id})).await;
        assert!(ended.contains("cancelled by the client"), "{ended}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_before_the_handle_ends_and_leaves_nothing() {
    for version in Version::ERAS {
        let (bench, store) = (Bench::default(), Arc::new(MemoryTaskStore::default()));
        let server = patient_server(&bench).backend(Backend::new().tasks(store.clone()));
        let mut client = connect_plain(server, version).await;
        let call = client
            .start("tools/call", json!({"name": "ponder", "arguments": {}}))
            .await;
        until(async || count(&bench.started) == 1).await;
        sleep(Duration::from_secs(44)).await;
        client.cancel(&call).await;
        until(async || count(&bench.dropped) == 1).await;
        sleep(Duration::from_secs(10)).await;
        let stored = store.list("trusted", None, 10).await.unwrap().unwrap();
        assert!(stored.tasks.is_empty(), "{stored:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn job_status_sends_the_elicitation_of_a_job() {
    for version in Version::ERAS {
        let bench = Bench::default();
        let mut client = connect_plain(patient_server(&bench), version).await;
        let id = job_of(&mut client, "order").await;
        let ended = job_status(&mut client, &id).await;
        assert_eq!(text(&ended), "kept: true");
        // The steps before the handle was returned, and the one in between, were executed only once.
        let (paid, delivered) = (count(&bench.once), count(&bench.started));
        assert_eq!((paid, delivered, count(&bench.runs)), (1, 1, 2));
        assert_eq!(client.asked.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_invalid_answer_to_a_job_is_not_reused() {
    for version in Version::ERAS {
        let mut client = connect_plain(patient_server(&Bench::default()), version).await;
        let mut given = 0;
        client.answer(move |_| {
            given += 1;
            let sure = if given < 3 { json!(given) } else { json!(true) };
            Answer::accept(json!({"sure": sure}))
        });
        let id = job_of(&mut client, "order").await;
        let ended = job_status(&mut client, &id).await;
        assert_eq!(text(&ended), "kept: true", "{ended}");
        assert_eq!(client.asked.len(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn job_status_reports_needed_input_to_clients_without_elicitation() {
    for version in Version::ERAS {
        let store = Arc::new(MemoryTaskStore::default());
        let bench = Bench::default();
        let mut asked = {
            let server = patient_server(&bench).backend(Backend::new().tasks(store.clone()));
            connect_plain(server, version).await
        };
        let id = job_of(&mut asked, "order").await;
        sleep(Duration::from_mins(2)).await;
        let server = patient_server(&bench).backend(Backend::new().tasks(store));
        let mut other = connect(server, version).await;
        other.meta.insert("progressToken".into(), json!("p"));
        let state = job_status(&mut other, &id).await;
        assert!(
            text(&state).contains("cannot be requested from this client: \"Keep it?\""),
            "{state}"
        );
        assert_eq!(state["structuredContent"]["status"], "input_required");
        assert_eq!(text(&job_status(&mut asked, &id).await), "kept: true");
    }
}
