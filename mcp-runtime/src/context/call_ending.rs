//! The end of a call: the effects that wait for its final result, and the reasons why it continues after its handler
//! has been dropped.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::handler::handler_error::Result;
use crate::lock::lock;

/// An effect that waits for the call's final result.
pub(crate) type DeferredEffect = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// The state of a call that determines what happens when its handler ends.
#[derive(Default)]
pub(crate) struct CallEnding {
    deferred: Mutex<DeferredEffects>,
    /// `true` once an effect has been deferred. Most calls defer no effects, so they can skip the lock.
    has_deferred: AtomicBool,
    /// `true` while the effects that waited for the result are running.
    is_committing: AtomicBool,
    /// `true` once the round has ended with questions.
    has_asked: AtomicBool,
    /// `true` once the work continues independently of the request.
    continues: AtomicBool,
}

#[derive(Default)]
struct DeferredEffects {
    effects: Vec<DeferredEffect>,
    /// Number of handler runs that have not ended.
    running: usize,
}

impl CallEnding {
    pub(crate) fn defer(&self, effect: DeferredEffect) {
        self.deferred().effects.push(effect);
        self.has_deferred.store(true, Ordering::Release);
    }

    /// Takes the effects, in the order in which they were deferred.
    pub(crate) fn take_deferred(&self) -> Vec<DeferredEffect> {
        std::mem::take(&mut self.deferred().effects)
    }

    pub(crate) fn has_deferred(&self) -> bool {
        self.has_deferred.load(Ordering::Acquire) && !self.deferred().effects.is_empty()
    }

    /// Starts a run of the handler, which middleware can repeat. Drops the effects of earlier runs if all those runs
    /// have ended.
    pub(crate) fn begin_run(&self) {
        let mut deferred = self.deferred();
        if deferred.running == 0 {
            deferred.effects.clear();
        }
        deferred.running = deferred.running.saturating_add(1);
    }

    pub(crate) fn end_run(&self) {
        let mut deferred = self.deferred();
        deferred.running = deferred.running.saturating_sub(1);
    }

    pub(crate) fn set_committing(&self, is_committing: bool) {
        self.is_committing.store(is_committing, Ordering::Relaxed);
    }

    /// Returns `true` while deferred effects are running. The round cannot end during that time.
    pub(crate) fn is_committing(&self) -> bool {
        self.is_committing.load(Ordering::Relaxed)
    }

    pub(crate) fn set_asked(&self) {
        self.has_asked.store(true, Ordering::Relaxed);
    }

    /// Returns `true` once the round has ended with questions, so that the call continues in another one.
    pub(crate) fn has_asked(&self) -> bool {
        self.has_asked.load(Ordering::Relaxed)
    }

    pub(crate) fn set_continues(&self) {
        self.continues.store(true, Ordering::Relaxed);
    }

    /// Returns `true` once the work continues independently of the request, whose result is only a handle.
    pub(crate) fn continues(&self) -> bool {
        self.continues.load(Ordering::Relaxed)
    }

    fn deferred(&self) -> MutexGuard<'_, DeferredEffects> {
        lock(&self.deferred)
    }
}
