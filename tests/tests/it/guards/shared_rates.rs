//! Rates that the instances of a server share, and sealing keys that they share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mcp_runtime::backend::{
    Backend, RateDecision, RateFallback, RateStore, RateToken, StoreFuture,
};
use mcp_runtime::server::{SealingKey, SealingKeys};
use mcp_runtime::{Principal, Server};
use serde_json::{Value, json};
use tests::http::Request;
use tests::link::Hub;
use tests::{Answer, Version};
use tokio::time::{Instant, advance};

use super::{SECOND, server};
use crate::http::support::{call, serve_server, text};
use crate::support::{connect, raw};

/// Buckets in memory, as an author would keep them in a table.
#[derive(Default)]
struct Buckets {
    full: Mutex<BTreeMap<String, Instant>>,
    asked: AtomicUsize,
    fails: AtomicBool,
}

impl RateStore for Buckets {
    fn take<'a>(&'a self, tokens: &'a [RateToken]) -> StoreFuture<'a, RateDecision> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::Relaxed);
            if self.fails.load(Ordering::Relaxed) {
                return Err("the table is gone".into());
            }
            let (now, mut all) = (Instant::now(), self.full.lock().unwrap());
            let full = |all: &BTreeMap<_, Instant>, token: &RateToken| {
                let full = all.get(&token.bucket).copied();
                full.map_or(now, |full| full.max(now))
            };
            let waits = tokens.iter().map(|token| {
                let ahead = full(&all, token) - now;
                ahead.saturating_sub(token.refill * (token.capacity - 1))
            });
            let wait = waits.max().unwrap_or_default();
            if !wait.is_zero() {
                return Ok(RateDecision::Refused(wait));
            }
            for token in tokens {
                let full = full(&all, token) + token.refill;
                all.insert(token.bucket.clone(), full);
            }
            Ok(RateDecision::Admitted)
        })
    }
}

fn instance(store: &Arc<Buckets>) -> Server {
    server().backend(Backend::new().rates(Arc::<Buckets>::clone(store)))
}

#[tokio::test(start_paused = true)]
async fn a_rate_store_follows_the_rules() {
    Backend::new()
        .rates(Arc::<Buckets>::default())
        .check()
        .await;
}

// Covers: SEC-06
#[tokio::test(start_paused = true)]
async fn rates_of_tenants_and_of_tags_hold_for_all_instances_together() {
    for version in Version::ERAS {
        let store = Arc::<Buckets>::default();
        let instance = || {
            instance(&store)
                .rate_for("quota", "3/min")
                .rate_for("quota", "100/h")
        };
        let hubs = [Hub::serve(instance()), Hub::serve(instance())];
        let call = async |instance: usize, tool: &str, tenant: &str| {
            let claims = [("tenant".to_owned(), json!(tenant))];
            let who = Principal::new("alice").with_claims(claims.into_iter().collect());
            let client = hubs[instance].client_as(version, |it| it.with_principal(who));
            let mut client = client.connect().await;
            client.tool(tool, json!({})).await["isError"] != true
        };
        for (instance, tool, tenant, admitted) in [
            (0, "each_tenant", "acme", true),
            (1, "each_tenant", "acme", true),
            (0, "each_tenant", "acme", false),
            (1, "each_tenant", "acme", false),
            (1, "each_tenant", "other", true),
            // The quota of the tag is used up, although this tool has not been called.
            (0, "each_header", "other", false),
        ] {
            assert_eq!(
                call(instance, tool, tenant).await,
                admitted,
                "{tool} {tenant}"
            );
        }
        // A call that the store has refused is not counted by its instance either.
        advance(60 * SECOND).await;
        assert!(call(0, "each_header", "other").await);
        let names: Vec<_> = store.full.lock().unwrap().keys().cloned().collect();
        assert!(
            names
                .iter()
                .any(|name| name == "Tool each_tenant claim tenant acme"),
            "{names:?}"
        );
    }
}

// Covers: SEC-06
#[tokio::test(start_paused = true)]
async fn a_rate_holds_for_all_instances_together() {
    for version in Version::ERAS {
        let store = Arc::<Buckets>::default();
        let mut one = connect(instance(&store), version).await;
        let mut other = connect(instance(&store), version).await;
        one.text("rare", json!({})).await;
        other.text("rare", json!({})).await;
        for client in [&mut one, &mut other] {
            let refused = client.refused("rare", json!({})).await;
            assert_eq!(refused, "too many calls to `rare`; try again in 30 s");
        }
        // A refused call is not counted on its instance either, so the call is admitted at the stated time.
        advance(30 * SECOND).await;
        one.text("rare", json!({})).await;
        // A connection belongs to one instance, so an anonymous caller has its bucket there.
        for client in [&mut one, &mut other] {
            client.text("each", json!({})).await;
            client.text("each", json!({})).await;
            client.refused("each", json!({})).await;
        }
        // Calls without a rate do not use the store, and neither do those that their own instance refuses.
        let asked = store.asked.load(Ordering::Relaxed);
        one.text("free", json!({})).await;
        one.refused("each", json!({})).await;
        assert_eq!(store.asked.load(Ordering::Relaxed), asked);
    }
}

