//! Sessions kept in the memory of this process.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use mcp_core::budget::ClientNetwork;
use mcp_core::limits::Limits;
use mcp_core::sync::lock;
use tokio::time::Instant;

use crate::session_store::{ById, MaybeReady, SessionRecord, SessionStore};

/// Interval between searches for expired sessions, in microseconds.
const SWEEP_INTERVAL_MICROS: u64 = 5_000_000;

/// Each time all sessions are examined, about one in every `SESSIONS_PER_IDLE_MARK` sessions is recorded as idle.
const SESSIONS_PER_IDLE_MARK: usize = 16;

/// Number of uses after which a client counts as having come back: the first one completes the handshake.
const CAME_BACK: u8 = 2;

/// Approximate size of a session without the client's description and its owner, in bytes.
const SESSION_BYTES: usize = 512;

/// Keeps sessions in the memory of this process. This is the default store; servers in the same process can share one.
///
/// Holds at most `limits.sessions.max_sessions` sessions of at most `max_bytes` in total, and `max_per_principal` for
/// each principal. If a limit would be exceeded, the store makes room by ending another session: first one whose client
/// has only completed the handshake, and then the one that has been idle longest. For the limit of a principal, it
/// considers only the principal's own sessions; for the other limits, only those of anonymous clients that have more than
/// their share (`max_per_address`, or a quarter of `max_bytes`), if there are any. Sessions with running calls are never
/// ended this way.
pub struct MemorySessions {
    table: Mutex<SessionTable>,
    began: Instant,
    max_sessions: usize,
    max_per_principal: usize,
}

struct SessionTable {
    entries: ById<Box<str>, MemorySessionEntry>,
    /// The size of all sessions, in bytes.
    bytes: usize,
    max_bytes: usize,
    max_per_address: usize,
    /// The sessions to be ended first as of the last examination, each with the time of its last use; the first one to be
    /// ended comes last. They are those of all clients, or of a network that has its share.
    idle: HashMap<Option<ClientNetwork>, Vec<(u64, Box<str>)>>,
    /// The sessions whose clients had not come back when all sessions were last swept, oldest first, and all later ones.
    fresh: VecDeque<Box<str>>,
    /// Each principal's sessions, possibly including ended ones.
    owned: HashMap<Box<str>, Vec<Box<str>>>,
    /// The number and size of the sessions of anonymous clients in each network.
    networks: HashMap<ClientNetwork, (usize, usize)>,
    /// The networks that have more than their share.
    crowded: Vec<ClientNetwork>,
    swept: u64,
}

/// A session. Times are stored as microseconds since the store was created, which takes half the space of an `Instant`.
struct MemorySessionEntry {
    record: Arc<SessionRecord>,
    used: u64,
    until: u64,
    /// Number of times it was used, up to `CAME_BACK`.
    uses: u8,
}

impl MemorySessions {
    /// Creates an empty store.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            table: Mutex::new(SessionTable {
                entries: ById::default(),
                bytes: 0,
                max_bytes: limits.sessions.max_bytes,
                max_per_address: limits.sessions.max_per_address.max(1),
                idle: HashMap::new(),
                fresh: VecDeque::new(),
                owned: HashMap::new(),
                networks: HashMap::new(),
                crowded: Vec::new(),
                swept: 0,
            }),
            began: Instant::now(),
            max_sessions: limits.sessions.max_sessions.max(1),
            max_per_principal: limits.sessions.max_per_principal.max(1),
        }
    }

    /// Locks the table, removes expired entries if a sweep is due, and returns the table and the current time.
    fn lock_table(&self) -> (MutexGuard<'_, SessionTable>, u64) {
        let now = to_microseconds(self.began.elapsed());
        let mut table = lock(&self.table);
        if now.saturating_sub(table.swept) > SWEEP_INTERVAL_MICROS {
            table.swept = now;
            table.sweep(now);
        }
        (table, now)
    }
}

fn to_microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Returns the size of a session, in bytes. Its subscriptions are counted elsewhere.
fn session_bytes(record: &SessionRecord) -> usize {
    let owner = record.owner().map_or(0, str::len);
    let sizes = [SESSION_BYTES, owner, record.client_bytes()];
    sizes.into_iter().fold(0, usize::saturating_add)
}

