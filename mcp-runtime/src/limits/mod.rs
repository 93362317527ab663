//! Bounds on everything that a peer can ask of the server. Zero never means "no limit".

mod calls;
mod elicitation;
mod http;
mod idempotency;
mod log;
mod message;
mod once;
mod results;
mod sessions;
mod streams;
mod tasks;

pub use calls::CallLimits;
pub use elicitation::ElicitationLimits;
pub use http::HttpLimits;
pub use idempotency::IdempotencyLimits;
pub(crate) use idempotency::MAX_IDEMPOTENCY_WINDOW;
pub use log::LogLimits;
pub use message::MessageLimits;
pub use once::OnceLimits;
pub use results::ResultLimits;
pub use sessions::SessionLimits;
pub use streams::StreamLimits;
pub use tasks::TaskLimits;

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
    pub(crate) fn faults(&self) -> impl Iterator<Item = String> {
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
