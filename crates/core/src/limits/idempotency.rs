//! Limits on calls with an idempotency key.

use std::time::Duration;

/// Limits on calls with an idempotency key, which are not run again if they are repeated.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IdempotencyLimits {
    /// Time for which the result of a call is kept for repeats. Default 24 hours. After that, a call with the same key
    /// runs again. Longer times are reduced to the default, because stores do not keep entries for longer.
    pub window: Duration,
    /// Maximum time for which a repeat waits for the first call to end. Default 30 s. After that, the repeat fails with
    /// an error that says so. With zero, a repeat does not wait.
    pub max_wait: Duration,
    /// Maximum length of a key that a client sends, in bytes. Default 255. When exceeded: -32602.
    pub max_key_bytes: usize,
    /// Maximum size of a result that is kept, in bytes of JSON. Default 64 KiB. A repeat of a call with a larger result
    /// fails with an error saying that the call has succeeded.
    pub max_result_bytes: usize,
    /// Maximum number of calls that are remembered. Default 100,000. When exceeded: further calls with a key are
    /// refused. A call is remembered while it runs, and then for the [`window`](Self::window).
    pub max_calls: usize,
    /// Maximum number of calls that are remembered per caller. Default 10,000. When exceeded: the caller's further calls
    /// with a key are refused. All anonymous callers count as one caller.
    pub max_calls_per_caller: usize,
    /// Maximum size of all calls that are remembered, in bytes: their results, and about 200 bytes for each. Default
    /// 256 MiB. When exceeded: as for `max_calls`. The result of a call that has begun is kept even if it exceeds the
    /// limit.
    pub max_bytes: usize,
    /// Maximum size of one caller's calls that are remembered, in bytes. Default 64 MiB. When exceeded: as for
    /// `max_calls_per_caller`.
    pub max_bytes_per_caller: usize,
}

impl IdempotencyLimits {
    /// Maximum of [`window`](Self::window), because stores keep their entries for this long.
    #[doc(hidden)]
    pub const MAX_WINDOW: Duration = Duration::from_hours(24);
}

impl Default for IdempotencyLimits {
    fn default() -> Self {
        Self {
            window: Self::MAX_WINDOW,
            max_wait: Duration::from_secs(30),
            max_key_bytes: 255,
            max_result_bytes: 64 << 10,
            max_calls: 100_000,
            max_calls_per_caller: 10_000,
            max_bytes: 256 << 20,
            max_bytes_per_caller: 64 << 20,
        }
    }
}

impl IdempotencyLimits {
    /// Returns tight limits for servers with modest needs on the open internet.
    pub(super) fn strict() -> Self {
        Self {
            window: Duration::from_hours(1),
            max_wait: Duration::from_secs(10),
            max_result_bytes: 16 << 10,
            max_calls: 10_000,
            max_calls_per_caller: 1_000,
            max_bytes: 32 << 20,
            max_bytes_per_caller: 8 << 20,
            ..Self::default()
        }
    }

    /// Returns the name of each field that must not be zero, paired with `true` if the field is zero.
    pub(super) fn zero_fields(&self) -> [(&'static str, bool); 7] {
        [
            ("idempotency.window", self.window.is_zero()),
            ("idempotency.max_key_bytes", self.max_key_bytes == 0),
            ("idempotency.max_result_bytes", self.max_result_bytes == 0),
            ("idempotency.max_calls", self.max_calls == 0),
            (
                "idempotency.max_calls_per_caller",
                self.max_calls_per_caller == 0,
            ),
            ("idempotency.max_bytes", self.max_bytes == 0),
            (
                "idempotency.max_bytes_per_caller",
                self.max_bytes_per_caller == 0,
            ),
        ]
    }
}
