//! The published protocol versions, with the names that clients use.

use mcp_runtime::ProtocolVersion;

/// A published protocol version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
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

impl Version {
    /// All protocol versions, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// The protocol versions in which a connection begins with a handshake.
    pub const LEGACY: [Self; 4] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
    ];

    /// The newest protocol version of each era.
    pub const ERAS: [Self; 2] = [Self::V2025_11_25, Self::V2026_07_28];

    /// Returns the date that identifies the protocol version on the wire.
    #[must_use]
    pub const fn date(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns the protocol version with this date.
    #[must_use]
    pub fn from_date(date: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.date() == date)
    }

    /// Returns the corresponding version in the runtime.
    #[must_use]
    pub const fn protocol_version(self) -> ProtocolVersion {
        match self {
            Self::V2024_11_05 => ProtocolVersion::V2024_11_05,
            Self::V2025_03_26 => ProtocolVersion::V2025_03_26,
            Self::V2025_06_18 => ProtocolVersion::V2025_06_18,
            Self::V2025_11_25 => ProtocolVersion::V2025_11_25,
            Self::V2026_07_28 => ProtocolVersion::V2026_07_28,
        }
    }

    /// Returns `true` if there is no handshake, because every request specifies the protocol version.
    #[must_use]
    pub fn is_modern(self) -> bool {
        self == Self::V2026_07_28
    }
}
