//! A valid request: its sender, protocol version and parameters.

use std::sync::{Arc, LazyLock, OnceLock};

use crate::context::{Caller, ClientIdentity};
use crate::dispatch::legacy_client::LegacyClient;
use crate::dispatch::stream::LogLevel;
use crate::handler::tags::TagSelection;
use crate::jsonrpc::{ErrorObject, Member, MetaMember, Params, RequestId};
use crate::observe::{CalledItem, RequestAttributes};
use crate::protocol::negotiation::ModernMeta;
use crate::protocol::{Method, ProtocolVersion};
use crate::types::ClientCapabilities;

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
