//! Stores as users would write them: everything is text, everything takes time, and sometimes nothing works.

use std::collections::HashMap;
use std::future::pending;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::backend::{
    EventStore, MaybeReady, MemoryEvents, SessionRecord, SessionStore, StreamEntry,
};
use mcp_runtime::http::{HttpOptions, HttpSessions};
use tests::wait::in_time;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::http::support::{Served, serve_with};

/// The behaviour of a store.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum Mood {
    Well,
    Fails,
    Hangs,
}

#[derive(Default)]
struct Health(AtomicU8, Notify);

impl Health {
    async fn check(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        tokio::task::yield_now().await;
        match self.0.load(Ordering::SeqCst) {
            0 => Ok(()),
            1 => Err("the database is gone".into()),
            _ => {
                self.1.notify_one();
                pending().await
            }
        }
    }
}

/// Sessions as rows of JSON.
#[derive(Default)]
pub(crate) struct Database {
    rows: Mutex<HashMap<String, (String, Instant)>>,
    health: Health,
    pub(crate) asked: AtomicUsize,
}

impl Database {
    pub(crate) fn is(&self, mood: Mood) {
        self.health.0.store(mood as u8, Ordering::SeqCst);
    }

    fn row(&self, id: &str) -> Option<SessionRecord> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let rows = self.rows.lock().unwrap();
        let (json, _) = rows.get(id).filter(|(_, until)| Instant::now() < *until)?;
        Some(serde_json::from_str(json).unwrap())
    }

    fn write(&self, id: &str, record: &SessionRecord, keep: Duration) {
        let json = serde_json::to_string(record).unwrap();
        let mut rows = self.rows.lock().unwrap();
        let row = rows.entry(id.to_owned());
        let (kept, until) = row.or_insert_with(|| (String::new(), Instant::now()));
        *kept = json;
        *until = (*until).max(Instant::now() + keep);
    }
}

impl SessionStore for Database {
    fn insert<'a>(
        &'a self,
        id: &'a str,
        record: Arc<SessionRecord>,
        keep: Duration,
        _: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> MaybeReady<'a, bool> {
        MaybeReady::later(async move {
            self.health.check().await?;
            self.write(id, &record, keep);
            Ok(true)
        })
    }

    fn load<'a>(
        &'a self,
        id: &'a str,
        keep: Duration,
    ) -> MaybeReady<'a, Option<Arc<SessionRecord>>> {
        MaybeReady::later(async move {
            self.health.check().await?;
            let record = self.row(id);
            if let Some(record) = &record {
                self.write(id, record, keep);
            }
            Ok(record.map(Arc::new))
        })
    }

    fn save<'a>(&'a self, id: &'a str, record: Arc<SessionRecord>) -> MaybeReady<'a, bool> {
        MaybeReady::later(async move {
            self.health.check().await?;
            let before = self.row(id);
            let follows = before.is_some_and(|row| row.changes() + 1 == record.changes());
            if follows {
                self.write(id, &record, Duration::ZERO);
            }
            Ok(follows)
        })
    }

    fn remove<'a>(&'a self, id: &'a str) -> MaybeReady<'a, bool> {
        MaybeReady::later(async move {
            self.health.check().await?;
            let is_there = self.row(id).is_some();
            self.rows.lock().unwrap().remove(id);
            Ok(is_there)
        })
    }
}

/// Events that each take a while.
pub(crate) struct SlowEvents {
    events: MemoryEvents,
    health: Health,
}

impl SlowEvents {
    pub(crate) fn new() -> Self {
        Self {
            events: MemoryEvents::new(&Limits::default()),
            health: Health::default(),
        }
    }

    pub(crate) fn is(&self, mood: Mood) {
        self.health.0.store(mood as u8, Ordering::SeqCst);
    }

    /// Waits until an operation hangs.
    pub(crate) async fn until_it_hangs(&self) {
        in_time(self.health.1.notified()).await;
    }
}

async fn known<T>(reply: MaybeReady<'_, T>) -> Result<T, Box<dyn std::error::Error + Send + Sync>> {
    match reply {
        MaybeReady::Ready(value) => value,
        MaybeReady::Later(later) | MaybeReady::Bounded(later) => later.await,
    }
}

impl EventStore for SlowEvents {
    fn append<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        place: u64,
        entry: StreamEntry,
        keep: Duration,
    ) -> MaybeReady<'a, ()> {
        MaybeReady::later(async move {
            self.health.check().await?;
            known(self.events.append(session, stream, place, entry, keep)).await
        })
    }

    fn read<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        after: u64,
    ) -> MaybeReady<'a, Option<Vec<StreamEntry>>> {
        MaybeReady::later(async move {
            self.health.check().await?;
            known(self.events.read(session, stream, after)).await
        })
    }

    fn forget<'a>(&'a self, session: &'a str) -> MaybeReady<'a, ()> {
        self.events.forget(session)
    }
}

/// Returns two instances of a server that share the session store, and the event store if there is one.
pub(crate) async fn instances(
    sessions: Arc<dyn SessionStore>,
    events: Option<Arc<dyn EventStore>>,
    limits: Limits,
) -> [Served; 2] {
    let serve = async || {
        let mut options = HttpOptions::new().sessions(HttpSessions::Store(Arc::clone(&sessions)));
        if let Some(events) = &events {
            options = options.event_store(Arc::clone(events));
        }
        serve_with(options, limits.clone()).await
    };
    [serve().await, serve().await]
}
