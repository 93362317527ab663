//! Signs of life for clients that wait for a plain call and give up if they hear nothing.

use std::time::Duration;

use tokio::time::{Instant, interval_at};

use crate::handler::call::CallOutput;
use crate::handler::handler_error::Result;
use crate::handler::middleware::{Call, Next};

/// Time between two signs of life. Clients give up after 60 seconds or later.
const PERIOD: Duration = Duration::from_secs(15);
/// The progress of each sign of life. It is so small that any report of the handler is greater; after such a report, the
/// others are dropped, because progress must increase.
const STEP: f64 = 1e-9;

/// Runs a call that could have been a task, and reports progress to a client that wants reports while the handler makes
/// none.
pub(super) async fn with_heartbeat(call: Call, next: Next) -> Result<CallOutput> {
    let context = call.context().clone();
    let beating = async {
        let mut beats = interval_at(Instant::now() + PERIOD, PERIOD);
        let mut progress = 0.0;
        loop {
            beats.tick().await;
            progress += STEP;
            context.progress(progress);
        }
    };
    tokio::select! {
        biased;
        output = next.run(call) => output,
        output = beating => output,
    }
}
