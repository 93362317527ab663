//! A one-time event that any number of tasks can wait for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use tokio::sync::Notify;

/// A cancellation flag shared by all clones.
#[derive(Clone, Debug, Default)]
pub(crate) struct CancellationToken(Arc<TokenState>);

#[derive(Debug, Default)]
struct TokenState {
    is_cancelled: AtomicBool,
    waiting: Notify,
}

impl CancellationToken {
    pub(crate) fn cancel(&self) {
        self.0.is_cancelled.store(true, SeqCst);
        self.0.waiting.notify_waiters();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(SeqCst)
    }

    pub(crate) async fn cancelled(&self) {
        // This is created before the check below so that a cancellation after the check is not missed.
        let cancelled = self.0.waiting.notified();
        if !self.is_cancelled() {
            cancelled.await;
        }
    }

    /// Returns a guard that cancels the token when dropped.
    pub(crate) fn drop_guard(self) -> DropGuard {
        DropGuard(self)
    }
}

#[derive(Debug)]
pub(crate) struct DropGuard(CancellationToken);

impl Drop for DropGuard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn all_who_wait_are_told_and_so_is_who_comes_late() {
        let token = CancellationToken::default();
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let token = token.clone();
                tokio::spawn(async move { token.cancelled().await })
            })
            .collect();
        let mut never_polled = Box::pin(token.cancelled());
        assert!(never_polled.as_mut().now_or_never().is_none() && !token.is_cancelled());
        tokio::task::yield_now().await;
        drop(token.clone().drop_guard());
        for task in waiting {
            task.await.unwrap();
        }
        never_polled.await;
        assert!(token.is_cancelled());
        token.cancelled().now_or_never().unwrap();
        token.cancel();
    }

    #[test]
    fn none_is_missed_between_threads() {
        for _ in 0..1_000 {
            let token = CancellationToken::default();
            let other = token.clone();
            let cancelling = std::thread::spawn(move || other.cancel());
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.build().unwrap();
            runtime.block_on(token.cancelled());
            cancelling.join().unwrap();
        }
    }
}