impl MemorySessionEntry {
    fn came_back(&self) -> bool {
        self.uses >= CAME_BACK
    }
}

impl SessionTable {
    fn get(&mut self, id: &str, now: u64) -> Option<&mut MemorySessionEntry> {
        self.entries.get_mut(id).filter(|entry| now <= entry.until)
    }

    fn sweep(&mut self, now: u64) {
        let expired = self.entries.iter().filter(|(_, entry)| now > entry.until);
        let expired: Vec<_> = expired.map(|(id, _)| id.clone()).collect();
        for id in expired {
            self.end(&id);
        }
        let entries = &self.entries;
        self.fresh
            .retain(|id| entries.get(id).is_some_and(|entry| !entry.came_back()));
        self.owned.retain(|_, ids| {
            ids.retain(|id| entries.contains_key(id));
            !ids.is_empty()
        });
    }

    fn begin(&mut self, id: &str, entry: MemorySessionEntry) {
        let (network, bytes) = (entry.record.network(), session_bytes(&entry.record));
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some(network) = network {
            let (count, size) = self.networks.entry(network).or_default();
            *count = count.saturating_add(1);
            *size = size.saturating_add(bytes);
            let is_crowded = *count > self.max_per_address || *size > self.max_bytes / 4;
            if is_crowded && !self.crowded.contains(&network) {
                self.crowded.push(network);
            }
        }
        self.fresh.push_back(id.into());
        self.entries.insert(id.into(), entry);
    }

    fn end(&mut self, id: &str) -> Option<MemorySessionEntry> {
        let entry = self.entries.remove(id)?;
        let (network, bytes) = (entry.record.network(), session_bytes(&entry.record));
        self.bytes = self.bytes.saturating_sub(bytes);
        if let Some(network) = network
            && let Some((count, size)) = self.networks.get_mut(&network)
        {
            *count = count.saturating_sub(1);
            *size = size.saturating_sub(bytes);
            let counts = (*count, *size);
            if counts.0 <= self.max_per_address && counts.1 <= self.max_bytes / 4 {
                self.crowded.retain(|crowded| *crowded != network);
            }
            if counts.0 == 0 {
                self.networks.remove(&network);
            }
        }
        Some(entry)
    }

    /// Ends a session to make room for one from this network. Returns `false` if all sessions that may be ended are in
    /// use.
    fn make_room(&mut self, network: Option<ClientNetwork>, in_use: &dyn Fn(&str) -> bool) -> bool {
        let size = network.and_then(|network| self.networks.get(&network));
        // The new session counts as well.
        let has_its_share = size.is_some_and(|(count, bytes)| {
            *count >= self.max_per_address || *bytes >= self.max_bytes / 4
        });
        if has_its_share {
            return self.end_idle(network, in_use);
        }
        let crowded = self.crowded.last().copied();
        crowded.is_some() && self.end_idle(crowded, in_use)
            || self.end_fresh(in_use)
            || self.end_idle(None, in_use)
    }

    /// Ends the oldest session whose client has not come back.
    fn end_fresh(&mut self, in_use: &dyn Fn(&str) -> bool) -> bool {
        while let Some(id) = self.fresh.pop_front() {
            let entry = self.entries.get(&id);
            if entry.is_some_and(|entry| !entry.came_back()) && !in_use(&id) {
                return self.end(&id).is_some();
            }
        }
        false
    }

