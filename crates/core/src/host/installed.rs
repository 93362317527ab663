//! WebAssembly: everything comes from the installed [`Host`].

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::ops::{Add, Sub};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use crate::error::{Error, ErrorKind};
use crate::host::{Host, Work};
use crate::sync::{Bell, CancellationToken};

static INSTALLED: OnceLock<&'static dyn Host> = OnceLock::new();

/// Installs the host of this process. Returns `false` if there is one already, which stays.
///
/// A server cannot be built before. A value that lives as long as the process is a `static`, or comes from [`Box::leak`].
pub fn install(host: &'static dyn Host) -> bool {
    INSTALLED.set(host).is_ok()
}

fn host() -> Option<&'static dyn Host> {
    INSTALLED.get().copied()
}

/// Checks that there is a host.
///
/// # Errors
///
/// Says what to call if there is none.
pub fn check() -> Result<(), Error> {
    let problem = "this target has no clock and no random bytes of its own; call `mcp_runtime::server::install_host` first";
    let missing = || Error::new(ErrorKind::Configuration, problem.to_owned());
    host().map(|_| ()).ok_or_else(missing)
}

/// Returns the time since the beginning of 1970.
#[must_use]
pub fn unix_time() -> Duration {
    host().map_or(Duration::ZERO, Host::unix_time)
}

/// Fills the bytes with unpredictable ones.
///
/// # Errors
///
/// Fails if there are none.
pub fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    match host() {
        Some(host) => host.fill_random(bytes),
        None => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// A moment, as [`Host::now`] tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(Duration);

impl Instant {
    #[must_use]
    pub fn now() -> Self {
        Self(host().map_or(Duration::ZERO, Host::now))
    }

    #[must_use]
    pub fn elapsed(self) -> Duration {
        Self::now().saturating_duration_since(self)
    }

    /// Returns zero if `earlier` is later.
    #[must_use]
    pub const fn saturating_duration_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    #[must_use]
    pub fn checked_add(self, time: Duration) -> Option<Self> {
        self.0.checked_add(time).map(Self)
    }

    #[must_use]
    pub fn checked_sub(self, time: Duration) -> Option<Self> {
        self.0.checked_sub(time).map(Self)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, time: Duration) -> Self {
        Self(self.0.saturating_sub(time))
    }
}

/// A future that is ready at its deadline.
pub struct Sleep {
    deadline: Instant,
    timer: Work,
}

impl Sleep {
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<()> {
        self.timer.as_mut().poll(task)
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Sleep");
        shown
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// Returns a future that is ready after this time.
#[must_use]
pub fn sleep(time: Duration) -> Sleep {
    Sleep {
        deadline: Instant::now() + time,
        timer: host().map_or_else(
            || Box::pin(std::future::pending()) as Work,
            |it| it.sleep(time),
        ),
    }
}

/// A future has not ended within its time.
#[derive(Debug)]
pub struct Elapsed;

/// Limits the time of a future.
///
/// # Errors
///
/// Fails when the time is over.
pub async fn timeout<F: Future>(limit: Duration, future: F) -> Result<F::Output, Elapsed> {
    let (mut future, mut sleep) = (pin!(future), pin!(sleep(limit)));
    poll_fn(|task| {
        if let Poll::Ready(output) = future.as_mut().poll(task) {
            return Poll::Ready(Ok(output));
        }
        sleep.as_mut().poll(task).map(|()| Err(Elapsed))
    })
    .await
}

/// Runs work that blocks its thread. There is only one, so everything else waits for it.
///
/// # Errors
///
/// None: a panic continues.
#[allow(clippy::unused_async, reason = "the same shape on every target")]
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Infallible> {
    Ok(work())
}

/// Ends a task, or tells whether it has ended.
#[derive(Clone, Debug, Default)]
pub struct TaskHandle(Arc<HostTaskState>);

#[derive(Debug, Default)]
struct HostTaskState {
    is_aborted: AtomicBool,
    /// Wakes the task when it is aborted.
    aborted: Bell,
    /// Cancelled once the task has ended.
    ended: CancellationToken,
}

impl TaskHandle {
    pub fn abort(&self) {
        self.0.is_aborted.store(true, SeqCst);
        self.0.aborted.wake();
    }

    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.0.ended.is_cancelled()
    }
}

/// Starts a task. Without a host it ends at once.
#[allow(
    clippy::must_use_candidate,
    reason = "a task runs whether or not its handle is kept"
)]
pub fn spawn(work: Work) -> TaskHandle {
    let handle = TaskHandle::default();
    let task = HostTask {
        work: Some(work),
        state: Arc::clone(&handle.0),
    };
    if let Some(host) = host() {
        host.spawn(Box::pin(task));
    }
    handle
}

/// Work that can be aborted.
struct HostTask {
    work: Option<Work>,
    state: Arc<HostTaskState>,
}

impl Future for HostTask {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<()> {
        self.state.aborted.register(task.waker());
        let is_aborted = self.state.is_aborted.load(SeqCst);
        if let Some(work) = self.work.as_mut().filter(|_| !is_aborted)
            && work.as_mut().poll(task).is_pending()
        {
            return Poll::Pending;
        }
        self.work = None;
        self.state.ended.cancel();
        Poll::Ready(())
    }
}

impl Drop for HostTask {
    fn drop(&mut self) {
        self.work = None;
        self.state.ended.cancel();
    }
}

