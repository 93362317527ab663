//! Keys in stores that several processes share.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::backend::{Backend, MemoryOnceStore, OnceClaim, OnceStore, OnceWork, StoreFuture};
use mcp_runtime::prelude::*;
use mcp_runtime::transport::memory;
use mcp_runtime::{Limits, Principal};
use serde_json::json;
use tests::wait::until;
use tests::{Client, Version};
use tokio::time::Instant;

use super::{Shop, call, server, text};
use crate::backend::Folder;
use crate::support::connect;

/// A store in which an operation fails. It has no `forget`, like stores that predate the method.
#[derive(Clone)]
struct Failing {
    store: Arc<MemoryOnceStore>,
    operation: &'static str,
    /// The time until which it fails, measured from the first time at which the operation is needed.
    time: Duration,
    until: Arc<Mutex<Option<Instant>>>,
    loses_replies: bool,
}

impl Failing {
    fn new(operation: &'static str, time: Duration, loses_replies: bool) -> Self {
        Self {
            store: Arc::default(),
            operation,
            time,
            until: Arc::default(),
            loses_replies,
        }
    }

    fn run<'a, T: Send + 'a>(
        &'a self,
        operation: &'static str,
        work: impl FnOnce() -> StoreFuture<'a, T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        if operation != self.operation {
            return work();
        }
        let now = Instant::now();
        let until = *self.until.lock().unwrap().get_or_insert(now + self.time);
        if now >= until {
            return work();
        }
        let does_work = self.loses_replies;
        Box::pin(async move {
            if does_work {
                drop(work().await);
            }
            Err("no connection".into())
        })
    }
}

impl OnceStore for Failing {
    fn begin<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, OnceClaim> {
        self.run("begin", move || self.store.begin(work))
    }

    fn complete<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        self.run("complete", move || self.store.complete(work, result))
    }

    fn abandon<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, ()> {
        self.run("abandon", move || self.store.abandon(work))
    }
}

const FOR_EVER: Duration = Duration::from_hours(1);

fn impatient() -> Limits {
    Limits::default().with(|all| all.idempotency.max_wait = Duration::ZERO)
}

#[tokio::test]
async fn two_servers_on_one_file_run_a_call_once() {
    for version in Version::ERAS {
        let folder = Folder::new();
        let shop = Shop::new();
        let server = || server(&shop).backend(folder.open());
        let mut one = connect(server(), version).await;
        let mut other = connect(server(), version).await;
        let first = one.start("tools/call", call("place_slowly", 7)).await;
        let second = other.start("tools/call", call("place_slowly", 7)).await;
        until(async || shop.orders() > 0).await;
        shop.let_one_go_on();
        for result in [one.response(&first).await, other.response(&second).await] {
            assert_eq!(text(&result.unwrap()), "order 7 is number 1");
        }
        // A failure frees the key for both.
        shop.set_broken(true);
        for client in [&mut one, &mut other] {
            client
                .refused("place_if_open", json!({"order_id": 7}))
                .await;
        }
        shop.set_broken(false);
        let placed = one.tool("place_if_open", json!({"order_id": 7})).await;
        // A server that starts later knows the result, too.
        drop((one, other));
        let mut third = connect(server(), version).await;
        let again = third.tool("place_if_open", json!({"order_id": 7})).await;
        assert_eq!(again, placed);
        assert_eq!(text(&again), "order 7 is number 4");
    }
}

