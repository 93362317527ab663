//! Signals that ask the process to stop.

use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use mcp_core::limits::Limits;
use mcp_core::sync::{CancellationToken, DropGuard};
use tokio::runtime::{Builder, Handle};

use crate::watchdog::{ForcedExit, Watchdog, WatchdogWaker};

/// Completes when the process receives a stop signal: SIGTERM or SIGINT (Ctrl-C) on Unix, or Ctrl-C on Windows.
///
/// Use this if your program runs its own HTTP server, for example by mounting this server in axum. It is not needed
/// with `--http`.
///
/// ```no_run
/// # async fn serve(server: mcp_runtime::Server) -> Result<(), mcp_runtime::Error> {
/// let handle = server.handle();
/// tokio::spawn(async move {
///     mcp_runtime::server::shutdown_signal().await;
///     handle.shut_down();
/// });
/// server.serve_http("127.0.0.1:8000").await
/// # }
/// ```
///
/// After the first poll, these signals no longer end the process by themselves, and a second signal has no effect
/// unless it is also awaited. If listening for signals fails, an error is logged, the signals still end the process,
/// and the future never completes.
pub async fn shutdown_signal() {
    let signal = async { Signals::new()?.next().await };
    if let Err(error) = signal.await {
        tracing::error!(%error, "cannot listen for signals");
        std::future::pending::<()>().await;
    }
}

/// The steps that the first stop signal triggers.
pub struct StopSequence {
    /// Cancelled when the signal arrives.
    pub announced: CancellationToken,
    /// Time from the signal until the shutdown begins.
    pub delay: Duration,
    /// Cancelled when the shutdown begins.
    pub shutdown: CancellationToken,
}

impl StopSequence {
    /// Creates a sequence in which the shutdown begins as soon as the signal arrives.
    pub(crate) fn without_delay(shutdown: CancellationToken) -> Self {
        Self {
            announced: CancellationToken::default(),
            delay: Duration::ZERO,
            shutdown,
        }
    }
}

/// Starts the stop sequence on the first stop signal and ends the process on the second.
///
/// The stop signals are SIGTERM and SIGINT on Unix and Ctrl-C on Windows. A thread with a separate runtime listens for
/// signals, because handlers may block all workers of the main runtime. The thread ends when this value is dropped.
#[derive(Debug)]
struct SignalListener(#[allow(dead_code, reason = "held for its `Drop`")] DropGuard);

impl SignalListener {
    /// Starts listening for signals. A shutdown is also reported to `waking`.
    ///
    /// # Errors
    ///
    /// Fails if listening for signals fails or if a thread cannot be started.
    pub(super) fn start(stop: StopSequence, waking: &Arc<WatchdogWaker>) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let signals = {
            let _inside = runtime.enter();
            Signals::new()
        };
        let signals = match signals {
            Ok(signals) => signals,
            Err(error) => {
                // Waiting for a runtime to stop is not allowed inside a task.
                runtime.shutdown_background();
                return Err(error);
            }
        };
        let over = CancellationToken::default();
        let (until, waking) = (over.clone(), Arc::clone(waking));
        thread::Builder::new()
            .name("mcp-signals".into())
            .spawn(move || {
                let telling = async {
                    stop.shutdown.cancelled().await;
                    waking.stop_watching();
                    std::future::pending::<()>().await;
                };
                runtime.block_on(async {
                    tokio::select! {
                        () = until.cancelled() => {}
                        () = telling => {}
                        error = handle_signals(signals, &stop) => {
                            tracing::error!(%error, "can no longer listen for signals");
                        }
                    }
                });
            })?;
        Ok(Self(over.drop_guard()))
    }
}

/// Handles the signals. Returns only if listening for them fails.
async fn handle_signals(mut signals: Signals, stop: &StopSequence) -> io::Error {
    match signals.next().await {
        Ok(_) => stop.announced.cancel(),
        Err(error) => return error,
    }
    let shutting_down = async {
        if !stop.delay.is_zero() {
            tokio::time::sleep(stop.delay).await;
        }
        stop.shutdown.cancel();
        std::future::pending().await
    };
    let second = tokio::select! {
        biased;
        never = shutting_down => never,
        second = signals.next() => second,
    };
    match second {
        // This is the exit code that a shell reports for a process ended by a signal.
        Ok(number) => std::process::exit(128_i32.saturating_add(number)),
        Err(error) => error,
    }
}

#[cfg(unix)]
struct Signals(tokio::signal::unix::Signal, tokio::signal::unix::Signal);

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self(
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        ))
    }

    /// Waits for the next signal and returns its number. If both signals have arrived, returns SIGTERM first because an
    /// orchestrator sends it first. SIGINT then counts as the second signal.
    async fn next(&mut self) -> io::Result<i32> {
        use tokio::signal::unix::SignalKind;

        let kind = tokio::select! {
            biased;
            _ = self.0.recv() => SignalKind::terminate(),
            _ = self.1.recv() => SignalKind::interrupt(),
        };
        Ok(kind.as_raw_value())
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[allow(clippy::unnecessary_wraps, reason = "it can fail on Unix")]
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits for the next signal and returns its number.
    async fn next(&mut self) -> io::Result<i32> {
        tokio::signal::ctrl_c().await.map(|()| 2)
    }
}

// --- Support for a server that owns its process: handles signals, and ends the process even if handlers block it.

/// Additional time, after `limits.calls.drain_timeout`, within which the process must end. This is longer than the time
/// allowed for writing the last bytes.
const OVERTIME: Duration = Duration::from_secs(2);

/// Number of checks for handlers that are still blocking threads, and the delay after each check.
const BLOCKED_HANDLER_CHECKS: usize = 20;

const BLOCKED_HANDLER_CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Ends the process gracefully after the first signal and immediately after the second. Also ends the process if
/// draining takes too long because handlers block all of the runtime's workers. The guard has no further effect once
/// dropped.
pub struct ProcessGuard {
    pub(super) watchdog: Watchdog,
    _signals: SignalListener,
}

impl ProcessGuard {
    /// Takes control of the process. `hung_up` returns `true` if the only client has disconnected; this function is
    /// needed when no thread is free to read the end of input.
    ///
    /// # Errors
    ///
    /// Fails if listening for signals fails or if a thread cannot be started.
    pub fn take_control_of_process(
        limits: &Limits,
        stop: StopSequence,
        hung_up: Box<dyn Fn() -> bool + Send + Sync>,
    ) -> io::Result<Self> {
        let within = limits.calls.drain_timeout.checked_add(OVERTIME);
        let last = ForcedExit { within, hung_up };
        let watchdog = Watchdog::start(Handle::current(), Some(last))?;
        let signals = SignalListener::start(stop, watchdog.waker())?;
        Ok(Self {
            watchdog,
            _signals: signals,
        })
    }
}

/// Returns `true` if handlers are still blocking threads after the server has finished. Dropping the runtime would wait
/// for them.
pub async fn are_handlers_stuck(is_handler_running: impl Fn() -> bool) -> bool {
    for _ in 0..BLOCKED_HANDLER_CHECKS {
        if !is_handler_running() {
            return false;
        }
        tokio::time::sleep(BLOCKED_HANDLER_CHECK_INTERVAL).await;
    }
    true
}
