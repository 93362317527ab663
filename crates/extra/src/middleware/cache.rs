//! An in-memory cache of results.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_core::sync::lock;
use serde::Serialize;
use tokio::time::Instant;

use crate::middleware::{Call, CallOutput, Kind, Middleware, Next};

/// Maximum size of all results and their keys. When this size is exceeded, the oldest results are dropped.
const MAX_BYTES: usize = 64 << 20;

/// Creates middleware that keeps results for `ttl` and answers identical calls from memory.
///
/// `key` determines which callers share a result: all calls with the same key, name and arguments get the same result.
/// A call for which it returns `None` is not cached. Return the same text for all callers only if the result depends
/// solely on the arguments; otherwise, return [`Principal::key`](mcp_core::context::Principal::key) or the tenant.
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
/// Neither failures nor results defined by an extension are cached. In 2026-07-28, results of
/// handlers that have asked the client a question are not cached either. In earlier versions, do not cache the results
/// of handlers that ask questions.
///
/// Results are kept in this process. Together with their arguments, they may occupy up to 64 MiB, measured as JSON;
/// when this is exceeded, the oldest results are dropped.
pub fn cache(
    ttl: Duration,
    key: impl Fn(&Call) -> Option<String> + Send + Sync + 'static,
) -> impl Middleware {
    let results = Arc::new(Mutex::new(CachedResults::new(ttl, MAX_BYTES)));
    move |call: Call, next: Next| {
        let key = key(&call).filter(|_| call.round() == 1);
        let key = key.map(|key| CacheKey::new(&call, key));
        let results = Arc::clone(&results);
        async move {
            let Some(key) = key else {
                return next.run(call).await;
            };
            if let Some(output) = lock(&results).get(&key) {
                return Ok(output);
            }
            let output = next.run(call).await?;
            if let Some(bytes) = size_to_share(&output) {
                lock(&results).insert(key, output.clone(), bytes);
            }
            Ok(output)
        }
    }
}

/// Identifies calls that have the same result.
#[derive(PartialEq, Eq, Hash)]
struct CacheKey {
    kind: Kind,
    name: String,
    completed_argument: Option<String>,
    arguments: String,
    /// The text shared by all callers that may receive the same result.
    shared_by: String,
}

impl CacheKey {
    fn new(call: &Call, shared_by: String) -> Self {
        Self {
            kind: call.kind(),
            name: call.name().to_owned(),
            completed_argument: call.completed_argument().map(str::to_owned),
            arguments: serde_json::to_string(&call.arguments().0).unwrap_or_default(),
            shared_by,
        }
    }

    fn size_in_bytes(&self) -> usize {
        let completed = self.completed_argument.as_ref().map_or(0, String::len);
        [&self.name, &self.arguments, &self.shared_by]
            .iter()
            .fold(completed, |bytes, text| bytes.saturating_add(text.len()))
    }
}

/// The cached results.
struct CachedResults {
    ttl: Duration,
    max_bytes: usize,
    by_key: HashMap<Arc<CacheKey>, CachedResult>,
    oldest_first: VecDeque<Arc<CacheKey>>,
    /// Size of all results and their keys.
    bytes: usize,
}

struct CachedResult {
    output: CallOutput,
    since: Instant,
    /// Size of the result and its key.
    bytes: usize,
}

impl CachedResults {
    /// Overhead added to the text size of each result.
    const OVERHEAD: usize = 512;

    fn new(ttl: Duration, max_bytes: usize) -> Self {
        Self {
            ttl,
            max_bytes,
            by_key: HashMap::new(),
            oldest_first: VecDeque::new(),
            bytes: 0,
        }
    }

    fn get(&self, key: &CacheKey) -> Option<CallOutput> {
        let result = self.by_key.get(key)?;
        (result.since.elapsed() < self.ttl).then(|| result.output.clone())
    }

