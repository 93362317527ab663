//! The live part of a legacy session over HTTP: its running calls, its streams, and its unanswered requests to the
//! client.
//!
//! The live part is created when needed and dropped when empty. The live part does not run in a task itself, but owns
//! the tasks in which its calls run. The calls therefore survive a broken connection and end when the session ends.

use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Context;
use std::time::Duration;

use mcp_core::budget::{ByteBudget, Charge, ClientNetwork, Holder};
use mcp_core::context::Principal;
use mcp_core::dispatch::{
    CallProgress, CallTable, ChannelId, ChannelMemory, Decision, Dispatcher, PreparedCall,
    RemovedCall, RequestDecision, RunningCall, Sink, WrittenResponse,
};
use mcp_core::fnv::FnvMap;
use mcp_core::handler::tags::TagSelection;
use mcp_core::limits::Limits;
use mcp_core::observe::{RefusalKind, record_refusal};
use mcp_core::spawn::spawn;
use mcp_core::sync::{Bell, Wake, lock};
use mcp_protocol::jsonrpc::{ErrorObject, Message, RequestId};
use mcp_protocol::{ProtocolVersion, errors};
use mcp_stores::{SessionRecord, SessionUpdate};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::handler_watch::HandlerWatch;
use crate::response;
use crate::response::{EventId, MAX_POLLED_BYTES, ResponseMessage, StreamStatus};
use crate::sessions::other_instances::InstanceTag;
use crate::streams::{AwaitedAnswer, Resumption, SessionStream, StreamProperties, StreamReader};
use crate::timers::ValidUntil;

