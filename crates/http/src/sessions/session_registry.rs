//! All of a server's sessions: their storage and their live parts on this instance.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use mcp_core::budget::{ByteBudget, ClientNetwork};
use mcp_core::context::Principal;
use mcp_core::dispatch::Dispatcher;
use mcp_core::limits::Limits;
use mcp_core::spawn::spawn;
use mcp_core::sync::lock;
use mcp_protocol::ProtocolVersion;
use mcp_protocol::jsonrpc::RequestId;
use mcp_stores::{
    ById, EventStore, SessionRecord, SessionStore, SessionUpdate, StoreFailed, random_id,
};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::options::HttpOptions;
use crate::request::RequestHead;
use crate::response::HttpRefusal;
use crate::sessions::live_session::{LiveSession, SessionKind};
use crate::sessions::other_instances::{
    OtherInstances, OutgoingMessage, RelayedMessage, SessionEvent,
};
use crate::sessions::session_storage::SessionStorage;

/// All of a server's sessions.
pub(crate) struct SessionRegistry {
    dispatcher: Arc<Dispatcher>,
    unsent: Arc<ByteBudget>,
    pub(crate) storage: SessionStorage,
    pub(crate) events: Option<Arc<dyn EventStore>>,
    /// `None` if messages are handled by the instance that receives them.
    pub(crate) others: Option<Arc<OtherInstances>>,
    live: Mutex<LiveTable>,
}

#[derive(Default)]
pub(super) struct LiveTable {
    pub(super) sessions: ById<Arc<str>, Arc<LiveSession>>,
    /// The task that maintains the live parts, as long as there are any.
    pub(super) tending: Option<JoinHandle<()>>,
    /// The task that receives messages from other instances, which starts with the first live part.
    pub(super) receiving: Option<JoinHandle<()>>,
}

impl SessionRegistry {
    pub(crate) fn new(
        dispatcher: &Arc<Dispatcher>,
        options: &HttpOptions,
        unsent: &Arc<ByteBudget>,
    ) -> Arc<Self> {
        Arc::new(Self {
            dispatcher: Arc::clone(dispatcher),
            unsent: Arc::clone(unsent),
            storage: SessionStorage::new(options.sessions.as_ref(), dispatcher),
            events: options.events.clone(),
            others: options.instances.clone().map(OtherInstances::new),
            live: Mutex::default(),
        })
    }

