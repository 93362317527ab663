//! Tracks which call's handler is running on this thread, so that `tracing` events can be sent to the client.
//!
//! Calls are tracked only if events are forwarded. Otherwise, the only overhead per call is a single relaxed load.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::context::Context;

static FORWARDING: AtomicBool = AtomicBool::new(false);

thread_local! {
    static CURRENT: RefCell<Option<Context>> = const { RefCell::new(None) };
}

/// Turns on tracking of the current call.
pub fn enable_forwarding() {
    FORWARDING.store(true, Ordering::Relaxed);
}

/// Returns `true` if calls are being tracked.
pub(crate) fn is_forwarding() -> bool {
    FORWARDING.load(Ordering::Relaxed)
}

/// Runs `work` as part of `call`, or as part of the current call if `call` is `None`.
pub(crate) fn within_call<T>(call: Option<Context>, work: impl FnOnce() -> T) -> T {
    match call {
        Some(call) => with_call(Some(call), work),
        None => work(),
    }
}

/// Runs `work` outside any call, so that its events are not sent to any client.
pub fn outside_calls<T>(work: impl FnOnce() -> T) -> T {
    if is_forwarding() {
        with_call(None, work)
    } else {
        work()
    }
}

fn with_call<T>(call: Option<Context>, work: impl FnOnce() -> T) -> T {
    /// Restores the previous call, even if `work` panics.
    struct RestoreCall(Option<Context>);
    impl Drop for RestoreCall {
        fn drop(&mut self) {
            let before = self.0.take();
            // This fails if the thread is exiting, in which case no call needs to be restored.
            let _ = CURRENT.try_with(|current| current.replace(before));
        }
    }
    // This fails if the thread is exiting, in which case it is not running any call.
    let before = CURRENT.try_with(|current| current.replace(call));
    let _restore = before.ok().map(RestoreCall);
    work()
}

/// Returns the call that is running on this thread, if any.
#[must_use]
pub fn current_call() -> Option<Context> {
    CURRENT
        .try_with(|current| current.borrow().clone())
        .ok()
        .flatten()
}
