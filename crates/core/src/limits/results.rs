//! Limits on kept results.

use std::time::Duration;

/// Limits on the results of tools with the `spill` option that are kept because they are too large to send.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResultLimits {
    /// Time for which a result is kept. Default 10 minutes. The result of a task is kept for as long as the task, if
    /// that is longer.
    pub ttl: Duration,
    /// Maximum total size of kept results, in bytes. Default 256 MiB. When exceeded: further results are not kept, and
    /// the model gets only the first part of each.
    pub max_bytes: usize,
    /// Maximum total size of the results kept for one caller, in bytes. Default 64 MiB. When exceeded: as for
    /// `max_bytes`. All anonymous callers count as one caller.
    pub max_bytes_per_caller: usize,
}

impl Default for ResultLimits {
    fn default() -> Self {
        Self {
            ttl: Duration::from_mins(10),
            max_bytes: 256 << 20,
            max_bytes_per_caller: 64 << 20,
        }
    }
}

impl ResultLimits {
    /// Returns tight limits for servers with modest needs on the open internet.
    pub(super) fn strict() -> Self {
        Self {
            max_bytes: 32 << 20,
            max_bytes_per_caller: 8 << 20,
            ..Self::default()
        }
    }

    /// Returns the name of each field that must not be zero, paired with `true` if the field is zero.
    pub(super) fn zero_fields(&self) -> [(&'static str, bool); 3] {
        [
            ("results.ttl", self.ttl.is_zero()),
            ("results.max_bytes", self.max_bytes == 0),
            (
                "results.max_bytes_per_caller",
                self.max_bytes_per_caller == 0,
            ),
        ]
    }
}
