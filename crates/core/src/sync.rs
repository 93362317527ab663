//! Cancelling once, waking a task, and locking.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tokio::sync::Notify;

/// A cancellation flag shared by all clones.
#[derive(Clone, Debug, Default)]
pub struct CancellationToken(Arc<TokenState>);

#[derive(Debug, Default)]
struct TokenState {
    is_cancelled: AtomicBool,
    waiting: Notify,
}

impl CancellationToken {
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, SeqCst);
        self.0.waiting.notify_waiters();
    }

    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(SeqCst)
    }

    pub async fn cancelled(&self) {
        // This is created before the check below so that a cancellation after the check is not missed.
        let cancelled = self.0.waiting.notified();
        if !self.is_cancelled() {
            cancelled.await;
        }
    }

    /// Returns a guard that cancels the token when dropped.
    #[must_use]
    pub fn drop_guard(self) -> DropGuard {
        DropGuard(self)
    }
}

#[derive(Debug)]
pub struct DropGuard(CancellationToken);

impl Drop for DropGuard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Wakes the most recently registered task, once for each registration.
#[derive(Debug, Default)]
pub struct Bell(Mutex<Option<Waker>>);

impl Bell {
    /// Registers the task to be woken from now on. To avoid missing a wake-up, the caller must check its condition
    /// after registering.
    pub fn register(&self, waker: &Waker) {
        let former = {
            let mut registered = lock(&self.0);
            match &*registered {
                Some(same) if same.will_wake(waker) => None,
                _ => registered.replace(waker.clone()),
            }
        };
        // The waker is dropped outside the lock, because it may run arbitrary code when it is dropped or woken.
        drop(former);
    }

    pub fn wake(&self) {
        let registered = lock(&self.0).take();
        if let Some(waker) = registered {
            waker.wake();
        }
    }
}

/// Locks a mutex, even if a thread panicked while holding it: a panic during one request must not make all later
/// requests fail.
#[inline]
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Called when a message other than a response is ready to be sent. It must not block, and may be called from any
/// thread.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

#[cfg(test)]
mod tests {
    mod cancellation {
        use futures_util::FutureExt as _;

        use crate::sync::*;

        #[tokio::test]
        async fn cancelling_a_token_wakes_all_current_and_later_waiters() {
            let token = CancellationToken::default();
            let waiting: Vec<_> = (0..3)
                .map(|_| {
                    let token = token.clone();
                    tokio::spawn(async move { token.cancelled().await })
                })
                .collect();
            let mut never_polled = Box::pin(token.cancelled());
            assert!(never_polled.as_mut().now_or_never().is_none() && !token.is_cancelled());
            tokio::task::yield_now().await;
            drop(token.clone().drop_guard());
            for task in waiting {
                task.await.unwrap();
            }
            never_polled.await;
            assert!(token.is_cancelled());
            token.cancelled().now_or_never().unwrap();
            token.cancel();
        }

        #[test]
        fn a_cancellation_from_another_thread_is_never_missed() {
            for _ in 0..1_000 {
                let token = CancellationToken::default();
                let other = token.clone();
                let cancelling = std::thread::spawn(move || other.cancel());
                let runtime = tokio::runtime::Builder::new_current_thread();
                let runtime = { runtime }.build().unwrap();
                runtime.block_on(token.cancelled());
                cancelling.join().unwrap();
            }
        }
    }

    mod bell {
        use std::sync::Arc;
        use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        use std::task::Wake;

        use crate::sync::*;

        #[derive(Default)]
        struct Woken(AtomicUsize);

        impl Wake for Woken {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, SeqCst);
            }
        }

        #[test]
        fn a_bell_wakes_only_its_latest_waker_and_only_once() {
            let (first, last) = (Arc::<Woken>::default(), Arc::<Woken>::default());
            let bell = Bell::default();
            bell.wake();
            bell.register(&Waker::from(Arc::clone(&first)));
            for _ in 0..2 {
                bell.register(&Waker::from(Arc::clone(&last)));
            }
            assert_eq!(Arc::strong_count(&first), 1);
            bell.wake();
            bell.wake();
            assert_eq!((first.0.load(SeqCst), last.0.load(SeqCst)), (0, 1));
            assert_eq!(Arc::strong_count(&last), 1);
        }
    }

    mod lock {
        use crate::sync::*;

        #[test]
        fn a_panic_does_not_lock_out_others() {
            let mutex = Mutex::new(1);
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _held = lock(&mutex);
                panic!("while the lock is held");
            }));
            assert!(caught.is_err() && mutex.is_poisoned());
            assert_eq!(*lock(&mutex), 1);
        }
    }
}