    pub(super) fn lock_live(&self) -> MutexGuard<'_, LiveTable> {
        lock(&self.live)
    }

    pub(super) fn limits(&self) -> &Limits {
        self.dispatcher.limits()
    }

    /// Loads the session that a request names and extends its lifetime. Returns `None` if the request does not name one.
    pub(crate) async fn find<'h>(&self, head: RequestHead<'h>) -> SessionLookup<'h> {
        match head.headers.legacy_session() {
            None => Ok(None),
            Some(Err(_)) => Err(HttpRefusal::unknown_session()),
            Some(Ok(id)) => self.load(id, head.caller).await.map(Some),
        }
    }

    /// A session that belongs to another caller is treated as unknown. This is the only check of answers to elicitations
    /// and other requests to the client: the call that waits for them was admitted with its own scopes.
    async fn load<'h>(
        &self,
        id: &'h str,
        caller: Option<&Principal>,
    ) -> Result<RequestSession<'h>, HttpRefusal> {
        let limits = self.limits();
        let loaded = self.storage.load(id, limits.sessions.idle_timeout);
        let Some(record) = loaded.with_timeout(limits.sessions.store_timeout).await? else {
            self.end_session(id);
            return Err(HttpRefusal::unknown_session());
        };
        if !record.is_owned_by(caller) {
            return Err(HttpRefusal::unknown_session());
        }
        Ok(RequestSession { id, record })
    }

    /// Stores a new session. Returns `false` if there are too many sessions.
    pub(crate) async fn insert(
        &self,
        store: &dyn SessionStore,
        id: &str,
        record: SessionRecord,
    ) -> Result<bool, StoreFailed> {
        let limits = self.limits();
        let record = Arc::new(record);
        // A session with an open stream ends only if all others are in use.
        for spares_streams in [true, false] {
            let in_use = |id: &str| {
                let live = self.lock_live();
                let session = live.sessions.get(id);
                session.is_some_and(|it| it.is_busy() || spares_streams && it.has_readers())
            };
            let keep = limits.sessions.start_timeout;
            let inserted = store.insert(id, Arc::clone(&record), keep, &in_use);
            if inserted.with_timeout(limits.sessions.store_timeout).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the live part of a session, creating it if it does not exist.
    pub(crate) fn find_or_create_live(
        self: &Arc<Self>,
        found: &RequestSession<'_>,
        network: Option<ClientNetwork>,
    ) -> Result<Arc<LiveSession>, HttpRefusal> {
        let mut live = self.lock_live();
        if let Some(session) = live.sessions.get(found.id) {
            session.touch_with_record(&found.record);
            return Ok(Arc::clone(session));
        }
        self.make_room(&mut live)?;
        let session = Arc::new(self.live_from_record(found.id.into(), &found.record, network));
        self.insert_live(&mut live, &session);
        Ok(session)
    }

    /// Creates a session for a single request from a client about which only the protocol version is known.
    pub(crate) fn single_request_session(
        &self,
        version: ProtocolVersion,
        network: Option<ClientNetwork>,
    ) -> Result<Arc<LiveSession>, HttpRefusal> {
        self.make_room(&mut self.lock_live())?;
        let record = SessionRecord::for_unknown_client(version);
        let session = self.live_from_record(random_id().into(), &record, network);
        Ok(Arc::new(session.for_single_request()))
    }

    /// Keeps a session with an unfinished call, so that the call survives a broken connection.
    pub(crate) fn keep_live(self: &Arc<Self>, session: &Arc<LiveSession>) {
        self.insert_live(&mut self.lock_live(), session);
    }

    fn live_from_record(
        &self,
        id: Arc<str>,
        record: &SessionRecord,
        network: Option<ClientNetwork>,
    ) -> LiveSession {
        let kind = if self.storage.is_lasting() {
            SessionKind::Kept {
                stores_events: self.events.is_some(),
                instance: self.others.as_ref().map(|others| others.tag),
            }
        } else {
            SessionKind::Alone
        };
        LiveSession::from_record(id, kind, record, network, &self.dispatcher, &self.unsent)
    }

    /// Opens a 2024-11-05 connection. Fails if too many are open.
    pub(crate) fn open_sse_connection(
        self: &Arc<Self>,
        caller: Option<&Principal>,
        network: Option<ClientNetwork>,
    ) -> Result<Arc<LiveSession>, HttpRefusal> {
        let mut live = self.lock_live();
        self.make_room(&mut live)?;
        let id = random_id().into();
        let (dispatcher, unsent) = (&self.dispatcher, &self.unsent);
        let session = LiveSession::for_sse_connection(id, caller, network, dispatcher, unsent);
        let session = Arc::new(session);
        self.insert_live(&mut live, &session);
        Ok(session)
    }

    /// Returns the 2024-11-05 connection with this id, if it belongs to this caller.
    pub(crate) fn find_connection(
        &self,
        id: &str,
        caller: Option<&Principal>,
    ) -> Option<Arc<LiveSession>> {
        let key = caller.map(Principal::key);
        let live = self.lock_live();
        let session = live.sessions.get(id);
        let session = session
            .filter(|session| session.is_sse_connection() && session.owner.as_deref() == key)?;
        session.touch();
        Some(Arc::clone(session))
    }

    /// Returns the live part with this id, if it exists.
    pub(crate) fn find_live(&self, id: &str) -> Option<Arc<LiveSession>> {
        self.lock_live().sessions.get(id).cloned()
    }

    /// Returns the ids of all live parts whose sessions have records.
    fn kept_ids(&self) -> Vec<String> {
        let live = self.lock_live();
        let kept = live
            .sessions
            .values()
            .filter(|session| session.has_record());
        kept.map(|session| (*session.id).to_owned()).collect()
    }

    fn make_room(&self, live: &mut LiveTable) -> Result<(), HttpRefusal> {
        let limits = self.limits();
        let mut max = limits.sessions.max_sessions.max(1);
        if self.storage.is_lasting() {
            // The store limits the number of sessions, but ended sessions may remain here until they are detected.
            max = max.saturating_mul(2);
        }
        if live.sessions.len() >= max {
            let is_held = |session: &Arc<_>| Arc::strong_count(session) > 1;
            live.sessions.retain(|_, session| {
                is_held(session) || !session.is_unused(Duration::ZERO, limits)
            });
        }
        if live.sessions.len() >= max {
            return Err(HttpRefusal::unavailable("there are too many sessions"));
        }
        Ok(())
    }

    /// Ends the live part of a session that has ended.
    pub(crate) fn end_session(&self, id: &str) {
        let removed = {
            let mut live = self.lock_live();
            // A request cannot end a connection by sending the connection's id as its session id.
            let is_session = |session: &Arc<LiveSession>| !session.is_sse_connection();
            let is_there = live.sessions.get(id).is_some_and(is_session);
            is_there.then(|| live.sessions.remove(id)).flatten()
        };
        if let Some(session) = removed {
            session.close();
        }
    }

    /// Ends a 2024-11-05 connection.
    pub(crate) fn disconnect(&self, session: &LiveSession) {
        self.lock_live().sessions.remove(&session.id);
        session.close();
    }

    /// Ends all live parts.
    pub(crate) fn close_all(&self) {
        let all = std::mem::take(&mut self.lock_live().sessions);
        for session in all.into_values() {
            session.close();
        }
    }
}

impl Drop for SessionRegistry {
    fn drop(&mut self) {
        let mut live = self.lock_live();
        let tasks = [live.tending.take(), live.receiving.take()];
        tasks.iter().flatten().for_each(JoinHandle::abort);
    }
}

/// Result of looking up the session that a request names.
pub(crate) type SessionLookup<'h> = Result<Option<RequestSession<'h>>, HttpRefusal>;

impl From<StoreFailed> for HttpRefusal {
    fn from(_: StoreFailed) -> Self {
        Self::unavailable("the session store is unavailable")
    }
}

/// The session that a request belongs to.
pub(crate) struct RequestSession<'h> {
    pub(crate) id: &'h str,
    pub(crate) record: Arc<SessionRecord>,
}