/// Tasks that end when the set is dropped.
#[derive(Debug, Default)]
pub struct TaskSet(Vec<TaskHandle>);

impl TaskSet {
    pub fn spawn(&mut self, work: Work) {
        self.0.push(spawn(work));
    }

    /// Removes the tasks that have ended.
    pub fn remove_ended(&mut self) {
        self.0.retain(|task| !task.is_finished());
    }

    /// Waits until all tasks have ended.
    pub async fn join_all(&mut self) {
        while let Some(task) = self.0.last() {
            task.0.ended.cancelled().await;
            self.0.pop();
        }
    }
}

impl Drop for TaskSet {
    fn drop(&mut self) {
        self.0.iter().for_each(TaskHandle::abort);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::task::Waker;

    use super::*;
    use crate::sync::lock;

    /// A host whose time passes when a test says so, and whose tasks run when it polls them.
    #[derive(Default)]
    struct Paused {
        now: Mutex<Duration>,
        spawned: Mutex<Vec<Work>>,
    }

    impl Host for &'static Paused {
        fn now(&self) -> Duration {
            *lock(&self.now)
        }

        fn unix_time(&self) -> Duration {
            Duration::from_secs(5)
        }

        fn fill_random(&self, bytes: &mut [u8]) -> io::Result<()> {
            bytes.fill(7);
            Ok(())
        }

        fn sleep(&self, time: Duration) -> Work {
            let (host, deadline) = (*self, self.now() + time);
            Box::pin(poll_fn(move |_| {
                if host.now() >= deadline {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            }))
        }

        fn spawn(&self, work: Work) {
            lock(&self.spawned).push(work);
        }
    }

    impl Paused {
        fn run(&self) {
            let mut tasks = std::mem::take(&mut *lock(&self.spawned));
            tasks.retain_mut(|task| poll(task.as_mut()).is_pending());
            lock(&self.spawned).append(&mut tasks);
        }

        fn pass(&self, time: Duration) {
            *lock(&self.now) += time;
        }
    }

    fn poll<T>(future: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Poll<T> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    const SECOND: Duration = Duration::from_secs(1);

    // There is one host for all tests of the process, so this is one test.
    #[test]
    fn everything_comes_from_the_installed_host() {
        assert_eq!(check().unwrap_err().kind(), ErrorKind::Configuration);
        assert!(fill_random(&mut [0]).is_err());
        assert_eq!(Instant::now().elapsed(), Duration::ZERO);
        assert!(spawn(Box::pin(std::future::pending())).is_finished());
        assert!(poll(pin!(sleep(Duration::ZERO))).is_pending());

        let host: &'static Paused = Box::leak(Box::default());
        assert!(install(Box::leak(Box::new(host))));
        assert!(!install(Box::leak(Box::new(host))));
        check().unwrap();
        assert_eq!(unix_time(), SECOND * 5);
        let mut bytes = [0; 4];
        fill_random(&mut bytes).unwrap();
        assert_eq!(bytes, [7; 4]);

        let start = Instant::now();
        let mut waiting = pin!(sleep(SECOND));
        let mut limited = pin!(timeout(SECOND * 2, std::future::pending::<()>()));
        assert_eq!(waiting.deadline(), start + SECOND);
        assert!(poll(waiting.as_mut()).is_pending() && poll(limited.as_mut()).is_pending());
        host.pass(SECOND);
        assert!(poll(waiting).is_ready() && poll(limited.as_mut()).is_pending());
        host.pass(SECOND);
        assert!(matches!(poll(limited), Poll::Ready(Err(Elapsed))));
        assert!(matches!(
            poll(pin!(timeout(SECOND, async { 3 }))),
            Poll::Ready(Ok(3))
        ));
        assert_eq!(start.elapsed(), SECOND * 2);
        assert_eq!(
            start.saturating_duration_since(Instant::now()),
            Duration::ZERO
        );
        assert_eq!((start + SECOND).checked_sub(SECOND), Some(start));
        assert_eq!(
            start.checked_add(Duration::MAX).is_none(),
            start.0 > Duration::ZERO
        );
        assert_eq!(Instant::now() - SECOND * 2, start);

        tasks_can_be_joined_and_aborted(host);
        assert!(matches!(poll(pin!(run_blocking(|| 5))), Poll::Ready(Ok(5))));
    }

    fn tasks_can_be_joined_and_aborted(host: &Paused) {
        let waits = || -> Work { Box::pin(sleep(SECOND)) };
        let (short, long) = (spawn(waits()), spawn(waits()));
        host.run();
        assert!(!short.is_finished() && !long.is_finished());
        long.abort();
        host.run();
        assert!(!short.is_finished() && long.is_finished());
        host.pass(SECOND);
        host.run();
        assert!(short.is_finished());

        let mut set = TaskSet::default();
        set.spawn(waits());
        set.spawn(Box::pin(std::future::ready(())));
        host.run();
        set.remove_ended();
        assert_eq!(set.0.len(), 1);
        let left = set.0[0].clone();
        {
            let mut joined = pin!(set.join_all());
            assert!(poll(joined.as_mut()).is_pending());
            host.pass(SECOND);
            host.run();
            assert!(poll(joined).is_ready());
        }
        assert!(left.is_finished());
        set.spawn(waits());
        let dropped = set.0[0].clone();
        drop(set);
        host.run();
        assert!(dropped.is_finished());
    }
}
