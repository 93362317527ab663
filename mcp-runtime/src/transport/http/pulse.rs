//! Handlers that block their thread, and what is done so that they hold up nobody else.
//!
//! A thread that is inside a handler may be the one that was to look for what sockets have to say. The watchdog sees to it
//! that another one does.

use std::sync::{Arc, OnceLock};

use tokio::runtime::Handle;

use crate::transport::watchdog::{Beat, Watchdog, Watched};

/// Says when handlers run, to a watchdog that is started with the first of them.
#[derive(Default)]
pub(super) struct Pulse {
    beat: Arc<Beats>,
    watchdog: OnceLock<Option<Watchdog>>,
}

#[derive(Default)]
struct Beats(Beat);

impl Watched for Beats {
    fn beat(&self) -> &Beat {
        &self.0
    }

    fn take_over(self: Arc<Self>, _seen: u64) {
        // Nobody leads here: every connection has a task of its own.
    }
}

impl Pulse {
    /// Whether a handler is running right now.
    #[cfg(feature = "cli")]
    pub(super) fn is_inside(&self) -> bool {
        self.beat.0.is_inside()
    }

    /// Runs what may be user code.
    pub(super) fn run<T>(&self, run: impl FnOnce() -> T) -> T {
        let watchdog = self.watchdog.get_or_init(|| {
            let watchdog = Watchdog::start(Handle::try_current().ok()?, None).ok()?;
            let watched: Arc<dyn Watched> = Arc::<Beats>::clone(&self.beat);
            watchdog.waking().watch(Arc::downgrade(&watched));
            Some(watchdog)
        });
        match watchdog {
            Some(watchdog) => self.beat.0.run(watchdog.waking(), run),
            // Without a thread for it, all is as well as the runtime makes it.
            None => run(),
        }
    }
}
