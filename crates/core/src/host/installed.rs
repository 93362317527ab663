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
    let problem = "this target has no clock and no random bytes of its own; call `mcp_runtime::host::install` first";
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
        shown.field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

/// Returns a future that is ready after this time.
#[must_use]
pub fn sleep(time: Duration) -> Sleep {
    Sleep {
        deadline: Instant::now() + time,
        timer: host().map_or_else(|| Box::pin(std::future::pending()) as Work, |it| it.sleep(time)),
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
pub struct TaskHandle(Arc<TaskState>);

#[derive(Debug, Default)]
struct TaskState {
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
pub fn spawn(work: Work) -> TaskHandle {
    let handle = TaskHandle::default();
    let task = Task {
        work: Some(work),
        state: Arc::clone(&handle.0),
    };
    if let Some(host) = host() {
        host.spawn(Box::pin(task));
    }
    handle
}

/// Work that can be aborted.
struct Task {
    work: Option<Work>,
    state: Arc<TaskState>,
}

impl Future for Task {
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

impl Drop for Task {
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
