//! What the revisions of the protocol define: versions and eras, methods, and reserved names.

use std::fmt;

use crate::jsonrpc::Member;

/// A published protocol version. Versions are ordered by date, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProtocolVersion {
    /// 2024-11-05
    V2024_11_05,
    /// 2025-03-26
    V2025_03_26,
    /// 2025-06-18
    V2025_06_18,
    /// 2025-11-25
    V2025_11_25,
    /// 2026-07-28
    V2026_07_28,
}

/// A generation of protocol versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// Versions up to and including 2025-11-25, in which a handshake starts a session.
    Legacy,
    /// Versions from 2026-07-28 onward, in which every request is self-contained.
    Modern,
}

impl ProtocolVersion {
    /// Returns the date of the version, as sent on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }
}

/// Writes the date of the version.
impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

// Used only by the runtime. `mcp-runtime` re-exports this type, so these items are hidden from its users.
#[doc(hidden)]
impl ProtocolVersion {
    /// All versions, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// The oldest version.
    pub const OLDEST: Self = Self::V2024_11_05;

    /// The oldest version in which every request is self-contained.
    pub const OLDEST_MODERN: Self = Self::V2026_07_28;

    /// The newest version that a handshake can negotiate.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// The newest version.
    pub const LATEST: Self = Self::V2026_07_28;

    /// The version assumed for an HTTP request without an `MCP-Protocol-Version` header if the version cannot be
    /// determined in any other way.
    ///
    /// Source: 2025-06-18, basic/transports, "Protocol Version Header".
    pub const WITHOUT_HEADER: Self = Self::V2025_03_26;

    /// Returns the dates of all versions, newest first, as listed in discovery results and version errors.
    pub fn supported() -> [&'static str; 5] {
        let mut dates = Self::ALL.map(Self::as_str);
        dates.reverse();
        dates
    }

