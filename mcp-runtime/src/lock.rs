//! Locks mutexes even after panics.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, even if a thread panicked while holding it: a panic during one request must not make all later
/// requests fail.
#[inline]
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

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
