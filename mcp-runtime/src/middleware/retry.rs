//! Retries with backoff.

use std::sync::Arc;
use std::time::Duration;

use crate::HandlerError;
use crate::middleware::{Call, MiddlewareFuture, Next};

/// Time before the first retry. The time doubles with each further retry, up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Creates middleware that runs a handler again if it fails with an error for which `is_temporary` returns `true`, up
/// to `attempts` times in total.
///
/// The pauses between the attempts are 100 ms, 200 ms, 400 ms and so on, up to 10 s, each randomly shortened by up to
/// half. They count toward the call's timeout, and a cancelled call is not retried.
///
/// ```
/// use mcp_runtime::middleware::retry;
///
/// let server = mcp_runtime::new_server!().middleware(retry(3, |call, error| {
///     let cause = error.cause().and_then(|cause| cause.downcast_ref::<std::io::Error>());
///     call.name() == "search" && cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::TimedOut)
/// }));
/// ```
///
/// Retry only handlers that may run twice: those that only read data, and those whose effects are wrapped in
/// [`once`](crate::Context::once). Work in `once` that has succeeded is not repeated, and a question that the client
/// has answered is not asked again.
pub fn retry(
    attempts: u32,
    is_temporary: impl Fn(&Call, &HandlerError) -> bool + Send + Sync + 'static,
) -> impl Fn(Call, Next) -> MiddlewareFuture + Send + Sync + 'static {
    let is_temporary = Arc::new(is_temporary);
    move |call, next| {
        let is_temporary = Arc::clone(&is_temporary);
        Box::pin(async move {
            let mut pause = FIRST_PAUSE;
            for _ in 1..attempts {
                match next.clone().run(call.clone()).await {
                    Err(error) if is_temporary(&call, &error) => {}
                    output => return output,
                }
                tokio::time::sleep(shortened(pause)).await;
                pause = pause.saturating_mul(2).min(MAX_PAUSE);
            }
            next.run(call).await
        })
    }
}

/// Randomly shortens a pause by up to half, so that calls that failed together are not retried together.
fn shortened(pause: Duration) -> Duration {
    let half = pause / 2;
    let [random] = crate::random::random();
    half + half.mul_f64(f64::from(random) / 255.0)
}
