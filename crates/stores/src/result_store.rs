//! The trait for stores of results that are too large to be sent in one piece.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use mcp_core::context::StoreFuture;
use mcp_core::limits::ResultLimits;
use mcp_core::random::RandomId;
use mcp_core::sync::lock;
use tokio::time::Instant;

use crate::ExpiryOrder;

/// The id of a kept result: 192 random bits, as 32 characters of URL-safe base64. It is never reused.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResultId(RandomId);

impl ResultId {
    /// Creates an id from bytes of the operating system's random number generator.
    #[must_use]
    pub fn random() -> Self {
        Self(RandomId::random())
    }

    /// Parses an id. Returns `None` if the text is not a valid id.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        RandomId::parse(text).map(Self)
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for ResultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Shows only the first characters, because any anonymous caller who knows the id of an anonymous caller's result can
/// read the result.
impl fmt::Debug for ResultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResultId({:?})", self.0)
    }
}

/// A result that is kept for its caller. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptResult {
    /// The id.
    pub id: ResultId,
    /// The key of the caller who owns the result ([`Caller::key`](mcp_core::context::Caller::key)).
    pub owner: Arc<str>,
    /// A short description of the result, as text that is opaque to stores.
    pub about: Arc<str>,
    /// The result: JSON or plain text.
    pub text: Arc<str>,
}

impl KeptResult {
    /// Creates a result with a new id.
    #[must_use]
    pub fn new(
        owner: impl Into<Arc<str>>,
        about: impl Into<Arc<str>>,
        text: impl Into<Arc<str>>,
    ) -> Self {
        Self::stored(ResultId::random(), owner, about, text)
    }

    /// Creates a result as read from a store.
    #[must_use]
    pub fn stored(
        id: ResultId,
        owner: impl Into<Arc<str>>,
        about: impl Into<Arc<str>>,
        text: impl Into<Arc<str>>,
    ) -> Self {
        Self {
            id,
            owner: owner.into(),
            about: about.into(),
            text: text.into(),
        }
    }

    /// Returns the size in bytes, for stores that limit it.
    #[must_use]
    pub fn size(&self) -> usize {
        self.owner.len() + self.about.len() + self.text.len()
    }
}

impl fmt::Debug for KeptResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptResult")
            .field("id", &self.id)
            .field("bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}

/// A store for results that are too large to send in one piece, for
/// [`Backend::results`](crate::Backend::results).
///
/// **Open**: implement it on a database that all instances of a server share, so that a result can be read through any
/// of them. [`Backend::check`](crate::Backend::check) (feature `testing`) tests whether an implementation
/// follows the rules:
///
/// - A result can be found from the time it is kept until its time to live expires, and never after that.
/// - A result never changes.
/// - A store that is full refuses further results rather than dropping others, so that no caller can displace
///   another caller's results.
///
/// An error means that the store is not working, for example because it cannot be reached. The error is logged, and the
/// result is not kept. Each method must be safe to drop at any `await`.
pub trait ResultStore: Send + Sync + 'static {
    /// Keeps a result for this duration. Returns `false` if there is no room for it.
    fn keep(&self, result: KeptResult, ttl: Duration) -> StoreFuture<'_, bool>;

    /// Returns the result with this id, unless it does not exist or its time to live has ended.
    fn load<'a>(&'a self, id: &'a ResultId) -> StoreFuture<'a, Option<KeptResult>>;

    /// Deletes all results of a caller. Returns the number of deleted results.
    fn delete_all<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, usize>;
}

// --- The store that keeps results in this process.

/// An in-memory store, which is sufficient for a server that runs as a single instance. Its results are lost when the
/// server restarts.
///
/// The store is bounded by [`limits.results`](mcp_core::limits::Limits): the size of the results per caller and in total. Results
/// whose time to live has expired are removed the next time the store is used.
#[derive(Debug)]
pub struct MemoryResultStore {
    limits: ResultLimits,
    table: Mutex<ResultTable>,
}

#[derive(Debug, Default)]
struct ResultTable {
    /// The results, with the time at which each one expires.
    results: HashMap<ResultId, (KeptResult, Instant)>,
    by_expiry: ExpiryOrder<ResultId>,
    /// The size of each caller's results. Callers without results have no entry.
    by_owner: HashMap<Arc<str>, usize>,
    bytes: usize,
}

