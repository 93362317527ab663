//! Processes that die while a client is waiting, or after it has received its handle.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_runtime::backend::{Backend, TaskStore as _};
use mcp_runtime::transport::memory;
use serde_json::json;
use tests::client::Answer;
use tests::wait::until;
use tests::{Client, Version};
use tokio::time::sleep;

use super::super::test_store::{Death, TestStore};
use super::super::{Bench, count, text};
use super::{id_of, job_status, patient_server};

/// Serves until the returned task is aborted, which simulates the death of the process.
fn serve_process(
    bench: &Bench,
    store: &TestStore,
    version: Version,
) -> (Client, tokio::task::JoinHandle<()>) {
    let (transport, stream) = memory();
    let server = patient_server(bench).backend(Backend::new().tasks(Arc::new(store.clone())));
    let serving = tokio::spawn(async move {
        let _ = server.serve(transport).await;
    });
    let (reader, writer) = tokio::io::split(stream);
    let mut client = Client::new(reader, writer, version);
    client.capabilities = json!({"elicitation": {}});
    client.meta.insert("progressToken".into(), json!("p"));
    client.answer(|_| Answer::accept(json!({"sure": true})));
    (client, serving)
}

#[tokio::test(start_paused = true)]
async fn no_step_is_done_twice_whenever_the_process_dies() {
    for version in Version::ERAS {
        // Before the handle is returned, during the second step after that, and while the job waits for an answer.
        for seconds in [20, 50, 90] {
            let store = TestStore {
                outlives: true,
                ..TestStore::default()
            };
            let bench = Bench::default();
            let (client, serving) = serve_process(&bench, &store, version);
            let mut client = client.connect().await;
            let call = json!({"name": "order", "arguments": {}});
            let call = client.start("tools/call", call).await;
            let id = if seconds > 45 {
                Some(id_of(&client.response(&call).await.unwrap()))
            } else {
                None
            };
            let passed = if id.is_some() { 45 } else { 0 };
            sleep(Duration::from_secs(seconds - passed)).await;
            serving.abort();
            assert!(serving.await.unwrap_err().is_cancelled());
            let (other, _serving) = serve_process(&bench, &store, version);
            let mut other = other.connect().await;
            sleep(Duration::from_mins(2)).await;
            assert_eq!(
                (count(&bench.once), count(&bench.started)),
                (1, 1),
                "{seconds}"
            );
            let Some(id) = id else {
                // The call ended with its connection, and nothing continues without it.
                let stored = store.list("trusted", None, 10).await.unwrap().unwrap();
                assert!(stored.tasks.is_empty(), "{stored:?}");
                continue;
            };
            let ended = job_status(&mut other, &id).await;
            if seconds == 50 {
                assert!(
                    text(&ended).contains("`deliver` in this call was started before"),
                    "{ended}"
                );
            } else {
                assert_eq!(text(&ended), "kept: true", "{ended}");
            }
            assert_eq!(
                (count(&bench.once), count(&bench.started)),
                (1, 1),
                "{seconds}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_step_runs_twice_if_the_process_dies_at_any_store_operation() {
    for version in Version::ERAS {
        for (at, is_after) in (1..=8).flat_map(|at| [(at, false), (at, true)]) {
            let death = Death::default();
            death.at.store(at, Ordering::SeqCst);
            death.is_after.store(is_after, Ordering::SeqCst);
            let mut store = TestStore {
                outlives: true,
                death: Arc::new(death),
                ..TestStore::default()
            };
            let bench = Bench::default();
            let (client, serving) = serve_process(&bench, &store, version);
            let mut client = client.connect().await;
            let call = json!({"name": "order", "arguments": {}});
            client.start("tools/call", call).await;
            until(async || store.death.has_died.load(Ordering::SeqCst)).await;
            serving.abort();
            assert!(serving.await.unwrap_err().is_cancelled());
            store.death = Arc::default();
            let (_other, _serving) = serve_process(&bench, &store, version);
            sleep(Duration::from_mins(3)).await;
            let (paid, delivered) = (count(&bench.once), count(&bench.started));
            assert_eq!((paid, delivered), (1, 1), "at {at}, {is_after}");
        }
    }
}
