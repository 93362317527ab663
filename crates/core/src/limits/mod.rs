//! Bounds on everything that a peer can ask of the server. Zero never means "no limit".

mod http;
mod idempotency;
mod results;
mod tasks;

use std::time::Duration;

pub use http::{HttpLimits, SessionLimits};
pub use idempotency::IdempotencyLimits;
pub use results::ResultLimits;
pub use tasks::TaskLimits;

use crate::jsonrpc::ParseLimits;

/// Bounds on everything that a peer can ask of the server, grouped by topic.
///
/// The defaults are suitable for a server on a user's machine or behind a proxy. To change some of them, use
/// [`with`](Self::with):
///
/// ```
/// # use mcp_runtime::Limits;
/// let limits = Limits::default().with(|limits| limits.message.max_line_bytes = 1 << 20);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Limits {
    /// Limits on single messages, over every transport.
    pub message: MessageLimits,
    /// Limits on running handlers.
    pub calls: CallLimits,
    /// Limits on questions to the client: elicitation, sampling and roots.
    pub elicitation: ElicitationLimits,
    /// Limits on log messages for clients.
    pub log: LogLimits,
    /// Limits on output and on open streams.
    pub streams: StreamLimits,
    /// Limits on HTTP sessions in legacy protocol versions.
    pub sessions: SessionLimits,
    /// Limits on HTTP requests and connections.
    pub http: HttpLimits,
    /// Limits on tasks.
    pub tasks: TaskLimits,
    /// Limits on the steps that the server's store for `once` remembers.
    pub once: OnceLimits,
    /// Limits on calls with an idempotency key.
    pub idempotency: IdempotencyLimits,
    /// Limits on results that are kept.
    pub results: ResultLimits,
}

impl Limits {
    /// Returns tight limits for servers with modest needs on the open internet.
    #[must_use]
    pub fn strict() -> Self {
        Self {
            message: MessageLimits::strict(),
            calls: CallLimits::strict(),
            elicitation: ElicitationLimits::default(),
            log: LogLimits::strict(),
            streams: StreamLimits::strict(),
            sessions: SessionLimits::strict(),
            http: HttpLimits::strict(),
            tasks: TaskLimits::strict(),
            once: OnceLimits::strict(),
            idempotency: IdempotencyLimits::strict(),
            results: ResultLimits::strict(),
        }
    }

    /// Applies a change to the limits and returns the result.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns an error message for each field whose value would prevent the server from working.
    #[doc(hidden)]
    pub fn faults(&self) -> impl Iterator<Item = String> {
        let zeros = (self.message.zero_fields().into_iter())
            .chain(self.calls.zero_fields())
            .chain(self.elicitation.zero_fields())
            .chain(self.log.zero_fields())
            .chain(self.streams.zero_fields())
            .chain(self.sessions.zero_fields())
            .chain(self.http.zero_fields())
            .chain(self.tasks.zero_fields())
            .chain(self.once.zero_fields())
            .chain(self.idempotency.zero_fields())
            .chain(self.results.zero_fields());
        let zeros = zeros.filter(|(_, is_zero)| *is_zero);
        zeros.map(|(name, _)| format!("`limits.{name}` is zero; the minimum is one"))
    }
}

/// Limits on single messages, over every transport.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MessageLimits {
    /// Maximum length of a line on stdio and byte streams, in bytes. Default 16 MiB. A longer line is discarded and
    /// answered with -32600.
    pub max_line_bytes: usize,
    /// Maximum nesting depth of a message. Default 128, which is also the upper bound. A message that is nested more
    /// deeply is answered with -32700.
    pub max_depth: usize,
    /// Maximum number of values in a message, counting every key, item and scalar. Default 100,000. When exceeded:
    /// -32600.
    pub max_values: usize,
    /// Maximum length of a string request id, in bytes. Default 1 KiB. When exceeded: -32600.
    pub max_id_bytes: usize,
    /// Maximum length of a tool or prompt name, in bytes. Default 256. When exceeded: -32602.
    pub max_name_bytes: usize,
    /// Maximum length of a resource URI, in bytes. Default 8 KiB. When exceeded: -32602.
    pub max_uri_bytes: usize,
    /// Maximum length of a cursor, in bytes. Default 1 KiB. When exceeded: -32602.
    pub max_cursor_bytes: usize,
    /// Maximum number of entries in a batch (2025-03-26 only). Default 100. When exceeded: -32600.
    pub max_batch: usize,
    /// Maximum number of items on a list page. Default 1,000, minimum 1. The others are on the next pages.
    pub max_page_items: usize,
}

