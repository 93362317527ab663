//! Protocol versions and eras.

/// A published protocol version. Ordered by date, oldest first.
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
pub(crate) enum Era {
    /// Up to 2025-11-25: a handshake, then a session.
    Legacy,
    /// From 2026-07-28: every request is self-contained.
    Modern,
}

impl ProtocolVersion {
    /// All versions, oldest first.
    pub(crate) const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// The newest version that a handshake can negotiate.
    pub(crate) const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// The newest version.
    pub(crate) const LATEST: Self = Self::V2026_07_28;

    /// The version of an HTTP request that names none, on a server that has no session to tell: the first version without
    /// the header `MCP-Protocol-Version`.
    #[cfg(feature = "http")]
    pub(crate) const WITHOUT_HEADER: Self = Self::V2025_03_26;

    /// Returns the dates of all versions, newest first, as discovery and version errors list them.
    pub(crate) fn supported() -> [&'static str; 5] {
        let mut dates = Self::ALL.map(Self::as_str);
        dates.reverse();
        dates
    }

    /// Returns the dates of the versions that a handshake can negotiate, newest first.
    #[cfg(feature = "http")]
    pub(crate) fn supported_by_handshake() -> Vec<&'static str> {
        let legacy = Self::ALL.into_iter().rev();
        let legacy = legacy.filter(|version| !version.is_modern());
        legacy.map(Self::as_str).collect()
    }

    /// Returns the date, as it is on the wire.
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

    /// Returns the version with this date, exactly as on the wire.
    pub(crate) fn from_wire(date: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|version| version.as_str() == date)
    }

    /// Returns `true` if messages may be sent in arrays.
    pub(crate) const fn has_batches(self) -> bool {
        matches!(self, Self::V2025_03_26)
    }

    /// Returns `true` if the specification requires invalid arguments to be reported as a tool result; earlier versions leave
    /// it open.
    pub(crate) fn reports_argument_faults_as_results(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Returns `true` if structured content may be any JSON value, not only an object.
    pub(crate) fn has_structured_values(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Returns `true` if a resumable stream begins with an event that has only an id; clients of earlier versions do not
    /// expect one.
    #[cfg(feature = "http")]
    pub(crate) fn primes_streams(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Returns `true` for versions of the modern era.
    pub(crate) const fn is_modern(self) -> bool {
        matches!(self.era(), Era::Modern)
    }

    /// Returns the era.
    pub(crate) const fn era(self) -> Era {
        match self {
            Self::V2026_07_28 => Era::Modern,
            _ => Era::Legacy,
        }
    }
}
