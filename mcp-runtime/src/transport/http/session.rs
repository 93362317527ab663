//! The live part of a legacy session over HTTP: its running calls, its streams, and requests to the client without a
//! response.
//!
//! It is created when needed and dropped when empty. It has no task itself: its calls run in tasks that it owns, so that a
//! broken connection ends none of them; ending the session ends them all.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::calls::RunningRequest;
use super::events;
use super::expiry::Until;
use super::record::{SessionRecord, SessionUpdate};
use super::stream::{Manner, Resuming, SessionStream};
use crate::bell::Bell;
use crate::context::Principal;
use crate::dispatch::{ChannelId, Decision, Dispatcher, Session};
use crate::fnv::FnvMap;
use crate::jsonrpc::{Message, RequestId};
use crate::limits::Limits;
use crate::protocol::ProtocolVersion;

/// Maximum number of bytes of change notifications to take at once.
const ROOM: usize = 64 << 10;

/// The live part of a legacy session over HTTP.
pub(super) struct HttpSession {
    pub(super) id: Arc<str>,
    kind: SessionKind,
    /// The key of the principal it belongs to, if it belongs to one.
    pub(super) owner: Option<Box<str>>,
    /// Rung when the session has change notifications.
    pub(super) bell: Arc<Bell>,
    state: Mutex<LiveState>,
}

/// The kind of a session: the thing that it lives in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionKind {
    /// A record, kept in a store.
    Kept {
        /// `true` if the events of its streams are stored for other instances.
        stores_events: bool,
    },
    /// Nothing: its state is kept by its client, or not at all.
    Alone,
    /// A connection on which all messages are sent over one stream, as in 2024-11-05.
    Connection,
}

pub(super) struct LiveState {
    session: Session,
    pub(super) calls: FnvMap<RequestId, RunningRequest>,
    pub(super) next_call: u64,
    streams: FnvMap<u64, Arc<SessionStream>>,
    /// Number of the standalone stream, which no request opened.
    standalone: u64,
    next_stream: u64,
    /// Number of connections that read its streams.
    readers: usize,
    /// Tasks that copy events to and from a store.
    movers: Vec<AbortHandle>,
    pub(super) used: Instant,
    /// The latest expiry of the credentials that its client has sent.
    until: Until,
    /// Time at which its record was last read.
    renewed: Instant,
    /// Count of changes of the record that are known here.
    known: u32,
    is_closed: bool,
}

impl HttpSession {
    /// Creates the live part of a session with a record, or of one that is [`Alone`](Kind::Alone).
    pub(super) fn resume(
        id: Arc<str>,
        kind: SessionKind,
        record: &SessionRecord,
        dispatcher: &Arc<Dispatcher>,
    ) -> Self {
        let memory = (kind != SessionKind::Alone).then(|| record.memory());
        Self::new(
            id,
            kind,
            record.owner().map(Into::into),
            record.changes(),
            |wake| Session::resume(dispatcher, wake, record.agreed(), memory.as_ref()),
        )
    }

    /// Creates the session of a new connection of 2024-11-05.
    pub(super) fn connection(
        id: Arc<str>,
        caller: Option<&Principal>,
        dispatcher: &Arc<Dispatcher>,
    ) -> Self {
        let owner = caller.map(|principal| principal.key().into());
        let connection = Self::new(id, SessionKind::Connection, owner, 0, |wake| {
            Session::new(dispatcher, wake)
        });
        connection.attend(caller);
        connection
    }

    /// Lets the session share its limits with all other callers without a session.
    pub(super) fn of_nobody(self) -> Self {
        self.state().session.channel = ChannelId::SHARED;
        self
    }

    fn new(
        id: Arc<str>,
        kind: SessionKind,
        owner: Option<Box<str>>,
        known: u32,
        session: impl FnOnce(Arc<dyn Fn() + Send + Sync>) -> Session,
    ) -> Self {
        let bell = Arc::new(Bell::default());
        let wake = {
            let bell = Arc::clone(&bell);
            Arc::new(move || bell.wake())
        };
        // The streams of a session have different numbers at each instance, and whenever its live part is created again.
        let numbers = u64::from_ne_bytes(crate::random::random());
        let standalone = (numbers >> 2) & !1;
        let now = Instant::now();
        let mut session = session(wake);
        session.channel = ChannelId::of_session(&id);
        Self {
            id,
            kind,
            owner,
            bell,
            state: Mutex::new(LiveState {
                session,
                calls: FnvMap::default(),
                next_call: 0,
                streams: FnvMap::default(),
                standalone,
                next_stream: standalone.saturating_add(1),
                readers: 0,
                movers: Vec::new(),
                used: now,
                until: Until::NEVER,
                renewed: now,
                known,
                is_closed: false,
            }),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_connection(&self) -> bool {
        self.kind == SessionKind::Connection
    }

    /// Decides a message of this caller.
    pub(super) fn decide<'m>(
        &self,
        dispatcher: &Arc<Dispatcher>,
        caller: Option<&Principal>,
        message: &'m Message<'m>,
        out: &mut Vec<u8>,
    ) -> Decision<'m> {
        let mut state = self.state();
        state.attend(caller);
        dispatcher.decide(message, &mut state.session, out)
    }

