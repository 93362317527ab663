//! The process that started this one. A server over stdio has no purpose once it is gone.
//!
//! The end of input usually says so. But the pipe stays open as long as any process holds its other end, such as another
//! child of the same client.

use std::time::Duration;

/// Interval between checks. A process learns of the end of its children, not of the end of its parent.
const INTERVAL: Duration = Duration::from_secs(5);

/// The process that started this one, identified when this value was created.
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

    /// Returns `true` if the process has ended. Its children then have another parent. Always `false` on Windows, where
    /// they keep the id.
    #[cfg_attr(
        not(unix),
        expect(clippy::unused_self, reason = "only Unix gives orphans another parent")
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
