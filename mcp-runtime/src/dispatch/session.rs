//! The state of one multiplexed channel: the result of the handshake, and open subscriptions.
//!
//! Modern requests read none of the legacy part. A session is data: it owns no task and does no I/O.

#[cfg(feature = "http")]
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use crate::context::Caller;
use crate::dispatch::dispatcher::Dispatcher;
use crate::dispatch::notifications::{Mailbox, Wake};
use crate::dispatch::pending::PendingQuestions;
use crate::dispatch::stream::LogBudget;
use crate::jsonrpc::RequestId;
use crate::protocol::encode::{self, Filter, ResponseContext};
use crate::protocol::{InitializeParams, KnownClientInfo, ProtocolVersion};
use crate::telemetry::GaugeGuard;
use crate::types::{ClientCapabilities, Implementation, LoggingLevel};

/// The state of one multiplexed channel.
pub(crate) struct Session {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) wake: Wake,
    pub(super) legacy: Option<Legacy>,
    /// Client information of an earlier modern request, known to be valid, which need not be parsed again.
    pub(super) known: KnownClientInfo,
    /// `true` if the legacy state is kept for the next message.
    pub(super) is_lasting: bool,
    /// `true` if all messages are legacy unless they have a claim.
    pub(super) is_legacy: bool,
    pub(super) listens: Vec<Listen>,
    /// The sender of the next messages.
    pub(super) caller: Caller,
    /// The log budget. `None` for a session of a single request, which needs no shared one.
    pub(super) logs: Option<Arc<LogBudget>>,
    pub(crate) channel: ChannelId,
}

/// The identity of a session or connection, for rates per caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ChannelId(u64);

impl ChannelId {
    /// The channel of all requests without a session or connection.
    pub(crate) const SHARED: Self = Self(0);

    /// Creates the channel of a new connection.
    fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the channel of a session, from the id that the server gave it: the same whenever the session is resumed.
    #[cfg(feature = "http")]
    pub(crate) fn of_session(id: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        // Never equal to the number of a connection.
        Self(hasher.finish() | 1 << 63)
    }
}

/// The state of a session after a handshake.
pub(super) struct Legacy {
    pub(super) client: Arc<LegacyClient>,
    /// `true` once the client has sent `notifications/initialized`; only then is it notified of changes.
    pub(super) ready: bool,
    pub(super) mailbox: Arc<Mailbox>,
    /// Counts the session in telemetry while it exists.
    pub(super) _open: GaugeGuard,
}

/// A client that completed a handshake.
#[derive(Debug)]
pub(super) struct LegacyClient {
    pub(super) version: ProtocolVersion,
    pub(super) capabilities: Arc<ClientCapabilities>,
    pub(super) info: Option<Arc<Implementation>>,
    pub(super) level: Arc<AtomicU8>,
    /// Requests from the server that it has not answered.
    pub(super) pending: Arc<PendingQuestions>,
}

/// An open `subscriptions/listen` request.
pub(super) struct Listen {
    pub(super) id: RequestId,
    pub(super) mailbox: Arc<Mailbox>,
    /// Counts the subscription in telemetry while it exists.
    pub(super) _open: GaugeGuard,
}

impl Session {
    /// Creates the session of a new channel. `wake` is called when [`drain`](Self::drain) has something to write.
    pub(crate) fn new(dispatcher: &Arc<Dispatcher>, wake: Wake) -> Self {
        let limits = dispatcher.limits();
        Self {
            logs: Some(Arc::new(LogBudget::new(limits.log.max_per_second))),
            channel: ChannelId::next(),
            ..Self::of_one_request(dispatcher, wake)
        }
    }

    /// Creates a session that ends with its first request.
    pub(crate) fn of_one_request(dispatcher: &Arc<Dispatcher>, wake: Wake) -> Self {
        Self {
            dispatcher: Arc::clone(dispatcher),
            wake,
            legacy: None,
            known: KnownClientInfo::default(),
            is_lasting: true,
            is_legacy: false,
            listens: Vec::new(),
            caller: dispatcher.settings.admission.admit(Caller::anonymous()),
            logs: None,
            channel: ChannelId::SHARED,
        }
    }

    /// Sets the sender of the next messages; before, it is an anonymous caller.
    pub(crate) fn set_caller(&mut self, caller: impl Into<Caller>) {
        self.caller = self.dispatcher.settings.admission.admit(caller.into());
    }