    /// Keeps a result of this size, unless it exceeds the limit for all results.
    fn insert(&mut self, key: CacheKey, output: CallOutput, bytes: usize) {
        let sizes = [bytes, key.size_in_bytes(), Self::OVERHEAD];
        let bytes = sizes.into_iter().fold(0, usize::saturating_add);
        let Some(room) = self.max_bytes.checked_sub(bytes) else {
            return;
        };
        let ttl = self.ttl;
        self.drop_oldest_while(|results, oldest| {
            results.bytes > room || oldest.since.elapsed() >= ttl
        });
        if self.by_key.contains_key(&key) {
            // A concurrent call has already stored its result.
            return;
        }
        let key = Arc::new(key);
        self.oldest_first.push_back(Arc::clone(&key));
        self.bytes = self.bytes.saturating_add(bytes);
        let since = Instant::now();
        self.by_key.insert(
            key,
            CachedResult {
                output,
                since,
                bytes,
            },
        );
    }

    fn drop_oldest_while(&mut self, is_dropped: impl Fn(&Self, &CachedResult) -> bool) {
        while let Some(oldest) = self.oldest_first.front()
            && let Some(result) = self.by_key.get(oldest)
            && is_dropped(self, result)
        {
            self.bytes = self.bytes.saturating_sub(result.bytes);
            self.by_key.remove(oldest);
            self.oldest_first.pop_front();
        }
    }
}

/// Returns the size of a result that other callers may receive, or `None` for a failure or a result for clients that
/// have declared an extension, which must not be shared.
fn size_to_share(output: &CallOutput) -> Option<usize> {
    match output {
        CallOutput::Tool(result) if result.is_error => None,
        CallOutput::Tool(result) => json_bytes(result),
        CallOutput::Prompt(result) => json_bytes(result),
        CallOutput::Resource(result) => json_bytes(result),
        CallOutput::Completion(candidates) => json_bytes(&candidates.values),
        _ => None,
    }
}

/// Returns the size of a value as JSON, or `None` if it cannot be written.
fn json_bytes(value: &impl Serialize) -> Option<usize> {
    let mut counter = ByteCounter(0);
    serde_json::to_writer(&mut counter, value).ok()?;
    Some(counter.0)
}

/// A writer that only counts bytes.
struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mcp_protocol::types::CallToolResult;

    use super::*;

    fn key(arguments: usize) -> CacheKey {
        CacheKey {
            kind: Kind::Tool,
            name: "find".into(),
            completed_argument: None,
            arguments: format!("{arguments:0100}"),
            shared_by: String::new(),
        }
    }

    fn insert(results: &mut CachedResults, number: usize, text: &str) {
        let output = CallOutput::Tool(CallToolResult::text(text));
        let bytes = size_to_share(&output).unwrap();
        results.insert(key(number), output, bytes);
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_results_make_room_for_new_ones() {
        let mut results = CachedResults::new(Duration::from_mins(1), 100_000);
        let text = "x".repeat(10_000);
        for number in 0..100 {
            insert(&mut results, number, &text);
            assert!(results.bytes <= results.max_bytes, "{}", results.bytes);
            assert_eq!(results.by_key.len(), results.oldest_first.len());
        }
        let kept = |number| results.get(&key(number)).is_some();
        assert_eq!((90..100).map(kept).filter(|kept| *kept).count(), 9);
        assert!(!kept(90));
        // Keys count toward the size as well, and many small results add up.
        for number in 100..1_000 {
            insert(&mut results, number, "");
        }
        assert!(results.by_key.len() < 100_000 / (100 + CachedResults::OVERHEAD));
        // A result larger than the entire cache is not kept, and no other result is dropped to make room for it.
        let before = results.by_key.len();
        insert(&mut results, 1_000, &"x".repeat(100_000));
        assert_eq!(results.by_key.len(), before);
        assert!(results.get(&key(1_000)).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn expired_cached_results_are_replaced_and_free_their_bytes() {
        let mut results = CachedResults::new(Duration::from_mins(1), 100_000);
        insert(&mut results, 1, "old");
        let bytes = results.bytes;
        insert(&mut results, 1, "of a call that ran at the same time");
        assert_eq!(results.bytes, bytes);
        tokio::time::advance(Duration::from_mins(1)).await;
        assert!(results.get(&key(1)).is_none());
        insert(&mut results, 1, "new");
        assert_eq!((results.bytes, results.oldest_first.len()), (bytes, 1));
        let Some(CallOutput::Tool(result)) = results.get(&key(1)) else {
            panic!("it was just inserted");
        };
        assert_eq!(result.content, CallToolResult::text("new").content);
    }
}
