//! Keeps channels running while a handler blocks the thread that runs it.
//!
//! Calls are polled once by the task that leads their channel. If that poll does not return, no task is left to read
//! the channel. The watchdog detects this after a few milliseconds and makes another task the leader. The watchdog also
//! keeps tokio's I/O driver running: on the multi-thread runtime, the blocked worker may have just taken an event from
//! the driver, in which case all other workers are asleep on a condition variable, and none of the process's sockets,
//! pipes and timers makes progress until one of them wakes. Spawning an empty task wakes one of them.
//!
//! While all workers are blocked, the runtime's timers do not fire either. For a server that owns its process, the last
//! resort ([`ForcedExit`]) is to end the process.
//!
//! Limitations: a current-thread runtime does not have a second thread that could take the lead, and a runtime with N
//! workers can tolerate N - 1 blocked workers.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};
use std::{io, thread};

use mcp_core::spawn::boxed;
use mcp_core::sync::lock;
use tokio::runtime::Handle;

/// Interval between checks while calls arrive.
const TICK: Duration = Duration::from_millis(5);
/// Number of ticks without a call after which the watchdog sleeps until the next call.
const SILENT: u32 = 20;

/// Counts how many times a channel enters and leaves user code.
///
/// Three questions need three counters: whether the leader is still in the same poll as at the last look (`leader`), whether a thread
/// of the runtime is in user code at all (`inside`), and whether anything has happened since the last look (`entered`).
#[derive(Debug, Default)]
pub struct HandlerBeat {
    /// An odd number while the leader is inside user code.
    leader: AtomicU64,
    /// Number of task polls in progress, and of old leaders that are still inside user code.
    inside: AtomicUsize,
    /// Total number of task polls so far.
    entered: AtomicU64,
}

impl HandlerBeat {
    /// Records that the leader is entering user code. Afterwards, the leader must pass the returned beat to
    /// [`leader_leaves_user_code`](Self::leader_leaves_user_code).
    pub(super) fn leader_enters_user_code(&self, watchdog: &WatchdogWaker) -> u64 {
        let beat = self.leader.fetch_add(1, SeqCst).wrapping_add(1);
        watchdog.wake();
        beat
    }

    /// Records that another task has become the leader while the old leader is still in user code.
    pub(super) fn replace_leader(&self) {
        self.inside.fetch_add(1, SeqCst);
        self.leader.fetch_add(1, SeqCst);
    }

    /// Records that the leader that entered user code with this beat has returned. If another task has become the leader
    /// since then, the old leader has been counted in `inside`.
    pub(super) fn leader_leaves_user_code(&self, beat: u64) {
        let next = beat.wrapping_add(1);
        let advanced = self.leader.compare_exchange(beat, next, SeqCst, SeqCst);
        if advanced.is_err() {
            self.inside.fetch_sub(1, SeqCst);
        }
    }

    /// Runs user code in a task.
    pub fn run<T>(&self, watchdog: &WatchdogWaker, run: impl FnOnce() -> T) -> T {
        /// Decrements the count, even during a panic.
        struct InsideGuard<'a>(&'a AtomicUsize);
        impl Drop for InsideGuard<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, SeqCst);
            }
        }
        self.inside.fetch_add(1, SeqCst);
        let _inside = InsideGuard(&self.inside);
        self.entered.fetch_add(1, SeqCst);
        watchdog.wake();
        run()
    }

    /// Returns the number of times the leader has entered or left user code. The number is odd while the leader is in
    /// user code.
    pub(super) fn leader_beat(&self) -> u64 {
        self.leader.load(SeqCst)
    }

    /// Returns `true` if a thread of the runtime is in user code.
    pub fn is_handler_running(&self) -> bool {
        self.leader_beat() % 2 == 1 || self.inside.load(SeqCst) > 0
    }

    fn count(&self) -> u64 {
        self.leader_beat().wrapping_add(self.entered.load(SeqCst))
    }
}

