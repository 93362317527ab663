//! A valid request: its sender, its origin, its protocol version and its parameters.
//!
//! The origin is the caller, and the channel used to apply rate limits. Both legacy and modern requests have one. The
//! `channel` module holds the state that a channel keeps between requests.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use crate::budget::{ClientNetwork, Holder};
use crate::context::outbound::{LogBudget, LogLevel};
use crate::context::pending::PendingQuestions;
use crate::context::{Caller, ClientIdentity};
use crate::handler::tags::TagSelection;
use crate::jsonrpc::{ErrorObject, Member, MetaMember, Params, RequestId};
use crate::observe::{CalledItem, RequestAttributes};
use crate::protocol::negotiation::ModernMeta;
use crate::protocol::{Method, ProtocolVersion};
use crate::types::{ClientCapabilities, Implementation};

/// A valid request.
pub(super) struct Request<'m> {
    pub(super) id: RequestId,
    /// `None` for a method of an extension.
    pub(super) method: Option<Method>,
    pub(super) params: &'m Params<'m>,
    pub(super) version: ProtocolVersion,
    pub(super) sender: RequestSender<'m>,
    /// The caller and its scopes.
    pub(super) caller: Caller,
    /// The definitions selected by their tags, or `None` for all definitions.
    pub(super) selection: Option<TagSelection>,
}

/// A request's sender.
pub(super) enum RequestSender<'m> {
    /// A client that has completed a handshake.
    Legacy(Arc<LegacyClient>),
    /// A client whose request is self-contained.
    Modern(ModernMeta<'m>),
}

impl RequestSender<'_> {
    pub(super) fn capabilities(&self) -> Arc<ClientCapabilities> {
        match self {
            Self::Legacy(client) => Arc::clone(&client.capabilities),
            Self::Modern(modern) if modern.raw_capabilities == "{}" => {
                static NONE: LazyLock<Arc<ClientCapabilities>> = LazyLock::new(Arc::default);
                Arc::clone(&NONE)
            }
            Self::Modern(modern) => Arc::new(modern.capabilities()),
        }
    }

    pub(super) fn client(&self) -> ClientIdentity {
        match self {
            Self::Legacy(client) => ClientIdentity::Known(client.info.clone()),
            Self::Modern(_) => ClientIdentity::Claimed(OnceLock::new()),
        }
    }

    pub(super) fn log_level(&self) -> LogLevel {
        match self {
            Self::Legacy(client) => LogLevel::Session(Arc::clone(&client.level)),
            Self::Modern(modern) => modern.log_level.map_or(LogLevel::Off, LogLevel::Request),
        }
    }
}

impl<'m> Request<'m> {
    /// Returns what observers see of the request.
    pub(super) fn attributes<'a>(&'a self, called: CalledItem<'a>) -> RequestAttributes<'a> {
        RequestAttributes {
            method: self.method,
            id: &self.id,
            version: Some(self.version),
            meta: self.params.get(Member::Meta),
            called,
        }
    }

    /// Returns a required member, which must be a string of at most `limit` bytes.
    pub(super) fn string(
        &self,
        member: Member,
        limit: usize,
    ) -> Result<std::borrow::Cow<'m, str>, ErrorObject> {
        let name = member.as_str();
        match self.params.string(member) {
            Ok(Some(text)) if text.len() <= limit => Ok(text),
            Ok(Some(_)) => Err(ErrorObject::invalid_params(format!(
                "`{name}` is longer than {limit} bytes"
            ))),
            Ok(None) => Err(ErrorObject::invalid_params(format!("`{name}` is missing"))),
            Err(_) => Err(ErrorObject::invalid_params(format!(
                "`{name}` must be a string"
            ))),
        }
    }

    /// Returns `arguments`, which must be an object, or an empty object if it is absent.
    pub(super) fn arguments(&self) -> Result<&'m str, ErrorObject> {
        match self.params.get(Member::Arguments) {
            None => Ok("{}"),
            Some(arguments) if arguments.starts_with('{') => Ok(arguments),
            Some(_) => Err(ErrorObject::invalid_params("`arguments` must be an object")),
        }
    }

    /// Returns the progress token as JSON: a string or an integer. Other values are ignored.
    pub(super) fn progress_token(&self) -> Option<&'m str> {
        let token = self.params.meta(MetaMember::ProgressToken)?;
        let is_string = token.starts_with('"');
        let is_integer = token.parse::<i64>().is_ok();
        (is_string || is_integer).then_some(token)
    }
}

/// A client that has completed a handshake.
#[derive(Debug)]
pub(super) struct LegacyClient {
    pub(super) version: ProtocolVersion,
    pub(super) capabilities: Arc<ClientCapabilities>,
    pub(super) info: Option<Arc<Implementation>>,
    pub(super) level: Arc<AtomicU8>,
    /// Requests from the server that the client has not answered yet.
    pub(super) pending: Arc<PendingQuestions>,
}

/// A request's origin.
pub struct RequestOrigin {
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
    #[must_use]
    pub const fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Consumes the origin and returns its caller.
    #[must_use]
    pub fn into_caller(self) -> Caller {
        self.caller
    }
}

/// Identifies a session or connection for per-caller rate limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChannelId(u64);

impl ChannelId {
    /// The channel shared by all requests without a session or connection.
    pub const SHARED: Self = Self(0);

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
    #[must_use]
    pub fn of_session(id: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        Self(hasher.finish() | Self::OF_SESSION)
    }
}
