//! Keep-alive reports for clients that are waiting for a plain call and would otherwise give up.

use std::time::Duration;

use crate::handler::call::CallOutput;
use crate::handler::handler_error::Result;
use crate::handler::middleware::{Call, Next};

/// Maximum time without a report. Clients give up after 60 seconds at the earliest.
pub(super) const PERIOD: Duration = Duration::from_secs(15);

/// Runs a call that could have been a task. While the handler does not report progress, sends reports to a client that
/// wants them.
pub(super) async fn with_heartbeat(call: Call, next: Next) -> Result<CallOutput> {
    let context = call.context().clone();
    tokio::select! {
        biased;
        output = next.run(call) => output,
        output = context.keep_alive(PERIOD) => output,
    }
}
