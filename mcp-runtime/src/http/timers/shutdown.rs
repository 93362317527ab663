//! Lets tasks poll repeatedly for the server to begin shutting down.

use std::pin::Pin;
use std::task::{Context, Waker};

use crate::cancellation::CancellationToken;

/// Polls for the server to begin shutting down.
pub(in crate::http) struct ShutdownPoll {
    shutdown: CancellationToken,
    /// Completes when shutdown begins.
    cancelled: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// The most recently registered waker.
    waker: Option<Waker>,
}

impl ShutdownPoll {
    pub(in crate::http) fn new(shutdown: &CancellationToken) -> Self {
        let shutdown = shutdown.clone();
        let waited_for = shutdown.clone();
        Self {
            shutdown,
            cancelled: Box::pin(async move { waited_for.cancelled().await }),
            waker: None,
        }
    }

    /// Returns `true` once shutdown has begun; until then, registers the task to be woken. Polling again from the same
    /// task is cheap.
    pub(in crate::http) fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        if self.shutdown.is_cancelled() {
            return true;
        }
        let waker = self.waker.as_ref();
        if waker.is_some_and(|waker| waker.will_wake(cx.waker())) {
            return false;
        }
        self.waker = Some(cx.waker().clone());
        self.cancelled.as_mut().poll(cx).is_ready()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::Wake;

    use super::*;

    struct Task;

    impl Wake for Task {
        fn wake(self: Arc<Self>) {}
    }

    #[test]
    fn it_can_be_asked_again_by_whoever_asks() {
        let shutdown = CancellationToken::default();
        let mut stopping = ShutdownPoll::new(&shutdown);
        let wakers = [Arc::new(Task), Arc::new(Task)].map(Waker::from);
        let mut ask = || {
            wakers
                .each_ref()
                .map(|waker| stopping.poll(&mut Context::from_waker(waker)))
        };
        assert_eq!([ask(), ask()], [[false; 2]; 2]);
        shutdown.cancel();
        assert_eq!([ask(), ask()], [[true; 2]; 2]);
    }
}
