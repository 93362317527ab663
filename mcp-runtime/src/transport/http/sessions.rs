//! All sessions of a server: where they are kept, and their live parts at this instance.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::task::JoinHandle;

use super::answer::Refusal;
use super::event_store::EventStore;
use super::found::{Found, Save};
use super::head::Head;
use super::keeping::{ById, Keeping, random_id};
use super::options::HttpOptions;
use super::record::SessionRecord;
use super::session::{HttpSession, Kind};
use super::session_store::{SessionStore, StoreFailed};
use crate::context::Principal;
use crate::dispatch::Dispatcher;
use crate::limits::Limits;
use crate::protocol::{Era, ProtocolVersion};

/// How often live parts are looked at.
const TEND: Duration = Duration::from_secs(5);
/// How often records are looked at while something is under way here.
const RENEW: Duration = Duration::from_secs(15);
/// For how long a live part stays that nothing is in. Longer than it takes a budget of the session to fill up again.
const LINGER: Duration = Duration::from_secs(5);
/// How many records are looked at together.
const TOGETHER: usize = 16;
/// How often a change is tried again because of others.
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
    /// Looks after them as long as there are any.
    tending: Option<JoinHandle<()>>,
}

impl From<StoreFailed> for Refusal {
    fn from(_: StoreFailed) -> Self {
        Self::unavailable("sessions cannot be looked up just now")
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

    /// The session that a request says it belongs to, whose client is there again. None if it says none, or is modern.
    ///
    /// That of somebody else is unknown, as one that never was.
    pub(super) async fn find<'h>(&self, head: Head<'h>) -> Result<Option<Found<'h>>, Refusal> {
        let headers = head.headers;
        let version = headers.version.and_then(Result::ok);
        let version = version.and_then(ProtocolVersion::from_wire);
        if version.is_some_and(|version| version.era() == Era::Modern) {
            return Ok(None);
        }
        let id = match headers.session() {
            None => return Ok(None),
            Some(Ok(id)) => id,
            Some(Err(_)) => return Err(Refusal::unknown_session()),
        };
        let limits = self.limits();
        let loaded = self.keeping.load(id, limits.session_idle);
        let Some(record) = loaded.within(limits.store_time).await? else {
            self.end(id);
            return Err(Refusal::unknown_session());
        };
        if !record.is_of(head.caller) {
            return Err(Refusal::unknown_session());
        }
        Ok(Some(Found { id, record }))
    }

    /// Keeps a new session; `false` if there are too many.
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
        let inserted = store.insert(id, Arc::new(record), limits.session_start, &in_use);
        inserted.within(limits.store_time).await
    }

    /// The live part of a session, made if there is none.
    pub(super) fn resume(self: &Arc<Self>, found: &Found<'_>) -> Result<Arc<HttpSession>, Refusal> {
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

    /// A session for one request, of a client of whom nothing is known but a revision.
    pub(super) fn anonymous(&self, version: ProtocolVersion) -> Result<Arc<HttpSession>, Refusal> {
        self.make_room(&mut self.live())?;
        let session = self.make(random_id().into(), &SessionRecord::unknown(version));
        Ok(Arc::new(session.of_nobody()))
    }

    /// Holds a session whose call goes on, so that it does if its connection breaks.
    pub(super) fn hold(self: &Arc<Self>, session: &Arc<HttpSession>) {
        self.add(&mut self.live(), session);
    }

    fn make(&self, id: Arc<str>, record: &SessionRecord) -> HttpSession {
        let kind = if self.keeping.is_lasting() {
            Kind::Kept {
                stores_events: self.events.is_some(),
            }
        } else {
            Kind::Alone
        };
        HttpSession::resume(id, kind, record, &self.dispatcher)
    }

    /// A new connection of 2024-11-05; none if there are too many.
    pub(super) fn connect(
        self: &Arc<Self>,
        caller: Option<&Principal>,
    ) -> Result<Arc<HttpSession>, Refusal> {
        let mut live = self.live();
        self.make_room(&mut live)?;
        let session = HttpSession::connection(random_id().into(), caller, &self.dispatcher);
        let session = Arc::new(session);
        self.add(&mut live, &session);
        Ok(session)
    }

    /// The connection of 2024-11-05 of this id, if it is one of this caller.
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

    /// The live part of this id, if there is one.
    pub(super) fn get(&self, id: &str) -> Option<Arc<HttpSession>> {
        self.live().sessions.get(id).cloned()
    }

    fn make_room(&self, live: &mut Live) -> Result<(), Refusal> {
        let limits = self.limits();
        let mut most = limits.sessions.max(1);
        if self.keeping.is_lasting() {
            // A store counts sessions; those that have ended may be here for a while still, until that is noticed.
            most = most.saturating_mul(2);
        }
        if live.sessions.len() >= most {
            let is_held = |session: &Arc<_>| Arc::strong_count(session) > 1;
            live.sessions.retain(|_, session| {
                is_held(session) || !session.is_unused(Duration::ZERO, limits)
            });
        }
        if live.sessions.len() >= most {
            return Err(Refusal::unavailable("there are too many sessions"));
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

    /// Keeps a change, also if others change the session at the same time.
    pub(super) async fn save(&self, save: Save) -> Result<(), Refusal> {
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
                Refusal::unknown_session()
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

    /// What the record became; none if there is no such session any more.
    async fn save_in(
        &self,
        store: &dyn SessionStore,
        save: &Save,
    ) -> Result<Option<Arc<SessionRecord>>, StoreFailed> {
        let limits = self.limits();
        let mut record = Arc::clone(&save.record);
        for _ in 0..TRIES {
            let changed = Arc::new(record.changed(&save.change, limits.subscriptions));
            let saved = store.save(&save.id, Arc::clone(&changed));
            if saved.within(limits.store_time).await? {
                return Ok(Some(changed));
            }
            let loaded = store.load(&save.id, Duration::ZERO);
            match loaded.within(limits.store_time).await? {
                Some(loaded) => record = loaded,
                None => return Ok(None),
            }
        }
        tracing::warn!("a session was changed too often at the same time to be changed once more");
        Err(StoreFailed)
    }

    /// Ends the live part of a session that has ended.
    pub(super) fn end(&self, id: &str) {
        let removed = {
            let mut live = self.live();
            // The id of a connection is none of a session, whoever says so.
            let is_session = |session: &Arc<HttpSession>| !session.is_connection();
            let is_there = live.sessions.get(id).is_some_and(is_session);
            is_there.then(|| live.sessions.remove(id)).flatten()
        };
        if let Some(session) = removed {
            session.close();
        }
    }

    /// A connection of 2024-11-05 is over.
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

    /// Drops live parts that nothing is in, and ends those whose session has ended. `false` if there are no more.
    async fn tend(&self) -> bool {
        let limits = self.limits();
        let mut ended = Vec::new();
        let mut due = Vec::new();
        let is_over = {
            let mut live = self.live();
            let after = RENEW.min(limits.session_idle / 3);
            live.sessions.retain(|_, session| {
                if session.is_expired(limits) || session.is_unused(LINGER, limits) {
                    ended.push(Arc::clone(session));
                    return false;
                }
                let keep = session.is_due(after, limits);
                due.extend(keep.map(|keep| (Arc::clone(session), keep)));
                true
            });
            // What many had needed few may not need.
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
                let loaded = store.load(&session.id, keep).within(limits.store_time);
                match loaded.await {
                    Ok(Some(record)) => session.know(&record),
                    Ok(None) => self.end(&session.id),
                    // It is in the log; what is under way goes on, and the rest is looked at the next time.
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

/// Looks after live parts until there are none.
async fn tend(sessions: Weak<Sessions>) {
    loop {
        let pause = match sessions.upgrade() {
            Some(sessions) => TEND.min(sessions.limits().session_idle / 3),
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
