//! Each field of `Limits`: below, at, and above its value.

mod calls;
mod message;
mod streams;
mod table;
mod values;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_runtime::server::Selected;
use mcp_runtime::{Context, Limits, State, tool};
use tests::{Client, Version};

use crate::support::connect;

/// The number of calls to `hold` that are running, and the largest number so far.
#[derive(Default)]
struct Held {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// Holds a thread for a moment.
#[tool(tags("limits"), blocking)]
fn hold(held: &State<Held>) {
    let now = held.now.fetch_add(1, Ordering::SeqCst) + 1;
    held.most.fetch_max(now, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(150));
    held.now.fetch_sub(1, Ordering::SeqCst);
}

/// Logs so many messages.
#[tool(tags("limits"))]
fn chatter(ctx: &Context, messages: u32) {
    for message in 0..messages {
        ctx.warning(message);
    }
}

/// Reports this many steps in one burst.
#[tool(tags("limits"))]
fn steps(ctx: &Context, steps: u32) {
    for step in 1..=steps {
        ctx.progress((step, steps));
    }
}

async fn tight(version: Version, limits: Limits) -> (Client, Arc<Held>) {
    let held = Arc::new(Held::default());
    let server = mcp_runtime::Server::new("limits", "1")
        .only(Selected::tag("limits"))
        .state(Arc::clone(&held))
        .limits(limits);
    (connect(server, version).await, held)
}