    /// Returns the dates of the versions that have a handshake, newest first.
    #[must_use]
    pub fn supported_by_handshake() -> Vec<&'static str> {
        let newest_first = Self::ALL.into_iter().rev();
        newest_first
            .filter(|version| !version.is_modern())
            .map(Self::as_str)
            .collect()
    }

    /// Returns the version with the given date, which must be spelled exactly as on the wire.
    #[must_use]
    pub fn from_wire(date: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|version| version.as_str() == date)
    }

    /// Returns `true` if several messages may be sent as a batch in an array.
    #[inline]
    #[must_use]
    pub const fn has_batches(self) -> bool {
        matches!(self, Self::V2025_03_26)
    }

    /// Returns `true` if tool results have structured content in addition to text.
    #[inline]
    #[must_use]
    pub fn has_structured_content(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Returns `true` if structured content may be any JSON value, not only an object.
    #[inline]
    #[must_use]
    pub fn has_structured_values(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Returns `true` if calls fail with a protocol error when the client lacks a required capability. Earlier versions
    /// do not define an error code for this case.
    #[inline]
    #[must_use]
    pub const fn reports_missing_capabilities_as_errors(self) -> bool {
        self.is_modern()
    }

    /// Returns `true` if a completion request can include the arguments that have already been filled in.
    #[inline]
    #[must_use]
    pub fn has_completion_context(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Returns `true` if clients expect a stream to begin with an event that contains only an id to resume from.
    #[inline]
    #[must_use]
    pub fn primes_streams(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Returns `true` if tasks are part of the core protocol. In later versions, an extension defines them.
    #[inline]
    #[must_use]
    pub const fn has_tasks(self) -> bool {
        matches!(self, Self::V2025_11_25)
    }

    /// Returns `true` if every request is self-contained.
    #[inline]
    #[must_use]
    pub const fn is_modern(self) -> bool {
        matches!(self.era(), Era::Modern)
    }

    /// Returns the era to which the version belongs.
    #[inline]
    #[must_use]
    pub const fn era(self) -> Era {
        match self {
            Self::V2026_07_28 => Era::Modern,
            _ => Era::Legacy,
        }
    }
}

// --- The methods that a client can call, and the eras in which they exist.

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

// --- Keys in `_meta` that are reserved for the protocol.
//
// Specification: 2026-07-28, basic, "_meta".

/// Returns `true` if a key in `_meta` or the identifier of an extension has a prefix that is reserved for the protocol.
///
/// A prefix is reserved if its second label is `modelcontextprotocol` or `mcp`, as in `io.modelcontextprotocol/…` or
/// `com.mcp.tools/…`. Revision 2025-06-18 also reserves prefixes that start with one of these labels.
#[must_use]
pub fn is_reserved_meta_key(key: &str) -> bool {
    let Some((prefix, _)) = key.rsplit_once('/') else {
        return false;
    };
    let reserved = |label: Option<&str>| matches!(label, Some("modelcontextprotocol" | "mcp"));
    let mut labels = prefix.split('.');
    let first = labels.next();
    let second = labels.next();
    reserved(second) || (reserved(first) && second.is_some())
}

/// Returns `true` if the core protocol defines this key in `_meta` itself.
#[must_use]
pub fn is_core_meta_key(key: &str) -> bool {
    const NAMES: [&str; 6] = [
        "clientCapabilities",
        "clientInfo",
        "logLevel",
        "protocolVersion",
        "serverInfo",
        "subscriptionId",
    ];
    let name = key.strip_prefix("io.modelcontextprotocol/");
    name.is_some_and(|name| NAMES.contains(&name))
}

#[cfg(test)]
mod tests {
    mod version {
        use crate::version::ProtocolVersion::{
            self, V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28,
        };
        use crate::version::*;

        #[test]
        fn version_properties_hold_from_their_first_version_on() {
            for (fact, first) in [
                (
                    ProtocolVersion::has_completion_context as fn(ProtocolVersion) -> bool,
                    V2025_06_18,
                ),
                (ProtocolVersion::primes_streams, V2025_11_25),
                (ProtocolVersion::has_structured_values, V2026_07_28),
                (
                    ProtocolVersion::reports_missing_capabilities_as_errors,
                    V2026_07_28,
                ),
                (ProtocolVersion::is_modern, V2026_07_28),
            ] {
                for version in ProtocolVersion::ALL {
                    assert_eq!(
                        fact(version),
                        version >= first,
                        "{version:?}, from {first:?}"
                    );
                }
            }
        }

        #[test]
        fn batches_and_core_tasks_exist_in_one_version_each() {
            let those = |fact: fn(ProtocolVersion) -> bool| {
                let versions = ProtocolVersion::ALL.into_iter();
                versions
                    .filter(|version| fact(*version))
                    .collect::<Vec<_>>()
            };
            assert_eq!(those(ProtocolVersion::has_batches), [V2025_03_26]);
            assert_eq!(those(ProtocolVersion::has_tasks), [V2025_11_25]);
        }

        #[test]
        fn versions_are_listed_newest_first() {
            assert_eq!(
                ProtocolVersion::supported(),
                [
                    "2026-07-28",
                    "2025-11-25",
                    "2025-06-18",
                    "2025-03-26",
                    "2024-11-05"
                ]
            );
            assert_eq!(
                ProtocolVersion::supported_by_handshake(),
                ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
            );
            assert_eq!(ProtocolVersion::ALL[0], V2024_11_05);
            assert_eq!(ProtocolVersion::LATEST.era(), Era::Modern);
            assert_eq!(ProtocolVersion::LATEST_LEGACY.era(), Era::Legacy);
            for version in ProtocolVersion::ALL {
                assert_eq!(ProtocolVersion::from_wire(version.as_str()), Some(version));
            }
            assert_eq!(ProtocolVersion::from_wire("2025-11-26"), None);
        }
    }

    mod method {
        use crate::version::*;

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
        fn method_properties_hold_for_the_listed_methods() {
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

    mod meta {
        use crate::version::*;

        #[test]
        fn a_meta_key_is_reserved_by_the_second_label_of_its_prefix() {
            for (key, reserved) in [
                ("io.modelcontextprotocol/serverInfo", true),
                ("dev.mcp/x", true),
                ("com.mcp.tools/x", true),
                ("mcp.dev/x", true),
                ("com.example.mcp/x", false),
                ("com.example/x", false),
                ("mcp", false),
                ("ui", false),
                ("traceparent", false),
                ("", false),
            ] {
                assert_eq!(is_reserved_meta_key(key), reserved, "{key}");
            }
        }
    }
}
