//! Patience with a store that is away: what has happened is recorded when it is back.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use crate::context::{StoreFuture, StoreRefusal};

/// Maximum time to keep repeating an operation.
const PATIENCE: Duration = Duration::from_mins(1);
/// Time after which an operation is repeated because the store has not answered. A reply to it is then lost.
const NO_ANSWER: Duration = Duration::from_secs(10);
/// Time before the first repetition. It doubles with each failure.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const MAX_RETRY: Duration = Duration::from_secs(2);

/// The error of an operation on a store.
pub(crate) type StoreError = Box<dyn std::error::Error + Send + Sync>;

/// Repeats an operation until the store carries it out or refuses it, for at most a minute. Repeating the operation
/// must have no further effect.
pub(crate) async fn patiently<'a, T>(
    mut operation: impl FnMut() -> StoreFuture<'a, T>,
) -> Result<T, StoreError> {
    let until = Instant::now() + PATIENCE;
    let mut pause = FIRST_RETRY;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let error = match timeout(NO_ANSWER.min(left), operation()).await {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(error)) => error,
            Err(_) => "the store does not answer".into(),
        };
        if is_refused(&error) || Instant::now() + pause >= until {
            return Err(error);
        }
        tracing::warn!(%error, "the store for `once` has failed; the operation is repeated");
        sleep(pause).await;
        pause = pause.saturating_mul(2).min(MAX_RETRY);
    }
}

/// Returns `true` if repeating the operation does not help.
pub(crate) fn is_refused(error: &StoreError) -> bool {
    error.is::<StoreRefusal>()
}
