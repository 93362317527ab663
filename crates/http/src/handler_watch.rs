//! Lets the watchdog detect handlers that block their thread before they hold up other work.
//!
//! The thread running a handler may be the one responsible for polling the sockets. If that thread is blocked, the
//! watchdog makes another thread poll the sockets.

use std::sync::{Arc, OnceLock};

use mcp_transport::{HandlerBeat, SupervisedChannel, Watchdog};
use tokio::runtime::Handle;

/// Reports running handlers to a watchdog, which starts when the first handler runs.
#[derive(Default)]
pub(crate) struct HandlerWatch {
    beat: Arc<WatchedBeat>,
    watchdog: OnceLock<Option<Watchdog>>,
}

#[derive(Default)]
struct WatchedBeat(HandlerBeat);

impl SupervisedChannel for WatchedBeat {
    fn beat(&self) -> &HandlerBeat {
        &self.0
    }

    fn replace_stuck_leader(self: Arc<Self>, _seen: u64) {
        // No action is needed because every connection has its own task.
    }
}

impl HandlerWatch {
    /// Returns `true` if a handler is currently running.
    pub(crate) fn is_handler_running(&self) -> bool {
        self.beat.0.is_handler_running()
    }

    /// Runs code that may call user code.
    pub(crate) fn run_watched<T>(&self, run: impl FnOnce() -> T) -> T {
        let watchdog = self.watchdog.get_or_init(|| {
            let watchdog = Watchdog::start(Handle::try_current().ok()?, None).ok()?;
            let watched: Arc<dyn SupervisedChannel> = Arc::<WatchedBeat>::clone(&self.beat);
            watchdog.waker().watch_channel(Arc::downgrade(&watched));
            Some(watchdog)
        });
        match watchdog {
            Some(watchdog) => self.beat.0.run(watchdog.waker(), run),
            // Without a watchdog thread, only the runtime can keep other work running.
            None => run(),
        }
    }
}
