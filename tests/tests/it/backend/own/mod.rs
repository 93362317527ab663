//! A backend as an author would write it for a database of rows: a single lock stands in for its transactions.

mod tasks;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use mcp_runtime::backend::{Backend, StoredTask};
use mcp_runtime::http::{EventStore, MaybeReady, SessionRecord, SessionStore, StreamEntry};
use mcp_runtime::once::{CallId, OnceClaim, OnceStore, StoreFuture};
use tokio::sync::watch;
use tokio::time::Instant;

/// A row in the task table, with the task's steps.
struct TaskRow {
    task: StoredTask,
    number: usize,
    due: Option<Instant>,
    expires: Instant,
    steps: BTreeMap<String, Option<String>>,
}

/// A row in the stream table.
struct StreamRow {
    entries: Vec<StreamEntry>,
    expires: Instant,
}

#[derive(Default)]
struct Tables {
    tasks: BTreeMap<String, TaskRow>,
    created: usize,
    /// The caller whose due task was claimed last.
    last_owner: Arc<str>,
    once: BTreeMap<(CallId, String), Option<String>>,
    sessions: BTreeMap<String, (Arc<SessionRecord>, Instant)>,
    streams: BTreeMap<(String, u64), StreamRow>,
}

/// All rows, and a channel that tells waiting futures that a task has changed.
struct Rows {
    tables: Mutex<Tables>,
    changes: watch::Sender<()>,
}

impl Rows {
    fn new() -> Self {
        Self {
            tables: Mutex::default(),
            changes: watch::Sender::new(()),
        }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        let mut tables = self.tables.lock().unwrap();
        let now = Instant::now();
        tables.tasks.retain(|_, row| now < row.expires);
        tables.sessions.retain(|_, (_, until)| now < *until);
        tables.streams.retain(|_, row| now < row.expires);
        tables
    }
}

impl OnceStore for Rows {
    fn begin<'a>(&'a self, call: CallId, name: &'a str) -> StoreFuture<'a, OnceClaim> {
        let claim = claim(&mut self.tables().once, (call, name.to_owned()));
        Box::pin(async { Ok(claim) })
    }

    fn complete<'a>(&'a self, call: CallId, name: &'a str, result: &'a str) -> StoreFuture<'a, ()> {
        let mut tables = self.tables();
        let kept = tables.once.entry((call, name.to_owned())).or_default();
        kept.get_or_insert_with(|| result.to_owned());
        drop(tables);
        Box::pin(async { Ok(()) })
    }

    fn abandon<'a>(&'a self, call: CallId, name: &'a str) -> StoreFuture<'a, ()> {
        let mut tables = self.tables();
        let key = (call, name.to_owned());
        if tables.once.get(&key) == Some(&None) {
            tables.once.remove(&key);
        }
        drop(tables);
        Box::pin(async { Ok(()) })
    }

    fn forget<'a>(&'a self, call: CallId, name: &'a str, result: &'a str) -> StoreFuture<'a, ()> {
        let mut tables = self.tables();
        let key = (call, name.to_owned());
        if tables.once.get(&key).and_then(Option::as_deref) == Some(result) {
            tables.once.remove(&key);
        }
        drop(tables);
        Box::pin(async { Ok(()) })
    }
}

/// Claims work that has never been claimed, or returns its outcome.
fn claim<K: Ord>(work: &mut BTreeMap<K, Option<String>>, key: K) -> OnceClaim {
    match work.get(&key) {
        Some(Some(result)) => OnceClaim::Done(result.clone()),
        Some(None) => OnceClaim::Taken,
        None => {
            work.insert(key, None);
            OnceClaim::Granted
        }
    }
}

impl SessionStore for Rows {
    fn insert<'a>(
        &'a self,
        id: &'a str,
        record: Arc<SessionRecord>,
        keep: Duration,
        _: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> MaybeReady<'a, bool> {
        let row = (record, Instant::now() + keep);
        self.tables().sessions.insert(id.to_owned(), row);
        MaybeReady::ready(true)
    }

    fn load<'a>(
        &'a self,
        id: &'a str,
        keep: Duration,
    ) -> MaybeReady<'a, Option<Arc<SessionRecord>>> {
        let mut tables = self.tables();
        let found = tables.sessions.get_mut(id).map(|(record, until)| {
            *until = (*until).max(Instant::now() + keep);
            Arc::clone(record)
        });
        MaybeReady::ready(found)
    }

    fn save<'a>(&'a self, id: &'a str, record: Arc<SessionRecord>) -> MaybeReady<'a, bool> {
        let mut tables = self.tables();
        let stored = tables.sessions.get_mut(id);
        let stored = stored.filter(|(stored, _)| stored.changes() + 1 == record.changes());
        MaybeReady::ready(stored.map(|(stored, _)| *stored = record).is_some())
    }

    fn remove<'a>(&'a self, id: &'a str) -> MaybeReady<'a, bool> {
        MaybeReady::ready(self.tables().sessions.remove(id).is_some())
    }
}

impl EventStore for Rows {
    fn append<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        position: u64,
        entry: StreamEntry,
        keep: Duration,
    ) -> MaybeReady<'a, ()> {
        let expires = Instant::now() + keep;
        let mut tables = self.tables();
        let row = tables.streams.entry((session.to_owned(), stream));
        let row = row.or_insert_with(|| StreamRow {
            entries: Vec::new(),
            expires,
        });
        let next = row.entries.len() as u64;
        if next == position {
            row.entries.push(entry);
            row.expires = expires;
        } else if next != position + 1 {
            return MaybeReady::Ready(Err("an entry is missing".into()));
        }
        MaybeReady::ready(())
    }

    fn read<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        after: u64,
    ) -> MaybeReady<'a, Option<Vec<StreamEntry>>> {
        let tables = self.tables();
        let row = tables.streams.get(&(session.to_owned(), stream));
        let next = after.saturating_add(1);
        let rest = row.and_then(|row| row.entries.get(usize::try_from(next).ok()?..));
        MaybeReady::ready(rest.map(<[StreamEntry]>::to_vec))
    }

    fn forget<'a>(&'a self, session: &'a str) -> MaybeReady<'a, ()> {
        let mut tables = self.tables();
        tables.streams.retain(|(of, _), _| of != session);
        MaybeReady::ready(())
    }
}

#[tokio::test(start_paused = true)]
async fn an_authors_own_backend_keeps_the_rules() {
    let rows = Arc::new(Rows::new());
    let backend = Backend::new()
        .tasks(rows.clone())
        .once(rows.clone())
        .sessions(rows.clone())
        .events(rows);
    backend.check().await;
}
