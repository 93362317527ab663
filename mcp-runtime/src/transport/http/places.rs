//! Permits for event streams that wait for events: a maximum for all callers, and one for each known caller.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::answer::HttpRefusal;
use crate::context::Principal;
use crate::limits::Limits;
use crate::protocol::errors;
use crate::telemetry::{RefusalKind, refused};

/// Delay after which a caller with the maximum number of streams may retry.
const RETRY: Duration = Duration::from_secs(10);

/// Permits for event streams.
pub(super) struct StreamPermits {
    all: Arc<Semaphore>,
    /// Number of permits of each caller, by the key of its principal.
    taken: Mutex<HashMap<Box<str>, usize>>,
    most_each: usize,
}

/// A permit, returned when dropped.
pub(super) struct StreamPermit {
    _permit: OwnedSemaphorePermit,
    /// The pool and the key of the caller, if the caller is known.
    owned: Option<(Arc<StreamPermits>, Box<str>)>,
}

impl StreamPermits {
    pub(super) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            all: Arc::new(Semaphore::new(
                limits.streams.max_open.min(Semaphore::MAX_PERMITS),
            )),
            taken: Mutex::default(),
            most_each: limits.streams.max_per_principal.max(1),
        })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<Box<str>, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a permit for a stream of this caller, if one is available.
    pub(super) fn take(
        self: &Arc<Self>,
        caller: Option<&Principal>,
    ) -> Result<StreamPermit, HttpRefusal> {
        let permit = Arc::clone(&self.all).try_acquire_owned();
        let mut place = StreamPermit {
            _permit: permit.map_err(|_| HttpRefusal::too_many("event streams"))?,
            owned: None,
        };
        if let Some(principal) = caller {
            let mut taken = self.taken();
            let count = taken.entry(principal.key().into()).or_default();
            if *count >= self.most_each {
                drop(taken);
                refused(RefusalKind::TooMany, None);
                let error = errors::too_many("event streams for this caller", RETRY);
                return Err(HttpRefusal::new(StatusCode::TOO_MANY_REQUESTS, error));
            }
            *count = count.saturating_add(1);
            place.owned = Some((Arc::clone(self), principal.key().into()));
        }
        Ok(place)
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let Some((places, key)) = &self.owned else {
            return;
        };
        let mut taken = places.taken();
        if let Some(count) = taken.get_mut(key) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                taken.remove(key);
            }
        }
    }
}
