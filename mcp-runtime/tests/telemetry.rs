//! Spans across threads, under a subscriber of the whole process: all events of a handler are inside the span of its
//! request, on any thread.
#![cfg(all(feature = "telemetry", feature = "testing"))]

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use serde_json::json;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context as LayerContext, Layer};
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry::LookupSpan;

/// Moves between threads, and logs an event on each.
#[tool]
async fn wander() {
    for _ in 0..200 {
        tracing::info!("wander");
        tokio::task::yield_now().await;
    }
}

/// Logs an event on a separate thread.
#[tool(blocking)]
fn sit() {
    tracing::warn!("sit");
}

/// The events: level, thread, and number of request spans around each.
type Said = Vec<(Level, ThreadId, usize)>;

#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Said>>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Listener {
    fn on_event(&self, event: &Event<'_>, context: LayerContext<'_, S>) {
        // Ignores events of other crates.
        if event.metadata().target() != "telemetry" {
            return;
        }
        let level = *event.metadata().level();
        let around = context.event_scope(event).into_iter().flatten();
        let requests = around.filter(|span| span.name() == "mcp.request").count();
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        said.push((level, thread::current().id(), requests));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn handler_events_are_inside_the_request_span_on_every_thread() {
    let listener = Listener::default();
    tracing_subscriber::registry().with(listener.clone()).init();
    let client = TestClient::both(new_server!()).await;
    let calls = (0..20).map(|_| client.call("wander", json!({})));
    for call in futures_util::future::join_all(calls).await {
        call.unwrap();
    }
    client.call("sit", json!({})).await.unwrap();
    let said = listener.0.lock().unwrap();
    let threads = |level| -> HashSet<ThreadId> {
        let of = said.iter().filter(|said| said.0 == level);
        of.map(|said| said.1).collect()
    };
    // Both clients call, one for each era.
    assert_eq!(said.len(), 2 * (20 * 200 + 1));
    assert!(threads(Level::INFO).len() > 1);
    assert!(threads(Level::INFO).is_disjoint(&threads(Level::WARN)));
    assert!(
        said.iter().all(|(_, _, requests)| *requests == 1),
        "{said:?}"
    );
}
