//! Limits on log messages for clients.

/// Limits on log messages for clients.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LogLimits {
    /// Maximum rate of log notifications per session, in notifications per second. Default 100, with bursts of twice as
    /// many. Further messages are dropped, with one summary.
    pub max_per_second: u32,
    /// Maximum size of the `data` of a log message, in bytes. Default 64 KiB. A longer one is cut and marked as cut.
    pub max_message_bytes: usize,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self {
            max_per_second: 100,
            max_message_bytes: 64 << 10,
        }
    }
}

impl LogLimits {
    /// Tight limits, for servers on the open internet that need little.
    pub(super) fn strict() -> Self {
        Self {
            max_per_second: 20,
            max_message_bytes: 8 << 10,
        }
    }

    /// The fields that must not be zero, and whether they are.
    pub(super) fn zeros(&self) -> [(&'static str, bool); 2] {
        [
            ("log.max_per_second", self.max_per_second == 0),
            ("log.max_message_bytes", self.max_message_bytes == 0),
        ]
    }
}
