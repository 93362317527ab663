//! Support for a server that owns its process: handles signals, and ends the process even if handlers block it.

use std::io;
use std::time::Duration;

use tokio::runtime::Handle;

use crate::limits::Limits;
use crate::transport::signals::{SignalListener, StopSequence};
use crate::transport::watchdog::{ForcedExit, Watchdog};

/// Additional time, after `limits.calls.drain_timeout`, within which the process must end. This is longer than the time
/// allowed for writing the last bytes.
const OVERTIME: Duration = Duration::from_secs(2);
/// Number of checks for handlers that are still blocking threads, and the delay after each check.
const LOOKS: usize = 20;
const LOOK: Duration = Duration::from_millis(10);

/// Ends the process gracefully after the first signal and immediately after the second. Also ends the process if
/// draining takes too long because handlers block all of the runtime's workers. The guard has no further effect once
/// dropped.
pub(crate) struct ProcessGuard {
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
    pub(crate) fn take_control_of_process(
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
pub(crate) async fn are_handlers_stuck(is_handler_running: impl Fn() -> bool) -> bool {
    for _ in 0..LOOKS {
        if !is_handler_running() {
            return false;
        }
        tokio::time::sleep(LOOK).await;
    }
    true
}
