//! Permits for event streams that wait for events, limited both in total and for each known caller.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::context::Principal;
use crate::limits::Limits;
use crate::lock::lock;
use crate::observe::{RefusalKind, record_refusal};

/// Delay after which a caller that has the maximum number of streams may retry.
const RETRY: Duration = Duration::from_secs(10);

/// Permits for event streams.
pub(in crate::http) struct StreamPermits {
    all: Arc<Semaphore>,
    /// Number of permits held by each caller, indexed by the key of the caller's principal.
    taken: Mutex<HashMap<Box<str>, usize>>,
    max_per_principal: usize,
}

/// A permit that is returned to the pool when dropped.
pub(in crate::http) struct StreamPermit {
    _permit: OwnedSemaphorePermit,
    /// The pool and the caller's key, if the caller is known.
    owned: Option<(Arc<StreamPermits>, Box<str>)>,
}

/// The reason why no permit is available.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) enum PermitRefusal {
    /// All of the server's permits are in use.
    Server,
    /// The caller already holds the maximum number of permits and may retry after this delay.
    Caller(Duration),
}

impl StreamPermits {
    pub(in crate::http) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            all: Arc::new(Semaphore::new(
                limits.streams.max_open.min(Semaphore::MAX_PERMITS),
            )),
            taken: Mutex::default(),
            max_per_principal: limits.streams.max_per_principal.max(1),
        })
    }

    fn lock_counts(&self) -> MutexGuard<'_, HashMap<Box<str>, usize>> {
        lock(&self.taken)
    }

    /// Takes a permit for one of this caller's streams, if one is available.
    pub(in crate::http) fn acquire(
        self: &Arc<Self>,
        caller: Option<&Principal>,
    ) -> Result<StreamPermit, PermitRefusal> {
        let permit = Arc::clone(&self.all).try_acquire_owned();
        let mut permit = StreamPermit {
            _permit: permit.map_err(|_| PermitRefusal::Server)?,
            owned: None,
        };
        if let Some(principal) = caller {
            let mut taken = self.lock_counts();
            let count = taken.entry(principal.key().into()).or_default();
            if *count >= self.max_per_principal {
                drop(taken);
                record_refusal(RefusalKind::TooMany, None);
                return Err(PermitRefusal::Caller(RETRY));
            }
            *count = count.saturating_add(1);
            permit.owned = Some((Arc::clone(self), principal.key().into()));
        }
        Ok(permit)
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let Some((permits, key)) = &self.owned else {
            return;
        };
        let mut taken = permits.lock_counts();
        if let Some(count) = taken.get_mut(key) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                taken.remove(key);
            }
        }
    }
}
