//! The store that keeps work that is done only once in this process.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use mcp_core::context::{
    CallId, ClaimId, OnceClaim, OnceKind, OnceRoom, OnceStore, OnceWork, StoreFuture,
};
use mcp_core::limits::Limits;
use mcp_core::sync::lock;
use tokio::time::Instant;

use crate::ExpiryOrder;

/// Time for which a claim is kept, which is longer than a call can last by default.
const CLAIM_KEPT: Duration = Duration::from_hours(24);

/// An in-memory store, which is sufficient for a server that runs as a single instance. Its contents are lost when the
/// server restarts.
///
/// The store is bounded by `limits.once` and
/// `limits.idempotency`, per caller and in total. When it is full, new claims are
/// refused, because dropping entries would break the guarantee. Entries that have expired are removed the next time the
/// store is used.
#[derive(Debug)]
pub struct MemoryOnceStore {
    limits: Limits,
    table: Mutex<OnceTable>,
}

/// The call that does a piece of work, and the work's name.
type WorkKey = (CallId, Box<str>);

#[derive(Debug)]
struct OnceEntry {
    claim: ClaimId,
    kind: OnceKind,
    owner: Arc<str>,
    note: Box<str>,
    result: Option<Box<str>>,
    expires: Instant,
    size: usize,
}

/// The number and size of some entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Usage {
    entries: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct OnceTable {
    entries: BTreeMap<WorkKey, OnceEntry>,
    by_expiry: ExpiryOrder<WorkKey>,
    all: HashMap<OnceKind, Usage>,
    /// Callers without entries are not in the map.
    by_owner: HashMap<(OnceKind, Arc<str>), Usage>,
}

impl OnceTable {
    fn insert(&mut self, work: &OnceWork<'_>, result: Option<&str>, expires: Instant) {
        let entry = OnceEntry {
            claim: work.claim,
            kind: work.kind,
            owner: work.owner.into(),
            note: work.note.into(),
            result: result.map(Into::into),
            expires,
            size: work.size().saturating_add(result.map_or(0, str::len)),
        };
        let of_owner = (entry.kind, Arc::clone(&entry.owner));
        let all = self.all.entry(entry.kind).or_default();
        for usage in [all, self.by_owner.entry(of_owner).or_default()] {
            usage.entries = usage.entries.saturating_add(1);
            usage.bytes = usage.bytes.saturating_add(entry.size);
        }
        let key = key(work);
        self.by_expiry.insert(expires, key.clone());
        self.entries.insert(key, entry);
    }

    fn remove(&mut self, key: &WorkKey) -> Option<OnceEntry> {
        let entry = self.entries.remove(key)?;
        self.by_expiry.remove(entry.expires, key);
        let of_owner = (entry.kind, Arc::clone(&entry.owner));
        let all = self.all.get_mut(&entry.kind);
        for usage in all.into_iter().chain(self.by_owner.get_mut(&of_owner)) {
            usage.entries = usage.entries.saturating_sub(1);
            usage.bytes = usage.bytes.saturating_sub(entry.size);
        }
        if self.by_owner.get(&of_owner) == Some(&Usage::default()) {
            self.by_owner.remove(&of_owner);
        }
        Some(entry)
    }

    /// Returns the refusal of a claim for which there is no room.
    fn refusal(&self, work: &OnceWork<'_>, room: OnceRoom) -> Option<OnceClaim> {
        let is_over = |usage: Option<&Usage>, max_entries, max_bytes| {
            let usage = usage.copied().unwrap_or_default();
            usage.entries >= max_entries || usage.bytes.saturating_add(work.size()) > max_bytes
        };
        let of_owner = self.by_owner.get(&(work.kind, work.owner.into()));
        if is_over(
            of_owner,
            room.max_entries_per_caller,
            room.max_bytes_per_caller,
        ) {
            return Some(OnceClaim::CallerFull);
        }
        let all = self.all.get(&work.kind);
        is_over(all, room.max_entries, room.max_bytes).then_some(OnceClaim::Full)
    }
}

fn key(work: &OnceWork<'_>) -> WorkKey {
    (work.call, work.name.into())
}

impl Default for MemoryOnceStore {
    fn default() -> Self {
        Self::with_limits(&Limits::default())
    }
}

impl MemoryOnceStore {
    /// Creates an empty store with the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty store with these limits: `once` and `idempotency`.
    #[must_use]
    pub fn with_limits(limits: &Limits) -> Self {
        Self {
            limits: limits.clone(),
            table: Mutex::default(),
        }
    }

    /// Returns the table without the entries that have expired.
    fn table(&self) -> MutexGuard<'_, OnceTable> {
        let mut table = lock(&self.table);
        let now = Instant::now();
        while let Some(key) = table.by_expiry.pop_expired(now) {
            table.remove(&key);
        }
        table
    }

    fn claim(&self, work: &OnceWork<'_>) -> OnceClaim {
        let table = &mut *self.table();
        if let Some(entry) = table.entries.get(&key(work)) {
            return match &entry.result {
                Some(result) => OnceClaim::Done(result.to_string()),
                // The reply to the first claim was lost.
                None if entry.claim == work.claim => OnceClaim::Granted,
                None => OnceClaim::Taken(entry.note.to_string()),
            };
        }
        if let Some(refusal) = table.refusal(work, work.kind.room(&self.limits)) {
            return refusal;
        }
        table.insert(work, None, expiry(CLAIM_KEPT));
        OnceClaim::Granted
    }
}

