//! Limits on log messages for clients.

/// Limits on log messages for clients.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LogLimits {
    /// Maximum rate of log notifications per session, in notifications per second. Default 100, with bursts of up to
    /// twice that number. Further messages are dropped and reported in a single summary.
    pub max_per_second: u32,
    /// Maximum size of the `data` of a log message, in bytes. Default 64 KiB. Longer data is truncated and marked as
    /// such.
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
    /// Returns tight limits for servers with modest needs on the open internet.
    pub(super) fn strict() -> Self {
        Self {
            max_per_second: 20,
            max_message_bytes: 8 << 10,
        }
    }

    /// Returns the name of each field that must not be zero, paired with `true` if the field is zero.
    pub(super) fn zero_fields(&self) -> [(&'static str, bool); 2] {
        [
            ("log.max_per_second", self.max_per_second == 0),
            ("log.max_message_bytes", self.max_message_bytes == 0),
        ]
    }
}
