//! Sessions kept in the memory of this process.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::http::stores::maybe_ready::MaybeReady;
use crate::http::stores::record::SessionRecord;
use crate::http::stores::session_id::ById;
use crate::http::stores::session_store::SessionStore;
use crate::limits::Limits;
use crate::lock::lock;

/// Interval between searches for expired sessions, in microseconds.
const SWEEP: u64 = 5_000_000;
/// Each time all sessions are examined, about one in every `SHARE` sessions is recorded as idle.
const SHARE: usize = 16;

/// Keeps sessions in the memory of this process. This is the default store; servers in the same process can share one.
///
/// Holds at most `limits.sessions.max_sessions` sessions in total and `limits.sessions.max_per_principal` for each
/// principal. If a limit would be exceeded, the store makes room by ending the session that has been idle longest. For
/// the second limit, it considers only the principal's own sessions. Sessions with running calls are never ended this
/// way.
pub struct MemorySessions {
    table: Mutex<SessionTable>,
    began: Instant,
    max_sessions: usize,
    max_per_principal: usize,
}

#[derive(Default)]
struct SessionTable {
    entries: ById<Box<str>, MemorySessionEntry>,
    /// The sessions that had been idle longest when all sessions were last examined, each with the time of its last
    /// use. The session that had been idle longest comes last.
    idle: Vec<(u64, Box<str>)>,
    /// Each principal's sessions, possibly including ended ones.
    owned: HashMap<Box<str>, Vec<Box<str>>>,
    swept: u64,
}

/// A session. Times are stored as microseconds since the store was created, which takes half the space of an `Instant`.
struct MemorySessionEntry {
    record: Arc<SessionRecord>,
    used: u64,
    until: u64,
}

impl MemorySessions {
    /// Creates an empty store.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            table: Mutex::default(),
            began: Instant::now(),
            max_sessions: limits.sessions.max_sessions.max(1),
            max_per_principal: limits.sessions.max_per_principal.max(1),
        }
    }

    /// Locks the table, removes expired entries if a sweep is due, and returns the table and the current time.
    fn lock_table(&self) -> (MutexGuard<'_, SessionTable>, u64) {
        let now = to_microseconds(self.began.elapsed());
        let mut table = lock(&self.table);
        if now.saturating_sub(table.swept) > SWEEP {
            table.swept = now;
            let SessionTable { entries, owned, .. } = &mut *table;
            entries.retain(|_, entry| now <= entry.until);
            owned.retain(|_, ids| {
                ids.retain(|id| entries.contains_key(id));
                !ids.is_empty()
            });
        }
        (table, now)
    }
}

