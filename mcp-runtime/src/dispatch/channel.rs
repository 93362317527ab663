//! State that is remembered for a multiplexed channel: the result of the handshake, and the open subscriptions.
//!
//! Modern requests never read the legacy part, and requests without a channel have no such state. The state is plain
//! data, without tasks or I/O.

use std::sync::Arc;
use std::sync::atomic::AtomicU8;

use tokio::task::AbortHandle;

use crate::budget::ClientNetwork;
use crate::context::Caller;
use crate::dispatch::catching_up::MissedChanges;
use crate::dispatch::dispatcher::Dispatcher;
use crate::dispatch::legacy_client::LegacyClient;
use crate::dispatch::listen::ListenRequest;
use crate::dispatch::notifications::{Mailbox, Wake};
use crate::dispatch::origin::ChannelId;
use crate::dispatch::origin::RequestOrigin;
use crate::dispatch::pending::PendingQuestions;
use crate::dispatch::stream::LogBudget;
use crate::handler::tags::TagSelection;
use crate::jsonrpc::RequestId;
use crate::observe::{MetricGuard, SESSIONS};
use crate::protocol::ProtocolVersion;
use crate::protocol::encode::{self, ListenFilter};
use crate::protocol::negotiation::{InitializeParams, KnownClientInfo};
use crate::types::LoggingLevel;

/// State that is remembered for a multiplexed channel.
pub(crate) struct ChannelMemory {
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
    pub(super) catching_up: Option<AbortHandle>,
    /// Counts the session while it exists.
    pub(super) _open: MetricGuard,
}

impl ChannelMemory {
    /// Creates the memory for a new channel. `wake` is called when [`drain`](Self::drain) has data to write.
    pub(crate) fn new(dispatcher: &Arc<Dispatcher>, wake: Wake) -> Self {
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
    pub(crate) fn set_caller(&mut self, caller: impl Into<Caller>) {
        self.origin.caller = self.dispatcher.settings.admission.admit(caller.into());
        let session = self.legacy.iter().map(|legacy| &legacy.mailbox);
        for mailbox in session.chain(self.listens.iter().map(|listen| &listen.mailbox)) {
            mailbox.set_caller(&self.origin.caller);
        }
    }

    /// Sets the definitions that subsequent messages select.
    pub(crate) fn set_selection(&mut self, requested: Option<TagSelection>) {
        self.origin.selection = requested;
    }

    /// Continues numbering the session's questions after this value.
    pub(crate) fn number_questions_from(&self, last: u64) {
        if let Some(legacy) = &self.legacy {
            legacy.client.pending.number_from(last);
        }
    }

    /// Passes the client's answer, which reached another instance, to the call that asked for it.
    pub(crate) fn answer_question(
        &self,
        id: &RequestId,
        result: Option<&str>,
        error: Option<&str>,
    ) {
        if let Some(legacy) = &self.legacy {
            legacy.client.pending.answer(id, result, error);
        }
    }

    /// Sets the network from which the channel's messages come.
    pub(crate) fn set_network(&mut self, network: Option<ClientNetwork>) {
        self.origin.network = network;
    }

    /// Sets the channel used to apply rate limits.
    pub(crate) fn set_rate_limit_channel(&mut self, channel: ChannelId) {
        self.origin.channel = channel;
    }

    /// Returns the protocol version negotiated in the handshake, if any.
    pub(crate) fn version(&self) -> Option<ProtocolVersion> {
        self.legacy.as_ref().map(|legacy| legacy.client.version)
    }

    /// Writes change notifications, one on each line, until `out` holds `room` bytes. Returns `true` if no
    /// notifications are left.
    pub(crate) fn drain(&self, out: &mut Vec<u8>, room: usize) -> bool {
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
    pub(crate) fn cancel_listen(&mut self, id: &RequestId) {
        self.listens.retain(|listen| listen.id != *id);
    }

    /// Ends all listen requests by writing their results, one on each line, and closes the server's own requests,
    /// because the client will not answer them.
    pub(crate) fn end_requests(&mut self, out: &mut Vec<u8>) {
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
