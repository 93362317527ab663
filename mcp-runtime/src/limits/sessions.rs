//! Limits on HTTP sessions in legacy protocol versions.

use std::time::Duration;

/// Limits on HTTP sessions in legacy protocol versions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionLimits {
    /// Maximum number of HTTP sessions. Default 10,000. When exceeded, the session that has been idle the longest ends
    /// or, if no session is idle, the new session is rejected with 503.
    ///
    /// With a custom session store, and for sessions that are not stored, this limits the number of sessions with work
    /// in progress.
    pub max_sessions: usize,
    /// Maximum number of HTTP sessions per [`Principal`](crate::Principal). Default 64. When exceeded, the principal's
    /// session that has been idle the longest ends or, if no session is idle, the new session is rejected with 503. A
    /// custom session store counts sessions itself.
    pub max_per_principal: usize,
    /// Maximum size of the client information and capabilities kept with a session, in bytes of JSON. Default 16 KiB.
    /// When exceeded: -32602.
    pub max_client_bytes: usize,
    /// Time an HTTP session may be idle. Default 5 minutes. The session then ends, and the client receives 404 and must
    /// start over.
    pub idle_timeout: Duration,
    /// Time an HTTP session may be idle while its client keeps a stream open. Default 30 minutes. The session then
    /// ends.
    pub streaming_idle_timeout: Duration,
    /// Maximum time between the handshake and the first use of an HTTP session. Default 10 s. The session then ends.
    pub start_timeout: Duration,
    /// Maximum length of the id of a sealed HTTP session, in characters. Default 4 KiB, because few proxies accept
    /// headers over 8 KiB. A client whose information would make the id longer receives -32602.
    pub max_sealed_bytes: usize,
    /// Lifetime of a sealed HTTP session, whether or not it is used. Default 8 hours. After that, the client receives
    /// 404 and must start over.
    pub sealed_timeout: Duration,
    /// Maximum time to wait for a session or event store to respond. Default 5 s. After that, the client receives 503.
    pub store_timeout: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            max_sessions: 10_000,
            max_per_principal: 64,
            max_client_bytes: 16 << 10,
            idle_timeout: Duration::from_mins(5),
            streaming_idle_timeout: Duration::from_mins(30),
            start_timeout: Duration::from_secs(10),
            max_sealed_bytes: 4 << 10,
            sealed_timeout: Duration::from_hours(8),
            store_timeout: Duration::from_secs(5),
        }
    }
}

impl SessionLimits {
    /// Returns tight limits for servers with modest needs on the open internet.
    pub(super) fn strict() -> Self {
        Self {
            max_sessions: 1_024,
            max_client_bytes: 4 << 10,
            ..Self::default()
        }
    }

    /// Returns the name of each field that must not be zero, paired with `true` if the field is zero.
    pub(super) fn zero_fields(&self) -> [(&'static str, bool); 2] {
        [
            ("sessions.max_per_principal", self.max_per_principal == 0),
            ("sessions.store_timeout", self.store_timeout.is_zero()),
        ]
    }
}
