//! Background work that belongs to the server rather than to a call.

use std::any::Any;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::Instrument as _;

use crate::cancellation::CancellationToken;
use crate::lock::lock;
use crate::spawn::Work;

/// Time within which work must end after the stop signal, in addition to `limits.calls.drain_timeout`.
const OVERTIME: Duration = Duration::from_millis(500);

/// Background work, which starts once the server accepts requests and is dropped when the server shuts down.
#[derive(Default)]
pub(super) struct OwnedWork {
    /// Set once the server accepts requests.
    is_serving: AtomicBool,
    /// Work submitted before the server accepts requests.
    early: Mutex<Vec<Work>>,
    running: Mutex<JoinSet<()>>,
    /// Values that are dropped when the server shuts down.
    kept: Mutex<Vec<Box<dyn Any + Send>>>,
    /// Cancelled when the server stops serving requests.
    stopping: CancellationToken,
}

impl OwnedWork {
    /// Runs the work submitted so far. From then on, new work runs immediately.
    pub(super) fn begin(&self) {
        if self.is_serving.load(Ordering::Relaxed) {
            return;
        }
        let early = {
            let mut early = lock(&self.early);
            self.is_serving.store(true, Ordering::Relaxed);
            std::mem::take(&mut *early)
        };
        for work in early {
            self.spawn(work);
        }
    }

    /// Runs a future to completion. Does nothing if the server has stopped serving requests.
    pub(super) fn spawn(&self, work: Work) {
        {
            let mut early = lock(&self.early);
            if !self.is_serving.load(Ordering::Relaxed) {
                early.push(work);
                return;
            }
        }
        let mut running = lock(&self.running);
        while running.try_join_next().is_some() {}
        if !self.stopping.is_cancelled() {
            running.spawn(work.in_current_span());
        }
    }

    pub(super) fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Keeps a value until the server shuts down. Drops it immediately if the server has already shut down.
    pub(super) fn keep(&self, value: Box<dyn Any + Send>) {
        let mut kept = lock(&self.kept);
        // The lock is held, so `drop_kept` will drop any value that is pushed here.
        if !self.stopping.is_cancelled() {
            kept.push(value);
        }
    }

    /// Drops all work.
    pub(super) fn drop_all(&self) {
        self.stopping.cancel();
        let running = std::mem::take(&mut *lock(&self.running));
        drop(running);
        self.drop_kept();
    }

    fn drop_kept(&self) {
        let early = std::mem::take(&mut *lock(&self.early));
        drop(early);
        let kept = std::mem::take(&mut *lock(&self.kept));
        drop(kept);
    }

    /// Signals all work to end and waits for it, for at most slightly longer than this time. Work that is still running
    /// after that is dropped.
    pub(super) async fn drain(&self, within: Duration) {
        self.stopping.cancel();
        let mut running = std::mem::take(&mut *lock(&self.running));
        let ending = async { while running.join_next().await.is_some() {} };
        let _ = timeout(within.saturating_add(OVERTIME), ending).await;
        drop(running);
        self.drop_kept();
    }
}
