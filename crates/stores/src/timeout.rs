//! Time limits for work that another process does.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, timeout};

/// The delay of a timer from which it follows that this process was stopped.
const STOPPED_PROCESS_DELAY: Duration = Duration::from_millis(500);

/// Waits until the future completes or the time limit has passed, in which case it returns `None`. If the process was
/// stopped in the meantime, the time limit starts again once, because a result may be available that could not be read.
pub async fn timeout_while_running<T>(
    limit: Duration,
    future: impl Future<Output = T>,
) -> Option<T> {
    let mut future = pin!(future);
    let started = Instant::now();
    if let Ok(done) = timeout(limit, &mut future).await {
        return Some(done);
    }
    if started.elapsed() < limit.saturating_add(STOPPED_PROCESS_DELAY) {
        return None;
    }
    timeout(limit, future).await.ok()
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    const LIMIT: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn a_result_that_arrives_while_the_process_is_stopped_counts() {
        let (sender, result) = oneshot::channel();
        tokio::spawn(async move {
            // Nothing else runs in the meantime.
            std::thread::park_timeout(LIMIT + STOPPED_PROCESS_DELAY * 2);
            tokio::task::yield_now().await;
            sender.send(1)
        });
        assert_eq!(timeout_while_running(LIMIT, result).await, Some(Ok(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_result_the_limit_applies() {
        let started = Instant::now();
        let never = std::future::pending::<()>();
        assert_eq!(timeout_while_running(LIMIT, never).await, None);
        assert!(started.elapsed() < LIMIT * 2);
    }
}
