//! A call that panics is answered, even if the panic's payload panics when dropped.

use std::panic::panic_any;

use mcp_runtime::Limits;
use mcp_runtime::prelude::*;
use serde_json::{Value, json};
use tests::Version;
use tests::http::Request;

use super::{Log, server};
use crate::http::support::{call, serve_server};
use crate::support::connect;

/// A payload that panics with another payload when dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any(Fuse);
    }
}

/// A payload that panics when dropped.
struct Fuse;

impl Drop for Fuse {
    fn drop(&mut self) {
        panic!("still burning");
    }
}

#[tool(tags("results"))]
fn explode() {
    panic_any(Bomb);
}

#[tool(tags("results"))]
async fn explode_later() {
    tokio::task::yield_now().await;
    panic_any(Bomb);
}

#[tool(tags("results"), blocking)]
fn explode_on_a_thread() {
    panic_any(Bomb);
}

/// Waits forever, and panics when the call is cancelled.
#[tool(tags("results"))]
async fn explode_when_cancelled() {
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            panic!("not like this");
        }
    }
    let _guard = Guard;
    std::future::pending::<()>().await;
}

/// Holds a value that panics when the call is dropped.
#[tool(tags("results"))]
async fn explode_when_dropped() {
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            panic_any(Bomb);
        }
    }
    let _guard = Guard;
    tokio::task::yield_now().await;
}

#[tool(tags("results"))]
fn unharmed() -> &'static str {
    "well"
}

const EXPLODING: [&str; 4] = [
    "explode",
    "explode_later",
    "explode_on_a_thread",
    "explode_when_dropped",
];

fn limits() -> Limits {
    Limits::default().with(|limits| {
        limits.calls.max_running = 1;
        limits.calls.max_queued = 1;
    })
}

// Covers: TOOL-11
#[tokio::test]
async fn a_double_panic_gets_one_internal_error() {
    for version in Version::ALL {
        let mut client = connect(server().limits(limits()), version).await;
        for name in EXPLODING {
            let params = json!({"name": name});
            let failure = client.fails("tools/call", params, -32603).await;
            assert_eq!(failure.message, "internal error");
            assert!(failure.data["reference"].is_string(), "{name}: {failure:?}");
            assert_eq!(client.text("unharmed", json!({})).await, "well");
        }
    }
}

// Covers: TOOL-11
#[tokio::test]
async fn a_double_panic_over_http_gets_an_internal_error_and_frees_its_slot() {
    fn is_internal(message: &Value, name: &str) {
        assert_eq!(message["error"]["code"], -32603, "{name}: {message}");
        assert!(message["error"]["data"]["reference"].is_string(), "{name}");
    }
    let server = serve_server(server().limits(limits())).await;
    for name in EXPLODING {
        let (status, message) = server.message(&Request::tool(name, json!({}))).await;
        assert_eq!(status, 200);
        is_internal(&message, name);
    }
    for version in [
        Version::V2025_03_26,
        Version::V2025_06_18,
        Version::V2025_11_25,
    ] {
        let session = server.session(version).await;
        for name in EXPLODING {
            // The id and the only permit are available again.
            for name in [name, name, "unharmed"] {
                let request = call(&session, 1, name, json!({}), version);
                let mut response = server.send(&request).await;
                let message = if response.is_events() {
                    response.all().await.pop().unwrap()
                } else {
                    response.message().await
                };
                match name {
                    "unharmed" => assert_eq!(crate::http::support::text(&message), "well"),
                    name => is_internal(&message, name),
                }
            }
        }
    }
}

#[tokio::test]
async fn a_panic_while_a_cancelled_call_is_dropped_is_only_logged() {
    let (log, _guard) = Log::begin();
    for version in Version::ALL {
        let mut client = connect(server(), version).await;
        let params = json!({"name": "explode_when_cancelled"});
        let id = client.start("tools/call", params).await;
        client.pass().await;
        client.cancel(&id).await;
        client.pass().await;
        assert!(!client.answered(&id));
        let log = log.take();
        assert!(log.contains("panicked while being dropped"), "{log}");
        assert!(log.contains("not like this"), "{log}");
    }
}
