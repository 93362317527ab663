//! The live part of a legacy session over HTTP: its calls under way, its streams, what is asked and not yet answered.
//!
//! It is made when it is needed and dropped when nothing is in it. It is data: its calls run in tasks that it owns, so that
//! a connection that breaks ends none of them; ending the session ends them all.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::calls::Call;
use super::events;
use super::expiry::Until;
use super::record::{Change, SessionRecord};
use super::stream::{Manner, Resuming, Stream};
use crate::bell::Bell;
use crate::context::Principal;
use crate::dispatch::{Channel, Decision, Dispatcher, Session};
use crate::fnv::FnvMap;
use crate::jsonrpc::{Message, RequestId};
use crate::limits::Limits;
use crate::protocol::ProtocolVersion;

/// Most bytes of change notifications that are taken at once.
const ROOM: usize = 64 << 10;

/// The live part of a legacy session over HTTP.
pub(super) struct HttpSession {
    pub(super) id: Arc<str>,
    kind: Kind,
    /// The key of the principal it belongs to, if it belongs to one.
    pub(super) owner: Option<Box<str>>,
    /// Rung when the session has change notices.
    pub(super) bell: Arc<Bell>,
    state: Mutex<State>,
}

/// What a session is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A record, kept in a store.
    Kept {
        /// Whether the events of its streams are stored for other instances.
        stores_events: bool,
    },
    /// Nothing: what is remembered of it travels with its client, or is not remembered.
    Alone,
    /// A connection, on which all messages go over one stream, as in 2024-11-05.
    Connection,
}

pub(super) struct State {
    session: Session,
    pub(super) calls: FnvMap<RequestId, Call>,
    pub(super) next_call: u64,
    streams: FnvMap<u64, Arc<Stream>>,
    /// The number of the stream that no request opened.
    standalone: u64,
    next_stream: u64,
    /// How many connections read its streams.
    readers: usize,
    /// Move events to and from a store.
    movers: Vec<AbortHandle>,
    pub(super) used: Instant,
    /// Until when the credentials are valid that its client came with; of several, the latest.
    until: Until,
    /// When its record was last looked at, and the change of it that is known here.
    renewed: Instant,
    known: u32,
    is_closed: bool,
}

impl HttpSession {
    /// The live part of a session that is kept, or that is alone.
    pub(super) fn resume(
        id: Arc<str>,
        kind: Kind,
        record: &SessionRecord,
        dispatcher: &Arc<Dispatcher>,
    ) -> Self {
        let memory = (kind != Kind::Alone).then(|| record.memory());
        Self::new(
            id,
            kind,
            record.owner().map(Into::into),
            record.changes(),
            |wake| Session::resume(dispatcher, wake, record.agreed(), memory.as_ref()),
        )
    }

    /// A connection of 2024-11-05, on which nothing was said.
    pub(super) fn connection(
        id: Arc<str>,
        caller: Option<&Principal>,
        dispatcher: &Arc<Dispatcher>,
    ) -> Self {
        let owner = caller.map(|principal| principal.key().into());
        let connection = Self::new(id, Kind::Connection, owner, 0, |wake| {
            Session::new(dispatcher, wake)
        });
        connection.attend(caller);
        connection
    }

    /// Counts as the same caller as everybody else without a session.
    pub(super) fn of_nobody(self) -> Self {
        self.state().session.channel = Channel::SHARED;
        self
    }

