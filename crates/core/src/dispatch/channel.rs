//! What is remembered for a multiplexed channel: the result of the handshake, and the open subscriptions; the same as
//! data that can be stored outside the process and used to resume a session; and the changes that a session may have
//! missed while it moved from one instance to another.
//!
//! Modern requests never read the legacy part, and requests without a channel have no such state. The state is plain
//! data, without I/O.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::budget::{ClientNetwork, Holder};
use crate::context::outbound::LogBudget;
use crate::context::pending::PendingQuestions;
use crate::context::{Caller, ChangeLog, LoggedChange};
use crate::dispatch::dispatcher::Dispatcher;
use crate::dispatch::notifications::{ListVersion, Mailbox, Subscriptions};
use crate::dispatch::request::{ChannelId, LegacyClient, RequestOrigin};
use crate::handler::tags::TagSelection;
use crate::host;
use crate::host::TaskHandle;
use crate::jsonrpc::RequestId;
use crate::observe::{MetricGuard, SESSIONS};
use crate::protocol::encode::{Identity, ListenFilter, ResponseContext};
use crate::protocol::negotiation::{InitializeParams, KnownClientInfo};
use crate::protocol::{ProtocolVersion, encode};
use crate::sync::Wake;
use crate::types::{ClientCapabilities, Implementation, LoggingLevel};

/// State that is remembered for a multiplexed channel.
pub struct ChannelMemory {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) wake: Wake,
    pub(super) legacy: Option<LegacySession>,
    /// Client information that need not be validated again.
    pub(super) known: KnownClientInfo,
    /// `true` if changes to the legacy state are kept for later messages.
    pub(super) is_lasting: bool,
    /// `true` if all messages without a claim are treated as legacy.
    pub(super) is_legacy: bool,
    pub(super) listens: Vec<ListenRequest>,
    /// The origin of subsequent messages.
    pub(super) origin: RequestOrigin,
}

/// A session's state after the handshake.
pub(super) struct LegacySession {
    pub(super) client: Arc<LegacyClient>,
    /// `true` once the client has sent `notifications/initialized`. Until then, the client is not notified of changes.
    pub(super) ready: bool,
    pub(super) mailbox: Arc<Mailbox>,
    /// Changes that have yet to be read.
    pub(super) missed: Option<MissedChanges>,
    /// The task that reads them.
    pub(super) catching_up: Option<TaskHandle>,
    /// Counts the session while it exists.
    pub(super) _open: MetricGuard,
}

impl ChannelMemory {
    /// Creates the memory for a new channel. `wake` is called when [`drain`](Self::drain) has data to write.
    pub fn new(dispatcher: &Arc<Dispatcher>, wake: Wake) -> Self {
        let caller = dispatcher.settings.admission.admit(Caller::anonymous());
        let logs = LogBudget::new(dispatcher.limits().log.max_per_second);
        Self {
            dispatcher: Arc::clone(dispatcher),
            wake,
            legacy: None,
            known: KnownClientInfo::default(),
            is_lasting: true,
            is_legacy: false,
            listens: Vec::new(),
            origin: RequestOrigin::of_connection(caller, None, logs),
        }
    }

    /// Sets the caller to whom subsequent messages are attributed. The initial caller is anonymous.
    pub fn set_caller(&mut self, caller: impl Into<Caller>) {
        self.origin.caller = self.dispatcher.settings.admission.admit(caller.into());
        let session = self.legacy.iter().map(|legacy| &legacy.mailbox);
        for mailbox in session.chain(self.listens.iter().map(|listen| &listen.mailbox)) {
            mailbox.set_caller(&self.origin.caller);
        }
    }

    /// Sets the definitions that subsequent messages select.
    pub fn set_selection(&mut self, requested: Option<TagSelection>) {
        self.origin.selection = requested;
    }

    /// Continues numbering the session's questions after this value.
    pub fn number_questions_from(&self, last: u64) {
        if let Some(legacy) = &self.legacy {
            legacy.client.pending.number_from(last);
        }
    }

