//! A cache of results, in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::middleware::{Call, CallOutput, MiddlewareFuture, Next};

/// Maximum number of results. When exceeded, the oldest is dropped.
const MAX_RESULTS: usize = 1_024;

/// Creates middleware that keeps results for `ttl` and answers the same call from memory.
///
/// `key` determines which callers share a result: it is used for all calls with the same key, name and arguments. A call
/// for which it returns `None` is not cached. Return the same text for all callers only if the result depends on
/// nothing but the arguments; otherwise, return [`Principal::key`](crate::Principal::key) or the tenant.
///
/// ```
/// use std::time::Duration;
///
/// use mcp_runtime::middleware::cache;
///
/// let server = mcp_runtime::new_server!()
///     .middleware(cache(Duration::from_secs(60), |call| match call.name() {
///         "exchange_rates" => Some(String::new()), // the same for all callers
///         "my_orders" => call.principal().map(|who| who.key().to_owned()),
///         _ => None,
///     }));
/// ```
///
/// Failures are not cached, and neither are results that an [extension](crate::extension) defines. The same holds for
/// results of handlers that have asked the client in 2026-07-28; do not cache those of handlers that ask in earlier
/// versions. At most 1,024 results are kept, in this process.
pub fn cache(
    ttl: Duration,
    key: impl Fn(&Call) -> Option<String> + Send + Sync + 'static,
) -> impl Fn(Call, Next) -> MiddlewareFuture + Send + Sync + 'static {
    let results = Arc::new(Mutex::new(HashMap::<String, (CallOutput, Instant)>::new()));
    move |call, next| {
        let key = key(&call).filter(|_| call.round() == 1);
        let key = key.map(|key| full_key(&call, &key));
        let results = Arc::clone(&results);
        Box::pin(async move {
            let lock = || results.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(key) = key else {
                return next.run(call).await;
            };
            if let Some((output, since)) = lock().get(&key)
                && since.elapsed() < ttl
            {
                return Ok(output.clone());
            }
            let output = next.run(call).await?;
            if may_be_shared(&output) {
                let mut results = lock();
                results.retain(|_, (_, since)| since.elapsed() < ttl);
                if results.len() >= MAX_RESULTS {
                    let oldest = results.iter().min_by_key(|(_, (_, since))| *since);
                    let oldest = oldest.map(|(key, _)| key.clone());
                    oldest.and_then(|oldest| results.remove(&oldest));
                }
                results.insert(key, (output.clone(), Instant::now()));
            }
            Ok(output)
        })
    }
}

/// Returns `true` if another caller may get the result. A result that an extension defines is for clients that have declared
/// the extension, so it stays with the call that it answers.
fn may_be_shared(output: &CallOutput) -> bool {
    match output {
        CallOutput::Tool(result) => !result.is_error,
        CallOutput::Prompt(_) | CallOutput::Resource(_) | CallOutput::Completion(_) => true,
        CallOutput::Extension(_) | CallOutput::List(_) => false,
    }
}

/// Returns the key of a result. No part of it can be mistaken for another one.
fn full_key(call: &Call, key: &str) -> String {
    let arguments = serde_json::to_string(&call.arguments().0).unwrap_or_default();
    let completed = call.completed_argument();
    format!(
        "{:?}",
        (call.kind(), call.name(), completed, key, arguments)
    )
}