impl Default for MessageLimits {
    fn default() -> Self {
        Self {
            max_line_bytes: 16 << 20,
            max_depth: 128,
            max_values: 100_000,
            max_id_bytes: 1 << 10,
            max_name_bytes: 256,
            max_uri_bytes: 8 << 10,
            max_cursor_bytes: 1 << 10,
            max_batch: 100,
            max_page_items: 1_000,
        }
    }
}

impl MessageLimits {
    /// Returns tight limits for servers with modest needs on the open internet.
    pub(super) fn strict() -> Self {
        Self {
            max_line_bytes: 1 << 20,
            max_depth: 32,
            max_values: 10_000,
            ..Self::default()
        }
    }

    /// Returns the limits for parsing a message.
    #[inline]
    #[doc(hidden)]
    #[must_use]
    pub fn parse_limits(&self) -> ParseLimits {
        ParseLimits {
            max_depth: self.max_depth,
            max_values: self.max_values,
            max_id_bytes: self.max_id_bytes,
            max_batch: self.max_batch,
        }
    }

    /// Returns the name of each field that must not be zero, paired with `true` if the field is zero.
    pub(super) fn zero_fields(&self) -> [(&'static str, bool); 8] {
        [
            ("message.max_line_bytes", self.max_line_bytes == 0),
            ("message.max_depth", self.max_depth == 0),
            ("message.max_values", self.max_values == 0),
            ("message.max_id_bytes", self.max_id_bytes == 0),
            ("message.max_name_bytes", self.max_name_bytes == 0),
            ("message.max_uri_bytes", self.max_uri_bytes == 0),
            ("message.max_cursor_bytes", self.max_cursor_bytes == 0),
            ("message.max_batch", self.max_batch == 0),
        ]
    }
}

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

/// Limits on output and on open streams.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StreamLimits {
    /// Maximum number of bytes waiting to be written to a stream. Default 1 MiB. When exceeded, the server stops
    /// reading until the client catches up.
    ///
    /// Running calls continue. Their results and the results of unfinished batches may occupy up to four times
    /// [`max_result_bytes`](CallLimits::max_result_bytes) in addition to this limit. Further results are
    /// replaced by errors.
    pub max_outgoing_bytes: usize,
    /// Maximum number of resource URIs to which a session or listen stream may subscribe. Default 1,024. When exceeded:
    /// -32602.
    pub max_subscriptions: usize,
    /// Maximum size of all subscriptions in the process, in bytes, counted as for
    /// [`max_subscription_bytes_per_session`](Self::max_subscription_bytes_per_session). Default 64 MiB. A client (a
    /// [`Principal`](crate::context::Principal), or the address of an anonymous client) may use at most as much as remains free.
    /// When exceeded: -32602.
    pub max_subscription_bytes: usize,
    /// Maximum size of the subscriptions of a session, or of the listen streams of a connection, in bytes. A URI or key
    /// counts as its length plus 96 bytes. Default 256 KiB. When exceeded: -32602.
    pub max_subscription_bytes_per_session: usize,
    /// Maximum number of open `subscriptions/listen` requests per connection. Default 64. When exceeded: -32602.
    pub max_listens: usize,
    /// Maximum number of open HTTP event streams that wait for events, that is, `subscriptions/listen` streams and
    /// session streams. Default 8,000, which is less than [`max_connections`](HttpLimits::max_connections), to
    /// leave room for requests. When exceeded: 503 with `Retry-After`.
    pub max_open: usize,
    /// Maximum number of such streams per [`Principal`](crate::context::Principal). Default 64. When exceeded: 429.
    pub max_per_principal: usize,
    /// Maximum number of events kept per stream for clients that reconnect. Default 256. Resuming from an event that is
    /// no longer kept fails with 400.
    pub max_replay_events: usize,
    /// Maximum size of the events kept per stream for clients that reconnect, in bytes. Default 1 MiB. Resuming from an
    /// event that is no longer kept fails with 400.
    pub max_replay_bytes: usize,
    /// Time for which a finished stream is kept for clients that reconnect. Default 60 s. Resuming it later fails
    /// with 400.
    pub replay_timeout: Duration,
    /// Interval between the comments that keep intermediaries from closing a silent event stream. Default 15 s. Clients
    /// ignore comments.
    pub keep_alive_interval: Duration,
    /// Time for which a client may leave output unread. Default 60 s. After that, its stream is closed.
    pub stall_timeout: Duration,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            max_outgoing_bytes: 1 << 20,
            max_subscriptions: 1_024,
            max_subscription_bytes: 64 << 20,
            max_subscription_bytes_per_session: 256 << 10,
            max_listens: 64,
            max_open: 8_000,
            max_per_principal: 64,
            max_replay_events: 256,
            max_replay_bytes: 1 << 20,
            replay_timeout: Duration::from_mins(1),
            keep_alive_interval: Duration::from_secs(15),
            stall_timeout: Duration::from_mins(1),
        }
    }
}

