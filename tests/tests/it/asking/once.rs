//! Steps in `once` blocks if rounds are cut off or arrive together, over every link of the modern era.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_runtime::backend::{Backend, MemoryOnceStore, OnceClaim, OnceStore, OnceWork, StoreFuture};
use mcp_runtime::prelude::*;
use mcp_runtime::server::{SealingKey, Selected};
use serde_json::{Value, json};
use tests::asking::{Setup, able, server};
use tests::{Answer, Client, Link, Served, Version};

use super::client_of;

async fn ada(served: &mut Served) -> Client {
    let mut client = served.client(Version::V2026_07_28);
    client.capabilities = able();
    client.answer(|_| Answer::accept(json!({"name": "Ada"})));
    client
}

fn setup(store: bool) -> Setup {
    Setup {
        store,
        ..Setup::default()
    }
}

/// Returns the second round of a call to this tool.
async fn second_round(client: &mut Client, tool: &str) -> Value {
    let params = json!({"name": tool, "arguments": {}});
    let asked = client.ok("tools/call", params.clone()).await;
    client.retry(&params, &asked)
}

// Covers: MRTR-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_step_does_not_run_again_with_a_store() {
    for (link, _) in Link::visits(&[Version::V2026_07_28]) {
        for store in [false, true] {
            let setup = setup(store);
            let mut served = Served::start(link, &setup).await;
            let mut client = ada(&mut served).await;
            let round = second_round(&mut client, "stuck_at_first").await;
            let id = client.start("tools/call", round.clone()).await;
            setup.ledger.until("after", 1).await;
            client.cancel(&id).await;
            // There has been one run for each round so far.
            setup.ledger.until("dropped", 2).await;
            let result = client.ok("tools/call", round).await;
            let text = result["content"][0]["text"].as_str().unwrap();
            if store {
                assert!(text.contains("it is not run again"), "{text}");
            } else {
                assert_eq!(text, "Ada");
            }
            let done = setup.ledger.count("after");
            assert_eq!(done, if store { 1 } else { 2 }, "{link:?}");
        }
    }
}

// Covers: MRTR-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeatable_step_that_was_interrupted_runs_again_and_keeps_its_result() {
    for (link, _) in Link::visits(&[Version::V2026_07_28]) {
        let setup = setup(true);
        let mut served = Served::start(link, &setup).await;
        let mut client = ada(&mut served).await;
        let round = second_round(&mut client, "repeated_after_stuck").await;
        let id = client.start("tools/call", round.clone()).await;
        setup.ledger.until("after", 1).await;
        client.cancel(&id).await;
        setup.ledger.until("dropped", 2).await;
        for _ in 0..2 {
            let result = client.ok("tools/call", round.clone()).await;
            assert_eq!(result["content"][0]["text"], "Ada", "{link:?}: {result}");
            assert_eq!(setup.ledger.count("after"), 2, "{link:?}");
        }
    }
}

// Covers: MRTR-11, HTTP-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_disconnects_during_a_round_ends_it() {
    for (link, _) in Link::visits(&[Version::V2026_07_28]) {
        let setup = Setup {
            drain_ms: Some(50),
            ..setup(true)
        };
        let mut served = Served::start(link, &setup).await;
        let mut client = ada(&mut served).await;
        let round = second_round(&mut client, "stuck_at_first").await;
        client.start("tools/call", round.clone()).await;
        setup.ledger.until("after", 1).await;
        drop(client);
        setup.ledger.until("dropped", 2).await;
        served.ended().await;
        if link != Link::Stdio {
            // Another connection to the same server gets no further.
            let mut client = ada(&mut served).await;
            let result = client.ok("tools/call", round).await;
            assert_eq!(result["isError"], true, "{result}");
        }
        assert_eq!(setup.ledger.count("after"), 1, "{link:?}");
    }
}

