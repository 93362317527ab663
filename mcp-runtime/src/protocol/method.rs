//! The methods that a client may call, and the eras that have them.

#[cfg(feature = "http")]
use crate::jsonrpc::Member;
use crate::protocol::Era;

/// A method from client to server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Method {
    Initialize,
    Ping,
    Discover,
    ToolsList,
    ToolsCall,
    PromptsList,
    PromptsGet,
    ResourcesList,
    ResourceTemplatesList,
    ResourcesRead,
    ResourcesSubscribe,
    ResourcesUnsubscribe,
    CompletionComplete,
    LoggingSetLevel,
    SubscriptionsListen,
}

impl Method {
    pub(crate) const ALL: [(Self, &'static str); 15] = [
        (Self::Initialize, "initialize"),
        (Self::Ping, "ping"),
        (Self::Discover, "server/discover"),
        (Self::ToolsList, "tools/list"),
        (Self::ToolsCall, "tools/call"),
        (Self::PromptsList, "prompts/list"),
        (Self::PromptsGet, "prompts/get"),
        (Self::ResourcesList, "resources/list"),
        (Self::ResourceTemplatesList, "resources/templates/list"),
        (Self::ResourcesRead, "resources/read"),
        (Self::ResourcesSubscribe, "resources/subscribe"),
        (Self::ResourcesUnsubscribe, "resources/unsubscribe"),
        (Self::CompletionComplete, "completion/complete"),
        (Self::LoggingSetLevel, "logging/setLevel"),
        (Self::SubscriptionsListen, "subscriptions/listen"),
    ];

    /// Returns the method with this name, in any era.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let mut known = Self::ALL.iter();
        known
            .find(|(_, wire)| *wire == name)
            .map(|(method, _)| *method)
    }

    /// Returns the name on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(method, _)| *method == self)
            .map_or("", |(_, wire)| wire)
    }

    /// Returns the capability that a server must offer for the method to exist; the era must have it too.
    pub(crate) const fn capability(self) -> Option<MethodCapability> {
        Some(match self {
            Self::Initialize | Self::Ping | Self::Discover | Self::SubscriptionsListen => {
                return None;
            }
            Self::ToolsList | Self::ToolsCall => MethodCapability::Tools,
            Self::PromptsList | Self::PromptsGet => MethodCapability::Prompts,
            Self::ResourcesList | Self::ResourceTemplatesList | Self::ResourcesRead => {
                MethodCapability::Resources
            }
            Self::ResourcesSubscribe | Self::ResourcesUnsubscribe => MethodCapability::Subscribe,
            Self::CompletionComplete => MethodCapability::Completions,
            Self::LoggingSetLevel => MethodCapability::Logging,
        })
    }

    /// Returns `true` if the era has it.
    pub(crate) fn is_in(self, era: Era) -> bool {
        match self {
            Self::Initialize
            | Self::Ping
            | Self::ResourcesSubscribe
            | Self::ResourcesUnsubscribe
            | Self::LoggingSetLevel => era == Era::Legacy,
            Self::Discover | Self::SubscriptionsListen => era == Era::Modern,
            _ => true,
        }
    }

    /// Returns `true` if its request stays open: notifications follow the first message, until the request ends.
    #[cfg(feature = "http")]
    pub(crate) const fn opens_stream(self) -> bool {
        matches!(self, Self::SubscriptionsListen)
    }

    /// Returns `true` if its effect lasts as long as the session, so that a stored session has to be saved afterwards.
    #[cfg(feature = "http")]
    pub(crate) const fn changes_session(self) -> bool {
        matches!(
            self,
            Self::ResourcesSubscribe | Self::ResourcesUnsubscribe | Self::LoggingSetLevel
        )
    }

    /// Returns the member of `params` that the header `Mcp-Name` mirrors, if there is one.
    #[cfg(feature = "http")]
    pub(crate) const fn name_member(self) -> Option<Member> {
        match self {
            Self::ToolsCall | Self::PromptsGet => Some(Member::Name),
            Self::ResourcesRead => Some(Member::Uri),
            _ => None,
        }
    }
}

/// A notification from client to server that has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientNotification {
    Initialized,
    Cancelled,
}

impl ClientNotification {
    /// Returns the notification with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "notifications/initialized" => Some(Self::Initialized),
            "notifications/cancelled" => Some(Self::Cancelled),
            _ => None,
        }
    }
}

/// A capability of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MethodCapability {
    Tools,
    Prompts,
    Resources,
    /// `resources.subscribe`
    Subscribe,
    Completions,
    Logging,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_found_by_its_name() {
        for (method, name) in Method::ALL {
            assert_eq!(method.as_str(), name);
            assert_eq!(Method::named(name), Some(method));
        }
        for name in ["", "Ping", "ping ", "tasks/get"] {
            assert_eq!(Method::named(name), None);
        }
    }
}
