//! A backend as an author would write it for a database of rows: a single lock stands in for its transactions.

mod tasks;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::backend::{
    Backend, ClaimId, EventStore, MaybeReady, OnceClaim, OnceKind, OnceStore, OnceWork,
    SessionRecord, SessionStore, StoreFuture, StoredTask, StreamEntry, check_once_limits,
    few_once_entries,
};
use mcp_runtime::handler::CallId;
use tokio::sync::watch;
use tokio::time::Instant;

/// A row in the task table, with the task's steps.
struct TaskRow {
    task: StoredTask,
    number: usize,
    due: Option<Instant>,
    expires: Instant,
    steps: BTreeMap<String, StepRow>,
}

/// A row in the table of steps.
struct StepRow {
    claim: ClaimId,
    result: Option<String>,
}

/// A row in the table of work that is done once.
struct OnceRow {
    claim: ClaimId,
    kind: OnceKind,
    owner: String,
    note: String,
    result: Option<String>,
    size: usize,
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
    once: BTreeMap<(CallId, String), OnceRow>,
    sessions: BTreeMap<String, (Arc<SessionRecord>, Instant)>,
    streams: BTreeMap<(String, u64), StreamRow>,
}

/// All rows, and a channel that tells waiting futures that a task has changed.
struct Rows {
    tables: Mutex<Tables>,
    limits: Limits,
    changes: watch::Sender<()>,
}

impl Rows {
    fn new(limits: Limits) -> Self {
        Self {
            tables: Mutex::default(),
            limits,
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

impl Rows {
    /// Returns the refusal of a claim for which there is no room.
    fn refusal(&self, tables: &Tables, work: &OnceWork<'_>) -> Option<OnceClaim> {
        let room = work.kind.room(&self.limits);
        let of_kind = || tables.once.values().filter(|row| row.kind == work.kind);
        let of_owner = || of_kind().filter(|row| row.owner == work.owner);
        let bytes =
            |rows: &mut dyn Iterator<Item = &OnceRow>| rows.map(|row| row.size).sum::<usize>();
        if of_owner().count() >= room.max_entries_per_caller
            || bytes(&mut of_owner()) + work.size() > room.max_bytes_per_caller
        {
            return Some(OnceClaim::CallerFull);
        }
        let is_full = of_kind().count() >= room.max_entries
            || bytes(&mut of_kind()) + work.size() > room.max_bytes;
        is_full.then_some(OnceClaim::Full)
    }
}

impl OnceRow {
    fn new(work: &OnceWork<'_>) -> Self {
        Self {
            claim: work.claim,
            kind: work.kind,
            owner: work.owner.to_owned(),
            note: work.note.to_owned(),
            result: None,
            size: work.size(),
        }
    }
}

fn key(work: &OnceWork<'_>) -> (CallId, String) {
    (work.call, work.name.to_owned())
}

impl OnceStore for Rows {
    fn begin<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, OnceClaim> {
        let tables = &mut *self.tables();
        let claim = match tables.once.get(&key(&work)) {
            Some(row) => match &row.result {
                Some(result) => OnceClaim::Done(result.clone()),
                None if row.claim == work.claim => OnceClaim::Granted,
                None => OnceClaim::Taken(row.note.clone()),
            },
            None => self.refusal(tables, &work).unwrap_or_else(|| {
                tables.once.insert(key(&work), OnceRow::new(&work));
                OnceClaim::Granted
            }),
        };
        Box::pin(async { Ok(claim) })
    }

    fn complete<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        let mut tables = self.tables();
        let row = tables.once.entry(key(&work));
        let row = row.or_insert_with(|| OnceRow::new(&work));
        if row.result.is_none() {
            row.result = Some(result.to_owned());
            row.size += result.len();
        }
        drop(tables);
        Box::pin(async { Ok(()) })
    }

    fn abandon<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, ()> {
        let mut tables = self.tables();
        let row = tables.once.get(&key(&work));
        if row.is_some_and(|row| row.result.is_none() && row.claim == work.claim) {
            tables.once.remove(&key(&work));
        }
        drop(tables);
        Box::pin(async { Ok(()) })
    }

    fn end(&self, call: CallId) -> StoreFuture<'_, ()> {
        self.tables().once.retain(|(of, _), _| *of != call);
        Box::pin(async { Ok(()) })
    }

    fn forget<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        let mut tables = self.tables();
        let row = tables.once.get(&key(&work));
        if row.and_then(|row| row.result.as_deref()) == Some(result) {
            tables.once.remove(&key(&work));
        }
        drop(tables);
        Box::pin(async { Ok(()) })
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
async fn a_custom_backend_follows_the_rules_of_stores() {
    let rows = Arc::new(Rows::new(Limits::default()));
    let backend = Backend::new()
        .tasks(rows.clone())
        .once(rows.clone())
        .sessions(rows.clone())
        .events(rows);
    backend.check().await;
    check_once_limits(&Rows::new(few_once_entries())).await;
}