    /// Records that the client is present, as this caller.
    pub(super) fn attend(&self, caller: Option<&Principal>) {
        self.state().attend(caller);
    }

    /// Returns the time until which the client may read its stream.
    pub(super) fn until(&self) -> Until {
        self.state().until
    }

    /// Returns `true` if batches are allowed.
    pub(super) fn allows_batch(&self) -> bool {
        self.state().session.allows_batch()
    }

    /// Returns the changes since the record was read, if any.
    pub(super) fn change_since(&self, record: &SessionRecord) -> Option<SessionUpdate> {
        let memory = self.state().session.memory()?;
        Some(SessionUpdate::between(record, memory)).filter(|change| !change.is_nothing())
    }

    /// Records that the client is still present.
    pub(super) fn touch(&self) {
        self.state().used = Instant::now();
    }

    /// Records that the record was read, and applies changes made elsewhere.
    pub(super) fn know(&self, record: &SessionRecord) {
        self.state().know(record, Instant::now());
    }

    /// Records that the client is present and that the record was read for its request.
    pub(super) fn meet(&self, record: &SessionRecord) {
        let mut state = self.state();
        let now = Instant::now();
        state.used = now;
        state.know(record, now);
    }

    /// Records that the state here may differ from the record.
    pub(super) fn doubt(&self) {
        self.state().known = 0;
    }

    /// Returns `true` if calls are running.
    pub(super) fn is_busy(&self) -> bool {
        !self.state().calls.is_empty()
    }

    /// Returns `true` if it is empty and was not used for the time `linger`.
    pub(super) fn is_unused(&self, linger: Duration, limits: &Limits) -> bool {
        let mut state = self.state();
        state.sweep(limits);
        self.kind != SessionKind::Connection
            && state.calls.is_empty()
            && state.readers == 0
            && state.streams.is_empty()
            && state.movers.is_empty()
            && !state.session.follows()
            && state.used.elapsed() > linger
    }

    /// Returns the time for which the record is to be kept from now on, if it was not read for the time `after`.
    pub(super) fn is_due(&self, after: Duration, limits: &Limits) -> Option<Duration> {
        let state = self.state();
        let is_due =
            matches!(self.kind, SessionKind::Kept { .. }) && state.renewed.elapsed() >= after;
        is_due.then(|| {
            let streaming = limits
                .sessions
                .streaming_idle_timeout
                .saturating_sub(state.used.elapsed());
            match (state.calls.is_empty(), state.readers) {
                (false, _) => limits.sessions.idle_timeout,
                (true, 0) => Duration::ZERO,
                (true, _) => limits.sessions.idle_timeout.min(streaming),
            }
        })
    }

    /// Returns `true` if its connection was silent for too long.
    pub(super) fn is_expired(&self, limits: &Limits) -> bool {
        let state = self.state();
        self.kind == SessionKind::Connection
            && state.calls.is_empty()
            && state.used.elapsed() > limits.sessions.streaming_idle_timeout
    }

    /// Returns the properties of a new stream.
    fn manner(&self, state: &LiveState, takes_events: bool) -> Manner {
        let (is_kept, stored) = match self.kind {
            SessionKind::Kept { stores_events } => (true, stores_events),
            SessionKind::Alone | SessionKind::Connection => (false, false),
        };
        // Clients before 2025-11-25 do not expect a stream to begin with an event that only has an id to resume from.
        let version = state.session.version();
        let primes = version.is_some_and(|version| version >= ProtocolVersion::V2025_11_25);
        Manner {
            takes_events,
            resuming: match (is_kept, primes) {
                (false, _) => Resuming::Never,
                (true, false) => Resuming::ById,
                (true, true) => Resuming::Primed,
            },
            stored,
        }
    }

    /// Opens a stream for `awaited` answers.
    pub(super) fn open_stream(
        &self,
        events: bool,
        awaited: usize,
        limits: &Limits,
    ) -> Arc<SessionStream> {
        let mut state = self.state();
        state.sweep(limits);
        let number = state.next_stream;
        // Streams of requests have odd numbers.
        state.next_stream = number.saturating_add(2);
        let stream = SessionStream::new(number, self.manner(&state, events), awaited, limits);
        state.add(stream)
    }

