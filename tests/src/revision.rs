//! The published protocol versions, as a client names them.

/// A published protocol version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// 2024-11-05
    A,
    /// 2025-03-26
    B,
    /// 2025-06-18
    C,
    /// 2025-11-25
    D,
    /// 2026-07-28
    E,
}

impl Revision {
    /// All protocol versions, oldest first.
    pub const ALL: [Self; 5] = [Self::A, Self::B, Self::C, Self::D, Self::E];

    /// The protocol versions that begin with a handshake.
    pub const LEGACY: [Self; 4] = [Self::A, Self::B, Self::C, Self::D];

    /// The newest protocol version of each era.
    pub const ERAS: [Self; 2] = [Self::D, Self::E];

    /// Returns the date used on the wire.
    #[must_use]
    pub const fn date(self) -> &'static str {
        match self {
            Self::A => "2024-11-05",
            Self::B => "2025-03-26",
            Self::C => "2025-06-18",
            Self::D => "2025-11-25",
            Self::E => "2026-07-28",
        }
    }

    /// Returns the protocol version with this date.
    #[must_use]
    pub fn from_date(date: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.date() == date)
    }

    /// Returns `true` if every request carries its own protocol version, so that there is no handshake.
    #[must_use]
    pub fn is_modern(self) -> bool {
        self == Self::E
    }
}
