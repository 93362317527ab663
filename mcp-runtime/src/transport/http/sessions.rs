//! All sessions of a server: their storage, and their live parts at this instance.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::task::JoinHandle;

use super::answer::HttpRefusal;
use super::event_store::EventStore;
use super::found::{RequestSession, Save};
use super::head::Head;
use super::keeping::{ById, Keeping, random_id};
use super::options::HttpOptions;
use super::record::SessionRecord;
use super::session::{HttpSession, SessionKind};
use super::session_store::{SessionStore, StoreFailed};
use crate::context::Principal;
use crate::dispatch::Dispatcher;
use crate::limits::Limits;
use crate::protocol::{Era, ProtocolVersion};

/// Interval between checks of live parts.
const TEND: Duration = Duration::from_secs(5);
/// Interval between checks of records while work is in progress here.
const RENEW: Duration = Duration::from_secs(15);
/// Time that an unused live part is kept. Longer than a token bucket of the session takes to fill up again.
const LINGER: Duration = Duration::from_secs(5);
/// Number of records that are checked concurrently.
const TOGETHER: usize = 16;
/// Maximum number of attempts to save a change, if others change the session too.
const TRIES: usize = 8;

/// All sessions of a server.
pub(super) struct Sessions {
    dispatcher: Arc<Dispatcher>,
    pub(super) keeping: Keeping,
    pub(super) events: Option<Arc<dyn EventStore>>,
    live: Mutex<Live>,
}

#[derive(Default)]
struct Live {
    sessions: ById<Arc<str>, Arc<HttpSession>>,
    /// The task that maintains the live parts, while there are any.
    tending: Option<JoinHandle<()>>,
}

impl From<StoreFailed> for HttpRefusal {
    fn from(_: StoreFailed) -> Self {
        Self::unavailable("the session store is unavailable")
    }
}

