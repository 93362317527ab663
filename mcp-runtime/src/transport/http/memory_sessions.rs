//! Sessions kept in the memory of this process.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::record::SessionRecord;
use super::session_store::{MaybeReady, SessionStore};
use crate::limits::Limits;

/// How often sessions whose time is over are looked for, in microseconds.
const SWEEP: u64 = 5_000_000;

/// Keeps sessions in the memory of this process: what servers do by themselves, and servers in one process can share.
///
/// Holds at most [`Limits::sessions`], and of each principal at most [`Limits::principal_sessions`]. Beyond, the one that was
/// idle longest, of that principal, ends for a new one, but none of which calls run.
pub struct MemorySessions {
    table: Mutex<Table>,
    began: Instant,
    most: usize,
    most_each: usize,
}

#[derive(Default)]
struct Table {
    entries: HashMap<Box<str>, Entry>,
    swept: u64,
}

/// Times are microseconds since the start, which take half the room of an instant.
struct Entry {
    record: Arc<SessionRecord>,
    used: u64,
    until: u64,
}

impl MemorySessions {
    /// Without any session yet.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            table: Mutex::default(),
            began: Instant::now(),
            most: limits.sessions.max(1),
            most_each: limits.principal_sessions.max(1),
        }
    }

    /// The table, with what is in it still, and the time.
    fn table(&self) -> (MutexGuard<'_, Table>, u64) {
        let now = microseconds(self.began.elapsed());
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_sub(table.swept) > SWEEP {
            table.swept = now;
            table.entries.retain(|_, entry| now <= entry.until);
        }
        (table, now)
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl Table {
    fn get(&mut self, id: &str, now: u64) -> Option<&mut Entry> {
        self.entries.get_mut(id).filter(|entry| now <= entry.until)
    }

    /// How many sessions a principal has.
    fn owned(&self, owner: &str) -> usize {
        let entries = self.entries.values();
        entries
            .filter(|entry| entry.record.owner() == Some(owner))
            .count()
    }

    /// Ends the session that was idle longest, of this principal if one is named; `false` if none is idle.
    fn make_room(&mut self, owner: Option<&str>, in_use: &dyn Fn(&str) -> bool) -> bool {
        let idle = self.entries.iter().filter(|(id, entry)| {
            (owner.is_none() || entry.record.owner() == owner) && !in_use(id)
        });
        let oldest = idle.min_by_key(|(_, entry)| entry.used);
        let oldest = oldest.map(|(id, _)| id.clone());
        oldest.is_some_and(|id| self.entries.remove(&id).is_some())
    }
}

impl SessionStore for MemorySessions {
    fn insert<'a>(
        &'a self,
        id: &'a str,
        record: Arc<SessionRecord>,
        keep: Duration,
        in_use: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> MaybeReady<'a, bool> {
        let (mut table, now) = self.table();
        let owner = record.owner();
        let is_full = owner.is_some_and(|owner| table.owned(owner) >= self.most_each);
        if is_full && !table.make_room(owner, in_use)
            || table.entries.len() >= self.most && !table.make_room(None, in_use)
        {
            return MaybeReady::ready(false);
        }
        let entry = Entry {
            record,
            used: now,
            until: now.saturating_add(microseconds(keep)),
        };
        table.entries.insert(id.into(), entry);
        MaybeReady::ready(true)
    }

    fn load<'a>(
        &'a self,
        id: &'a str,
        keep: Duration,
    ) -> MaybeReady<'a, Option<Arc<SessionRecord>>> {
        let (mut table, now) = self.table();
        let entry = table.get(id, now).map(|entry| {
            if !keep.is_zero() {
                entry.used = now;
                entry.until = entry.until.max(now.saturating_add(microseconds(keep)));
            }
            Arc::clone(&entry.record)
        });
        MaybeReady::ready(entry)
    }

    fn save<'a>(&'a self, id: &'a str, record: Arc<SessionRecord>) -> MaybeReady<'a, bool> {
        let (mut table, now) = self.table();
        let before = record.changes().saturating_sub(1);
        let entry = table.get(id, now);
        let entry = entry.filter(|entry| entry.record.changes() == before);
        let is_there = entry.map(|entry| entry.record = record).is_some();
        MaybeReady::ready(is_there)
    }

    fn remove<'a>(&'a self, id: &'a str) -> MaybeReady<'a, bool> {
        let (mut table, now) = self.table();
        let removed = table.entries.remove(id);
        MaybeReady::ready(removed.is_some_and(|entry| now <= entry.until))
    }
}

impl fmt::Debug for MemorySessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySessions").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ProtocolVersion;

    fn known<T>(reply: MaybeReady<'_, T>) -> T {
        match reply {
            MaybeReady::Ready(value) => value.unwrap(),
            MaybeReady::Later(_) => panic!("it has to be waited for"),
        }
    }

    fn record() -> Arc<SessionRecord> {
        Arc::new(SessionRecord::unknown(ProtocolVersion::V2025_11_25))
    }

    fn store(sessions: usize) -> MemorySessions {
        MemorySessions::new(&Limits {
            sessions,
            ..Limits::default()
        })
    }

    const MINUTE: Duration = Duration::from_mins(1);

    #[tokio::test(start_paused = true)]
    async fn a_session_lasts_as_long_as_it_was_last_kept_for_and_never_shorter() {
        let store = store(10);
        let pass = |seconds| tokio::time::advance(Duration::from_secs(seconds));
        assert!(known(store.insert("a", record(), MINUTE, &|_| false)));
        pass(50).await;
        assert!(known(store.load("a", Duration::ZERO)).is_some());
        assert!(known(store.load("a", MINUTE)).is_some());
        pass(30).await;
        assert!(known(store.load("a", Duration::from_secs(1))).is_some());
        pass(29).await;
        assert!(known(store.load("a", Duration::ZERO)).is_some());
        pass(2).await;
        assert!(known(store.load("a", MINUTE)).is_none());
        assert!(!known(store.save("a", record())));
        assert!(!known(store.remove("a")));
        assert!(store.table.lock().unwrap().entries.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_idle_makes_room_but_none_that_is_in_use() {
        let store = store(2);
        let in_use = |busy: &'static [&'static str]| move |id: &str| busy.contains(&id);
        for id in ["a", "b"] {
            assert!(known(store.insert(id, record(), MINUTE, &in_use(&[]))));
            tokio::time::advance(Duration::from_millis(10)).await;
        }
        assert!(known(store.insert("c", record(), MINUTE, &in_use(&["a"]))));
        assert!(known(store.load("a", Duration::ZERO)).is_some());
        assert!(known(store.load("b", Duration::ZERO)).is_none());
        assert!(!known(store.insert(
            "d",
            record(),
            MINUTE,
            &in_use(&["a", "c"])
        )));
    }

    #[test]
    fn of_two_changes_of_one_record_one_is_refused() {
        let store = store(10);
        known(store.insert("a", record(), MINUTE, &|_| false));
        let change = super::super::record::Change::default();
        let next = Arc::new(record().changed(&change, 0));
        assert!(known(store.save("a", Arc::clone(&next))));
        assert!(!known(store.save("a", next)));
        assert!(known(store.remove("a")));
        assert!(!known(store.remove("a")));
    }
}
