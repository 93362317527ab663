//! Watches directories, and waits for the end of each burst of changes.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

/// Time without changes after which a directory is read again.
const QUIET: Duration = Duration::from_millis(100);
/// Time after which a watcher ends that is not needed any more.
const IDLE: Duration = Duration::from_secs(1);

/// Directories that are being watched.
pub(super) struct Watched {
    _watcher: RecommendedWatcher,
    /// Receives a message for each change.
    changes: Receiver<()>,
}

impl Watched {
    /// Watches directories, and everything below them.
    pub(super) fn new(directories: &[PathBuf]) -> notify::Result<Self> {
        let (sender, changes) = mpsc::channel();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // Reading a file is not a change. After an error, changes may have been missed.
            if event.map_or(true, |event| !event.kind.is_access()) {
                let _ = sender.send(());
            }
        })?;
        for directory in directories {
            watcher.watch(directory, RecursiveMode::Recursive)?;
        }
        Ok(Self {
            _watcher: watcher,
            changes,
        })
    }

    /// Calls `reload` after each burst of changes, as long as `is_needed` returns `true`.
    pub(super) fn follow(&self, is_needed: impl Fn() -> bool, reload: impl Fn()) {
        loop {
            match self.changes.recv_timeout(IDLE) {
                Ok(()) => {
                    while self.changes.recv_timeout(QUIET).is_ok() {}
                    reload();
                }
                Err(RecvTimeoutError::Timeout) if is_needed() => {}
                Err(_) => return,
            }
        }
    }
}