/// A channel that the watchdog supervises.
pub trait SupervisedChannel: Send + Sync {
    /// Returns the counters of the channel.
    fn beat(&self) -> &HandlerBeat;
    /// Takes the lead. Called when the leader is still in the same user code as at the last check, when its beat was
    /// `seen`.
    fn replace_stuck_leader(self: Arc<Self>, seen: u64);
}

/// The last resort, which ends the process when the runtime cannot.
pub struct ForcedExit {
    /// Time within which the process must end, or `None` for no limit.
    pub(super) within: Option<Duration>,
    /// Returns `true` if the client has disconnected. Used when no thread is free to read the end of input.
    pub(super) hung_up: Box<dyn Fn() -> bool + Send + Sync>,
}

/// The thread that supervises all of a server's channels. The thread ends when this value is dropped.
#[derive(Debug)]
pub struct Watchdog {
    waking: Arc<WatchdogWaker>,
    thread: Option<JoinHandle<()>>,
}

/// Wakes the watchdog.
pub struct WatchdogWaker {
    asleep: AtomicBool,
    stop: AtomicBool,
    thread: Mutex<Option<Thread>>,
    channels: Mutex<Vec<WatchedChannel>>,
    last: Option<ForcedExit>,
    /// The time at which the process was asked to stop.
    ending: Mutex<Option<Instant>>,
}

struct WatchedChannel {
    watched: Weak<dyn SupervisedChannel>,
    last: u64,
}

impl std::fmt::Debug for WatchdogWaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchdogWaker").finish_non_exhaustive()
    }
}

impl Watchdog {
    /// Starts supervising channels whose tasks run on this runtime. If `last` is given, also ends the process when
    /// necessary.
    ///
    /// # Errors
    ///
    /// Fails if a thread cannot be started.
    pub fn start(runtime: Handle, last: Option<ForcedExit>) -> io::Result<Self> {
        let waking = Arc::new(WatchdogWaker {
            asleep: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            thread: Mutex::new(None),
            channels: Mutex::new(Vec::new()),
            last,
            ending: Mutex::new(None),
        });
        let shared = Arc::clone(&waking);
        let thread = thread::Builder::new()
            .name("mcp-watchdog".into())
            .spawn(move || shared.supervise(&runtime))?;
        *lock(&waking.thread) = Some(thread.thread().clone());
        Ok(Self {
            waking,
            thread: Some(thread),
        })
    }

    /// Returns what wakes the watchdog while it sleeps.
    #[must_use]
    pub fn waker(&self) -> &Arc<WatchdogWaker> {
        &self.waking
    }

    /// Returns `true` if user code is running in any channel, including channels that have ended.
    pub(crate) fn is_handler_running(&self) -> bool {
        lock(&self.waking.channels)
            .iter()
            .filter_map(|channel| channel.watched.upgrade())
            .any(|watched| watched.beat().is_handler_running())
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.waking.stop.store(true, SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // Joining is quick, because the thread does not hold locks for long and does not run user code.
            let _ = thread.join();
        }
    }
}

impl WatchdogWaker {
    /// Supervises this channel until it is dropped.
    pub fn watch_channel(&self, watched: Weak<dyn SupervisedChannel>) {
        let mut channels = lock(&self.channels);
        channels.retain(|channel| channel.watched.strong_count() > 0);
        channels.push(WatchedChannel { watched, last: 0 });
    }

    /// Records that the process should end, which starts the time limit for ending it.
    pub(super) fn stop_watching(&self) {
        if self.last.is_some() {
            lock(&self.ending).get_or_insert_with(Instant::now);
            self.wake();
        }
    }

    fn is_ending(&self) -> bool {
        lock(&self.ending).is_some()
    }