    fn new(
        id: Arc<str>,
        kind: Kind,
        owner: Option<Box<str>>,
        known: u32,
        session: impl FnOnce(Arc<dyn Fn() + Send + Sync>) -> Session,
    ) -> Self {
        let bell = Arc::new(Bell::default());
        let wake = {
            let bell = Arc::clone(&bell);
            Arc::new(move || bell.wake())
        };
        // Streams of a session have other numbers at each instance, and each time it is taken up again.
        let numbers = u64::from_ne_bytes(crate::dispatch::seal::random());
        let standalone = (numbers >> 2) & !1;
        let now = Instant::now();
        let mut session = session(wake);
        session.channel = Channel::of_session(&id);
        Self {
            id,
            kind,
            owner,
            bell,
            state: Mutex::new(State {
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

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_connection(&self) -> bool {
        self.kind == Kind::Connection
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

    /// Its client is there, as this caller.
    pub(super) fn attend(&self, caller: Option<&Principal>) {
        self.state().attend(caller);
    }

    /// Until when its client may read its stream.
    pub(super) fn until(&self) -> Until {
        self.state().until
    }

    /// Whether arrays of messages are welcome.
    pub(super) fn allows_batch(&self) -> bool {
        self.state().session.allows_batch()
    }

    /// What is remembered now and was not in its record.
    pub(super) fn change_since(&self, record: &SessionRecord) -> Option<Change> {
        let memory = self.state().session.memory()?;
        Some(Change::between(record, memory)).filter(|change| !change.is_nothing())
    }

    /// Its client is still there.
    pub(super) fn touch(&self) {
        self.state().used = Instant::now();
    }

    /// Its record was looked at: takes over what was changed elsewhere.
    pub(super) fn know(&self, record: &SessionRecord) {
        self.state().know(record, Instant::now());
    }

    /// Its client is there, with a request for which its record was looked at.
    pub(super) fn meet(&self, record: &SessionRecord) {
        let mut state = self.state();
        let now = Instant::now();
        state.used = now;
        state.know(record, now);
    }

    /// What is remembered here may differ from its record.
    pub(super) fn doubt(&self) {
        self.state().known = 0;
    }

    /// Whether calls run.
    pub(super) fn is_busy(&self) -> bool {
        !self.state().calls.is_empty()
    }

    /// Whether nothing is in it, and it was not used for the time `linger`.
    pub(super) fn is_unused(&self, linger: Duration, limits: &Limits) -> bool {
        let mut state = self.state();
        state.sweep(limits);
        self.kind != Kind::Connection
            && state.calls.is_empty()
            && state.readers == 0
            && state.streams.is_empty()
            && state.movers.is_empty()
            && !state.session.follows()
            && state.used.elapsed() > linger
    }

    /// Whether its record was not looked at for the time `after`; then for how long it is to be kept from now on.
    pub(super) fn is_due(&self, after: Duration, limits: &Limits) -> Option<Duration> {
        let state = self.state();
        let is_due = matches!(self.kind, Kind::Kept { .. }) && state.renewed.elapsed() >= after;
        is_due.then(|| {
            let streaming = limits
                .session_idle_streaming
                .saturating_sub(state.used.elapsed());
            match (state.calls.is_empty(), state.readers) {
                (false, _) => limits.session_idle,
                (true, 0) => Duration::ZERO,
                (true, _) => limits.session_idle.min(streaming),
            }
        })
    }

    /// Whether its connection was silent for too long.
    pub(super) fn is_expired(&self, limits: &Limits) -> bool {
        let state = self.state();
        self.kind == Kind::Connection
            && state.calls.is_empty()
            && state.used.elapsed() > limits.session_idle_streaming
    }

    /// What its streams are like, if their client takes events.
    fn manner(&self, state: &State, takes_events: bool) -> Manner {
        let (is_kept, stored) = match self.kind {
            Kind::Kept { stores_events } => (true, stores_events),
            Kind::Alone | Kind::Connection => (false, false),
        };
        // Clients before 2025-11-25 do not expect streams to begin with an event that says where to resume.
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

    /// Opens a stream on which `awaited` answers will come.
    pub(super) fn open_stream(&self, events: bool, awaited: usize, limits: &Limits) -> Arc<Stream> {
        let mut state = self.state();
        state.sweep(limits);
        let number = state.next_stream;
        // Odd ones are those of requests.
        state.next_stream = number.saturating_add(2);
        let stream = Stream::new(number, self.manner(&state, events), awaited, limits);
        state.add(stream)
    }

    /// The stream that no request opened, made when first asked for.
    pub(super) fn standalone(&self, limits: &Limits) -> Arc<Stream> {
        let mut state = self.state();
        let number = state.standalone;
        if let Some(stream) = state.streams.get(&number) {
            return Arc::clone(stream);
        }
        let stream = Stream::new(number, self.manner(&state, true), 1, limits);
        state.add(stream)
    }

    /// A copy of a stream of another instance, in the place of a copy that may be there.
    pub(super) fn copy_stream(&self, number: u64, after: u64, limits: &Limits) -> Arc<Stream> {
        let mut state = self.state();
        let before = state.streams.remove(&number);
        if let Some(before) = before {
            before.end();
        }
        state.add(Stream::copy(number, after, limits))
    }

    /// Owns a task that moves events to or from a store.
    pub(super) fn own(&self, moving: impl Future<Output = ()> + Send + 'static) {
        let mut state = self.state();
        state.movers.retain(|mover| !mover.is_finished());
        if !state.is_closed {
            state.movers.push(tokio::spawn(moving).abort_handle());
        }
    }

    /// The stream of this number, if it is still kept.
    pub(super) fn stream(&self, number: u64, limits: &Limits) -> Option<Arc<Stream>> {
        let mut state = self.state();
        state.sweep(limits);
        state.streams.get(&number).cloned()
    }

    /// Nobody can come back to this stream.
    pub(super) fn forget(&self, number: u64) {
        self.state().streams.remove(&number);
    }

    /// Moves change notifications to the stream that no request opened, as many as it has room for. The others stay where they
    /// are, and are one with those that come later and say the same.
    pub(super) fn pump(&self, standalone: &Stream) {
        let mut lines = Vec::new();
        let room = standalone.room().min(ROOM);
        self.state().session.drain(&mut lines, room);
        for message in events::messages(&lines) {
            standalone.push(message.into());
        }
    }

    /// A connection reads one of its streams.
    pub(super) fn reader_came(&self) {
        let mut state = self.state();
        state.readers = state.readers.saturating_add(1);
    }

    /// A connection reads one of its streams no longer.
    pub(super) fn reader_left(&self) {
        let mut state = self.state();
        state.readers = state.readers.saturating_sub(1);
        state.used = Instant::now();
    }

    /// Ends the session: its calls are dropped, its streams end.
    pub(super) fn close(&self) {
        let (calls, streams, movers) = {
            let mut state = self.state();
            state.is_closed = true;
            // Whatever the session keeps open ends; there is nobody to tell.
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

impl State {
    fn attend(&mut self, caller: Option<&Principal>) {
        self.until = self.until.max(Until::of(caller));
        // Two requests under way at the same time may come with credentials for different scopes.
        self.session.set_caller(caller.cloned());
    }

    fn know(&mut self, record: &SessionRecord, now: Instant) {
        self.renewed = now;
        if record.changes() > self.known {
            self.known = record.changes();
            self.session.recall(&record.memory());
        }
    }

    fn add(&mut self, stream: Stream) -> Arc<Stream> {
        let stream = Arc::new(stream);
        if self.is_closed {
            stream.end();
        } else {
            self.streams.insert(stream.number, Arc::clone(&stream));
        }
        stream
    }

    /// Forgets streams that are over and will hardly be resumed any more.
    fn sweep(&mut self, limits: &Limits) {
        self.movers.retain(|mover| !mover.is_finished());
        let now = Instant::now();
        let mut kept = Vec::new();
        self.streams.retain(|number, stream| {
            let Some((at, bytes)) = stream.finished() else {
                return true;
            };
            let age = now.saturating_duration_since(at);
            let keep = stream.is_resumable() && age <= limits.replay_time;
            if keep {
                kept.push((*number, bytes));
            }
            keep
        });
        kept.sort_unstable();
        let mut total = 0_usize;
        for (index, (number, bytes)) in kept.into_iter().rev().enumerate() {
            total = total.saturating_add(bytes);
            if index >= limits.replay_events || total > limits.replay_bytes {
                self.streams.remove(&number);
            }
        }
    }
}