    /// Passes the client's answer, which reached another instance, to the call that asked for it.
    pub fn answer_question(&self, id: &RequestId, result: Option<&str>, error: Option<&str>) {
        if let Some(legacy) = &self.legacy {
            legacy.client.pending.answer(id, result, error);
        }
    }

    /// Sets the network from which the channel's messages come.
    pub fn set_network(&mut self, network: Option<ClientNetwork>) {
        self.origin.network = network;
    }

    /// Sets the channel used to apply rate limits.
    pub fn set_rate_limit_channel(&mut self, channel: ChannelId) {
        self.origin.channel = channel;
    }

    /// Returns the protocol version negotiated in the handshake, if any.
    pub fn version(&self) -> Option<ProtocolVersion> {
        self.legacy.as_ref().map(|legacy| legacy.client.version)
    }

    /// Writes change notifications, one on each line, until `out` holds `room` bytes. Returns `true` if no
    /// notifications are left.
    pub fn drain(&self, out: &mut Vec<u8>, room: usize) -> bool {
        let legacy = self.legacy.as_ref().filter(|legacy| legacy.ready);
        legacy.is_none_or(|legacy| {
            legacy.client.pending.drain(out, room)
                && legacy.mailbox.drain(out, room, None, &self.origin.caller)
        }) && self
            .listens
            .iter()
            .all(|listen| listen.drain(out, room, &self.origin.caller))
    }

    /// Ends the listen request with this id, if it is open, without sending a response.
    pub fn cancel_listen(&mut self, id: &RequestId) {
        self.listens.retain(|listen| listen.id != *id);
    }

    /// Ends all listen requests by writing their results, one on each line, and closes the server's own requests,
    /// because the client will not answer them.
    pub fn end_requests(&mut self, out: &mut Vec<u8>) {
        if let Some(legacy) = &self.legacy {
            legacy.client.pending.close();
        }
        for listen in self.listens.drain(..) {
            listen.complete(out, self.dispatcher.identity());
            encode::cancelled(out, &listen.id, "the server is shutting down");
            out.push(b'\n');
        }
    }

    /// Stores the result of a handshake. The client is notified only of changes to the lists in `offered`.
    pub(super) fn store_handshake(&mut self, params: InitializeParams, mut offered: ListenFilter) {
        let InitializeParams {
            version,
            capabilities,
            client_info: info,
        } = params;
        let extensions = &self.dispatcher.settings.extensions;
        offered.extensions = extensions.unsolicited(version, &capabilities);
        let charge = self.dispatcher.charge_subscriptions(self.origin.holder());
        let listener = (self.origin.caller.clone(), charge);
        let mailbox =
            (self.dispatcher.notifications()).listen(offered, Arc::clone(&self.wake), listener);
        let client = LegacyClient {
            version,
            capabilities: Arc::new(capabilities),
            info: Some(Arc::new(info)),
            level: Arc::new(AtomicU8::new(LoggingLevel::Info as u8)),
            pending: Arc::new(PendingQuestions::new(Arc::clone(&self.wake))),
        };
        self.legacy = Some(LegacySession {
            client: Arc::new(client),
            ready: false,
            mailbox,
            missed: None,
            catching_up: None,
            _open: SESSIONS.guard(),
        });
    }
}

/// An open `subscriptions/listen` request.
pub struct ListenRequest {
    pub(super) id: RequestId,
    pub(super) version: ProtocolVersion,
    pub(super) mailbox: Arc<Mailbox>,
    /// Counts the subscription while it exists.
    pub(super) _open: MetricGuard,
}

/// The listen requests that are already open, and the function that creates the waker for a new request.
pub(super) struct ListenScope<'c> {
    pub(super) open: &'c mut Vec<ListenRequest>,
    pub(super) wake: &'c dyn Fn() -> Wake,
}

impl ListenRequest {
    /// Writes the changes that this caller may see, one on each line, until `out` holds `room` bytes. Returns `true` if
    /// no changes are left.
    pub fn drain(&self, out: &mut Vec<u8>, room: usize, caller: &Caller) -> bool {
        self.mailbox.drain(out, room, Some(&self.id), caller)
    }