impl Sessions {
    pub(super) fn new(dispatcher: &Arc<Dispatcher>, options: &HttpOptions) -> Arc<Self> {
        Arc::new(Self {
            dispatcher: Arc::clone(dispatcher),
            keeping: Keeping::new(&options.sessions, dispatcher),
            events: options.events.clone(),
            live: Mutex::default(),
        })
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn limits(&self) -> &Limits {
        self.dispatcher.limits()
    }

    /// Loads the session that a request belongs to, and extends its life. Returns `None` if the request names no
    /// session, or is modern.
    ///
    /// A session of another caller is treated as unknown.
    pub(super) async fn find<'h>(
        &self,
        head: Head<'h>,
    ) -> Result<Option<RequestSession<'h>>, HttpRefusal> {
        let headers = head.headers;
        let version = headers.version.and_then(Result::ok);
        let version = version.and_then(ProtocolVersion::from_wire);
        if version.is_some_and(|version| version.era() == Era::Modern) {
            return Ok(None);
        }
        let id = match headers.session() {
            None => return Ok(None),
            Some(Ok(id)) => id,
            Some(Err(_)) => return Err(HttpRefusal::unknown_session()),
        };
        let limits = self.limits();
        let loaded = self.keeping.load(id, limits.sessions.idle_timeout);
        let Some(record) = loaded.within(limits.sessions.store_timeout).await? else {
            self.end(id);
            return Err(HttpRefusal::unknown_session());
        };
        if !record.is_of(head.caller) {
            return Err(HttpRefusal::unknown_session());
        }
        Ok(Some(RequestSession { id, record }))
    }

    /// Stores a new session; returns `false` if there are too many.
    pub(super) async fn insert(
        &self,
        store: &dyn SessionStore,
        id: &str,
        record: SessionRecord,
    ) -> Result<bool, StoreFailed> {
        let limits = self.limits();
        let in_use = |id: &str| {
            let live = self.live();
            live.sessions
                .get(id)
                .is_some_and(|session| session.is_busy())
        };
        let inserted = store.insert(id, Arc::new(record), limits.sessions.start_timeout, &in_use);
        inserted.within(limits.sessions.store_timeout).await
    }

    /// Returns the live part of a session, creating it if there is none.
    pub(super) fn resume(
        self: &Arc<Self>,
        found: &RequestSession<'_>,
    ) -> Result<Arc<HttpSession>, HttpRefusal> {
        let mut live = self.live();
        if let Some(session) = live.sessions.get(found.id) {
            session.meet(&found.record);
            return Ok(Arc::clone(session));
        }
        self.make_room(&mut live)?;
        let session = Arc::new(self.make(found.id.into(), &found.record));
        self.add(&mut live, &session);
        Ok(session)
    }

    /// Creates a session for one request of a client of which only the protocol version is known.
    pub(super) fn anonymous(
        &self,
        version: ProtocolVersion,
    ) -> Result<Arc<HttpSession>, HttpRefusal> {
        self.make_room(&mut self.live())?;
        let session = self.make(random_id().into(), &SessionRecord::unknown(version));
        Ok(Arc::new(session.of_nobody()))
    }

    /// Keeps a session whose call continues, so that the call survives a broken connection.
    pub(super) fn hold(self: &Arc<Self>, session: &Arc<HttpSession>) {
        self.add(&mut self.live(), session);
    }

    fn make(&self, id: Arc<str>, record: &SessionRecord) -> HttpSession {
        let kind = if self.keeping.is_lasting() {
            SessionKind::Kept {
                stores_events: self.events.is_some(),
            }
        } else {
            SessionKind::Alone
        };
        HttpSession::resume(id, kind, record, &self.dispatcher)
    }

    /// Opens a connection of 2024-11-05; fails if there are too many.
    pub(super) fn connect(
        self: &Arc<Self>,
        caller: Option<&Principal>,
    ) -> Result<Arc<HttpSession>, HttpRefusal> {
        let mut live = self.live();
        self.make_room(&mut live)?;
        let session = HttpSession::connection(random_id().into(), caller, &self.dispatcher);
        let session = Arc::new(session);
        self.add(&mut live, &session);
        Ok(session)
    }

    /// Returns the connection of 2024-11-05 with this id, if it belongs to this caller.
    pub(super) fn connection(
        &self,
        id: &str,
        caller: Option<&Principal>,
    ) -> Option<Arc<HttpSession>> {
        let key = caller.map(Principal::key);
        let live = self.live();
        let session = live.sessions.get(id);
        let session =
            session.filter(|session| session.is_connection() && session.owner.as_deref() == key)?;
        session.touch();
        Some(Arc::clone(session))
    }

    /// Returns the live part with this id, if there is one.
    pub(super) fn get(&self, id: &str) -> Option<Arc<HttpSession>> {
        self.live().sessions.get(id).cloned()
    }

    fn make_room(&self, live: &mut Live) -> Result<(), HttpRefusal> {
        let limits = self.limits();
        let mut most = limits.sessions.max_sessions.max(1);
        if self.keeping.is_lasting() {
            // A store counts sessions; those that have ended may still be here until that is noticed.
            most = most.saturating_mul(2);
        }
        if live.sessions.len() >= most {
            let is_held = |session: &Arc<_>| Arc::strong_count(session) > 1;
            live.sessions.retain(|_, session| {
                is_held(session) || !session.is_unused(Duration::ZERO, limits)
            });
        }
        if live.sessions.len() >= most {
            return Err(HttpRefusal::unavailable("there are too many sessions"));
        }
        Ok(())
    }

    fn add(self: &Arc<Self>, live: &mut Live, session: &Arc<HttpSession>) {
        let id = Arc::clone(&session.id);
        live.sessions.insert(id, Arc::clone(session));
        if live.tending.as_ref().is_none_or(JoinHandle::is_finished) {
            live.tending = Some(tokio::spawn(tend(Arc::downgrade(self))));
        }
    }

    /// Saves a change, even if others change the session at the same time.
    pub(super) async fn save(&self, save: Save) -> Result<(), HttpRefusal> {
        let Keeping::Store(store) = &self.keeping else {
            return Ok(());
        };
        let saved = self.save_in(&**store, &save).await;
        let session = self.get(&save.id);
        let refusal = match (saved, session) {
            (Ok(Some(record)), session) => {
                if let Some(session) = session {
                    session.know(&record);
                }
                return Ok(());
            }
            (Ok(None), _) => {
                self.end(&save.id);
                HttpRefusal::unknown_session()
            }
            (Err(StoreFailed), session) => {
                if let Some(session) = session {
                    session.doubt();
                }
                StoreFailed.into()
            }
        };
        Err(refusal.with_id(save.request))
    }

    /// Saves a change and returns the new record; `None` if the session no longer exists.
    async fn save_in(
        &self,
        store: &dyn SessionStore,
        save: &Save,
    ) -> Result<Option<Arc<SessionRecord>>, StoreFailed> {
        let limits = self.limits();
        let mut record = Arc::clone(&save.record);
        for _ in 0..TRIES {
            let changed = Arc::new(record.changed(&save.change, limits.streams.max_subscriptions));
            let saved = store.save(&save.id, Arc::clone(&changed));
            if saved.within(limits.sessions.store_timeout).await? {
                return Ok(Some(changed));
            }
            let loaded = store.load(&save.id, Duration::ZERO);
            match loaded.within(limits.sessions.store_timeout).await? {
                Some(loaded) => record = loaded,
                None => return Ok(None),
            }
        }
        tracing::warn!("could not save a change of a session: too many concurrent changes");
        Err(StoreFailed)
    }

    /// Ends the live part of a session that has ended.
    pub(super) fn end(&self, id: &str) {
        let removed = {
            let mut live = self.live();
            // The id of a connection is never the id of a session, whatever a request says.
            let is_session = |session: &Arc<HttpSession>| !session.is_connection();
            let is_there = live.sessions.get(id).is_some_and(is_session);
            is_there.then(|| live.sessions.remove(id)).flatten()
        };
        if let Some(session) = removed {
            session.close();
        }
    }

    /// Ends a connection of 2024-11-05.
    pub(super) fn disconnect(&self, session: &HttpSession) {
        self.live().sessions.remove(&session.id);
        session.close();
    }

    /// Ends all live parts.
    pub(super) fn close(&self) {
        let all = std::mem::take(&mut self.live().sessions);
        for session in all.into_values() {
            session.close();
        }
    }

    /// Drops unused live parts, and ends those whose session has ended. Returns `false` if none are left.
    async fn tend(&self) -> bool {
        let limits = self.limits();
        let mut ended = Vec::new();
        let mut due = Vec::new();
        let is_over = {
            let mut live = self.live();
            let after = RENEW.min(limits.sessions.idle_timeout / 3);
            live.sessions.retain(|_, session| {
                if session.is_expired(limits) || session.is_unused(LINGER, limits) {
                    ended.push(Arc::clone(session));
                    return false;
                }
                let keep = session.is_due(after, limits);
                due.extend(keep.map(|keep| (Arc::clone(session), keep)));
                true
            });
            // Gives back memory that only many sessions needed.
            let most = live.sessions.len().saturating_mul(2);
            live.sessions.shrink_to(most);
            let is_over = live.sessions.is_empty();
            if is_over {
                live.tending = None;
            }
            is_over
        };
        for session in ended {
            session.close();
        }
        if let Keeping::Store(store) = &self.keeping {
            let renewing = futures_util::stream::iter(due);
            let has_failed = &AtomicBool::new(false);
            let renew = |(session, keep): (Arc<HttpSession>, Duration)| async move {
                if has_failed.load(Ordering::Relaxed) {
                    return;
                }
                let loaded = store
                    .load(&session.id, keep)
                    .within(limits.sessions.store_timeout);
                match loaded.await {
                    Ok(Some(record)) => session.know(&record),
                    Ok(None) => self.end(&session.id),
                    // The error has been logged; work in progress continues, and the rest is checked next time.
                    Err(StoreFailed) => has_failed.store(true, Ordering::Relaxed),
                }
            };
            renewing.for_each_concurrent(TOGETHER, renew).await;
        }
        !is_over
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        if let Some(tending) = self.live().tending.take() {
            tending.abort();
        }
    }
}

/// Maintains live parts until there are none.
async fn tend(sessions: Weak<Sessions>) {
    loop {
        let pause = match sessions.upgrade() {
            Some(sessions) => TEND.min(sessions.limits().sessions.idle_timeout / 3),
            None => return,
        };
        tokio::time::sleep(pause.max(Duration::from_millis(10))).await;
        let Some(sessions) = sessions.upgrade() else {
            return;
        };
        if !sessions.tend().await {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
