//! The call whose handler this thread is running, for `tracing` events to find their client.
//!
//! Kept only while somebody forwards events: otherwise a call pays one relaxed load.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::context::Context;

static FORWARDING: AtomicBool = AtomicBool::new(false);

thread_local! {
    static CURRENT: RefCell<Option<Context>> = const { RefCell::new(None) };
}

/// From now on, calls say who they are.
#[cfg(any(feature = "client-logs", test))]
pub(crate) fn forward() {
    FORWARDING.store(true, Ordering::Relaxed);
}

/// Whether calls have to say who they are.
pub(crate) fn is_forwarding() -> bool {
    FORWARDING.load(Ordering::Relaxed)
}

/// Runs `work` as part of a call, or as part of what runs already.
pub(crate) fn within<T>(call: Option<Context>, work: impl FnOnce() -> T) -> T {
    match call {
        Some(call) => replaced(Some(call), work),
        None => work(),
    }
}

/// Runs `work` as part of no call: its events find no client.
pub(crate) fn outside<T>(work: impl FnOnce() -> T) -> T {
    if is_forwarding() {
        replaced(None, work)
    } else {
        work()
    }
}

fn replaced<T>(call: Option<Context>, work: impl FnOnce() -> T) -> T {
    /// Puts back what was there before, also when `work` panics.
    struct Restore(Option<Context>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let before = self.0.take();
            // The thread may be ending; then there is nothing to put back.
            let _ = CURRENT.try_with(|current| current.replace(before));
        }
    }
    // While the thread ends, it runs no call.
    let before = CURRENT.try_with(|current| current.replace(call));
    let _restore = before.ok().map(Restore);
    work()
}

/// The call this thread is running, if any.
#[cfg(any(feature = "client-logs", test))]
pub(crate) fn current() -> Option<Context> {
    CURRENT
        .try_with(|current| current.borrow().clone())
        .ok()
        .flatten()
}