impl ResultTable {
    fn remove(&mut self, id: &ResultId) {
        let Some((result, expires)) = self.results.remove(id) else {
            return;
        };
        self.by_expiry.remove(expires, id);
        let size = result.size();
        self.bytes = self.bytes.saturating_sub(size);
        if let Some(bytes) = self.by_owner.get_mut(&result.owner) {
            *bytes = bytes.saturating_sub(size);
            if *bytes == 0 {
                self.by_owner.remove(&result.owner);
            }
        }
    }
}

impl Default for MemoryResultStore {
    fn default() -> Self {
        Self::new(ResultLimits::default())
    }
}

impl MemoryResultStore {
    /// Creates an empty store with these limits.
    #[must_use]
    pub fn new(limits: ResultLimits) -> Self {
        Self {
            limits,
            table: Mutex::default(),
        }
    }

    /// Returns the table without the results whose time to live has ended.
    fn table(&self) -> MutexGuard<'_, ResultTable> {
        let mut table = lock(&self.table);
        let now = Instant::now();
        while let Some(id) = table.by_expiry.pop_expired(now) {
            table.remove(&id);
        }
        table
    }

    fn keep_now(&self, result: KeptResult, ttl: Duration) -> Result<bool, &'static str> {
        let table = &mut *self.table();
        if table.results.contains_key(&result.id) {
            return Err("the id of a new result is in use");
        }
        let size = result.size();
        let of_owner = table.by_owner.get(&result.owner).copied();
        if of_owner.unwrap_or_default().saturating_add(size) > self.limits.max_bytes_per_caller
            || table.bytes.saturating_add(size) > self.limits.max_bytes
        {
            return Ok(false);
        }
        let Some(expires) = Instant::now().checked_add(ttl) else {
            return Err("a result's time to live exceeds the clock's range");
        };
        table.bytes = table.bytes.saturating_add(size);
        let of_owner = table.by_owner.entry(Arc::clone(&result.owner)).or_default();
        *of_owner = of_owner.saturating_add(size);
        table.by_expiry.insert(expires, result.id.clone());
        table.results.insert(result.id.clone(), (result, expires));
        Ok(true)
    }
}

impl ResultStore for MemoryResultStore {
    fn keep(&self, result: KeptResult, ttl: Duration) -> StoreFuture<'_, bool> {
        let kept = self.keep_now(result, ttl).map_err(Into::into);
        Box::pin(async { kept })
    }

    fn load<'a>(&'a self, id: &'a ResultId) -> StoreFuture<'a, Option<KeptResult>> {
        let found = self.table().results.get(id).map(|(kept, _)| kept.clone());
        Box::pin(async { Ok(found) })
    }

    fn delete_all<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, usize> {
        let table = &mut *self.table();
        let kept = table.results.values();
        let kept = kept.filter(|(result, _)| *result.owner == *owner);
        let ids: Vec<_> = kept.map(|(result, _)| result.id.clone()).collect();
        for id in &ids {
            table.remove(id);
        }
        Box::pin(async move { Ok(ids.len()) })
    }
}

#[cfg(test)]
mod tests {
    use crate::result_store::*;

    #[tokio::test(start_paused = true)]
    async fn a_full_store_has_room_again_when_results_have_expired() {
        let mut limits = ResultLimits::default();
        (limits.max_bytes, limits.max_bytes_per_caller) = (30, 20);
        let store = MemoryResultStore::new(limits);
        let keep = |owner: &str, bytes: usize, ttl: u64| {
            let result = KeptResult::new(owner, "", "x".repeat(bytes));
            store.keep_now(result, Duration::from_secs(ttl))
        };
        assert_eq!(keep("a", 19, 10), Ok(true));
        assert_eq!(keep("a", 0, 10), Ok(false), "one caller has 20 bytes");
        assert_eq!(keep("b", 10, 10), Ok(false), "all have 30 bytes");
        assert_eq!(keep("b", 9, 60), Ok(true));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(keep("a", 19, 10), Ok(true));
        assert_eq!(store.delete_all("a").await.unwrap(), 1);
        let table = store.table();
        let bytes: Vec<_> = table.by_owner.values().copied().collect();
        assert_eq!(
            (table.bytes, bytes, table.by_expiry.len()),
            (10, vec![10], 1)
        );
    }
}
