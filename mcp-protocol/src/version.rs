//! Protocol versions and eras.

use std::fmt;

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

    /// Returns `true` if the specification requires invalid arguments to be reported as a tool result; earlier versions
    /// do not specify this.
    #[inline]
    #[must_use]
    pub fn reports_argument_faults_as_results(self) -> bool {
        self >= Self::V2025_11_25
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

#[cfg(test)]
mod tests {
    use super::ProtocolVersion::{
        self, V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28,
    };
    use super::*;

    #[test]
    fn facts_hold_from_a_version_on() {
        for (fact, first) in [
            (
                ProtocolVersion::has_completion_context as fn(ProtocolVersion) -> bool,
                V2025_06_18,
            ),
            (ProtocolVersion::primes_streams, V2025_11_25),
            (
                ProtocolVersion::reports_argument_faults_as_results,
                V2025_11_25,
            ),
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
    fn some_facts_hold_in_one_version() {
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