    /// Returns `true` if the process should already have ended. `ran` is the last time at which the runtime was known
    /// to be running tasks.
    fn is_process_overdue(&self, ran: Instant) -> bool {
        let Some(last) = &self.last else { return false };
        let Some(within) = last.within else {
            return false;
        };
        let is_over = lock(&self.ending).is_some_and(|since| since.elapsed() >= within);
        is_over || (ran.elapsed() >= within && (last.hung_up)())
    }

    fn wake(&self) {
        if self.asleep.load(SeqCst)
            && self.asleep.swap(false, SeqCst)
            && let Some(thread) = &*lock(&self.thread)
        {
            thread.unpark();
        }
    }

    fn supervise(&self, runtime: &Handle) {
        let mut silent = 0;
        let mut last = self.count();
        let mut ran = Instant::now();
        let has_run = Arc::new(AtomicBool::new(true));
        while !self.stop.load(SeqCst) {
            thread::park_timeout(TICK);
            let inside = self.check_channels();
            // A single pending probe is sufficient, because all workers are busy until it runs.
            if has_run.load(SeqCst) {
                ran = Instant::now();
                if inside {
                    has_run.store(false, SeqCst);
                    let has_run = Arc::clone(&has_run);
                    drop(runtime.spawn(boxed(async move { has_run.store(true, SeqCst) })));
                }
            }
            if self.is_process_overdue(ran) {
                std::process::exit(0);
            }
            let count = self.count();
            silent = if inside || count != last {
                0
            } else {
                silent + 1
            };
            last = count;
            if silent >= SILENT && !self.is_ending() {
                self.asleep.store(true, SeqCst);
                // A call that arrived before `asleep` was set would not wake this thread.
                if self.count() == last && !self.is_ending() {
                    while self.asleep.load(SeqCst) && !self.stop.load(SeqCst) {
                        thread::park();
                    }
                }
                self.asleep.store(false, SeqCst);
                silent = 0;
            }
        }
    }

    /// Checks all channels once. Returns `true` if user code is running in any of them.
    fn check_channels(&self) -> bool {
        let mut stuck = Vec::new();
        let mut inside = false;
        for channel in lock(&self.channels).iter_mut() {
            let Some(watched) = channel.watched.upgrade() else {
                continue;
            };
            inside |= watched.beat().is_handler_running();
            let beat = watched.beat().leader_beat();
            if beat % 2 == 1 && beat == channel.last {
                stuck.push((watched, beat));
            }
            channel.last = beat;
        }
        for (watched, beat) in stuck {
            watched.replace_stuck_leader(beat);
        }
        inside
    }

    fn count(&self) -> u64 {
        lock(&self.channels)
            .iter()
            .filter_map(|channel| channel.watched.upgrade())
            .fold(0, |sum, watched| sum.wrapping_add(watched.beat().count()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_that_leaves_user_code_is_no_longer_counted() {
        let watchdog = Watchdog::start(Handle::current(), None).unwrap();
        let beat = HandlerBeat::default();
        let caught = mcp_core::spawn::catch(|| {
            beat.run(watchdog.waker(), || {
                assert!(beat.is_handler_running());
                panic!("out of here")
            });
        });
        assert_eq!(caught, Err::<(), _>("out of here".to_owned()));
        assert!(!beat.is_handler_running());
    }

    #[tokio::test]
    async fn a_leader_that_was_replaced_in_user_code_counts_until_it_returns() {
        let watchdog = Watchdog::start(Handle::current(), None).unwrap();
        let beat = HandlerBeat::default();
        let first = beat.leader_enters_user_code(watchdog.waker());
        assert!(beat.is_handler_running());
        beat.leader_leaves_user_code(first);
        assert!(!beat.is_handler_running());

        let replaced = beat.leader_enters_user_code(watchdog.waker());
        beat.replace_leader();
        assert!(beat.is_handler_running());
        let next = beat.leader_enters_user_code(watchdog.waker());
        beat.leader_leaves_user_code(replaced);
        assert!(beat.is_handler_running());
        beat.leader_leaves_user_code(next);
        assert!(!beat.is_handler_running());
    }
}
