//! Starting tasks, and catching panics.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::host::Work;

/// Starts a task of a transport, which only runs inside a tokio runtime.
#[cfg(not(target_family = "wasm"))]
pub fn spawn(work: impl Future<Output = ()> + Send + 'static) -> tokio::task::JoinHandle<()> {
    tokio::spawn(boxed(work))
}

/// Returns work for a task that is started in another way.
pub fn boxed(work: impl Future<Output = ()> + Send + 'static) -> Work {
    Box::pin(work)
}

/// Runs user code. If the code panics, `Err` contains the panic message.
///
/// Unwind safety is asserted because values that the code was changing are either dropped or designed to be shared.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(panic_message)
}

/// Returns the panic message. Dropping the panic's payload runs user code, which may panic as well.
fn panic_message(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a value that is not a string").to_owned();
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        // This could go on forever, so the second payload, which is small, is leaked.
        std::mem::forget(again);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use crate::spawn::*;

    struct Bomb(u8);

    impl Drop for Bomb {
        fn drop(&mut self) {
            if let Some(left) = self.0.checked_sub(1) {
                panic_any(Self(left));
            }
        }
    }

    #[test]
    fn a_panic_is_caught_even_if_dropping_its_payload_panics() {
        assert_eq!(catch(|| 5), Ok(5));
        assert_eq!(catch(|| panic!("text")), Err::<(), _>("text".to_owned()));
        assert_eq!(catch(|| panic!("{}", 5)), Err::<(), _>("5".to_owned()));
        for bombs in 0..4 {
            let caught = catch(|| panic_any(Bomb(bombs)));
            assert_eq!(
                caught,
                Err::<(), _>("a value that is not a string".to_owned())
            );
        }
    }
}
