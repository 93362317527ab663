//! The live part of a legacy session over HTTP: its running calls, its streams, and its unanswered requests to the
//! client.
//!
//! The live part is created when needed and dropped when empty. The live part does not run in a task itself, but owns
//! the tasks in which its calls run. The calls therefore survive a broken connection and end when the session ends.

use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Context;

use tokio::time::Instant;

use crate::bell::Bell;
use crate::budget::{ByteBudget, Charge, ClientNetwork, Holder};
use crate::context::Principal;
use crate::dispatch::{CallTable, ChannelId, ChannelMemory, Dispatcher, RemovedCall, Wake};
use crate::http::response::event_source::{MAX_POLLED_BYTES, StreamStatus};
use crate::http::response::sse;
use crate::http::sessions::instance_tag::InstanceTag;
use crate::http::sessions::live_streams::LiveStreams;
use crate::http::stores::record::{SessionRecord, SessionUpdate};
use crate::http::streams::session_stream::{
    AwaitedAnswer, Resumption, SessionStream, StreamProperties,
};
use crate::http::streams::stream_reader::StreamReader;
use crate::http::timers::expiry::ValidUntil;
use crate::jsonrpc::RequestId;
use crate::limits::Limits;
use crate::lock::lock;
use crate::protocol::ProtocolVersion;

/// The live part of a legacy session over HTTP.
pub(in crate::http) struct HttpSession {
    pub(in crate::http) id: Arc<str>,
    pub(super) kind: SessionKind,
    /// `true` if the client knows the session's id.
    is_known: bool,
    /// The key of the principal that owns the session, if any.
    pub(super) owner: Option<Box<str>>,
    /// Rings when the session has change notifications.
    bell: Arc<Bell>,
    state: Mutex<LiveState>,
}

/// A session's kind, which determines where its state is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionKind {
    /// The state is kept in a record in a store.
    Kept {
        /// `true` if the events of the session's streams are stored for other instances.
        stores_events: bool,
        /// This instance, if other instances pass messages to it.
        instance: Option<InstanceTag>,
    },
    /// The client keeps the state, or there is no state.
    Alone,
    /// The state is kept for the lifetime of a connection that sends all messages over a single stream, as in
    /// 2024-11-05.
    Connection,
}

impl SessionKind {
    fn instance(self) -> Option<InstanceTag> {
        match self {
            Self::Kept { instance, .. } => instance,
            Self::Alone | Self::Connection => None,
        }
    }
}

/// A live part's mutable state.
pub(super) struct LiveState {
    pub(super) channel: ChannelMemory,
    /// The running calls, each with the stream on which it will be answered.
    pub(super) calls: CallTable<Arc<SessionStream>>,
    pub(super) streams: LiveStreams,
    /// Number of connections that are reading the session's streams.
    pub(super) readers: usize,
    pub(super) used: Instant,
    /// The latest expiry among all credentials that the client has sent.
    until: ValidUntil,
    /// Time at which the session's record was last read.
    pub(super) renewed: Instant,
    /// Time at which the changes that the client has seen were last compared with the record.
    pub(super) compared: Instant,
    /// Number of changes to the record that this instance knows about.
    known: u32,
}

impl HttpSession {
    /// Creates the live part for a session that has a record or is [`Alone`](SessionKind::Alone).
    pub(super) fn from_record(
        id: Arc<str>,
        kind: SessionKind,
        (record, network): (&SessionRecord, Option<ClientNetwork>),
        (dispatcher, unsent): (&Arc<Dispatcher>, &Arc<ByteBudget>),
    ) -> Self {
        let holder = match record.owner() {
            Some(owner) => Holder::Principal(owner.into()),
            None => Holder::Anonymous(network),
        };
        let memory = (kind != SessionKind::Alone).then(|| record.session_memory());
        Self::new(
            id,
            kind,
            (record.owner().map(Into::into), unsent.charge(&holder)),
            record.changes(),
            |wake| {
                ChannelMemory::resume(
                    dispatcher,
                    wake,
                    record.handshake_outcome(),
                    (memory.as_ref(), holder),
                )
            },
        )
    }

    /// Creates the session for a new 2024-11-05 connection.
    pub(super) fn for_sse_connection(
        id: Arc<str>,
        (caller, network): (Option<&Principal>, Option<ClientNetwork>),
        (dispatcher, unsent): (&Arc<Dispatcher>, &Arc<ByteBudget>),
    ) -> Self {
        let owner = caller.map(|principal| principal.key().into());
        let owner = (owner, unsent.charge(&Holder::new(caller, network)));
        let connection = Self::new(id, SessionKind::Connection, owner, 0, |wake| {
            ChannelMemory::new(dispatcher, wake)
        });
        connection.state().channel.set_network(network);
        connection.mark_used_by(caller);
        connection
    }

