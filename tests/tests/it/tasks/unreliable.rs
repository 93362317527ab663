//! Tasks in a store that sometimes fails.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use tests::Version;
use tests::wait::until;

use super::test_store::TestStore;
use super::{Bench, accepted, answer, client_of, count, create, get, server, settled, text};

#[tokio::test(start_paused = true)]
async fn a_result_outlasts_a_store_that_cannot_be_reached_for_a_while() {
    for version in Version::ERAS {
        let store = TestStore::default();
        let failing = Arc::clone(&store.failing);
        let server = server(&Bench::default()).task_store(store);
        let mut client = client_of(server, version).await;
        failing.store(5, Ordering::SeqCst);
        let task = create(&mut client, "end", json!({"how": "well"})).await;
        until(async || count(&failing) == 0).await;
        tokio::time::advance(Duration::from_mins(1)).await;
        let ended = settled(&mut client, &task).await;
        assert_eq!(ended["status"], "completed", "{ended}");
        if version.is_modern() {
            assert_eq!(text(&ended["result"]), "well");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_lease_lapses_fails_rather_than_working_for_ever() {
    for version in Version::ERAS {
        let (store, bench) = (TestStore::default(), Bench::default());
        let without_leases = Arc::clone(&store.without_leases);
        let mut client = client_of(server(&bench).task_store(store), version).await;
        let task = create(&mut client, "job", json!({})).await;
        until(async || count(&bench.started) == 1).await;
        without_leases.store(true, Ordering::SeqCst);
        tokio::time::advance(Duration::from_mins(2)).await;
        let ended = settled(&mut client, &task).await;
        assert_eq!(ended["status"], "failed", "{ended}");
        let message = ended["statusMessage"].as_str().unwrap();
        assert!(message.contains("was unreachable"), "{message}");
        assert_eq!(count(&bench.dropped), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answered_task_goes_on_once_the_store_works_again() {
    let (store, bench) = (TestStore::default(), Bench::default());
    let without_leases = Arc::clone(&store.without_leases);
    let mut client = client_of(server(&bench).task_store(store), Version::V2026_07_28).await;
    let task = create(&mut client, "deploy", json!({})).await;
    assert_eq!(
        settled(&mut client, &task).await["status"],
        "input_required"
    );
    without_leases.store(true, Ordering::SeqCst);
    answer(&mut client, &task, json!({"sure": accepted(true)})).await;
    client.pass().await;
    assert_eq!(get(&mut client, &task).await["status"], "working");
    assert_eq!(count(&bench.runs), 1);
    without_leases.store(false, Ordering::SeqCst);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(
        settled(&mut client, &task).await["status"],
        "input_required"
    );
    assert_eq!(count(&bench.runs), 2);
}
