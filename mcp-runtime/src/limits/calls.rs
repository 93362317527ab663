//! Limits on running handlers.

use std::time::Duration;

/// Limits on running handlers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallLimits {
    /// Maximum number of concurrently running calls, per session over HTTP or per other connection. Default 256. Further
    /// calls in a session are rejected; those on another connection are queued. 2026-07-28 calls over HTTP have no
    /// session and are limited by the number of connections.
    pub max_running: usize,
    /// Maximum number of calls waiting to run, per connection other than HTTP. Default 1,024. Further calls are rejected.
    pub max_queued: usize,
    /// Maximum run time of a call. Default 5 minutes. A call that takes longer is cancelled, and the model is notified.
    /// A `timeout` option on the handler takes precedence.
    pub timeout: Duration,
    /// Maximum number of calls to blocking tools that run concurrently in the process. Default 64. Further calls wait.
    pub max_blocking: usize,
    /// Maximum number of calls to blocking tools that are waiting for a thread. Default 256. Further calls are rejected.
    pub max_blocking_queued: usize,
    /// Maximum number of calls waiting for each handler with a `concurrency` limit. Default 256. Further calls are
    /// rejected.
    pub max_waiting: usize,
    /// Maximum number of callers that each rate limit tracks individually. Default 10,000. All further callers share
    /// one bucket.
    pub max_rate_callers: usize,
    /// Maximum size of a result, in bytes. Default 8 MiB. A larger result is replaced by an error that names the limit,
    /// and the text of a larger error is dropped.
    pub max_result_bytes: usize,
    /// Maximum rate of progress notifications per token, in notifications per second. Default 20, with bursts of up to
    /// the same number. Further reports are merged into the next notification.
    pub max_progress_per_second: u32,
    /// Maximum rate of completions per caller, in requests per second. Default 20, with bursts of up to twice that
    /// number. Further requests are rejected.
    ///
    /// A caller is identified by its principal or, if it has none, by its session or connection. All anonymous
    /// 2026-07-28 requests over HTTP count as one caller.
    pub max_completions_per_second: u32,
    /// Maximum length of the value to complete, in bytes. Default 1 KiB. When exceeded: -32602.
    pub max_completion_bytes: usize,
    /// Time that running calls have to finish after the input ends or a signal asks the server to stop. Default 5 s.
    /// Calls that are still running after that are answered with an error.
    pub drain_timeout: Duration,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            max_running: 256,
            max_queued: 1_024,
            timeout: Duration::from_mins(5),
            max_blocking: 64,
            max_blocking_queued: 256,
            max_waiting: 256,
            max_rate_callers: 10_000,
            max_result_bytes: 8 << 20,
            max_progress_per_second: 20,
            max_completions_per_second: 20,
            max_completion_bytes: 1 << 10,
            drain_timeout: Duration::from_secs(5),
        }
    }
}

impl CallLimits {
    /// Returns tight limits for servers with modest needs on the open internet.
    pub(super) fn strict() -> Self {
        Self {
            max_running: 32,
            max_queued: 64,
            timeout: Duration::from_secs(30),
            max_blocking: 8,
            max_blocking_queued: 32,
            max_waiting: 32,
            max_result_bytes: 1 << 20,
            ..Self::default()
        }
    }

    /// Returns the name of each field that must not be zero, paired with `true` if the field is zero.
    pub(super) fn zero_fields(&self) -> [(&'static str, bool); 11] {
        [
            ("calls.max_running", self.max_running == 0),
            ("calls.max_queued", self.max_queued == 0),
            ("calls.timeout", self.timeout.is_zero()),
            ("calls.max_blocking", self.max_blocking == 0),
            ("calls.max_blocking_queued", self.max_blocking_queued == 0),
            ("calls.max_waiting", self.max_waiting == 0),
            ("calls.max_rate_callers", self.max_rate_callers == 0),
            ("calls.max_result_bytes", self.max_result_bytes == 0),
            (
                "calls.max_progress_per_second",
                self.max_progress_per_second == 0,
            ),
            (
                "calls.max_completions_per_second",
                self.max_completions_per_second == 0,
            ),
            ("calls.max_completion_bytes", self.max_completion_bytes == 0),
        ]
    }
}
