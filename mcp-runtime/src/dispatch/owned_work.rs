//! Work in the background that belongs to the server rather than to a call.

use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::Instrument as _;

use crate::cancellation::CancellationToken;
use crate::lock::lock;

/// Time that work has to end after it has been told to, in addition to `limits.calls.drain_timeout`.
const OVERTIME: Duration = Duration::from_millis(500);

/// Work in the background. It is dropped with the server.
#[derive(Default)]
pub(super) struct OwnedWork {
    running: Mutex<JoinSet<()>>,
    /// Cancelled when the server no longer serves anybody.
    stopping: CancellationToken,
}

impl OwnedWork {
    /// Runs a future until it ends. Does nothing if the server has stopped serving.
    pub(super) fn spawn(&self, work: Pin<Box<dyn Future<Output = ()> + Send>>) {
        let mut running = lock(&self.running);
        while running.try_join_next().is_some() {}
        if !self.stopping.is_cancelled() {
            running.spawn(work.in_current_span());
        }
    }

    pub(super) fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Tells all work to end and waits for it, at most for this time and a little longer. What is still running then is
    /// dropped.
    pub(super) async fn drain(&self, within: Duration) {
        self.stopping.cancel();
        let mut running = std::mem::take(&mut *lock(&self.running));
        let ending = async { while running.join_next().await.is_some() {} };
        let _ = timeout(within.saturating_add(OVERTIME), ending).await;
    }
}
