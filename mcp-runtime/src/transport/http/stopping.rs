//! Whether the server was told to stop, for those who look again and again.

use std::pin::Pin;
use std::task::{Context, Waker};

use crate::cancellation::CancellationToken;

/// Whether the server was told to stop.
pub(super) struct Stopping {
    shutdown: CancellationToken,
    told: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Who is woken then.
    waker: Option<Waker>,
}

impl Stopping {
    pub(super) fn new(shutdown: &CancellationToken) -> Self {
        let shutdown = shutdown.clone();
        let waited_for = shutdown.clone();
        Self {
            shutdown,
            told: Box::pin(async move { waited_for.cancelled().await }),
            waker: None,
        }
    }

    /// Whether it was; if not, this task is woken when it is. It costs little to ask again from the same task.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        if self.shutdown.is_cancelled() {
            return true;
        }
        let waker = self.waker.as_ref();
        if waker.is_some_and(|waker| waker.will_wake(cx.waker())) {
            return false;
        }
        self.waker = Some(cx.waker().clone());
        self.told.as_mut().poll(cx).is_ready()
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
        let mut stopping = Stopping::new(&shutdown);
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
