//! The methods that a client can call, and the eras in which they exist.

use crate::Era;
use crate::jsonrpc::Member;

/// Defines an enum of methods, with their names on the wire and conversions in both directions.
macro_rules! methods {
    ($(#[$doc:meta])* $kind:ident { $($method:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $kind {
            $(#[doc = concat!("`", $name, "`")] $method,)+
        }

        impl $kind {
            /// All methods.
            pub const ALL: &'static [Self] = &[$(Self::$method),+];

            /// Returns the method with the given name, regardless of era.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$method),)+
                    _ => None,
                }
            }

            /// Returns the name of the method, as sent on the wire.
            #[inline]
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$method => $name,)+
                }
            }
        }
    };
}

methods! {
    /// A method that a client can call on a server.
    Method {
        Initialize = "initialize",
        Ping = "ping",
        Discover = "server/discover",
        ToolsList = "tools/list",
        ToolsCall = "tools/call",
        PromptsList = "prompts/list",
        PromptsGet = "prompts/get",
        ResourcesList = "resources/list",
        ResourceTemplatesList = "resources/templates/list",
        ResourcesRead = "resources/read",
        ResourcesSubscribe = "resources/subscribe",
        ResourcesUnsubscribe = "resources/unsubscribe",
        CompletionComplete = "completion/complete",
        LoggingSetLevel = "logging/setLevel",
        SubscriptionsListen = "subscriptions/listen",
    }
}

methods! {
    /// A client notification that the server acts on.
    ClientNotification {
        Cancelled = "notifications/cancelled",
        Initialized = "notifications/initialized",
    }
}

/// Returns `true` if the core protocol defines a method or notification with this name, in any version and for either
/// side. Extensions cannot use these names. Tasks are not included, because they have been defined by an extension
/// since 2026-07-28.
#[must_use]
pub fn is_core_name(name: &str) -> bool {
    const OTHERS: [&str; 12] = [
        "elicitation/create",
        "roots/list",
        "sampling/createMessage",
        "notifications/elicitation/complete",
        "notifications/message",
        "notifications/progress",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/subscriptions/acknowledged",
        "notifications/roots/list_changed",
        "notifications/tools/list_changed",
    ];
    Method::named(name).is_some()
        || ClientNotification::named(name).is_some()
        || OTHERS.contains(&name)
}

impl Method {
    /// Returns the capability that a server must declare for the method to be available, provided that the method
    /// exists in the era.
    #[must_use]
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
    #[inline]
    #[must_use]
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

    /// Returns `true` if the session remembers the request because it affects how later messages are handled.
    #[inline]
    #[must_use]
    pub const fn is_remembered_by_session(self) -> bool {
        matches!(
            self,
            Self::LoggingSetLevel | Self::ResourcesSubscribe | Self::ResourcesUnsubscribe
        )
    }

    /// Returns `true` if the response is a stream of notifications that stays open until the client or the server ends
    /// it.
    #[inline]
    #[must_use]
    pub const fn opens_stream(self) -> bool {
        matches!(self, Self::SubscriptionsListen)
    }

    /// Returns the member of `params` that is mirrored in the `Mcp-Name` HTTP header.
    ///
    /// Source: revision 2026-07-28, basic/transports, "Standard Request Headers".
    #[inline]
    #[must_use]
    pub const fn mirrored_member(self) -> Option<Member> {
        match self {
            Self::ToolsCall | Self::PromptsGet => Some(Member::Name),
            Self::ResourcesRead => Some(Member::Uri),
            _ => None,
        }
    }

    /// Returns `true` if the method's arguments are mirrored in the `Mcp-Param-…` HTTP headers that the definition
    /// declares.
    #[inline]
    #[must_use]
    pub const fn mirrors_arguments(self) -> bool {
        matches!(self, Self::ToolsCall)
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
        for method in Method::ALL {
            assert_eq!(Method::named(method.as_str()), Some(*method));
        }
        for name in [
            "",
            "Ping",
            "ping ",
            "tasks/get",
            "notifications/initialized",
        ] {
            assert_eq!(Method::named(name), None);
        }
        for notification in ClientNotification::ALL {
            let name = notification.as_str();
            assert!(name.starts_with("notifications/"));
            assert_eq!(ClientNotification::named(name), Some(*notification));
        }
    }

    #[test]
    fn facts_of_methods() {
        let those = |fact: fn(Method) -> bool| {
            let methods = Method::ALL.iter().filter(|method| fact(**method));
            methods.map(|method| method.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(
            those(Method::is_remembered_by_session),
            [
                "resources/subscribe",
                "resources/unsubscribe",
                "logging/setLevel"
            ]
        );
        assert_eq!(those(Method::opens_stream), ["subscriptions/listen"]);
        assert_eq!(those(Method::mirrors_arguments), ["tools/call"]);
        let name = |method: Method| method.mirrored_member() == Some(Member::Name);
        assert_eq!(those(name), ["tools/call", "prompts/get"]);
        let uri = |method: Method| method.mirrored_member() == Some(Member::Uri);
        assert_eq!(those(uri), ["resources/read"]);
        // Session state cannot exist without sessions.
        for method in Method::ALL {
            assert!(!method.is_remembered_by_session() || !method.is_in(Era::Modern));
            assert!(!method.opens_stream() || !method.is_in(Era::Legacy));
        }
    }
}