    /// Returns the standalone stream, creating it if there is none.
    pub(super) fn standalone(&self, limits: &Limits) -> Arc<SessionStream> {
        let mut state = self.state();
        let number = state.standalone;
        if let Some(stream) = state.streams.get(&number) {
            return Arc::clone(stream);
        }
        let stream = SessionStream::new(number, self.manner(&state, true), 1, limits);
        state.add(stream)
    }

    /// Creates a copy of a stream of another instance, and ends an earlier copy.
    pub(super) fn copy_stream(
        &self,
        number: u64,
        after: u64,
        limits: &Limits,
    ) -> Arc<SessionStream> {
        let mut state = self.state();
        let before = state.streams.remove(&number);
        if let Some(before) = before {
            before.end();
        }
        state.add(SessionStream::copy(number, after, limits))
    }

    /// Spawns a task that copies events to or from a store; the session owns it.
    pub(super) fn own(&self, moving: impl Future<Output = ()> + Send + 'static) {
        let mut state = self.state();
        state.movers.retain(|mover| !mover.is_finished());
        if !state.is_closed {
            state.movers.push(tokio::spawn(moving).abort_handle());
        }
    }

    /// Returns the stream with this number, if it is still kept.
    pub(super) fn stream(&self, number: u64, limits: &Limits) -> Option<Arc<SessionStream>> {
        let mut state = self.state();
        state.sweep(limits);
        state.streams.get(&number).cloned()
    }

    /// Removes a stream that no client will resume.
    pub(super) fn forget(&self, number: u64) {
        self.state().streams.remove(&number);
    }

    /// Moves change notifications to the standalone stream, as many as it has room for. The others stay pending, and are
    /// merged with later ones about the same change.
    pub(super) fn pump(&self, standalone: &SessionStream) {
        let mut lines = Vec::new();
        let room = standalone.room().min(ROOM);
        self.state().session.drain(&mut lines, room);
        for message in events::messages(&lines) {
            standalone.push(message.into());
        }
    }

    /// Records that a connection reads one of its streams.
    pub(super) fn reader_came(&self) {
        let mut state = self.state();
        state.readers = state.readers.saturating_add(1);
    }

    /// Records that a connection no longer reads one of its streams.
    pub(super) fn reader_left(&self) {
        let mut state = self.state();
        state.readers = state.readers.saturating_sub(1);
        state.used = Instant::now();
    }

    /// Ends the session: drops its calls and ends its streams.
    pub(super) fn close(&self) {
        let (calls, streams, movers) = {
            let mut state = self.state();
            state.is_closed = true;
            // Ends everything that the session keeps open; no client is left to notify.
            state.session.end(&mut Vec::new());
            (
                std::mem::take(&mut state.calls),
                std::mem::take(&mut state.streams),
                std::mem::take(&mut state.movers),
            )
        };
        for mover in movers {
            mover.abort();
        }
        for (task, _) in calls.into_values().filter_map(|call| call.task) {
            task.abort();
        }
        for stream in streams.into_values() {
            stream.end();
        }
        self.bell.wake();
    }
}

impl Drop for HttpSession {
    fn drop(&mut self) {
        self.close();
    }
}

impl LiveState {
    fn attend(&mut self, caller: Option<&Principal>) {
        self.until = self.until.max(Until::of(caller));
        // Concurrent requests may carry credentials with different scopes.
        self.session.set_caller(caller.cloned());
    }

    fn know(&mut self, record: &SessionRecord, now: Instant) {
        self.renewed = now;
        if record.changes() > self.known {
            self.known = record.changes();
            self.session.recall(&record.memory());
        }
    }

    fn add(&mut self, stream: SessionStream) -> Arc<SessionStream> {
        let stream = Arc::new(stream);
        if self.is_closed {
            stream.end();
        } else {
            self.streams.insert(stream.number, Arc::clone(&stream));
        }
        stream
    }

    /// Drops streams that have ended, unless they are within the limits for streams that clients may resume.
    fn sweep(&mut self, limits: &Limits) {
        self.movers.retain(|mover| !mover.is_finished());
        let now = Instant::now();
        let mut kept = Vec::new();
        self.streams.retain(|number, stream| {
            let Some((at, bytes)) = stream.finished() else {
                return true;
            };
            let age = now.saturating_duration_since(at);
            let keep = stream.is_resumable() && age <= limits.streams.replay_timeout;
            if keep {
                kept.push((*number, bytes));
            }
            keep
        });
        kept.sort_unstable();
        let mut total = 0_usize;
        for (index, (number, bytes)) in kept.into_iter().rev().enumerate() {
            total = total.saturating_add(bytes);
            if index >= limits.streams.max_replay_events || total > limits.streams.max_replay_bytes
            {
                self.streams.remove(&number);
            }
        }
    }
}