impl RequestSession<'_> {
    /// Returns a change that must be saved. `request` is the request that made the change, if any.
    pub(crate) fn pending_save(
        &self,
        change: SessionUpdate,
        request: Option<RequestId>,
    ) -> PendingSave {
        PendingSave {
            id: self.id.into(),
            record: Arc::clone(&self.record),
            change,
            request,
        }
    }

    /// Returns the changes to the session since it was loaded, if any.
    pub(crate) fn pending_save_if_changed(
        &self,
        session: &LiveSession,
        request: Option<RequestId>,
    ) -> Option<PendingSave> {
        let change = session.change_since(&self.record);
        change.map(|change| self.pending_save(change, request))
    }
}

/// A change that has yet to be saved.
pub(crate) struct PendingSave {
    pub(super) id: Box<str>,
    pub(super) record: Arc<SessionRecord>,
    pub(super) change: SessionUpdate,
    /// The request to answer with an error if saving fails.
    pub(super) request: Option<RequestId>,
}

// Saves changes to sessions, even if other instances change the sessions concurrently.

/// Maximum number of attempts to save a change to a session that is being changed concurrently.
const SAVE_ATTEMPTS: usize = 8;

impl SessionRegistry {
    /// Saves a change, even if the session is changed concurrently.
    pub(crate) async fn save(&self, save: PendingSave) -> Result<(), HttpRefusal> {
        let SessionStorage::Store(store) = &self.storage else {
            return Ok(());
        };
        let saved = self.save_in(&**store, &save).await;
        let session = self.find_live(&save.id);
        let refusal = match (saved, session) {
            (Ok(Some(record)), session) => {
                if let Some(session) = session {
                    session.apply_record(&record);
                }
                // No call runs before the client is ready.
                if !save.change.is_only_ready() {
                    self.announce(&save.id, SessionEvent::Changed).await;
                }
                return Ok(());
            }
            (Ok(None), _) => {
                self.end_session(&save.id);
                HttpRefusal::unknown_session()
            }
            (Err(StoreFailed), session) => {
                if let Some(session) = session {
                    session.mark_outdated();
                }
                StoreFailed.into()
            }
        };
        Err(refusal.with_id(save.request))
    }

