//! Chaos tests for authors' tools: they find planted faults and pass tools without any.

mod correct;
mod faulty;
mod limits;

use std::sync::{Arc, Mutex};

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::testing::chaos::{Chaos, ChaosFault, ChaosReport, Effects, FaultKind};
use serde_json::json;
use tokio::time::Instant;

/// Stands in for the outside world.
#[derive(Clone)]
struct World {
    effects: Effects,
    /// Survives every crash.
    rows: Arc<Mutex<Vec<String>>>,
    started: Arc<Mutex<Option<Instant>>>,
}

impl World {
    fn new(effects: Effects) -> Self {
        Self {
            effects,
            rows: Arc::default(),
            started: Arc::default(),
        }
    }

    /// An effect that is recorded.
    async fn charge(&self, order: &str) -> Result<String> {
        tokio::task::yield_now().await;
        self.effects.record(format!("charge {order}"));
        Ok(format!("receipt of {order}"))
    }

    /// An effect that is visible only in the outside world.
    async fn insert(&self, row: &str) {
        tokio::task::yield_now().await;
        self.rows.lock().unwrap().push(row.to_owned());
    }

    /// Returns the number of seconds since the first call of this function.
    fn seconds(&self) -> u64 {
        let now = Instant::now();
        let started = *self.started.lock().unwrap().get_or_insert(now);
        now.duration_since(started).as_secs()
    }
}

/// The user's decision to go on.
#[derive(Elicit)]
struct Sure {
    /// Really?
    sure: bool,
}

fn chaos() -> Chaos<World> {
    let chaos = Chaos::new(World::new, |world| {
        new_server!()
            .only(Selected::tag("chaos"))
            .state(world.clone())
    });
    chaos.answer(Sure { sure: true })
}

fn kinds(report: &ChaosReport) -> Vec<FaultKind> {
    let mut kinds: Vec<_> = report.faults().iter().map(ChaosFault::kind).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

/// Tests a tool twice, and checks that both reports are the same.
fn tried(chaos: &Chaos<World>, tool: &str) -> ChaosReport {
    let report = chaos.call(tool, json!({}));
    assert_eq!(report.to_string(), chaos.call(tool, json!({})).to_string());
    report
}
