//! Wakes a task from any thread.

use std::sync::Mutex;
use std::task::Waker;

use crate::lock::lock;

/// Wakes the most recently registered task, once for each registration.
#[derive(Debug, Default)]
pub(crate) struct Bell(Mutex<Option<Waker>>);

impl Bell {
    /// Registers the task to be woken from now on. To avoid missing a wake-up, the caller must check its condition
    /// after registering.
    pub(crate) fn register(&self, waker: &Waker) {
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

    pub(crate) fn wake(&self) {
        let registered = lock(&self.0).take();
        if let Some(waker) = registered {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    #[test]
    fn the_last_one_is_woken_and_only_once() {
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