    /// Ends a session of a network, or of any client: first one whose client has not come back, and then the one that has
    /// been idle longest.
    fn end_idle(&mut self, of: Option<ClientNetwork>, in_use: &dyn Fn(&str) -> bool) -> bool {
        if self.end_recorded(of, in_use) {
            return true;
        }
        let candidates = self
            .entries
            .iter()
            .filter(|(id, entry)| (of.is_none() || entry.record.network() == of) && !in_use(id));
        let mut idle: Vec<_> = candidates
            .map(|(id, entry)| (entry.came_back(), entry.used, id))
            .collect();
        let share = idle.len() / SESSIONS_PER_IDLE_MARK;
        if share > 0 {
            idle.select_nth_unstable(share);
            idle.truncate(share.saturating_add(1));
        }
        idle.sort_unstable_by(|one, other| other.cmp(one));
        let idle = idle.into_iter().map(|(_, used, id)| (used, id.clone()));
        let idle = idle.collect();
        // Networks that no longer have many sessions are forgotten.
        let (networks, crowded) = (&self.networks, &self.crowded);
        let many = self.max_per_address / 2;
        self.idle.retain(|network, _| {
            network.is_none_or(|network| {
                let size = networks.get(&network);
                crowded.contains(&network) || size.is_some_and(|(count, _)| *count > many)
            })
        });
        self.idle.insert(of, idle);
        self.end_recorded(of, in_use)
    }

