//! For a server that owns its process: signals, and an end that handlers cannot put off.

use std::io;
use std::time::Duration;

use tokio::runtime::Handle;

use crate::cancellation::CancellationToken;
use crate::limits::Limits;
use crate::transport::signals;
use crate::transport::watchdog::{Last, Watchdog};

/// How much longer than [`Limits::drain`] a process may take to end. More than the last bytes may.
const OVERTIME: Duration = Duration::from_secs(2);
/// How often, and after what time each, to look whether handlers still block threads.
const LOOKS: usize = 20;
const LOOK: Duration = Duration::from_millis(10);

/// Ends the process: in order at a signal to stop, at once at a second one, and also when a drain takes too long because
/// handlers block all workers of the runtime. Until it is dropped.
pub(super) struct Process {
    pub(super) watchdog: Watchdog,
    _signals: signals::Listening,
}

impl Process {
    /// `hung_up` says whether the only client is gone, for when nobody is free to read that.
    ///
    /// # Errors
    ///
    /// If signals cannot be listened to, or there can be no further thread.
    pub(super) fn own(
        limits: &Limits,
        shutdown: &CancellationToken,
        hung_up: Box<dyn Fn() -> bool + Send + Sync>,
    ) -> io::Result<Self> {
        let within = limits.drain.checked_add(OVERTIME);
        let last = Last { within, hung_up };
        let watchdog = Watchdog::start(Handle::current(), Some(last))?;
        let signals = signals::Listening::start(shutdown, watchdog.waking())?;
        Ok(Self {
            watchdog,
            _signals: signals,
        })
    }
}

/// Whether handlers still block threads once the server is done, which a runtime waits for when it is dropped.
pub(super) async fn is_stuck(is_inside: impl Fn() -> bool) -> bool {
    for _ in 0..LOOKS {
        if !is_inside() {
            return false;
        }
        tokio::time::sleep(LOOK).await;
    }
    true
}
