//! Whether the server was told to stop, for those who look again and again.

use std::pin::Pin;
use std::task::{Context, Waker};

use crate::cancellation::{CancellationToken, Cancelled};

/// Whether the server was told to stop.
pub(super) struct Stopping {
    shutdown: CancellationToken,
    told: Cancelled,
    /// Who is woken then.
    waker: Option<Waker>,
}

impl Stopping {
    pub(super) fn new(shutdown: &CancellationToken) -> Self {
        Self {
            shutdown: shutdown.clone(),
            told: shutdown.clone().cancelled_owned(),
            waker: None,
        }
    }

    /// Whether it was; if not, this task is woken when it is. It costs little to ask again from the same task.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        let waker = self.waker.as_ref();
        if waker.is_some_and(|waker| waker.will_wake(cx.waker())) {
            return self.shutdown.is_cancelled();
        }
        self.waker = Some(cx.waker().clone());
        Pin::new(&mut self.told).poll(cx).is_ready()
    }
}
