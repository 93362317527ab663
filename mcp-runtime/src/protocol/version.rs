//! Revisions and eras.

/// A published revision of the protocol, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ProtocolVersion {
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

/// A generation of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Era {
    /// Up to 2025-11-25: a handshake, then a session.
    Legacy,
    /// From 2026-07-28: every request carries all it needs.
    Modern,
}

impl ProtocolVersion {
    /// Every revision, oldest first.
    pub(crate) const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// The newest revision a handshake can agree on.
    pub(crate) const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// The newest revision of all.
    pub(crate) const LATEST: Self = Self::V2026_07_28;

    /// The dates of every revision, newest first, as discovery and version errors list them.
    pub(crate) fn supported() -> [&'static str; 5] {
        let mut dates = Self::ALL.map(Self::as_str);
        dates.reverse();
        dates
    }

    /// The date on the wire.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision of this date, exactly as it is on the wire.
    pub(crate) fn from_wire(date: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|version| version.as_str() == date)
    }

    /// Whether messages may come in arrays.
    pub(crate) const fn has_batches(self) -> bool {
        matches!(self, Self::V2025_03_26)
    }

    /// Whether its text says that arguments which do not fit are a tool result, rather than leaving it open.
    pub(crate) fn reports_argument_faults_as_results(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Whether structured content may be any JSON, rather than an object.
    pub(crate) fn has_structured_values(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Its era.
    pub(crate) const fn era(self) -> Era {
        match self {
            Self::V2026_07_28 => Era::Modern,
            _ => Era::Legacy,
        }
    }
}
