//! The methods that a client can call, and the eras in which they exist.

use crate::Era;

/// A method that a client can call on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `initialize`
    Initialize,
    /// `ping`
    Ping,
    /// `server/discover`
    Discover,
    /// `tools/list`
    ToolsList,
    /// `tools/call`
    ToolsCall,
    /// `prompts/list`
    PromptsList,
    /// `prompts/get`
    PromptsGet,
    /// `resources/list`
    ResourcesList,
    /// `resources/templates/list`
    ResourceTemplatesList,
    /// `resources/read`
    ResourcesRead,
    /// `resources/subscribe`
    ResourcesSubscribe,
    /// `resources/unsubscribe`
    ResourcesUnsubscribe,
    /// `completion/complete`
    CompletionComplete,
    /// `logging/setLevel`
    LoggingSetLevel,
    /// `subscriptions/listen`
    SubscriptionsListen,
}

impl Method {
    /// All methods with their names.
    pub const ALL: [(Self, &'static str); 15] = [
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

    /// Returns the method with the given name, from any era.
    pub fn named(name: &str) -> Option<Self> {
        let mut known = Self::ALL.iter();
        known
            .find(|(_, wire)| *wire == name)
            .map(|(method, _)| *method)
    }

    /// Returns the name of the method, as sent on the wire.
    pub fn as_str(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(method, _)| *method == self)
            .map_or("", |(_, wire)| wire)
    }

    /// Returns the capability that a server must offer for the method to be available. The method must also exist in
    /// the era.
    pub const fn capability(self) -> Option<MethodCapability> {
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

    /// Returns `true` if the method exists in the given era.
    pub fn is_in(self, era: Era) -> bool {
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
}

/// A server capability that makes methods available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MethodCapability {
    /// `tools`
    Tools,
    /// `prompts`
    Prompts,
    /// `resources`
    Resources,
    /// `resources.subscribe`
    Subscribe,
    /// `completions`
    Completions,
    /// `logging`
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