    /// Writes the result that ends the request as a single line.
    pub fn complete(&self, out: &mut Vec<u8>, identity: &Identity) {
        let reply = ResponseContext {
            id: Some(&self.id),
            version: self.version,
            identity,
        };
        encode::listen_result(out, reply);
        out.push(b'\n');
    }
}

/// Higher than any log level.
const SILENT: u8 = u8::MAX;

/// The result of a handshake, which never changes.
pub struct HandshakeOutcome {
    pub version: ProtocolVersion,
    pub capabilities: ClientCapabilities,
    pub info: Option<Implementation>,
    /// The lists for which the client receives change notifications.
    pub offered: ListenFilter,
    /// The client is notified of other changes than these.
    pub seen: SeenChanges,
}

/// The mutable part of a session's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionMemory {
    pub level: LoggingLevel,
    /// `true` once the client has sent `notifications/initialized`.
    pub ready: bool,
    /// The resources to which the session is subscribed.
    pub uris: Subscriptions,
}

impl ChannelMemory {
    /// Resumes a session that was started earlier, possibly in another process. Without `memory`, changes to the
    /// session's state are not kept. Its subscriptions count for `holder`.
    pub fn resume(
        dispatcher: &Arc<Dispatcher>,
        wake: Wake,
        mut agreed: HandshakeOutcome,
        (memory, holder): (Option<&SessionMemory>, Holder),
    ) -> Self {
        let mut session = Self::new(dispatcher, wake);
        let extensions = &dispatcher.settings.extensions;
        agreed.offered.extensions = extensions.unsolicited(agreed.version, &agreed.capabilities);
        let wake = || Arc::clone(&session.wake);
        let client = LegacyClient {
            version: agreed.version,
            capabilities: Arc::new(agreed.capabilities),
            info: agreed.info.map(Arc::new),
            level: Arc::new(AtomicU8::new(SILENT)),
            pending: Arc::new(PendingQuestions::new(wake()).numbered_from_random()),
        };
        let notifications = dispatcher.notifications();
        let charge = dispatcher.charge_subscriptions(holder);
        let listener = (session.origin.caller.clone(), charge);
        let lists = agreed.seen.lists_here(dispatcher);
        let mailbox = notifications.listen_again(agreed.offered, wake(), listener, lists);
        session.is_lasting = memory.is_some();
        session.is_legacy = true;
        session.legacy = Some(LegacySession {
            client: Arc::new(client),
            ready: false,
            mailbox,
            missed: None,
            catching_up: None,
            _open: SESSIONS.guard(),
        });
        if let Some(memory) = memory {
            session.restore(memory);
            if let Some(legacy) = &mut session.legacy {
                legacy.missed = agreed.seen.notify_missed(&legacy.mailbox, dispatcher);
            }
        }
        session
    }

    /// Begins to read the changes that the session may have missed before it was resumed here. This is done once, when
    /// its client begins to listen here.
    pub fn catch_up(&mut self) {
        if let Some(legacy) = &mut self.legacy
            && let Some(missed) = legacy.missed.take()
        {
            legacy.catching_up = Some(missed.read(Arc::clone(&legacy.mailbox)));
        }
    }

    /// Returns the changes of which the client has been notified, if these are all changes up to now.
    pub fn seen_changes(&self) -> Option<SeenChanges> {
        let seen = self.dispatcher.seen_changes();
        // Later changes do not matter: the position was read before.
        let legacy = self.legacy.as_ref()?;
        let mut catching_up = legacy.catching_up.iter();
        let has_caught_up = legacy.missed.is_none() && catching_up.all(TaskHandle::is_finished);
        (has_caught_up && legacy.mailbox.is_empty()).then_some(seen)
    }

    /// Returns the session's current state, or `None` before a handshake.
    pub fn memory(&self) -> Option<SessionMemory> {
        let legacy = self.legacy.as_ref()?;
        let level = usize::from(legacy.client.level.load(Ordering::Relaxed));
        Some(SessionMemory {
            level: *LoggingLevel::ALL.get(level)?,
            ready: legacy.ready,
            uris: legacy.mailbox.uris(),
        })
    }

