//! The process that started this process. A server over stdio serves no purpose once that process has ended.
//!
//! Usually, the end of input indicates this, but the pipe remains open as long as any process, such as another child of
//! the same client, holds its other end.

use std::time::Duration;

/// Interval between checks. Polling is necessary because the system notifies a process when its children end but not
/// when its parent ends.
const INTERVAL: Duration = Duration::from_secs(5);

/// The process that started this process, as determined when this value was created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParentProcess {
    #[cfg(unix)]
    id: u32,
}

impl ParentProcess {
    pub(crate) fn current() -> Self {
        Self {
            #[cfg(unix)]
            id: std::os::unix::process::parent_id(),
        }
    }

    /// Returns `true` if the process has ended, in which case its children have a different parent. Always returns
    /// `false` on Windows, where children keep the old parent's id.
    #[cfg_attr(
        not(unix),
        expect(clippy::unused_self, reason = "only Unix reparents orphaned processes")
    )]
    pub(crate) fn is_gone(self) -> bool {
        #[cfg(unix)]
        return std::os::unix::process::parent_id() != self.id;
        #[cfg(not(unix))]
        false
    }

    /// Completes within a few seconds after the process has ended.
    pub(crate) async fn gone(self) {
        while !self.is_gone() {
            tokio::time::sleep(INTERVAL).await;
        }
    }
}