#[tokio::test]
async fn a_call_whose_process_has_died_is_not_run_again() {
    for version in Version::ERAS {
        let folder = Folder::new();
        let shop = Shop::new();
        let server = || server(&shop).backend(folder.open()).limits(impatient());
        let (transport, stream) = memory();
        let serving = tokio::spawn(server().serve(transport));
        let (reader, writer) = tokio::io::split(stream);
        let mut client = Client::new(reader, writer, version).connect().await;
        client.start("tools/call", call("place_slowly", 7)).await;
        until(async || shop.orders() == 1).await;
        serving.abort();
        assert!(serving.await.unwrap_err().is_cancelled());
        let mut client = connect(server(), version).await;
        let refused = client.refused("place_slowly", json!({"order_id": 7})).await;
        assert!(refused.contains("its outcome is unknown"), "{refused}");
        assert_eq!(shop.orders(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_call_is_recorded_when_a_store_that_was_away_is_back() {
    for version in Version::ERAS {
        for (away, loses_replies) in [(1, false), (5, false), (30, false), (30, true)] {
            let shop = Shop::new();
            let store = Failing::new("complete", Duration::from_secs(away), loses_replies);
            let mut client = connect(
                server(&shop).backend(Backend::new().once(Arc::new(store))),
                version,
            )
            .await;
            let first = client.tool("place", json!({"order_id": 7})).await;
            if away > 5 {
                // The client of these tests does not wait for so long.
                tokio::time::sleep(Duration::from_secs(away)).await;
            }
            let again = client.tool("place", json!({"order_id": 7})).await;
            assert_eq!(again, first, "{away}");
            assert_eq!(shop.orders(), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_frees_the_key_when_a_store_that_was_away_is_back() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let store = Failing::new("abandon", Duration::from_secs(5), false);
        let mut client = connect(
            server(&shop).backend(Backend::new().once(Arc::new(store))),
            version,
        )
        .await;
        shop.set_broken(true);
        let call = || json!({"order_id": 7});
        client.refused("place_if_open", call()).await;
        shop.set_broken(false);
        client.tool("place_if_open", call()).await;
        assert_eq!(shop.orders(), 2);
    }
}

#[tokio::test]
async fn a_call_whose_result_cannot_be_stored_is_answered_and_runs_once() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let server = server(&shop)
            .backend(Backend::new().once(Arc::new(Failing::new("complete", FOR_EVER, false))))
            .limits(impatient());
        let mut client = connect(server, version).await;
        client.text("place", json!({"order_id": 7})).await;
        let refused = client.refused("place", json!({"order_id": 7})).await;
        assert!(refused.contains("has not ended"), "{refused}");
        assert_eq!(shop.orders(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_be_recorded_does_not_run_and_frees_its_key() {
    for version in Version::ERAS {
        for loses_replies in [false, true] {
            let shop = Shop::new();
            let store = Failing::new("begin", Duration::from_secs(1), loses_replies);
            let mut client = connect(
                server(&shop).backend(Backend::new().once(Arc::new(store))),
                version,
            )
            .await;
            let refused = client.refused("place", json!({"order_id": 7})).await;
            assert!(refused.contains("cannot remember calls"), "{refused}");
            assert_eq!(shop.orders(), 0);
            tokio::time::sleep(Duration::from_secs(2)).await;
            client.tool("place", json!({"order_id": 7})).await;
            assert_eq!(shop.orders(), 1);
        }
    }
}

// Limits: idempotency.max_calls, idempotency.max_calls_per_caller
#[tokio::test]
async fn the_keys_of_one_caller_do_not_count_against_another() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let limits = Limits::default().with(|limits| {
            limits.idempotency.max_calls_per_caller = 2;
            limits.idempotency.max_calls = 3;
        });
        let store = Arc::new(MemoryOnceStore::with_limits(&limits));
        let server = |name: &str| {
            let caller = Principal::new(name);
            let server = server(&shop).backend(Backend::new().once(store.clone()));
            let (transport, stream) = memory();
            tokio::spawn(server.serve(transport.with_principal(caller)));
            stream
        };
        let mut clients = Vec::new();
        for name in ["mallory", "alice", "bob"] {
            let (reader, writer) = tokio::io::split(server(name));
            clients.push(Client::new(reader, writer, version).connect().await);
        }
        let [mallory, alice, bob] = &mut clients[..] else {
            panic!("there are three clients");
        };
        let first = mallory.text("place", json!({"order_id": 1})).await;
        mallory.text("place", json!({"order_id": 2})).await;
        let refused = mallory.refused("place", json!({"order_id": 3})).await;
        let text = "remembers too many calls of this caller, so nothing was done; it forgets each after 24 hours";
        assert!(refused.contains(text), "{refused}");
        // Repeats are still answered, and others have their own share.
        let again = mallory.text("place", json!({"order_id": 1})).await;
        assert_eq!(again, first);
        alice.text("place", json!({"order_id": 3})).await;
        let refused = bob.refused("place", json!({"order_id": 4})).await;
        assert!(refused.contains("of all callers together"), "{refused}");
        assert_eq!(shop.orders(), 3);
    }
}

// Limits: idempotency.max_bytes, idempotency.max_bytes_per_caller
#[tokio::test]
async fn stored_call_descriptions_count_towards_the_byte_limits() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let roomy = Limits::default().with(|limits| {
            limits.idempotency.max_bytes_per_caller = 10_000;
            limits.idempotency.max_bytes = 10_000;
        });
        for (limits, refusal) in [
            (roomy.clone(), None),
            (
                roomy
                    .clone()
                    .with(|limits| limits.idempotency.max_bytes_per_caller = 20),
                Some("too many calls of this caller"),
            ),
            (
                roomy.with(|limits| limits.idempotency.max_bytes = 20),
                Some("of all callers together"),
            ),
        ] {
            let store = MemoryOnceStore::with_limits(&limits);
            let mut client = connect(
                server(&shop).backend(Backend::new().once(Arc::new(store))),
                version,
            )
            .await;
            let order = json!({"order_id": 1});
            match refusal {
                Some(refusal) => {
                    let refused = client.refused("place", order).await;
                    assert!(refused.contains(refusal), "{refused}");
                }
                None => drop(client.text("place", order).await),
            }
            assert_eq!(shop.orders(), 1);
        }
    }
}

/// Places an order in a step, in which it waits for the test.
#[tool(tags("retries"))]
async fn place_in_a_step(ctx: &Context, shop: State<Shop>) -> Result<usize> {
    let place = ctx.once("place", async || {
        let number = shop.order();
        shop.go_on().await;
        Ok(number)
    });
    place.await
}

/// In earlier versions, a call runs only once, so its steps are not kept.
#[tokio::test]
async fn the_steps_of_one_caller_do_not_count_against_another() {
    let shop = Shop::new();
    let limits = Limits::default().with(|limits| {
        limits.once.max_steps_per_caller = 2;
        limits.once.max_steps = 3;
    });
    let store = Arc::new(MemoryOnceStore::with_limits(&limits));
    let mut clients = Vec::new();
    for name in ["mallory", "alice", "bob"] {
        let server = server(&shop).backend(Backend::new().once(store.clone()));
        let (transport, stream) = memory();
        tokio::spawn(server.serve(transport.with_principal(Principal::new(name))));
        let (reader, writer) = tokio::io::split(stream);
        clients.push(
            Client::new(reader, writer, Version::V2026_07_28)
                .connect()
                .await,
        );
    }
    let [mallory, alice, bob] = &mut clients[..] else {
        panic!("there are three clients");
    };
    let call = || json!({"name": "place_in_a_step", "arguments": {}});
    let placing = [
        mallory.start("tools/call", call()).await,
        mallory.start("tools/call", call()).await,
    ];
    until(async || shop.orders() == 2).await;
    let refused = mallory.refused("place_in_a_step", json!({})).await;
    let text = "was not started, because the server remembers too many steps of this caller";
    assert!(refused.contains(text), "{refused}");
    let other = alice.start("tools/call", call()).await;
    until(async || shop.orders() == 3).await;
    let refused = bob.refused("place_in_a_step", json!({})).await;
    assert!(refused.contains("of all callers together"), "{refused}");
    for _ in 0..3 {
        shop.let_one_go_on();
    }
    for id in placing {
        mallory.response(&id).await.unwrap();
    }
    alice.response(&other).await.unwrap();
}
