//! Protocol versions and eras.

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
    /// Versions up to 2025-11-25, in which a handshake starts a session.
    Legacy,
    /// Versions from 2026-07-28, in which every request is self-contained.
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

// For the runtime only; hidden from users of `mcp-runtime`, which re-exports this type.
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

    /// The newest version that a handshake can negotiate.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// The newest version.
    pub const LATEST: Self = Self::V2026_07_28;

    /// Returns the dates of all versions, newest first, as they are listed in discovery and in version errors.
    pub fn supported() -> [&'static str; 5] {
        let mut dates = Self::ALL.map(Self::as_str);
        dates.reverse();
        dates
    }

    /// Returns the version with the given date, if the date is spelled exactly as on the wire.
    pub fn from_wire(date: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|version| version.as_str() == date)
    }

    /// Returns `true` if several messages may be sent in one array.
    pub const fn has_batches(self) -> bool {
        matches!(self, Self::V2025_03_26)
    }

    /// Returns `true` if the specification requires invalid arguments to be reported as a tool result; earlier versions
    /// leave this open.
    pub fn reports_argument_faults_as_results(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Returns `true` if structured content may be any JSON value, not only an object.
    pub fn has_structured_values(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Returns the era that the version belongs to.
    pub const fn era(self) -> Era {
        match self {
            Self::V2026_07_28 => Era::Modern,
            _ => Era::Legacy,
        }
    }
}