    /// Like `end_idle`, but considers only the sessions recorded as idle and not used since. All other sessions of
    /// these clients were used more recently.
    fn end_recorded(&mut self, of: Option<ClientNetwork>, in_use: &dyn Fn(&str) -> bool) -> bool {
        while let Some((used, id)) = self.idle.get_mut(&of).and_then(Vec::pop) {
            let entry = self.entries.get(&id);
            if entry.is_some_and(|entry| entry.used == used) && !in_use(&id) {
                return self.end(&id).is_some();
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
        let rank = |id: &str| {
            let entry = self.entries.get(id);
            entry.map(|entry| (entry.came_back(), entry.used))
        };
        let first = idle.min_by_key(|id| rank(id)).cloned();
        first.is_some_and(|id| self.end(&id).is_some())
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
        let bytes = session_bytes(&record);
        while table.entries.len() >= self.max_sessions
            || table.bytes.saturating_add(bytes) > table.max_bytes && !table.entries.is_empty()
        {
            if !table.make_room(record.network(), in_use) {
                return MaybeReady::ready(false);
            }
        }
        if let Some(owner) = owner {
            table.owned.entry(owner.into()).or_default().push(id.into());
        }
        let entry = MemorySessionEntry {
            record,
            used: now,
            until: now.saturating_add(to_microseconds(keep)),
            uses: 0,
        };
        table.begin(id, entry);
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
                entry.uses = entry.uses.saturating_add(1).min(CAME_BACK);
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
        let removed = table.end(id);
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
    use mcp_protocol::ProtocolVersion;

    use crate::memory_sessions::*;

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
    async fn loading_a_session_extends_its_lifetime_and_never_shortens_it() {
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
    async fn the_longest_idle_session_is_evicted_but_none_in_use() {
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
    async fn the_longest_idle_session_is_evicted_among_many_used_ones() {
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
            // All clients come back, so that only the times of their last uses differ.
            let comes_back = || known(store.load(&id(number), MINUTE)).is_some();
            assert!(comes_back() && comes_back());
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

    /// Returns the record of an anonymous client with this address.
    fn record_from(address: &str) -> Arc<SessionRecord> {
        let address: std::net::IpAddr = address.parse().unwrap();
        let mut record = SessionRecord::for_unknown_client(ProtocolVersion::V2025_11_25);
        record.set_network(address.into());
        Arc::new(record)
    }

    fn is_there(store: &MemorySessions, id: &str) -> bool {
        known(store.load(id, Duration::ZERO)).is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn sessions_without_requests_after_the_handshake_are_evicted_first() {
        let store = store(4);
        let insert = |id: &str| known(store.insert(id, record(), MINUTE, &|_| false));
        for id in ["used", "shaken", "silent"] {
            assert!(insert(id));
            tokio::time::advance(Duration::from_millis(10)).await;
        }
        for (id, uses) in [("used", 2), ("shaken", 1)] {
            for _ in 0..uses {
                assert!(known(store.load(id, MINUTE)).is_some());
            }
        }
        for number in 0..100 {
            tokio::time::advance(Duration::from_millis(10)).await;
            assert!(insert(&format!("{number}")));
        }
        assert!(is_there(&store, "used") && is_there(&store, "97"));
        assert!(!is_there(&store, "shaken") && !is_there(&store, "silent"));
        // As long as there is room, no session ends early.
        assert!(known(store.remove("97")));
        assert!(insert("last") && is_there(&store, "98"));
    }

    // Limits: sessions.max_per_address
    #[tokio::test(start_paused = true)]
    async fn an_address_that_exceeds_its_share_evicts_its_own_sessions() {
        let limits = Limits::default().with(|limits| {
            limits.sessions.max_sessions = 10;
            limits.sessions.max_per_address = 4;
        });
        let store = MemorySessions::new(&limits);
        let insert = async |id: &str, address: &str| {
            tokio::time::advance(Duration::from_millis(10)).await;
            let in_use = |_: &str| false;
            assert!(known(store.insert(
                id,
                record_from(address),
                MINUTE,
                &in_use
            )));
            // All of them are used, so that only the addresses differ.
            for _ in 0..2 {
                assert!(known(store.load(id, MINUTE)).is_some());
            }
        };
        let count = |of: &str| {
            let there = (0..40).filter(|number| is_there(&store, &format!("{of}{number}")));
            there.count()
        };
        for number in 0..7 {
            insert(&format!("a{number}"), "10.0.0.1").await;
        }
        // There is room for more than its share.
        assert_eq!(count("a"), 7);
        for (number, (a, b)) in [(7, 1), (7, 2), (7, 3), (6, 4), (6, 4), (6, 4)]
            .iter()
            .enumerate()
        {
            insert(&format!("b{number}"), "10.0.0.2").await;
            assert_eq!((count("a"), count("b")), (*a, *b), "after b{number}");
        }
        // An address below its share takes the place of one above it, but not of one that is idle longer.
        insert("c0", "10.0.0.3").await;
        assert_eq!((count("a"), count("b"), count("c")), (5, 4, 1));
        insert("c1", "10.0.0.3").await;
        insert("c2", "10.0.0.3").await;
        assert_eq!((count("a"), count("b"), count("c")), (3, 4, 3));
    }

    // Limits: sessions.max_bytes
    #[tokio::test(start_paused = true)]
    async fn sessions_have_a_maximum_size_in_all() {
        for (most, kept) in [(1_024, 2), (1_023, 1), (1_025, 2), (1, 1)] {
            let limits = Limits::default().with(|limits| limits.sessions.max_bytes = most);
            let store = MemorySessions::new(&limits);
            for id in ["a", "b", "c"] {
                assert!(known(store.insert(id, record(), MINUTE, &|_| false)));
            }
            let count = ["a", "b", "c"].iter().filter(|id| is_there(&store, id));
            assert_eq!(count.count(), kept, "{most}");
            assert!(known(store.remove("c")));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn many_handshakes_from_one_address_end_only_its_own_sessions() {
        let limits = Limits::default();
        let store = MemorySessions::new(&limits);
        let (stranger, client) = ("10.0.0.1", "10.0.0.2");
        let insert = |id: &str, of: &str| {
            assert!(known(store.insert(id, record_from(of), MINUTE, &|_| false)));
        };
        for number in 0..100 {
            let id = format!("client {number}");
            insert(&id, client);
            for _ in 0..2 {
                assert!(known(store.load(&id, MINUTE)).is_some());
            }
        }
        for number in 0..limits.sessions.max_sessions * 2 {
            let id = format!("stranger {number}");
            insert(&id, stranger);
            // The stranger uses half of its sessions.
            for _ in 0..number % 2 * 2 {
                assert!(known(store.load(&id, MINUTE)).is_some());
            }
        }
        assert!((0..100).all(|number| is_there(&store, &format!("client {number}"))));
        assert_eq!(
            store.table.lock().unwrap().entries.len(),
            limits.sessions.max_sessions
        );
    }

    #[test]
    fn a_change_of_an_outdated_record_is_refused() {
        let store = store(10);
        known(store.insert("a", record(), MINUTE, &|_| false));
        let change = crate::session_store::SessionUpdate::default();
        let next = Arc::new(record().with_update(&change, &Limits::default().streams));
        assert!(known(store.save("a", Arc::clone(&next))));
        assert!(!known(store.save("a", next)));
        assert!(known(store.remove("a")));
        assert!(!known(store.remove("a")));
    }
}