    /// Replaces the session's state.
    pub fn restore(&mut self, memory: &SessionMemory) {
        let Some(legacy) = &mut self.legacy else {
            return;
        };
        let level = &legacy.client.level;
        level.store(memory.level as u8, Ordering::Relaxed);
        legacy.mailbox.replace_subscriptions(&memory.uris);
        if memory.ready && !legacy.ready {
            legacy.ready = true;
            legacy.client.pending.set_ready();
            (self.wake)();
        }
    }

    /// Returns `true` if the session is subscribed to any resources.
    pub fn has_subscriptions(&self) -> bool {
        let legacy = self.legacy.as_ref();
        legacy.is_some_and(|legacy| legacy.mailbox.subscription_size().0 > 0)
    }
}

impl Dispatcher {
    /// Returns this server's seal.
    pub fn seal(&self) -> &crate::seal::Seal {
        &self.settings.seal
    }
}

// --- The changes that a session may have missed while it moved from one instance to another.
//
// A session's record names the last change of which its client has certainly been notified, as a position in the log of
// the instances. The instance that takes over the session reads the log from there, and adds its own changes that may
// not be in the log yet. It also compares a digest of the definitions, because another build or
// another instance can have others.
//
// Without a log, nobody knows what has changed elsewhere. The session is then notified of everything.

/// The changes of which a session's client has been notified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenChanges {
    /// The changes to lists, as counted by one process.
    pub lists: ListVersion,
    /// The digest of the definitions and a position in the log, separated by a space, if the instances have one.
    pub logged: Option<Box<str>>,
}

/// The changes in the log since a position, which have yet to be read.
pub(super) struct MissedChanges {
    log: Arc<dyn ChangeLog>,
    position: Box<str>,
}

impl SeenChanges {
    /// Returns the changes to lists that are compared when a session is resumed here.
    fn lists_here(&self, dispatcher: &Dispatcher) -> ListVersion {
        let notifications = dispatcher.notifications();
        if self.logged.is_none() || notifications.knows(self.lists) {
            self.lists
        } else {
            // The log and the digest have the changes.
            notifications.list_version()
        }
    }

    /// Notifies a session that is resumed here of what it may have missed, except for changes that have yet to be read.
    fn notify_missed(&self, mailbox: &Mailbox, dispatcher: &Dispatcher) -> Option<MissedChanges> {
        let logged = self.logged.as_deref();
        let logged = logged.and_then(|text| text.split_once(' '));
        let log = dispatcher.shared.change_log();
        let Some(((digest, position), log)) = logged.zip(log) else {
            mailbox.post_all_resources();
            return None;
        };
        if digest != digest_of(dispatcher) {
            mailbox.post_all_lists();
        }
        for change in log.own_changes() {
            notify(mailbox, &change);
        }
        let is_current = log.position().is_some_and(|now| *now == *position);
        (!is_current).then(|| MissedChanges {
            log: Arc::clone(log),
            position: position.into(),
        })
    }
}

impl MissedChanges {
    /// Reads the changes and notifies the session of them. Returns the task that does so.
    pub(super) fn read(self, mailbox: Arc<Mailbox>) -> TaskHandle {
        let reading = async move {
            let changes = self.log.changes_after(self.position).await;
            for change in &changes.unwrap_or_else(|| vec![LoggedChange::EVERYTHING]) {
                notify(&mailbox, change);
            }
        };
        host::spawn(Box::pin(reading))
    }
}

/// Notifies a listener of a change, or of everything.
fn notify(mailbox: &Mailbox, LoggedChange { change, audience }: &LoggedChange) {
    if let Some(change) = change {
        mailbox.post(change, audience);
    } else {
        mailbox.post_all_lists();
        mailbox.post_all_resources();
    }
}

fn digest_of(dispatcher: &Dispatcher) -> String {
    format!("{:016x}", dispatcher.registry.snapshot().digest())
}

impl Dispatcher {
    /// Returns the changes up to now, of which this instance has notified its listeners.
    pub fn seen_changes(&self) -> SeenChanges {
        let position = self.shared.change_log().and_then(|log| log.position());
        SeenChanges {
            lists: self.notifications().list_version(),
            logged: position.map(|at| format!("{} {at}", digest_of(self)).into()),
        }
    }
}
