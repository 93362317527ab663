//! Tracks the requests being served on a connection. A connection without such requests is idle.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of requests being served on a connection.
#[derive(Debug, Default)]
pub(in crate::http) struct ConnectionActivity(AtomicUsize);

impl ConnectionActivity {
    pub(in crate::http) fn is_busy(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }

    /// Marks a request as being served until the returned value is dropped.
    pub(in crate::http) fn mark_busy(self: &Arc<Self>) -> BusyGuard {
        self.0.fetch_add(1, Ordering::AcqRel);
        BusyGuard(Arc::clone(self))
    }
}

/// A request that is being served.
#[derive(Debug)]
pub(in crate::http) struct BusyGuard(Arc<ConnectionActivity>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}
