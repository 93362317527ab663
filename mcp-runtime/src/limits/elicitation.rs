//! Limits on questions to the client: elicitation, sampling and roots.

use std::time::Duration;

/// Limits on questions to the client: elicitation, sampling and roots.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ElicitationLimits {
    /// Maximum number of open questions per call. Default 16. When exceeded, the call receives an error.
    pub max_open: usize,
    /// Time the client has to answer a question (legacy era) and to become ready to receive one. Default 5 minutes.
    /// After that, the call receives an error.
    pub timeout: Duration,
    /// Maximum length of a `requestState`, in characters. Default 16 KiB. A longer value is rejected, and a call that
    /// would need a longer value fails.
    pub max_state_bytes: usize,
    /// Time a client has between two rounds of a call (2026-07-28). Default 10 minutes. A round that arrives later is
    /// answered with -32602.
    pub state_timeout: Duration,
    /// Maximum number of rounds per call (2026-07-28). Default 32. When exceeded, the call fails.
    pub max_rounds: u16,
}

impl Default for ElicitationLimits {
    fn default() -> Self {
        Self {
            max_open: 16,
            timeout: Duration::from_mins(5),
            max_state_bytes: 16 << 10,
            state_timeout: Duration::from_mins(10),
            max_rounds: 32,
        }
    }
}

impl ElicitationLimits {
    /// Returns the name of each field that must not be zero, paired with `true` if the field is zero.
    pub(super) fn zero_fields(&self) -> [(&'static str, bool); 5] {
        [
            ("elicitation.max_open", self.max_open == 0),
            ("elicitation.timeout", self.timeout.is_zero()),
            ("elicitation.max_state_bytes", self.max_state_bytes == 0),
            ("elicitation.state_timeout", self.state_timeout.is_zero()),
            ("elicitation.max_rounds", self.max_rounds == 0),
        ]
    }
}