impl StreamLimits {
    /// Returns tight limits for servers with modest needs on the open internet.
    pub(super) fn strict() -> Self {
        Self {
            max_outgoing_bytes: 256 << 10,
            max_subscriptions: 64,
            max_subscription_bytes: 8 << 20,
            max_subscription_bytes_per_session: 64 << 10,
            max_listens: 8,
            max_open: 512,
            max_replay_events: 64,
            max_replay_bytes: 256 << 10,
            ..Self::default()
        }
    }

    /// Returns the name of each field that must not be zero, paired with `true` if the field is zero.
    pub(super) fn zero_fields(&self) -> [(&'static str, bool); 10] {
        [
            ("streams.max_outgoing_bytes", self.max_outgoing_bytes == 0),
            ("streams.max_subscriptions", self.max_subscriptions == 0),
            (
                "streams.max_subscription_bytes",
                self.max_subscription_bytes == 0,
            ),
            (
                "streams.max_subscription_bytes_per_session",
                self.max_subscription_bytes_per_session == 0,
            ),
            ("streams.max_listens", self.max_listens == 0),
            ("streams.max_open", self.max_open == 0),
            ("streams.max_per_principal", self.max_per_principal == 0),
            ("streams.max_replay_events", self.max_replay_events == 0),
            ("streams.max_replay_bytes", self.max_replay_bytes == 0),
            ("streams.stall_timeout", self.stall_timeout.is_zero()),
        ]
    }
}

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

/// Limits on the steps with [`Context::once`](crate::context::Context::once) that the server's store remembers. Tasks keep their
/// steps themselves, and so do calls until they have asked their client a question.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OnceLimits {
    /// Maximum number of remembered steps. Default 100,000. When exceeded: further steps fail without being started.
    /// A step is remembered for 24 hours.
    pub max_steps: usize,
    /// Maximum number of remembered steps per caller. Default 10,000. When exceeded: the caller's further steps fail
    /// without being started. All anonymous callers count as one caller.
    pub max_steps_per_caller: usize,
    /// Maximum size of all remembered steps, in bytes: their names and results. Default 256 MiB. When exceeded: as for
    /// `max_steps`. The result of a step that has begun is kept even if it exceeds the limit.
    pub max_bytes: usize,
    /// Maximum size of one caller's remembered steps, in bytes. Default 64 MiB. When exceeded: as for
    /// `max_steps_per_caller`.
    pub max_bytes_per_caller: usize,
}

impl Default for OnceLimits {
    fn default() -> Self {
        Self {
            max_steps: 100_000,
            max_steps_per_caller: 10_000,
            max_bytes: 256 << 20,
            max_bytes_per_caller: 64 << 20,
        }
    }
}

impl OnceLimits {
    /// Returns tight limits for servers with modest needs on the open internet.
    pub(super) const fn strict() -> Self {
        Self {
            max_steps: 10_000,
            max_steps_per_caller: 1_000,
            max_bytes: 32 << 20,
            max_bytes_per_caller: 8 << 20,
        }
    }

    /// Returns the name of each field that must not be zero, paired with `true` if the field is zero.
    pub(super) const fn zero_fields(&self) -> [(&'static str, bool); 4] {
        [
            ("once.max_steps", self.max_steps == 0),
            ("once.max_steps_per_caller", self.max_steps_per_caller == 0),
            ("once.max_bytes", self.max_bytes == 0),
            ("once.max_bytes_per_caller", self.max_bytes_per_caller == 0),
        ]
    }
}

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