// Covers: MRTR-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_equal_rounds_run_a_step_once_with_a_store() {
    for (link, _) in Link::visits(&[Version::V2026_07_28]) {
        let setup = setup(true);
        let mut served = Served::start(link, &setup).await;
        let mut client = ada(&mut served).await;
        let round = second_round(&mut client, "one").await;
        let mut ids = Vec::new();
        for _ in 0..8 {
            ids.push(client.start("tools/call", round.clone()).await);
        }
        let mut greeted = 0;
        for id in ids {
            let result = client.response(&id).await.unwrap();
            let text = result["content"][0]["text"].as_str().unwrap();
            // A call that arrives in the meantime receives an error that says that the outcome is unknown.
            assert!(
                text == "Hello, Ada!" || text.contains("was started before"),
                "{text}"
            );
            greeted += usize::from(text == "Hello, Ada!");
        }
        assert!(greeted >= 1);
        let done = ["before", "after"].map(|what| setup.ledger.count(what));
        assert_eq!(done, [1, 1], "{link:?}");
    }
}

/// Stands in for a database that several instances share.
#[derive(Clone, Default)]
struct Shared(Arc<MemoryOnceStore>);

impl OnceStore for Shared {
    fn begin<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, OnceClaim> {
        self.0.begin(work)
    }

    fn complete<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        self.0.complete(work, result)
    }

    fn abandon<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, ()> {
        self.0.abandon(work)
    }
}

// Covers: MRTR-06, MRTR-09
#[tokio::test]
async fn instances_with_shared_keys_and_store_run_a_step_once() {
    let (setup, store) = (setup(false), Shared::default());
    let instance = || {
        let server = server(&setup).sealing_keys([SealingKey::from_bytes([1; 32])]);
        client_of(
            server.backend(Backend::new().once(Arc::new(store.clone()))),
            Version::V2026_07_28,
            able(),
        )
    };
    let mut instances = [instance().await, instance().await];
    let mut round = second_round(&mut instances[0], "two_in_sequence").await;
    // Each round is sent to both instances; the call may continue from either answer.
    for turn in 0..2 {
        let mut results = Vec::new();
        for client in &mut instances {
            results.push(client.ok("tools/call", round.clone()).await);
        }
        if turn == 0 {
            let params = json!({"name": "two_in_sequence", "arguments": {}});
            round = instances[1].retry(&params, &results[0]);
        } else {
            for result in results {
                assert_eq!(result["content"][0]["text"], "Ada true 1");
            }
        }
    }
    let done = ["before", "between", "after"].map(|what| setup.ledger.count(what));
    assert_eq!(done, [1, 1, 1]);
}

/// A store in which another run has always already started the work.
#[derive(Clone, Default)]
struct Elsewhere(Arc<AtomicUsize>);

impl OnceStore for Elsewhere {
    fn begin<'a>(&'a self, _: OnceWork<'a>) -> StoreFuture<'a, OnceClaim> {
        Box::pin(async { Ok(OnceClaim::Taken(String::new())) })
    }

    fn complete<'a>(&'a self, _: OnceWork<'a>, _: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn abandon<'a>(&'a self, _: OnceWork<'a>) -> StoreFuture<'a, ()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ok(()) })
    }
}

/// Downloads a file, which fails.
#[tool(tags("downloads"))]
async fn download(ctx: &Context) -> Result<u64> {
    ctx.step("download", async || -> Result<u64> { bail!("no network") })
        .await
}

#[tokio::test]
async fn a_repeated_step_does_not_release_the_claim_of_another_run() {
    for version in Version::ERAS {
        let store = Elsewhere::default();
        let server = mcp_runtime::new_server!().only(Selected::tag("downloads"));
        let mut client = client_of(
            server.backend(Backend::new().once(Arc::new(store.clone()))),
            version,
            able(),
        )
        .await;
        let call = json!({"name": "download", "arguments": {}});
        let result = client.ok("tools/call", call).await;
        assert_eq!(result["content"][0]["text"], "no network", "{version:?}");
        assert_eq!(store.0.load(Ordering::Relaxed), 0, "{version:?}");
    }
}