    /// Saves a change and returns the new record, or `None` if the session no longer exists.
    async fn save_in(
        &self,
        store: &dyn SessionStore,
        save: &PendingSave,
    ) -> Result<Option<Arc<SessionRecord>>, StoreFailed> {
        let limits = self.limits();
        let mut record = Arc::clone(&save.record);
        for _ in 0..SAVE_ATTEMPTS {
            let changed = Arc::new(record.with_update(&save.change, &limits.streams));
            let saved = store.save(&save.id, Arc::clone(&changed));
            if saved.with_timeout(limits.sessions.store_timeout).await? {
                return Ok(Some(changed));
            }
            let loaded = store.load(&save.id, Duration::ZERO);
            match loaded.with_timeout(limits.sessions.store_timeout).await? {
                Some(loaded) => record = loaded,
                None => return Ok(None),
            }
        }
        tracing::warn!("could not save a change to a session: too many concurrent changes");
        Err(StoreFailed)
    }
}

// --- Maintains live parts: drops those that are unused and keeps the records of the others from expiring.

/// Interval between checks of live parts.
const LIVE_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Interval between checks of records while work is in progress on this instance.
const RECORD_CHECK_INTERVAL: Duration = Duration::from_secs(15);

/// Duration for which an unused live part is kept. This is longer than a session's token buckets take to refill.
const UNUSED_LIFETIME: Duration = Duration::from_secs(5);

/// Maximum number of records that are checked concurrently.
const RECORDS_AT_ONCE: usize = 16;

impl SessionRegistry {
    /// Adds a live part and maintains it from then on.
    fn insert_live(self: &Arc<Self>, live: &mut LiveTable, session: &Arc<LiveSession>) {
        let id = Arc::clone(&session.id);
        live.sessions.insert(id, Arc::clone(session));
        if live.tending.as_ref().is_none_or(JoinHandle::is_finished) {
            live.tending = Some(spawn(maintain_until_empty(Arc::downgrade(self))));
        }
        if let Some(others) = &self.others
            && live.receiving.as_ref().is_none_or(JoinHandle::is_finished)
        {
            let receiving = receive_messages(Arc::downgrade(self), Arc::clone(others));
            live.receiving = Some(spawn(receiving));
        }
    }

    /// Drops unused live parts and ends live parts whose sessions have ended. Returns `false` if no live parts are
    /// left.
    async fn maintain_once(&self) -> bool {
        let limits = self.limits();
        let mut ended = Vec::new();
        let mut due = Vec::new();
        let is_over = {
            let mut live = self.lock_live();
            let after = RECORD_CHECK_INTERVAL.min(limits.sessions.idle_timeout / 3);
            live.sessions.retain(|_, session| {
                if session.is_expired(limits) || session.is_unused(UNUSED_LIFETIME, limits) {
                    ended.push(Arc::clone(session));
                    return false;
                }
                let keep = session.renewed_lifetime(after, limits);
                due.extend(keep.map(|keep| (Arc::clone(session), keep)));
                true
            });
            // Releases memory that is no longer needed after a peak in the number of sessions.
            let max = live.sessions.len().saturating_mul(2);
            live.sessions.shrink_to(max);
            let is_over = live.sessions.is_empty();
            if is_over {
                live.tending = None;
            }
            is_over
        };
        for session in ended {
            session.close();
        }
        self.read_records(due).await;
        !is_over
    }

    /// Reads the records of sessions that were, or may have been, changed on another instance.
    async fn read_again(&self, ids: &[String]) {
        let live = ids.iter().filter_map(|id| self.find_live(id));
        let live = live.map(|session| (session, Duration::ZERO));
        self.read_records(live.collect()).await;
    }

    /// Reads the sessions' records and keeps each record for the given duration from now on.
    async fn read_records(&self, due: Vec<(Arc<LiveSession>, Duration)>) {
        let SessionStorage::Store(store) = &self.storage else {
            return;
        };
        let limit = self.limits().sessions.store_timeout;
        let reading = futures_util::stream::iter(due);
        let has_failed = &AtomicBool::new(false);
        let read = |(session, keep): (Arc<LiveSession>, Duration)| async move {
            if has_failed.load(Ordering::Relaxed) {
                return;
            }
            match store.load(&session.id, keep).with_timeout(limit).await {
                Ok(Some(record)) => {
                    session.apply_record(&record);
                    if let Some(record) = session.with_seen_changes(&record) {
                        // If this fails, a client that moves is notified of more changes than it has missed.
                        let saved = store.save(&session.id, Arc::new(record));
                        let _ = saved.with_timeout(limit).await;
                    }
                }
                Ok(None) => self.end_session(&session.id),
                // The error has been logged. Work in progress continues, and the remaining records are checked next
                // time.
                Err(StoreFailed) => has_failed.store(true, Ordering::Relaxed),
            }
        };
        reading.for_each_concurrent(RECORDS_AT_ONCE, read).await;
    }
}

