//! The call whose handler runs on this thread, so that `tracing` events find their client.
//!
//! Tracked only if events are forwarded; otherwise a call costs one relaxed load.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::context::Context;

static FORWARDING: AtomicBool = AtomicBool::new(false);

thread_local! {
    static CURRENT: RefCell<Option<Context>> = const { RefCell::new(None) };
}

/// Turns on tracking of the current call.
#[cfg(any(feature = "client-logs", test))]
pub(crate) fn forward() {
    FORWARDING.store(true, Ordering::Relaxed);
}

/// Returns `true` if the current call is tracked.
pub(crate) fn is_forwarding() -> bool {
    FORWARDING.load(Ordering::Relaxed)
}

/// Runs `work` as part of `call`; without one, as part of the current call.
pub(crate) fn within<T>(call: Option<Context>, work: impl FnOnce() -> T) -> T {
    match call {
        Some(call) => replaced(Some(call), work),
        None => work(),
    }
}

/// Runs `work` outside of any call: its events are sent to no client.
pub(crate) fn outside<T>(work: impl FnOnce() -> T) -> T {
    if is_forwarding() {
        replaced(None, work)
    } else {
        work()
    }
}

fn replaced<T>(call: Option<Context>, work: impl FnOnce() -> T) -> T {
    /// Restores the previous call, even if `work` panics.
    struct Restore(Option<Context>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let before = self.0.take();
            // The thread may be ending; then there is nothing to restore.
            let _ = CURRENT.try_with(|current| current.replace(before));
        }
    }
    // Fails while the thread ends, when it runs no call.
    let before = CURRENT.try_with(|current| current.replace(call));
    let _restore = before.ok().map(Restore);
    work()
}

/// Returns the call that runs on this thread, if any.
#[cfg(any(feature = "client-logs", test))]
pub(crate) fn current() -> Option<Context> {
    CURRENT
        .try_with(|current| current.borrow().clone())
        .ok()
        .flatten()
}
