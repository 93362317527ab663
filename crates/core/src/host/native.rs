//! Targets with an operating system: the standard library, tokio, and `getrandom`.
//!
//! A program without a tokio runtime can run calls, too (`Server::build`). Their timers, tasks and blocking work then run on a
//! runtime of one thread, which exists for nothing else.

use std::future::{Future, pending};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::runtime::{EnterGuard, Handle};
use tokio::task::{JoinError, JoinSet};
use tokio::time::error::Elapsed;

use crate::error::Error;

pub use getrandom::fill as fill_random;
pub use tokio::task::AbortHandle as TaskHandle;
pub use tokio::time::{Instant, Sleep};

/// Nothing has to be installed on these targets.
pub const fn check() -> Result<(), Error> {
    Ok(())
}

/// Returns the time since the beginning of 1970.
#[must_use]
pub fn unix_time() -> Duration {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default()
}

/// Returns a future that is ready after this time.
pub fn sleep(time: Duration) -> Sleep {
    let _entered = enter_if_outside();
    tokio::time::sleep(time)
}

/// Limits the time of a future.
pub fn timeout<F: Future>(
    limit: Duration,
    future: F,
) -> impl Future<Output = Result<F::Output, Elapsed>> {
    let _entered = enter_if_outside();
    tokio::time::timeout(limit, future)
}

/// Starts a task.
#[allow(
    clippy::must_use_candidate,
    reason = "a task runs whether or not its handle is kept"
)]
pub fn spawn(work: super::Work) -> TaskHandle {
    let _entered = enter_if_outside();
    tokio::spawn(work).abort_handle()
}

/// Runs work that blocks its thread, on a thread that may be blocked.
///
/// # Errors
///
/// Fails if the process has no such thread, or the work panics.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    let running = {
        let _entered = enter_if_outside();
        tokio::task::spawn_blocking(work)
    };
    running.await
}

/// Tasks that end when the set is dropped.
#[derive(Debug, Default)]
pub struct TaskSet(JoinSet<()>);

impl TaskSet {
    pub fn spawn(&mut self, work: super::Work) {
        let _entered = enter_if_outside();
        self.0.spawn(work);
    }

    /// Removes the tasks that have ended.
    pub fn remove_ended(&mut self) {
        while self.0.try_join_next().is_some() {}
    }

    /// Waits until all tasks have ended.
    pub async fn join_all(&mut self) {
        while self.0.join_next().await.is_some() {}
    }
}

/// Makes the runtime for programs without one current, until the guard is dropped. Returns `None` inside another runtime.
fn enter_if_outside() -> Option<EnterGuard<'static>> {
    Handle::try_current().is_err().then(|| fallback().enter())
}

/// Returns the runtime for programs without one. Its thread, like the process, has no end.
fn fallback() -> &'static Handle {
    static FALLBACK: OnceLock<Handle> = OnceLock::new();
    FALLBACK.get_or_init(|| {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime.enable_time().build() }
            .expect("a runtime without I/O asks nothing of the operating system");
        let handle = runtime.handle().clone();
        let thread = std::thread::Builder::new().name("mcp-runtime timers".to_owned());
        if let Err(error) = thread.spawn(move || runtime.block_on(pending::<()>())) {
            // What is spawned there is cancelled, because the runtime is dropped with the closure.
            tracing::error!(%error, "cannot start the thread for timers and tasks");
        }
        handle
    })
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::mpsc::channel;
    use std::task::{Context, Poll, Waker};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    /// Waits for a message from a task that nothing here polls.
    fn receive<T>(received: &std::sync::mpsc::Receiver<T>) -> T {
        assert!(Handle::try_current().is_err());
        received.recv_timeout(LIMIT).expect("the task ends in time")
    }

    #[test]
    fn tasks_and_timers_run_outside_a_runtime() {
        let (sender, received) = channel();
        spawn(Box::pin(async move {
            sleep(Duration::from_millis(1)).await;
            let late = timeout(Duration::from_millis(1), pending::<()>()).await;
            sender.send(late.is_err()).unwrap();
        }));
        assert!(receive(&received));
    }

    #[test]
    fn a_timer_made_outside_a_runtime_wakes_the_task_that_polls_it() {
        struct Tell(std::sync::mpsc::Sender<()>);
        impl std::task::Wake for Tell {
            fn wake(self: std::sync::Arc<Self>) {
                let _ = self.0.send(());
            }
        }
        let (sender, received) = channel();
        let waker = Waker::from(std::sync::Arc::new(Tell(sender)));
        let mut timer = Box::pin(sleep(Duration::from_millis(1)));
        if timer
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
        {
            receive(&received);
            assert!(
                timer
                    .as_mut()
                    .poll(&mut Context::from_waker(&waker))
                    .is_ready()
            );
        }
    }

    #[test]
    fn blocking_work_outside_a_runtime_has_a_thread_of_its_own() {
        let (sender, received) = channel();
        spawn(Box::pin(async move {
            let here = std::thread::current().id();
            let there = run_blocking(|| std::thread::current().id()).await;
            sender.send(there.unwrap() != here).unwrap();
        }));
        assert!(receive(&received));
    }

    #[test]
    fn the_tasks_of_a_set_end_with_it() {
        struct Dropped(std::sync::mpsc::Sender<()>);
        impl Drop for Dropped {
            fn drop(&mut self) {
                let _ = self.0.send(());
            }
        }
        let (sender, received) = channel();
        let mut set = TaskSet::default();
        let held = Dropped(sender.clone());
        set.spawn(Box::pin(async move {
            let _held = held;
            sender.send(()).unwrap();
            pending::<()>().await;
        }));
        receive(&received);
        drop(set);
        receive(&received);
    }

    #[tokio::test]
    async fn inside_a_runtime_that_runtime_is_used() {
        let here = Handle::current().id();
        let (sender, received) = tokio::sync::oneshot::channel();
        spawn(Box::pin(async move {
            let _ = sender.send(Handle::current().id());
        }));
        assert_eq!(received.await.unwrap(), here);
        let mut set = TaskSet::default();
        let mut polls = 0;
        set.spawn(Box::pin(poll_fn(move |task| {
            polls += 1;
            task.waker().wake_by_ref();
            if polls < 3 {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        })));
        set.join_all().await;
        set.remove_ended();
    }
}
