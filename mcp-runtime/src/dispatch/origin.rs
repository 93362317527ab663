//! A request's origin: its caller, and the channel used to apply rate limits.
//!
//! Both legacy and modern requests have an origin. The `channel` module holds the state that a channel keeps between
//! requests.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::budget::{ClientNetwork, Holder};
use crate::context::Caller;
use crate::dispatch::stream::LogBudget;
use crate::handler::tags::TagSelection;

/// A request's origin.
pub(crate) struct RequestOrigin {
    /// The caller and its scopes.
    pub(super) caller: Caller,
    /// The definitions selected by their tags, or `None` for all definitions.
    pub(super) selection: Option<TagSelection>,
    pub(super) channel: ChannelId,
    /// The log budget shared by all requests on a channel. `None` for a request without a channel.
    pub(super) logs: Option<Arc<LogBudget>>,
    /// The network from which the request came, if it is known.
    pub(super) network: Option<ClientNetwork>,
}

impl RequestOrigin {
    /// Creates the origin of a request that does not belong to a session or connection.
    pub(super) const fn stateless(
        caller: Caller,
        network: Option<ClientNetwork>,
        selection: Option<TagSelection>,
    ) -> Self {
        Self {
            caller,
            selection,
            channel: ChannelId::SHARED,
            logs: None,
            network,
        }
    }

    /// Creates the origin of all requests on a new connection.
    pub(super) fn of_connection(
        caller: Caller,
        selection: Option<TagSelection>,
        logs: LogBudget,
    ) -> Self {
        Self {
            caller,
            selection,
            channel: ChannelId::next(),
            logs: Some(Arc::new(logs)),
            network: None,
        }
    }

    /// Returns the client for whom the server holds what it keeps for the request.
    pub(super) fn holder(&self) -> Holder {
        Holder::new(self.caller.principal(), self.network)
    }

    /// Returns the caller.
    pub(crate) const fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Consumes the origin and returns its caller.
    pub(crate) fn into_caller(self) -> Caller {
        self.caller
    }
}

/// Identifies a session or connection for per-caller rate limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ChannelId(u64);

impl ChannelId {
    /// The channel shared by all requests without a session or connection.
    pub(crate) const SHARED: Self = Self(0);

    /// The bit that distinguishes a session's number from a connection's number.
    const OF_SESSION: u64 = 1 << 63;

    /// Creates the channel for a new connection.
    fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns a name by which all instances of the server know the channel. `process` is the name of this process.
    pub(super) fn shared_name(self, process: &str) -> String {
        match self.0 {
            0 => "anonymous".to_owned(),
            number if number & Self::OF_SESSION != 0 => format!("session {number:x}"),
            number => format!("connection {process} {number}"),
        }
    }

    /// Derives a session's channel from the session id that the server issued. The channel remains the same when the
    /// session is resumed.
    pub(crate) fn of_session(id: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        Self(hasher.finish() | Self::OF_SESSION)
    }
}