/// Maintains live parts until none are left.
async fn maintain_until_empty(sessions: Weak<SessionRegistry>) {
    loop {
        let pause = match sessions.upgrade() {
            Some(sessions) => LIVE_CHECK_INTERVAL.min(sessions.limits().sessions.idle_timeout / 3),
            None => return,
        };
        tokio::time::sleep(pause.max(Duration::from_millis(10))).await;
        let Some(sessions) = sessions.upgrade() else {
            return;
        };
        if !sessions.maintain_once().await {
            return;
        }
    }
}

// --- Sends messages to other instances, and applies their messages to this instance's sessions.

/// Time after which an instance that no longer receives messages is considered gone.
const INSTANCE_LEASE: Duration = Duration::from_secs(10);

/// Delay before the first retry when the relay fails. The delay doubles with each failure.
const FIRST_RETRY: Duration = Duration::from_millis(50);

/// Maximum delay before a failing relay is tried again.
const LONGEST_RETRY: Duration = Duration::from_secs(2);

impl SessionRegistry {
    /// Passes a client's messages to the instances for which they are intended.
    pub(crate) async fn forward(&self, messages: &[OutgoingMessage]) -> Result<(), HttpRefusal> {
        if let Some(others) = &self.others {
            for message in messages {
                others
                    .send(message, self.limits().sessions.store_timeout)
                    .await?;
            }
        }
        Ok(())
    }

    /// Tells the other instances that a session has changed or ended. If that fails, they find out when they next read
    /// the session's record.
    pub(super) async fn announce(&self, session: &str, event: SessionEvent) {
        let message = OutgoingMessage::new(String::new(), session, event);
        let _ = self.forward(&[message]).await;
    }

    /// Tells the other instances that a session has ended.
    pub(crate) async fn announce_end(&self, session: &str) {
        self.announce(session, SessionEvent::Ended).await;
    }

    /// Applies a message from another instance. Returns the session's id if its record must be read again.
    fn apply_relayed(&self, text: &str) -> Option<String> {
        let Some(RelayedMessage { session, event }) = RelayedMessage::parse(text) else {
            tracing::warn!(
                "ignored a message from another instance, which may be running a different build"
            );
            return None;
        };
        let live = self.find_live(&session)?;
        match event {
            SessionEvent::Answered { id, result, error } => {
                let id = RequestId::parse(&id)?;
                live.answer_question(&id, result.as_deref(), error.as_deref());
            }
            SessionEvent::Cancelled(id) => {
                live.cancel(&RequestId::parse(&id)?);
            }
            SessionEvent::Changed => return Some(session),
            SessionEvent::Ended => self.end_session(&session),
        }
        None
    }
}

/// Receives messages from other instances until the server ends.
async fn receive_messages(sessions: Weak<SessionRegistry>, others: Arc<OtherInstances>) {
    let mut position = None::<String>;
    let mut retry = FIRST_RETRY;
    loop {
        let received = others.receive(INSTANCE_LEASE, position.as_deref());
        let received = match timeout(INSTANCE_LEASE, received).await {
            Ok(Ok(received)) => received,
            failed => {
                if let Ok(Err(error)) = failed {
                    tracing::debug!(%error, "messages from other instances cannot be received");
                }
                sleep(retry).await;
                retry = retry.saturating_mul(2).min(LONGEST_RETRY);
                continue;
            }
        };
        retry = FIRST_RETRY;
        position = Some(received.position);
        let Some(sessions) = sessions.upgrade() else {
            return;
        };
        let mut changed = Vec::new();
        match received.texts {
            Some(texts) => {
                changed.extend(texts.iter().filter_map(|text| sessions.apply_relayed(text)));
            }
            // Some messages may have been lost, and sessions may have changed or ended.
            None => changed.extend(sessions.kept_ids()),
        }
        sessions.read_again(&changed).await;
    }
}
