//! Keys in stores that several processes share.

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::once::{CallId, MemoryOnceStore, OnceClaim, OnceStore, StoreFuture};
use mcp_runtime::transport::memory;
use serde_json::json;
use tests::wait::until;
use tests::{Client, Version};

use super::{Shop, call, server, text};
use crate::backend::Folder;
use crate::support::connect;

/// A store whose operations on some entries fail. It has no `forget`, like stores that predate the method.
#[derive(Clone)]
struct Failing {
    store: Arc<MemoryOnceStore>,
    entry: &'static str,
}

impl Failing {
    fn new(entry: &'static str) -> Self {
        let store = Arc::default();
        Self { store, entry }
    }
}

impl OnceStore for Failing {
    fn begin<'a>(&'a self, call: CallId, name: &'a str) -> StoreFuture<'a, OnceClaim> {
        if self.entry == "all" {
            return Box::pin(async { Err("no connection".into()) });
        }
        self.store.begin(call, name)
    }

    fn complete<'a>(&'a self, call: CallId, name: &'a str, result: &'a str) -> StoreFuture<'a, ()> {
        if name.starts_with(self.entry) {
            return Box::pin(async { Err("no connection".into()) });
        }
        self.store.complete(call, name, result)
    }

    fn abandon<'a>(&'a self, call: CallId, name: &'a str) -> StoreFuture<'a, ()> {
        self.store.abandon(call, name)
    }
}

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

#[tokio::test]
async fn a_call_whose_end_cannot_be_stored_is_answered_and_not_run_again() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let server = server(&shop)
            .once_store(Failing::new("end"))
            .limits(impatient());
        let mut client = connect(server, version).await;
        client.text("place", json!({"order_id": 7})).await;
        let refused = client.refused("place", json!({"order_id": 7})).await;
        assert!(refused.contains("has not ended"), "{refused}");
        assert_eq!(shop.orders(), 1);
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_remembered_does_not_run() {
    for version in Version::ERAS {
        for entry in ["all", "call"] {
            let shop = Shop::new();
            let server = server(&shop)
                .once_store(Failing::new(entry))
                .limits(impatient());
            let mut client = connect(server, version).await;
            let refused = client.refused("place", json!({"order_id": 7})).await;
            assert!(refused.contains("cannot remember calls"), "{refused}");
            assert_eq!(shop.orders(), 0);
        }
    }
}

#[tokio::test]
async fn a_store_that_cannot_forget_keeps_a_key_whose_call_has_failed() {
    let shop = Shop::new();
    let server = server(&shop)
        .once_store(Failing::new("none"))
        .limits(impatient());
    let mut client = connect(server, Version::V2026_07_28).await;
    shop.set_broken(true);
    client
        .refused("place_if_open", json!({"order_id": 7}))
        .await;
    let refused = client
        .refused("place_if_open", json!({"order_id": 7}))
        .await;
    assert!(refused.contains("has not ended"), "{refused}");
    assert_eq!(shop.orders(), 1);
}
