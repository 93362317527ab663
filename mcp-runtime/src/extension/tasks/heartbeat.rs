//! Keep-alive reports for clients that wait for a plain call and give up if they receive nothing.

use std::time::Duration;

use crate::handler::call::CallOutput;
use crate::handler::handler_error::Result;
use crate::handler::middleware::{Call, Next};

/// Longest time without a report. Clients give up after 60 seconds or later.
pub(super) const PERIOD: Duration = Duration::from_secs(15);

/// Runs a call that could have been a task, and reports progress to a client that wants reports whenever the handler
/// makes none.
pub(super) async fn with_heartbeat(call: Call, next: Next) -> Result<CallOutput> {
    let context = call.context().clone();
    tokio::select! {
        biased;
        output = next.run(call) => output,
        output = context.keep_alive(PERIOD) => output,
    }
}
