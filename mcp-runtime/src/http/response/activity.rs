//! The number of requests of a connection that are being answered: a connection is idle between two of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of requests of a connection that are being served.
#[derive(Debug, Default)]
pub(in crate::http) struct Activity(AtomicUsize);

impl Activity {
    pub(in crate::http) fn is_busy(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }

    /// Marks a request as being served until the result is dropped.
    pub(in crate::http) fn begin(self: &Arc<Self>) -> Busy {
        self.0.fetch_add(1, Ordering::AcqRel);
        Busy(Arc::clone(self))
    }
}

/// A request that is being served.
#[derive(Debug)]
pub(in crate::http) struct Busy(Arc<Activity>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}
