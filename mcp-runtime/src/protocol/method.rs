//! The methods a client may call, and the revisions that have them.

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

    /// The method of this name, if the era has it.
    pub(crate) fn from_wire(name: &str, era: Era) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(_, wire)| *wire == name)
            .map(|(method, _)| *method)
            .filter(|method| method.is_in(era))
    }

    fn is_in(self, era: Era) -> bool {
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
