//! A handler's latest progress report.

use std::sync::Mutex;

use tokio::sync::Notify;

use crate::context::Progress;
use crate::lock::lock;

/// The latest progress report, as a status message.
#[derive(Default)]
pub(super) struct LatestReport {
    message: Mutex<Option<String>>,
    set: Notify,
}

impl LatestReport {
    pub(super) fn set(&self, progress: &Progress) {
        let Progress {
            progress,
            total,
            message,
            ..
        } = progress;
        let message = match (message, total) {
            (Some(message), Some(total)) => format!("{message} ({progress} of {total})"),
            (Some(message), None) => message.clone(),
            (None, Some(total)) => format!("{progress} of {total}"),
            (None, None) => progress.to_string(),
        };
        *lock(&self.message) = Some(message);
        self.set.notify_one();
    }

    /// Waits for a report that has not been returned yet.
    pub(super) async fn next(&self) -> String {
        loop {
            if let Some(message) = lock(&self.message).take() {
                return message;
            }
            self.set.notified().await;
        }
    }
}