    /// Hides the session from the client and makes it share its limits with all other callers without a session.
    pub(super) fn for_single_request(mut self) -> Self {
        self.is_known = false;
        self.state()
            .channel
            .set_rate_limit_channel(ChannelId::SHARED);
        self
    }

    fn new(
        id: Arc<str>,
        kind: SessionKind,
        (owner, unsent): (Option<Box<str>>, Charge),
        known: u32,
        channel: impl FnOnce(Wake) -> ChannelMemory,
    ) -> Self {
        let bell = Arc::new(Bell::default());
        let wake = {
            let bell = Arc::clone(&bell);
            Arc::new(move || bell.wake())
        };
        let now = Instant::now();
        let mut channel = channel(wake);
        if let Some(instance) = kind.instance() {
            channel.number_questions_from(instance.first_question());
        }
        channel.set_rate_limit_channel(ChannelId::of_session(&id));
        Self {
            id,
            kind,
            is_known: true,
            owner,
            bell,
            state: Mutex::new(LiveState {
                channel,
                calls: CallTable::default(),
                streams: LiveStreams::new(kind.instance(), unsent),
                readers: 0,
                used: now,
                until: ValidUntil::NEVER,
                renewed: now,
                compared: now,
                known,
            }),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, LiveState> {
        lock(&self.state)
    }

    /// Returns the id by which the client knows the session, if the client knows it.
    pub(in crate::http) fn public_id(&self) -> Option<Arc<str>> {
        self.is_known.then(|| Arc::clone(&self.id))
    }

    pub(super) fn is_sse_connection(&self) -> bool {
        self.kind == SessionKind::Connection
    }

    /// Passes the client's answer to the call that asked for it.
    pub(super) fn answer_question(
        &self,
        id: &RequestId,
        result: Option<&str>,
        error: Option<&str>,
    ) {
        self.state().channel.answer_question(id, result, error);
    }

    /// Returns `true` if the session has a record in a store.
    pub(super) fn has_record(&self) -> bool {
        matches!(self.kind, SessionKind::Kept { .. })
    }

    /// Records that the client is present and that this caller is using the session.
    pub(in crate::http) fn mark_used_by(&self, caller: Option<&Principal>) {
        self.state().mark_used_by(caller);
    }

    /// Returns the time until which the client may read its stream.
    pub(in crate::http) fn credentials_valid_until(&self) -> ValidUntil {
        self.state().until
    }

    /// Returns the protocol version agreed on in the handshake, if there was one.
    pub(in crate::http) fn version(&self) -> Option<ProtocolVersion> {
        self.state().channel.version()
    }

    /// Returns the changes made since the record was read, if any.
    pub(super) fn change_since(&self, record: &SessionRecord) -> Option<SessionUpdate> {
        let memory = self.state().channel.memory()?;
        Some(SessionUpdate::between(record, &memory)).filter(|change| !change.is_empty())
    }

    /// Records that the client is still present.
    pub(super) fn touch(&self) {
        self.state().used = Instant::now();
    }

    /// Records that the session's record was read, and applies changes made elsewhere.
    pub(super) fn apply_record(&self, record: &SessionRecord) {
        self.state().apply_record(record, Instant::now());
    }

    /// Records that the client is present and that the session's record was read for its request.
    pub(super) fn touch_with_record(&self, record: &SessionRecord) {
        let mut state = self.state();
        let now = Instant::now();
        state.used = now;
        state.apply_record(record, now);
    }

    /// Records that the live state may differ from the session's record.
    pub(super) fn mark_outdated(&self) {
        self.state().known = 0;
    }

    /// Returns the record with the changes of which the client has been notified since it was written, if there are any
    /// and the client has received everything.
    pub(super) fn with_seen_changes(&self, record: &SessionRecord) -> Option<SessionRecord> {
        let mut state = self.state();
        state.compared = Instant::now();
        let is_heard = state.readers > 0 && state.streams.are_delivered();
        let seen = is_heard.then(|| state.channel.seen_changes()).flatten();
        record.with_seen_changes(seen?)
    }

    /// Returns `true` if connections are reading the session's streams.
    pub(super) fn has_readers(&self) -> bool {
        self.state().readers > 0
    }

    /// Returns `true` if calls are running.
    pub(in crate::http) fn is_busy(&self) -> bool {
        !self.state().calls.is_empty()
    }

    /// Returns the properties for a new stream.
    fn stream_properties(&self, state: &LiveState, takes_events: bool) -> StreamProperties {
        let (is_kept, is_stored) = match self.kind {
            SessionKind::Kept { stores_events, .. } => (true, stores_events),
            SessionKind::Alone | SessionKind::Connection => (false, false),
        };
        let version = state.channel.version();
        let primes = version.is_some_and(ProtocolVersion::primes_streams);
        StreamProperties {
            takes_events,
            resumption: match (is_kept, primes) {
                (false, _) => Resumption::Never,
                (true, false) => Resumption::ById,
                (true, true) => Resumption::Primed,
            },
            is_stored,
        }
    }

    /// Returns `true` if the client understands events that contain only an id.
    pub(in crate::http) fn primes_streams(&self) -> bool {
        let version = self.state().channel.version();
        version.is_some_and(ProtocolVersion::primes_streams)
    }

    /// Opens a stream that will carry answers.
    pub(in crate::http) fn open_stream(
        &self,
        events: bool,
        awaited: AwaitedAnswer<'_>,
        limits: &Limits,
    ) -> Arc<SessionStream> {
        let mut state = self.state();
        let properties = self.stream_properties(&state, events);
        let request = match awaited {
            AwaitedAnswer::One(id) if self.kind.instance().is_some() => sse::encode_request(id),
            _ => None,
        };
        state
            .streams
            .open(properties, (awaited.count(), request), limits)
    }

    /// Returns the standalone stream, creating it if it does not exist.
    pub(in crate::http) fn standalone_stream(&self, limits: &Limits) -> Arc<SessionStream> {
        let mut state = self.state();
        state.channel.catch_up();
        let properties = self.stream_properties(&state, true);
        state.streams.standalone_stream(properties, limits)
    }

    /// Returns the stream with this number, if it is still kept.
    pub(in crate::http) fn find_stream(
        &self,
        number: u64,
        limits: &Limits,
    ) -> Option<Arc<SessionStream>> {
        self.state().streams.find_stream(number, limits)
    }

    /// Removes a stream that clients will not resume.
    pub(in crate::http) fn forget_stream(&self, number: u64) {
        self.state().streams.remove(number);
    }

    /// Moves change notifications to the standalone stream and then appends the stream's events.
    pub(in crate::http) fn poll_standalone(
        &self,
        reader: &mut StreamReader,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> StreamStatus {
        // Register before draining, because only the first change after a drain rings the bell.
        self.bell.register(cx.waker());
        self.queue_notifications(&reader.stream);
        reader.poll(cx, out)
    }

    /// Moves as many change notifications to the standalone stream as it has room for. The others remain pending and
    /// are merged with later notifications of the same change.
    pub(super) fn queue_notifications(&self, standalone: &SessionStream) {
        let mut lines = Vec::new();
        let room = standalone.remaining_capacity().min(MAX_POLLED_BYTES);
        // The lock is held meanwhile, so nobody finds both the mailbox and the stream empty.
        let state = self.state();
        state.channel.drain(&mut lines, room);
        for message in sse::split_messages(&lines) {
            standalone.push(message.into());
        }
    }

    /// Records that a connection has started reading one of the session's streams.
    pub(in crate::http) fn reader_connected(&self) {
        let mut state = self.state();
        state.readers = state.readers.saturating_add(1);
    }

    /// Records that a connection has stopped reading one of the session's streams.
    pub(in crate::http) fn reader_disconnected(&self) {
        let mut state = self.state();
        state.readers = state.readers.saturating_sub(1);
        state.used = Instant::now();
    }

    /// Ends the session: drops its calls and ends its streams.
    pub(in crate::http) fn close(&self) {
        let (calls, streams) = {
            let mut state = self.state();
            // This ends everything that the session keeps open, because no client is left to notify.
            state.channel.end_requests(&mut Vec::new());
            (state.calls.cancel_all(), state.streams.close())
        };
        calls.iter().for_each(RemovedCall::abort);
        streams.end();
        self.bell.wake();
    }
}

impl Drop for HttpSession {
    fn drop(&mut self) {
        self.close();
    }
}

impl LiveState {
    pub(super) fn mark_used_by(&mut self, caller: Option<&Principal>) {
        self.until = self.until.max(ValidUntil::of_credentials(caller));
        // The caller is set for each request because concurrent requests may have credentials with different scopes.
        self.channel.set_caller(caller.cloned());
    }

    fn apply_record(&mut self, record: &SessionRecord, now: Instant) {
        self.renewed = now;
        if record.changes() > self.known {
            self.known = record.changes();
            self.channel.restore(&record.session_memory());
        }
    }
}
