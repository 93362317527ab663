//! Tasks over a store that does not work all the time.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use tests::Version;
use tests::wait::until;

use super::test_store::TestStore;
use super::{Bench, client_of, count, create, server, settled, text};

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
