//! The state of one multiplexed channel: what the handshake agreed on, and who listens.
//!
//! Modern requests read none of the legacy part. A session is data: it owns no task and does no I/O.

#[cfg(feature = "http")]
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use crate::context::Caller;
use crate::dispatch::dispatcher::Dispatcher;
use crate::dispatch::notices::{Mailbox, Wake};
use crate::dispatch::pending::Pending;
use crate::dispatch::stream::LogBudget;
use crate::jsonrpc::RequestId;
use crate::protocol::encode::{self, Filter, Reply};
use crate::protocol::{InitializeParams, Known, ProtocolVersion};
use crate::telemetry::Open;
use crate::types::{ClientCapabilities, Implementation, LoggingLevel};

/// The state of one multiplexed channel.
pub(crate) struct Session {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) wake: Wake,
    pub(super) legacy: Option<Legacy>,
    /// What modern requests said before.
    pub(super) known: Known,
    /// Whether what the legacy part holds is there again for the next message.
    pub(super) is_lasting: bool,
    /// All that is said in it is legacy, unless a message claims otherwise.
    pub(super) is_legacy: bool,
    pub(super) listens: Vec<Listen>,
    /// Who sends what comes next.
    pub(super) caller: Caller,
    /// None for a session of one request, whose budget nobody shares.
    pub(super) logs: Option<Arc<LogBudget>>,
    pub(crate) channel: Channel,
}

/// Tells sessions and connections apart, for rates that are counted by caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Channel(u64);

impl Channel {
    /// That of all requests that have none of their own.
    pub(crate) const SHARED: Self = Self(0);

    /// That of a connection.
    fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// That of a session by its id, which we made up: the same whenever the session is taken up again.
    #[cfg(feature = "http")]
    pub(crate) fn of_session(id: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        // Not the number of a connection.
        Self(hasher.finish() | 1 << 63)
    }
}

/// What a handshake agreed on.
pub(super) struct Legacy {
    pub(super) client: Arc<LegacyClient>,
    /// Whether the client said that it is ready; only then is it told of changes.
    pub(super) ready: bool,
    pub(super) mailbox: Arc<Mailbox>,
    /// Counts it, as long as it is there.
    pub(super) _open: Open,
}

/// A client that shook hands.
#[derive(Debug)]
pub(super) struct LegacyClient {
    pub(super) version: ProtocolVersion,
    pub(super) capabilities: Arc<ClientCapabilities>,
    pub(super) info: Option<Arc<Implementation>>,
    pub(super) level: Arc<AtomicU8>,
    /// What it was asked and has not answered.
    pub(super) pending: Arc<Pending>,
}

/// An open `subscriptions/listen` request.
pub(super) struct Listen {
    pub(super) id: RequestId,
    pub(super) mailbox: Arc<Mailbox>,
    /// Counts it, as long as it is there.
    pub(super) _open: Open,
}

impl Session {
    /// A channel on which nothing was said yet. `wake` is called when [`drain`](Self::drain) would have something.
    pub(crate) fn new(dispatcher: &Arc<Dispatcher>, wake: Wake) -> Self {
        let limits = dispatcher.limits();
        Self {
            logs: Some(Arc::new(LogBudget::new(limits.logs))),
            channel: Channel::next(),
            ..Self::of_one_request(dispatcher, wake)
        }
    }

    /// A session that ends with its first request.
    pub(crate) fn of_one_request(dispatcher: &Arc<Dispatcher>, wake: Wake) -> Self {
        Self {
            dispatcher: Arc::clone(dispatcher),
            wake,
            legacy: None,
            known: Known::default(),
            is_lasting: true,
            is_legacy: false,
            listens: Vec::new(),
            caller: dispatcher.settings.admission.admit(Caller::anonymous()),
            logs: None,
            channel: Channel::SHARED,
        }
    }

    /// Who sends what comes next. At first somebody of whom nothing is known.
    pub(crate) fn set_caller(&mut self, caller: impl Into<Caller>) {
        self.caller = self.dispatcher.settings.admission.admit(caller.into());
    }

    /// The tool of this name, if the caller may use it: for whoever compares headers with its arguments.
    #[cfg(feature = "http")]
    pub(crate) fn usable_tool(&self, name: &str) -> Option<Arc<crate::registry::ToolEntry>> {
        let snapshot = self.dispatcher.registry.snapshot();
        snapshot.seen_by(&self.caller).usable_tool(name).cloned()
    }

    /// What the handshake agreed on, if there was one.
    #[cfg(feature = "http")]
    pub(crate) fn version(&self) -> Option<ProtocolVersion> {
        self.legacy.as_ref().map(|legacy| legacy.client.version)
    }

    /// Whether an array of messages is welcome: only where 2025-03-26 was agreed on.
    pub(crate) fn allows_batch(&self) -> bool {
        self.legacy
            .as_ref()
            .is_some_and(|legacy| legacy.client.version.has_batches())
    }

    /// Writes change notices, a line each, until `out` holds `room` bytes. Says whether there are no more.
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

    /// Ends the listen request of this id, without an answer; `false` if there is none.
    pub(crate) fn cancel(&mut self, id: &RequestId) -> bool {
        let before = self.listens.len();
        self.listens.retain(|listen| listen.id != *id);
        self.listens.len() < before
    }

    /// Ends all listen requests with their answers alone, a line each: for streams that end with them.
    #[cfg(feature = "http")]
    pub(crate) fn complete(&mut self, out: &mut Vec<u8>) {
        for listen in self.listens.drain(..) {
            let reply = Reply {
                id: &listen.id,
                version: ProtocolVersion::LATEST,
                identity: self.dispatcher.identity(),
            };
            encode::listen_result(out, reply);
            out.push(b'\n');
        }
    }

    /// Ends all listen requests, with an answer, a line each; and our own requests, because nobody will answer them.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        if let Some(legacy) = &self.legacy {
            legacy.client.pending.close();
        }
        for listen in self.listens.drain(..) {
            let identity = self.dispatcher.identity();
            encode::listen_result(
                out,
                Reply {
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

    /// Remembers what a handshake agreed on. The client hears of the lists it was offered, and of nothing else.
    pub(super) fn begin(&mut self, params: InitializeParams, offered: Filter) {
        let InitializeParams {
            version,
            capabilities,
            client_info: info,
        } = params;
        let mailbox = self
            .dispatcher
            .notices()
            .listen(offered, Arc::clone(&self.wake));
        let client = LegacyClient {
            version,
            capabilities: Arc::new(capabilities),
            info: Some(Arc::new(info)),
            level: Arc::new(AtomicU8::new(LoggingLevel::Info as u8)),
            pending: Arc::new(Pending::new(Arc::clone(&self.wake))),
        };
        self.legacy = Some(Legacy {
            client: Arc::new(client),
            ready: false,
            mailbox,
            _open: Open::session(),
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

/// Which log messages a client wants.
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
