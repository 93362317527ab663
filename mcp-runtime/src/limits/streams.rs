//! Limits on output and on open streams.

use std::time::Duration;

/// Limits on output and on open streams.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StreamLimits {
    /// Maximum number of bytes waiting to be written to a stream. Default 1 MiB. When exceeded, the server stops
    /// reading until the client catches up.
    ///
    /// Running calls continue. Their results and the results of unfinished batches may occupy up to four times
    /// [`max_result_bytes`](super::CallLimits::max_result_bytes) in addition to this limit. Further results are
    /// replaced by errors.
    pub max_outgoing_bytes: usize,
    /// Maximum number of resource URIs to which a session or listen stream may subscribe. Default 1,024. When exceeded:
    /// -32602.
    pub max_subscriptions: usize,
    /// Maximum size of all subscriptions in the process, in bytes, counted as for
    /// [`max_subscription_bytes_per_session`](Self::max_subscription_bytes_per_session). Default 64 MiB. A client (a
    /// [`Principal`](crate::Principal), or the address of an anonymous client) may use at most as much as remains free.
    /// When exceeded: -32602.
    pub max_subscription_bytes: usize,
    /// Maximum size of the subscriptions of a session, or of the listen streams of a connection, in bytes. A URI or key
    /// counts as its length plus 96 bytes. Default 256 KiB. When exceeded: -32602.
    pub max_subscription_bytes_per_session: usize,
    /// Maximum number of open `subscriptions/listen` requests per connection. Default 64. When exceeded: -32602.
    pub max_listens: usize,
    /// Maximum number of open HTTP event streams that wait for events, that is, `subscriptions/listen` streams and
    /// session streams. Default 8,000, which is less than [`max_connections`](super::HttpLimits::max_connections), to
    /// leave room for requests. When exceeded: 503 with `Retry-After`.
    pub max_open: usize,
    /// Maximum number of such streams per [`Principal`](crate::Principal). Default 64. When exceeded: 429.
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