// Covers: SEC-06, COMP-05
#[tokio::test(start_paused = true)]
async fn all_kinds_of_calls_are_rate_limited_across_instances() {
    let completion = json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "word", "value": ""}});
    for version in Version::ERAS {
        let store = Arc::<Buckets>::default();
        let mut one = connect(instance(&store), version).await;
        let mut other = connect(instance(&store), version).await;
        for (method, params) in [
            (
                "prompts/get",
                json!({"name": "greet", "arguments": {"word": "hello"}}),
            ),
            ("resources/read", json!({"uri": "guards://one"})),
            ("resources/read", json!({"uri": "guards://many/1"})),
            ("completion/complete", completion.clone()),
        ] {
            one.ok(method, params.clone()).await;
            other.fails(method, params, 429).await;
        }
        let store = Arc::<Buckets>::default();
        let server = || instance(&store).rate("2/min");
        let mut one = connect(server(), version).await;
        let mut other = connect(server(), version).await;
        one.text("free", json!({})).await;
        other
            .ok("resources/read", json!({"uri": "guards://one"}))
            .await;
        one.refused("free", json!({})).await;
        other.refused("rare", json!({})).await;
    }
}

#[tokio::test(start_paused = true)]
async fn while_the_rate_store_fails_instances_count_locally_or_refuse() {
    for version in Version::ERAS {
        let store = Arc::<Buckets>::default();
        store.fails.store(true, Ordering::Relaxed);
        let mut one = connect(instance(&store), version).await;
        let mut other = connect(instance(&store), version).await;
        for client in [&mut one, &mut other] {
            client.text("rare", json!({})).await;
            client.text("rare", json!({})).await;
            client.refused("rare", json!({})).await;
        }
        let backend = Backend::new().rates(Arc::<Buckets>::clone(&store));
        let strict = server().backend(backend.rate_fallback(RateFallback::Refuse));
        let mut client = connect(strict, version).await;
        for _ in 0..3 {
            let refused = client.refused("rare", json!({})).await;
            assert_eq!(
                refused,
                "calls to `rare` cannot be counted at the moment; try again in 1 s"
            );
        }
        client.text("free", json!({})).await;
        store.fails.store(false, Ordering::Relaxed);
        client.text("rare", json!({})).await;
    }
}

/// Instances that share a store for rates and, like those of Redis, the keys for states.
fn sealed(store: &Arc<Buckets>, keys: &SealingKeys) -> Server {
    let backend = Backend::new().rates(Arc::<Buckets>::clone(store));
    server().backend(backend.sealing_keys(keys.clone()))
}

// Covers: SEC-06, MRTR-06
#[tokio::test(start_paused = true)]
async fn a_call_whose_rounds_reach_different_instances_is_charged_once() {
    let (store, keys) = (Arc::<Buckets>::default(), SealingKeys::new(&[]));
    let connect = async || {
        let mut client = raw(sealed(&store, &keys), Version::V2026_07_28);
        client.capabilities = json!({"elicitation": {"form": {}}});
        let mut client = client.connect().await;
        client.answer(|_| Answer::accept(json!({"name": "Ada"})));
        client
    };
    let (mut one, mut other) = (connect().await, connect().await);
    let params = json!({"name": "ask_twice"});
    let first = one.request("tools/call", params.clone()).await.unwrap();
    let next = one.retry(&params, &first);
    let second = other.request("tools/call", next.clone()).await.unwrap();
    assert_eq!(second["resultType"], "input_required", "{second}");
    // A round that is sent again is another call, whichever instance receives it.
    let again = one.request("tools/call", next).await.unwrap();
    assert_eq!(again["isError"], true, "{again}");
    let last = other.retry(&params, &second);
    // Without the key that sealed it, a state cannot be opened.
    keys.replace(&[SealingKey::random()]);
    let refused = one.request("tools/call", last).await.unwrap_err();
    assert!(refused.message.contains("sealing_keys"), "{refused:?}");
}

// Covers: SEC-06, COMP-05
#[tokio::test]
async fn over_http_rates_of_principals_and_sessions_span_instances() {
    let store = Arc::<Buckets>::default();
    let (one, other) = (
        serve_server(instance(&store)).await,
        serve_server(instance(&store)).await,
    );
    let read = Request::modern(1, "resources/read", json!({"uri": "guards://one"}));
    assert_eq!(one.message(&read).await.0, 200);
    let mut response = other.send(&read).await;
    assert_eq!(response.status, 429);
    assert!(response.header("retry-after").is_some());
    let message: Value = response.message().await;
    assert!(
        message["error"]["data"]["retryAfterMs"].is_u64(),
        "{message}"
    );
    // All anonymous callers without a session are one caller.
    let tool = Request::tool("each", json!({}));
    for (served, expected) in [(&one, "called"), (&other, "called"), (&one, "too many")] {
        let (_, message) = served.message(&tool).await;
        assert!(text(&message).starts_with(expected), "{message}");
    }
    // A session is a caller of its own.
    let session = one.session(Version::V2025_11_25).await;
    for expected in ["called", "called", "too many"] {
        let request = call(&session, 1, "each", json!({}), Version::V2025_11_25);
        let (_, message) = one.message(&request).await;
        assert!(text(&message).starts_with(expected), "{message}");
    }
    let buckets: Vec<_> = store.full.lock().unwrap().keys().cloned().collect();
    assert!(
        buckets
            .iter()
            .any(|bucket| bucket.starts_with("Tool each session ")),
        "{buckets:?}"
    );
    assert!(
        buckets.contains(&"Tool each anonymous".to_owned()),
        "{buckets:?}"
    );
}