/// Returns the time after this duration.
fn expiry(kept: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(kept).unwrap_or(now)
}

impl OnceStore for MemoryOnceStore {
    fn begin<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, OnceClaim> {
        let claim = self.claim(&work);
        Box::pin(async { Ok(claim) })
    }

    fn complete<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        let mut table = self.table();
        let key = key(&work);
        let known = table.entries.get(&key);
        if known.is_none_or(|entry| entry.result.is_none()) {
            let begun = table.remove(&key);
            // The entry stays in the share in which it was begun.
            let owner = begun.as_ref().map_or(work.owner, |begun| &begun.owner);
            let kind = begun.as_ref().map_or(work.kind, |begun| begun.kind);
            let work = OnceWork {
                owner,
                kind,
                ..work
            };
            table.insert(&work, Some(result), expiry(work.kept));
        }
        drop(table);
        Box::pin(async { Ok(()) })
    }

    fn abandon<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, ()> {
        let mut table = self.table();
        let key = key(&work);
        let known = table.entries.get(&key);
        if known.is_some_and(|entry| entry.result.is_none() && entry.claim == work.claim) {
            table.remove(&key);
        }
        drop(table);
        Box::pin(async { Ok(()) })
    }

    fn end(&self, call: CallId) -> StoreFuture<'_, ()> {
        let mut table = self.table();
        let of_call = table.entries.range((call, Box::default())..);
        let of_call = of_call.take_while(|((of, _), _)| *of == call);
        let keys: Vec<WorkKey> = of_call.map(|(key, _)| key.clone()).collect();
        for key in &keys {
            table.remove(key);
        }
        drop(table);
        Box::pin(async { Ok(()) })
    }

    fn forget<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        let mut table = self.table();
        let key = key(&work);
        let stored = table.entries.get(&key);
        if stored.and_then(|entry| entry.result.as_deref()) == Some(result) {
            table.remove(&key);
        }
        drop(table);
        Box::pin(async { Ok(()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(owner: &str, kept: Duration) -> OnceWork<'_> {
        OnceWork {
            call: CallId::from_bytes(mcp_core::random::random()),
            name: "pay",
            claim: ClaimId::random(),
            owner,
            kind: OnceKind::STEP,
            note: "",
            kept,
        }
    }

    #[cfg(feature = "testing")]
    #[tokio::test]
    async fn each_caller_has_a_share_of_the_entries_and_bytes() {
        let limits = crate::few_once_entries();
        crate::check_once_limits(&MemoryOnceStore::with_limits(&limits)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn expired_once_entries_free_their_space() {
        let limits = Limits::default().with(|limits| limits.once.max_steps = 2);
        let store = MemoryOnceStore::with_limits(&limits);
        let (done, begun) = (
            work("a", Duration::from_mins(1)),
            work("b", Duration::from_mins(1)),
        );
        for work in [done, begun] {
            assert_eq!(store.begin(work).await.unwrap(), OnceClaim::Granted);
        }
        store.complete(done, "1").await.unwrap();
        let next = work("c", Duration::from_mins(1));
        assert_eq!(store.begin(next).await.unwrap(), OnceClaim::Full);
        tokio::time::advance(Duration::from_mins(1)).await;
        assert_eq!(store.begin(next).await.unwrap(), OnceClaim::Granted);
        let again = OnceWork {
            claim: ClaimId::random(),
            ..begun
        };
        let claim = store.begin(again).await.unwrap();
        let text = "a claim does not expire with the time for its result";
        assert_eq!(claim, OnceClaim::Taken(String::new()), "{text}");
        tokio::time::advance(CLAIM_KEPT).await;
        assert_eq!(store.begin(again).await.unwrap(), OnceClaim::Granted);
        let table = store.table();
        let used = (table.all[&OnceKind::STEP].entries, table.by_owner.len());
        assert_eq!((used, table.by_expiry.len()), ((1, 1), 1));
    }

    #[tokio::test]
    async fn the_end_of_a_call_frees_its_once_entries() {
        let store = MemoryOnceStore::new();
        let (one, other) = (
            work("a", Duration::from_mins(1)),
            work("a", Duration::from_mins(1)),
        );
        for work in [
            one,
            OnceWork {
                name: "mail",
                ..one
            },
            other,
        ] {
            assert_eq!(store.begin(work).await.unwrap(), OnceClaim::Granted);
        }
        store.end(one.call).await.unwrap();
        let table = store.table();
        let left: Vec<_> = table.entries.keys().map(|(call, _)| *call).collect();
        assert_eq!(left, [other.call]);
    }
}