fn to_microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl SessionTable {
    fn get(&mut self, id: &str, now: u64) -> Option<&mut MemorySessionEntry> {
        self.entries.get_mut(id).filter(|entry| now <= entry.until)
    }

    /// Ends the session that has been idle longest. Returns `false` if no session is idle.
    fn make_room(&mut self, in_use: &dyn Fn(&str) -> bool) -> bool {
        if self.end_idle(in_use) {
            return true;
        }
        let idle = self.entries.iter().filter(|(id, _)| !in_use(id));
        let mut idle: Vec<_> = idle.map(|(id, entry)| (entry.used, id)).collect();
        let share = idle.len() / SHARE;
        if share > 0 {
            idle.select_nth_unstable(share);
            idle.truncate(share + 1);
        }
        idle.sort_unstable_by(|one, other| other.cmp(one));
        self.idle = idle
            .into_iter()
            .map(|(used, id)| (used, id.clone()))
            .collect();
        self.end_idle(in_use)
    }

    /// Like `make_room`, but considers only the sessions recorded as idle and not used since. All other sessions were
    /// used more recently.
    fn end_idle(&mut self, in_use: &dyn Fn(&str) -> bool) -> bool {
        while let Some((used, id)) = self.idle.pop() {
            let entry = self.entries.get(&id);
            if entry.is_some_and(|entry| entry.used == used) && !in_use(&id) {
                return self.entries.remove(&id).is_some();
            }
        }
        false
    }

    /// Makes room for another session for a principal that may have up to `max` sessions. Returns `false` if all of the
    /// principal's sessions are in use.
    fn make_room_for_owner(
        &mut self,
        owner: &str,
        max: usize,
        in_use: &dyn Fn(&str) -> bool,
    ) -> bool {
        let Some(ids) = self.owned.get_mut(owner) else {
            return true;
        };
        ids.retain(|id| self.entries.contains_key(id));
        if ids.len() < max {
            return true;
        }
        let idle = ids.iter().filter(|id| !in_use(id));
        let oldest = idle.min_by_key(|id| self.entries.get(*id).map(|entry| entry.used));
        oldest.is_some_and(|id| self.entries.remove(id).is_some())
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
        let (mut table, now) = self.lock_table();
        let owner = record.owner();
        if !owner
            .is_none_or(|owner| table.make_room_for_owner(owner, self.max_per_principal, in_use))
        {
            return MaybeReady::ready(false);
        }
        if table.entries.len() >= self.max_sessions && !table.make_room(in_use) {
            return MaybeReady::ready(false);
        }
        if let Some(owner) = owner {
            table.owned.entry(owner.into()).or_default().push(id.into());
        }
        let entry = MemorySessionEntry {
            record,
            used: now,
            until: now.saturating_add(to_microseconds(keep)),
        };
        table.entries.insert(id.into(), entry);
        MaybeReady::ready(true)
    }

    fn load<'a>(
        &'a self,
        id: &'a str,
        keep: Duration,
    ) -> MaybeReady<'a, Option<Arc<SessionRecord>>> {
        let (mut table, now) = self.lock_table();
        let entry = table.get(id, now).map(|entry| {
            if !keep.is_zero() {
                entry.used = now;
                entry.until = entry.until.max(now.saturating_add(to_microseconds(keep)));
            }
            Arc::clone(&entry.record)
        });
        MaybeReady::ready(entry)
    }

    fn save<'a>(&'a self, id: &'a str, record: Arc<SessionRecord>) -> MaybeReady<'a, bool> {
        let (mut table, now) = self.lock_table();
        let before = record.changes().saturating_sub(1);
        let entry = table.get(id, now);
        let entry = entry.filter(|entry| entry.record.changes() == before);
        let is_there = entry.map(|entry| entry.record = record).is_some();
        MaybeReady::ready(is_there)
    }

    fn remove<'a>(&'a self, id: &'a str) -> MaybeReady<'a, bool> {
        let (mut table, now) = self.lock_table();
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
            MaybeReady::Later(_) | MaybeReady::Bounded(_) => panic!("it has to be waited for"),
        }
    }

    fn record() -> Arc<SessionRecord> {
        Arc::new(SessionRecord::for_unknown_client(
            ProtocolVersion::V2025_11_25,
        ))
    }

    fn store(sessions: usize) -> MemorySessions {
        MemorySessions::new(
            &Limits::default().with(|limits| limits.sessions.max_sessions = sessions),
        )
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

    #[tokio::test(start_paused = true)]
    async fn whatever_is_used_meanwhile_the_longest_idle_makes_room() {
        const MOST: u64 = 100;
        let store = store(100);
        let id = |number: u64| format!("{number}");
        let insert = |number| known(store.insert(&id(number), record(), MINUTE, &|_| false));
        let mut used = std::collections::VecDeque::new();
        for number in 0..MOST * 5 {
            tokio::time::advance(Duration::from_micros(10)).await;
            assert!(insert(number));
            used.push_back(number);
            if number >= MOST {
                used.pop_front();
            }
            if let Some(again) = used.remove((number * 7 % MOST) as usize) {
                tokio::time::advance(Duration::from_micros(10)).await;
                assert!(known(store.load(&id(again), MINUTE)).is_some(), "{again}");
                used.push_back(again);
            }
        }
        let table = store.table.lock().unwrap();
        assert!(
            used.iter()
                .all(|number| table.entries.contains_key(&*id(*number)))
        );
        assert_eq!(table.entries.len(), used.len());
    }

    #[test]
    fn of_two_changes_of_one_record_one_is_refused() {
        let store = store(10);
        known(store.insert("a", record(), MINUTE, &|_| false));
        let change = crate::http::stores::record::SessionUpdate::default();
        let next = Arc::new(record().with_update(&change, 0));
        assert!(known(store.save("a", Arc::clone(&next))));
        assert!(!known(store.save("a", next)));
        assert!(known(store.remove("a")));
        assert!(!known(store.remove("a")));
    }
}
