//! Tasks that were sealed with a key that the server no longer has.

use std::time::Duration;

use mcp_runtime::backend::{TaskStatus, TaskStore as _};
use mcp_runtime::server::SealingKey;
use serde_json::json;
use tests::Version;
use tests::wait::until;

use super::other_process::{Process, load, shared_store};
use super::test_store::TestStore;
use super::{LEGACY, count, create, get, settled};
use crate::results::Log;

async fn start(store: &TestStore, version: Version, keys: &[u8]) -> Process {
    let keys: Vec<_> = keys
        .iter()
        .map(|key| SealingKey::from_bytes([*key; 32]))
        .collect();
    Process::start_with(store, version, |server| server.sealing_keys(keys)).await
}

#[tokio::test(start_paused = true)]
async fn a_task_that_cannot_be_unsealed_can_be_listed_and_cancelled() {
    for version in Version::ERAS {
        let store = shared_store();
        let mut old = start(&store, version, &[1]).await;
        let ended = create(&mut old.client, "end", json!({"how": "well"})).await;
        settled(&mut old.client, &ended).await;
        let parked = create(&mut old.client, "deploy", json!({})).await;
        settled(&mut old.client, &parked).await;
        old.die().await;

        let mut new = start(&store, version, &[2]).await;
        let readable = create(&mut new.client, "end", json!({"how": "well"})).await;
        settled(&mut new.client, &readable).await;
        let id = |task: &serde_json::Value| json!({"taskId": task["taskId"]});
        if version == LEGACY {
            let list = new.client.ok("tasks/list", json!({})).await;
            let statuses: Vec<_> = list["tasks"].as_array().unwrap().iter().collect();
            let statuses: Vec<_> = statuses.iter().map(|task| &task["status"]).collect();
            assert_eq!(statuses, ["completed", "input_required", "completed"]);
            let unread = new.client.fails("tasks/result", id(&ended), 429).await;
            assert!(unread.message.contains("with a key that"), "{unread:?}");
            assert_eq!(unread.data["retryAfterMs"], 1000);
        } else {
            for task in [&ended, &parked] {
                let unread = new.client.fails("tasks/get", id(task), 429).await;
                assert!(unread.message.contains("with a key that"), "{unread:?}");
            }
            let mut update = id(&parked);
            update["inputResponses"] = json!({"sure": {"action": "decline"}});
            new.client.fails("tasks/update", update, 429).await;
        }
        new.client.ok("tasks/cancel", id(&parked)).await;
        assert_eq!(get(&mut new.client, &parked).await["status"], "cancelled");
        new.die().await;

        // With the old key, the result can be read again.
        let mut both = start(&store, version, &[2, 1]).await;
        let found = get(&mut both.client, &ended).await;
        assert_eq!(found["status"], "completed", "{found}");
        if version == LEGACY {
            both.client.ok("tasks/result", id(&ended)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_warns_at_start_up_if_stored_tasks_need_a_key_that_it_does_not_have() {
    let store = shared_store();
    let mut old = start(&store, Version::V2026_07_28, &[1]).await;
    let task = create(&mut old.client, "job", json!({})).await;
    until(async || count(&old.bench.started) == 1).await;
    old.die().await;
    for (keys, warns) in [(&[2, 1][..], false), (&[2], true)] {
        let (log, _guard) = Log::begin();
        let started = start(&store, Version::V2026_07_28, keys).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let log = log.take();
        let found = log.contains("sealed with a key that this server does not have");
        assert_eq!(found, warns, "{log}");
        started.die().await;
    }
    // Once its lease has lapsed, it fails with a message that says so, and operators can retry it.
    let mut new = start(&store, Version::V2026_07_28, &[2]).await;
    until(async || load(&store).await.status == TaskStatus::Failed).await;
    let failed = get(&mut new.client, &task).await;
    let message = failed["statusMessage"].as_str().unwrap_or_default();
    assert!(message.contains("with a key that"), "{failed}");
    let raw = store.load(&load(&store).await.id).await.unwrap().unwrap();
    assert!(raw.can_be_retried());
}