    /// Returns the tool with this name if the caller may use it, to compare headers with its arguments.
    #[cfg(feature = "http")]
    pub(crate) fn usable_tool(&self, name: &str) -> Option<Arc<crate::registry::Callable>> {
        let snapshot = self.dispatcher.registry.snapshot();
        snapshot.seen_by(&self.caller).usable_tool(name).cloned()
    }

    /// Returns the protocol version of the handshake, if there was one.
    #[cfg(feature = "http")]
    pub(crate) fn version(&self) -> Option<ProtocolVersion> {
        self.legacy.as_ref().map(|legacy| legacy.client.version)
    }

    /// Returns `true` if batches are accepted: only in 2025-03-26.
    pub(crate) fn allows_batch(&self) -> bool {
        self.legacy
            .as_ref()
            .is_some_and(|legacy| legacy.client.version.has_batches())
    }

    /// Writes change notifications, one line each, until `out` holds `room` bytes. Returns `true` if none are left.
    pub(crate) fn drain(&self, out: &mut Vec<u8>, room: usize) -> bool {
        let legacy = self.legacy.as_ref().filter(|legacy| legacy.ready);
        legacy.is_none_or(|legacy| {
            legacy.client.pending.drain(out, room)
                && legacy.mailbox.drain(out, room, None, &self.caller)
        }) && self.listens.iter().all(|listen| {
            let subscription = Some(&listen.id);
            listen.mailbox.drain(out, room, subscription, &self.caller)
        })
    }

    /// Ends the listen request with this id, without a response. Returns `false` if there is none.
    pub(crate) fn cancel(&mut self, id: &RequestId) -> bool {
        let before = self.listens.len();
        self.listens.retain(|listen| listen.id != *id);
        self.listens.len() < before
    }

    /// Ends all listen requests with their results only, one line each: for streams that end with them.
    #[cfg(feature = "http")]
    pub(crate) fn complete(&mut self, out: &mut Vec<u8>) {
        for listen in self.listens.drain(..) {
            let reply = ResponseContext {
                id: &listen.id,
                version: ProtocolVersion::LATEST,
                identity: self.dispatcher.identity(),
            };
            encode::listen_result(out, reply);
            out.push(b'\n');
        }
    }

    /// Ends all listen requests with their results, one line each, and the server's own requests, which will not be answered.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        if let Some(legacy) = &self.legacy {
            legacy.client.pending.close();
        }
        for listen in self.listens.drain(..) {
            let identity = self.dispatcher.identity();
            encode::listen_result(
                out,
                ResponseContext {
                    id: &listen.id,
                    version: ProtocolVersion::LATEST,
                    identity,
                },
            );
            out.push(b'\n');
            encode::cancelled(out, &listen.id, "the server is shutting down");
            out.push(b'\n');
        }
    }

    /// Stores the result of a handshake. The client is notified of the lists in `offered` only.
    pub(super) fn begin(&mut self, params: InitializeParams, offered: Filter) {
        let InitializeParams {
            version,
            capabilities,
            client_info: info,
        } = params;
        let mailbox = self
            .dispatcher
            .notifications()
            .listen(offered, Arc::clone(&self.wake));
        let client = LegacyClient {
            version,
            capabilities: Arc::new(capabilities),
            info: Some(Arc::new(info)),
            level: Arc::new(AtomicU8::new(LoggingLevel::Info as u8)),
            pending: Arc::new(PendingQuestions::new(Arc::clone(&self.wake))),
        };
        self.legacy = Some(Legacy {
            client: Arc::new(client),
            ready: false,
            mailbox,
            _open: GaugeGuard::session(),
        });
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("client", &self.legacy.as_ref().map(|legacy| &legacy.client))
            .finish_non_exhaustive()
    }
}

/// The log messages that a client has requested.
#[derive(Clone, Debug)]
pub(super) enum LogLevel {
    /// None.
    Off,
    /// This level and above, for one modern request.
    Request(LoggingLevel),
    /// The level the session last set, and above.
    Session(Arc<AtomicU8>),
}

impl LogLevel {
    pub(super) fn admits(&self, level: LoggingLevel) -> bool {
        match self {
            Self::Off => false,
            Self::Request(least) => level >= *least,
            Self::Session(least) => level as u8 >= least.load(Ordering::Relaxed),
        }
    }
}
