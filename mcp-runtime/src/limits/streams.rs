//! Limits on output and on open streams.

use std::time::Duration;

/// Limits on output and on open streams.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StreamLimits {
    /// Maximum number of bytes waiting to be written to one stream. Default 1 MiB. The server then stops reading until
    /// the client reads.
    ///
    /// Running calls continue: their results, and those of unfinished batches, may take four times
    /// [`max_result_bytes`](super::CallLimits::max_result_bytes) more. Further results become errors.
    pub max_outgoing_bytes: usize,
    /// Maximum number of resource URIs one session or listen stream may subscribe to. Default 1,024. When exceeded:
    /// -32602.
    pub max_subscriptions: usize,
    /// Maximum number of open `subscriptions/listen` requests per connection. Default 64. When exceeded: -32602.
    pub max_listens: usize,
    /// Maximum number of open HTTP event streams that wait for events: `subscriptions/listen` and the streams of
    /// sessions. Default 8,000, fewer than [`max_connections`](super::HttpLimits::max_connections) to leave room for
    /// requests. When exceeded: 503 with `Retry-After`.
    pub max_open: usize,
    /// Maximum number of such streams per [`Principal`](crate::Principal). Default 64. When exceeded: 429.
    pub max_per_principal: usize,
    /// Maximum number of events kept per stream for clients that reconnect. Default 256. Resuming from an event that is
    /// gone gets 400.
    pub max_replay_events: usize,
    /// Maximum size of the events kept per stream for clients that reconnect, in bytes. Default 1 MiB. Resuming from an
    /// event that is gone gets 400.
    pub max_replay_bytes: usize,
    /// Time a finished stream is kept for clients that reconnect. Default 60 s. Resuming it later gets 400.
    pub replay_timeout: Duration,
    /// Interval of comments on a silent event stream, which keep intermediaries from closing it. Default 15 s. Clients
    /// ignore comments.
    pub keep_alive_interval: Duration,
    /// Time a client may leave output unread. Default 60 s. Its stream is then closed.
    pub stall_timeout: Duration,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            max_outgoing_bytes: 1 << 20,
            max_subscriptions: 1_024,
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
    /// Tight limits, for servers on the open internet that need little.
    pub(super) fn strict() -> Self {
        Self {
            max_outgoing_bytes: 256 << 10,
            max_subscriptions: 64,
            max_listens: 8,
            max_open: 512,
            max_replay_events: 64,
            max_replay_bytes: 256 << 10,
            ..Self::default()
        }
    }

    /// The fields that must not be zero, and whether they are.
    pub(super) fn zeros(&self) -> [(&'static str, bool); 8] {
        [
            ("streams.max_outgoing_bytes", self.max_outgoing_bytes == 0),
            ("streams.max_subscriptions", self.max_subscriptions == 0),
            ("streams.max_listens", self.max_listens == 0),
            ("streams.max_open", self.max_open == 0),
            ("streams.max_per_principal", self.max_per_principal == 0),
            ("streams.max_replay_events", self.max_replay_events == 0),
            ("streams.max_replay_bytes", self.max_replay_bytes == 0),
            ("streams.stall_timeout", self.stall_timeout.is_zero()),
        ]
    }
}