/// The live part of a legacy session over HTTP.
pub(crate) struct LiveSession {
    pub(crate) id: Arc<str>,
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

impl LiveSession {
    /// Creates the live part for a session that has a record or is [`Alone`](SessionKind::Alone).
    pub(super) fn from_record(
        id: Arc<str>,
        kind: SessionKind,
        record: &SessionRecord,
        network: Option<ClientNetwork>,
        dispatcher: &Arc<Dispatcher>,
        unsent: &Arc<ByteBudget>,
    ) -> Self {
        let holder = match record.owner() {
            Some(owner) => Holder::Principal(owner.into()),
            None => Holder::Anonymous(network),
        };
        let memory = (kind != SessionKind::Alone).then(|| record.session_memory());
        Self::new(
            id,
            kind,
            record.owner().map(Into::into),
            unsent.charge(&holder),
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
        caller: Option<&Principal>,
        network: Option<ClientNetwork>,
        dispatcher: &Arc<Dispatcher>,
        unsent: &Arc<ByteBudget>,
    ) -> Self {
        let owner = caller.map(|principal| principal.key().into());
        let unsent = unsent.charge(&Holder::new(caller, network));
        let connection = Self::new(id, SessionKind::Connection, owner, unsent, 0, |wake| {
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
        owner: Option<Box<str>>,
        unsent: Charge,
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
    pub(crate) fn public_id(&self) -> Option<Arc<str>> {
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
    pub(crate) fn mark_used_by(&self, caller: Option<&Principal>) {
        self.state().mark_used_by(caller);
    }

    /// Returns the time until which the client may read its stream.
    pub(crate) fn credentials_valid_until(&self) -> ValidUntil {
        self.state().until
    }

    /// Returns the protocol version agreed on in the handshake, if there was one.
    pub(crate) fn version(&self) -> Option<ProtocolVersion> {
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
    pub(crate) fn is_busy(&self) -> bool {
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
    pub(crate) fn primes_streams(&self) -> bool {
        let version = self.state().channel.version();
        version.is_some_and(ProtocolVersion::primes_streams)
    }

    /// Opens a stream that will carry answers.
    pub(crate) fn open_stream(
        &self,
        events: bool,
        awaited: AwaitedAnswer<'_>,
        limits: &Limits,
    ) -> Arc<SessionStream> {
        let mut state = self.state();
        let properties = self.stream_properties(&state, events);
        let request = match awaited {
            AwaitedAnswer::One(id) if self.kind.instance().is_some() => {
                response::encode_request(id)
            }
            _ => None,
        };
        state
            .streams
            .open(properties, awaited.count(), request, limits)
    }

    /// Returns the standalone stream, creating it if it does not exist.
    pub(crate) fn standalone_stream(&self, limits: &Limits) -> Arc<SessionStream> {
        let mut state = self.state();
        state.channel.catch_up();
        let properties = self.stream_properties(&state, true);
        state.streams.standalone_stream(properties, limits)
    }

    /// Returns the stream with this number, if it is still kept.
    pub(crate) fn find_stream(&self, number: u64, limits: &Limits) -> Option<Arc<SessionStream>> {
        self.state().streams.find_stream(number, limits)
    }

    /// Removes a stream that clients will not resume.
    pub(crate) fn forget_stream(&self, number: u64) {
        self.state().streams.remove(number);
    }

    /// Moves change notifications to the standalone stream and then appends the stream's events.
    pub(crate) fn poll_standalone(
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
        for message in response::split_messages(&lines) {
            standalone.push(message.into());
        }
    }

    /// Records that a connection has started reading one of the session's streams.
    pub(crate) fn reader_connected(&self) {
        let mut state = self.state();
        state.readers = state.readers.saturating_add(1);
    }

    /// Records that a connection has stopped reading one of the session's streams.
    pub(crate) fn reader_disconnected(&self) {
        let mut state = self.state();
        state.readers = state.readers.saturating_sub(1);
        state.used = Instant::now();
    }

    /// Ends the session: drops its calls and ends its streams.
    pub(crate) fn close(&self) {
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

impl Drop for LiveSession {
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

// A session's streams on this instance, and the tasks that copy their events.

/// Maximum number of streams on other instances whose rest is copied at the same time.
const MAX_LEFT: usize = 16;

/// A session's streams on this instance.
pub(super) struct LiveStreams {
    streams: FnvMap<u64, Arc<SessionStream>>,
    /// Number of the standalone stream, which is not opened by a request.
    standalone: u64,
    next: u64,
    /// Tasks that copy events to and from a store.
    transfers: Vec<AbortHandle>,
    /// The streams on other instances that the client has left, and the tasks that copy the rest of them.
    left: Vec<(u64, AbortHandle)>,
    /// Counts nothing itself, but leads to the account that counts the streams' events.
    unsent: Charge,
    is_closed: bool,
}

impl LiveStreams {
    /// Creates an empty table. Numbering starts at a random value, so that a session's streams are numbered differently
    /// on each instance and each time the live part is created. The value begins with this instance's tag, if any.
    pub(super) fn new(instance: Option<InstanceTag>, unsent: Charge) -> Self {
        let numbers = u64::from_ne_bytes(mcp_core::random::random());
        let first = instance.map_or(numbers >> 2, |instance| instance.first_stream(numbers));
        let standalone = first & !1;
        Self {
            streams: FnvMap::default(),
            standalone,
            next: standalone.saturating_add(1),
            transfers: Vec::new(),
            left: Vec::new(),
            unsent,
            is_closed: false,
        }
    }

    /// Returns `true` if there are no streams and no tasks that copy events.
    pub(super) fn is_empty(&self) -> bool {
        self.streams.is_empty() && self.transfers.is_empty() && self.left.is_empty()
    }

    /// Returns `true` if the client has received all events of the standalone stream and of those that it has left.
    pub(super) fn are_delivered(&self) -> bool {
        let standalone = self.streams.get(&self.standalone);
        self.left.iter().all(|(_, transfer)| transfer.is_finished())
            && standalone.is_some_and(|stream| stream.is_delivered())
    }

    /// Returns `true` if there is only the standalone stream.
    pub(super) fn has_only_standalone(&self) -> bool {
        self.streams.len() == 1 && self.streams.contains_key(&self.standalone)
    }

    /// Opens a stream that will carry `awaited` answers, to this request if there is only one.
    pub(super) fn open(
        &mut self,
        properties: StreamProperties,
        awaited: usize,
        request: Option<Box<str>>,
        limits: &Limits,
    ) -> Arc<SessionStream> {
        self.drop_ended_streams(limits);
        let number = self.next;
        // Streams opened by requests have odd numbers.
        self.next = number.saturating_add(2);
        let mut stream =
            SessionStream::new(number, properties, awaited, limits, self.unsent.another());
        stream.request = request;
        self.add(stream)
    }

    /// Returns the standalone stream, creating it with these properties if it does not exist.
    pub(super) fn standalone_stream(
        &mut self,
        properties: StreamProperties,
        limits: &Limits,
    ) -> Arc<SessionStream> {
        if let Some(stream) = self.streams.get(&self.standalone) {
            return Arc::clone(stream);
        }
        let unsent = self.unsent.another();
        let stream = SessionStream::new(self.standalone, properties, 1, limits, unsent);
        self.add(stream)
    }

    /// Creates a copy of a stream from another instance and ends any earlier copy.
    pub(super) fn add_copy(&mut self, event: EventId<'_>, limits: &Limits) -> Arc<SessionStream> {
        let (number, after) = (event.stream, event.position);
        let before = self.streams.remove(&number);
        if let Some(before) = before {
            before.end();
        }
        let mut stream = SessionStream::new_copy(number, after, limits, self.unsent.another());
        stream.request = event.request.map(Into::into);
        self.add(stream)
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

    /// Returns the stream with this number, if it is still kept.
    pub(super) fn find_stream(
        &mut self,
        number: u64,
        limits: &Limits,
    ) -> Option<Arc<SessionStream>> {
        self.drop_ended_streams(limits);
        self.streams.get(&number).cloned()
    }

    /// Removes a stream that clients will not resume.
    pub(super) fn remove(&mut self, number: u64) {
        self.streams.remove(&number);
    }

    /// Spawns a task that copies events.
    pub(super) fn spawn_transfer(&mut self, transfer: impl Future<Output = ()> + Send + 'static) {
        self.transfers.retain(|transfer| !transfer.is_finished());
        if !self.is_closed {
            self.transfers.push(spawn(transfer).abort_handle());
        }
    }

    /// Spawns a task that copies the rest of a stream that the client has left, instead of an earlier one for this stream.
    pub(super) fn follow(
        &mut self,
        number: u64,
        transfer: impl Future<Output = ()> + Send + 'static,
    ) {
        self.left.retain(|(left, transfer)| {
            if *left == number {
                transfer.abort();
            }
            *left != number && !transfer.is_finished()
        });
        if self.left.len() >= MAX_LEFT {
            self.left.remove(0).1.abort();
        }
        if !self.is_closed {
            self.left.push((number, spawn(transfer).abort_handle()));
        }
    }

    /// Drops streams that have ended. Resumable streams are kept as long as the limits allow.
    pub(super) fn drop_ended_streams(&mut self, limits: &Limits) {
        self.transfers.retain(|transfer| !transfer.is_finished());
        self.left.retain(|(_, transfer)| !transfer.is_finished());
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

    /// Takes all streams so that the caller can [end](Self::end) them. Streams opened later end immediately.
    pub(super) fn close(&mut self) -> Self {
        self.is_closed = true;
        Self {
            streams: std::mem::take(&mut self.streams),
            transfers: std::mem::take(&mut self.transfers),
            left: std::mem::take(&mut self.left),
            unsent: self.unsent.another(),
            ..*self
        }
    }

    /// Ends all streams.
    pub(super) fn end(self) {
        let left = self.left.into_iter().map(|(_, transfer)| transfer);
        for transfer in self.transfers.into_iter().chain(left) {
            transfer.abort();
        }
        for stream in self.streams.into_values() {
            // The remaining events are no longer stored, so readers must not wait for that.
            stream.mark_store_away();
            stream.end();
        }
    }
}

// Determines how long a session's live part and record are kept.

/// Time for which a standalone stream that nobody reads is kept for a client that reconnects.
const STREAM_LINGER: Duration = Duration::from_mins(5);

impl LiveSession {
    /// Returns `true` if the live part is empty, or has only a stream that nobody has read for a while, and the live part
    /// has not been used for more than `linger`.
    pub(super) fn is_unused(&self, linger: Duration, limits: &Limits) -> bool {
        let mut state = self.state();
        state.streams.drop_ended_streams(limits);
        self.kind != SessionKind::Connection
            && state.calls.is_empty()
            && state.readers == 0
            && (state.streams.is_empty()
                || state.streams.has_only_standalone() && state.used.elapsed() > STREAM_LINGER)
            && !state.channel.has_subscriptions()
            && state.used.elapsed() > linger
    }

    /// Returns how long to keep the record from now on, if the record has not been read for at least `after`.
    pub(super) fn renewed_lifetime(&self, after: Duration, limits: &Limits) -> Option<Duration> {
        let state = self.state();
        let is_read_rarely = state.renewed.elapsed() >= after;
        let is_listening = state.readers > 0 && state.compared.elapsed() >= after;
        let is_due =
            matches!(self.kind, SessionKind::Kept { .. }) && (is_read_rarely || is_listening);
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

    /// Returns `true` if the session's connection has been silent for too long.
    pub(super) fn is_expired(&self, limits: &Limits) -> bool {
        let state = self.state();
        self.kind == SessionKind::Connection
            && state.calls.is_empty()
            && state.used.elapsed() > limits.sessions.streaming_idle_timeout
    }
}

// Calls in a session. A call that finishes on its first poll runs in place; any other call continues in a task that
// the session owns.

impl LiveSession {
    /// Decides how to handle a message from this caller, given the definitions that its request selects. A request with
    /// the id of a running call is refused.
    pub(crate) fn decide_message<'m>(
        &self,
        dispatcher: &Arc<Dispatcher>,
        caller: Option<&Principal>,
        selection: Option<&TagSelection>,
        message: &'m Message<'m>,
        out: &mut Vec<u8>,
    ) -> Decision<'m> {
        let mut state = self.state();
        state.mark_used_by(caller);
        state.channel.set_selection(selection.cloned());
        let request = message.id.valid().filter(|_| message.method.is_some());
        if let Some(id) = request.filter(|id| state.calls.holds(id)) {
            let response = WrittenResponse::of_error(out, Some(id), errors::id_in_use());
            return Decision::Request(RequestDecision::Answered(response));
        }
        dispatcher.decide(message, &mut state.channel, out)
    }

    /// Polls a call once. If it does not finish, continues it in a task that the session owns.
    ///
    /// Returns the answer if the call has finished; otherwise, any answer is sent on the stream later.
    ///
    /// # Errors
    ///
    /// Fails if the call is refused.
    pub(crate) fn run_call(
        self: &Arc<Self>,
        prepared: PreparedCall<'_>,
        id: &RequestId,
        limits: &Limits,
        handler_watch: &Arc<HandlerWatch>,
        stream: &dyn Fn() -> Arc<SessionStream>,
    ) -> Result<Option<ResponseMessage>, ErrorObject> {
        let serial = self.register_call(id, limits)?;
        let mut answer = Vec::with_capacity(256);
        let run = || prepared.run(&|| stream() as Arc<dyn Sink>, &mut answer);
        match handler_watch.run_watched(run) {
            CallProgress::Answered(written) if self.unregister_call(serial) => {
                return Ok(Some(ResponseMessage::new(answer, written)));
            }
            // The call was cancelled during its first poll.
            CallProgress::Answered(_) => stream().skip_answer(),
            CallProgress::Running(running) => {
                let handler_watch = Arc::clone(handler_watch);
                self.continue_call(running, id, serial, answer, stream(), handler_watch);
            }
        }
        Ok(None)
    }

    /// Continues a call in a task, unless it was cancelled during its first poll.
    fn continue_call(
        self: &Arc<Self>,
        mut running: RunningCall,
        id: &RequestId,
        serial: u64,
        mut answer: Vec<u8>,
        stream: Arc<SessionStream>,
        handler_watch: Arc<HandlerWatch>,
    ) {
        let mut state = self.state();
        if !state.calls.leave(serial) {
            // Dropping the call runs user code, so it must not happen while the lock is held.
            drop(state);
            stream.skip_answer();
            return;
        }
        state.calls.keep(id, serial, Arc::clone(&stream));
        let (session, call) = (Arc::downgrade(self), id.clone());
        let task = spawn(async move {
            let poll =
                poll_fn(|cx| handler_watch.run_watched(|| running.poll_response(cx, &mut answer)));
            let written = poll.await;
            if let Some(session) = session.upgrade()
                && session.finish_call(&call, serial)
            {
                let answer = ResponseMessage::new(answer, written);
                stream.push_answer(&answer.into_text());
            }
        });
        // The session owns the task: it is aborted when the call is cancelled or the session ends.
        state
            .calls
            .set_task_or_abort(id, serial, task.abort_handle());
    }

    fn register_call(&self, id: &RequestId, limits: &Limits) -> Result<u64, ErrorObject> {
        let calls = &mut self.state().calls;
        // Another request with this id may have come between the decision and this point.
        if calls.holds(id) {
            return Err(errors::id_in_use());
        }
        if calls.len() >= limits.calls.max_running {
            record_refusal(RefusalKind::TooMany, None);
            return Err(errors::too_many_at_once("calls", errors::RETRY_AFTER));
        }
        Ok(calls.enter(id))
    }

    /// Ends a call's first poll. Returns `false` if the call was cancelled in the meantime.
    fn unregister_call(&self, serial: u64) -> bool {
        let mut state = self.state();
        state.used = Instant::now();
        state.calls.leave(serial)
    }

    /// Removes a finished call. Returns `false` if it had already been cancelled.
    fn finish_call(&self, id: &RequestId, serial: u64) -> bool {
        let mut state = self.state();
        state.used = Instant::now();
        state.calls.finish(id, serial).is_some()
    }

    /// Cancels a request: its handler's future is dropped, and no answer is sent. Returns `false` if the request is not
    /// running here.
    pub(crate) fn cancel(&self, id: &RequestId) -> bool {
        let cancelled = self.state().calls.cancel(id);
        let Some(call) = cancelled else { return false };
        call.abort();
        if let Some(stream) = &call.detail {
            stream.skip_answer();
        }
        true
    }
}
