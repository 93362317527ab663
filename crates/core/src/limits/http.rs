//! Limits on HTTP requests and connections, and on the sessions of legacy protocol versions.

use std::time::Duration;

/// Limits on HTTP requests and connections.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpLimits {
    /// Maximum size of a request body, in bytes. Default 4 MiB, counted as the body arrives. When exceeded: 413.
    pub max_body_bytes: usize,
    /// Maximum size of the request line and headers, in bytes. Default 64 KiB, at least 8 KiB. When exceeded: 431.
    pub max_header_bytes: usize,
    /// Maximum number of headers in a request. Default 100. When exceeded: 431.
    pub max_headers: usize,
    /// Time a client has to complete the handshake of a connection, such as a TLS handshake. Default 10 s. The
    /// connection is then closed.
    pub handshake_timeout: Duration,
    /// Time within which the headers of a request must arrive, measured from their first byte or from the start of the
    /// connection. Default 15 s. The connection is then closed.
    pub header_timeout: Duration,
    /// Time within which the body of a request must arrive. Default 30 s. After that, the client receives 408.
    pub body_timeout: Duration,
    /// Minimum transfer rate for a request body after its first five seconds, in bytes per second. Default 1 KiB. A
    /// slower client receives 408.
    pub min_body_bytes_per_second: u32,
    /// Time a call may be silent before its response starts as an event stream with a comment every
    /// [`keep_alive_interval`](crate::limits::StreamLimits::keep_alive_interval), if the client accepts event streams. Default
    /// 5 s. The result is then sent as an event.
    ///
    /// `Duration::MAX` turns this off, so a response is silent until its result is available.
    pub silence_timeout: Duration,
    /// Time a connection may be idle between requests. Default 60 s. The connection is then closed.
    pub idle_timeout: Duration,
    /// Maximum number of connections. Default 10,000. When exceeded, the oldest idle connection is closed; if no
    /// connection is idle, the new connection is closed.
    pub max_connections: usize,
    /// Maximum size of all answers and events that clients have not yet read, or that are kept for clients that
    /// reconnect, in bytes. Default 128 MiB. A client (a [`Principal`](crate::context::Principal), or the address of an anonymous
    /// client) may cause at most as much as remains free. When exceeded: requests wait for up to 10 s, then 429 or 503;
    /// once half of it is used, a connection that accepts nothing is closed after 5 s.
    ///
    /// A request is refused before it runs. The sizes of results are not known by then, so calls that run at the same
    /// time can exceed the limit by their results. Answers of less than 4 KiB are not counted.
    pub max_unsent_bytes: usize,
    /// Maximum length of an access token, in bytes. Default 16 KiB. A longer token is rejected with 401 without being
    /// examined.
    pub max_token_bytes: usize,
    /// Time that each `ready_check` may take. Default 2 s. After that, the check fails.
    pub ready_check_timeout: Duration,
    /// Time that authentication of a request may take. Default 10 s. After that, the client receives 503.
    pub authentication_timeout: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            max_body_bytes: 4 << 20,
            max_header_bytes: 64 << 10,
            max_headers: 100,
            handshake_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(15),
            body_timeout: Duration::from_secs(30),
            min_body_bytes_per_second: 1 << 10,
            silence_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_mins(1),
            max_connections: 10_000,
            max_unsent_bytes: 128 << 20,
            max_token_bytes: 16 << 10,
            ready_check_timeout: Duration::from_secs(2),
            authentication_timeout: Duration::from_secs(10),
        }
    }
}

impl HttpLimits {
    /// Returns tight limits for servers with modest needs on the open internet.
    pub(super) fn strict() -> Self {
        Self {
            max_body_bytes: 256 << 10,
            max_header_bytes: 16 << 10,
            max_headers: 50,
            handshake_timeout: Duration::from_secs(5),
            header_timeout: Duration::from_secs(5),
            body_timeout: Duration::from_secs(10),
            max_connections: 1_024,
            max_unsent_bytes: 32 << 20,
            ..Self::default()
        }
    }

    /// Returns the name of each field that must not be zero, paired with `true` if the field is zero.
    pub(super) fn zero_fields(&self) -> [(&'static str, bool); 4] {
        [
            ("http.max_unsent_bytes", self.max_unsent_bytes == 0),
            ("http.max_token_bytes", self.max_token_bytes == 0),
            (
                "http.ready_check_timeout",
                self.ready_check_timeout.is_zero(),
            ),
            (
                "http.authentication_timeout",
                self.authentication_timeout.is_zero(),
            ),
        ]
    }
}

/// Limits on HTTP sessions in legacy protocol versions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionLimits {
    /// Maximum number of HTTP sessions. Default 10,000. When exceeded, a session ends: first one whose client has not
    /// come back after the handshake, then the one that has been idle the longest, and last one with an open stream. If
    /// calls are running in all sessions, the new session is rejected with 503.
    ///
    /// With a custom session store, and for sessions that are not stored, this limits the number of sessions with work
    /// in progress.
    pub max_sessions: usize,
    /// Maximum number of HTTP sessions of anonymous clients from one address (for IPv6, from one `/64` network) once there
    /// are `max_sessions` in all. Default 2,500. When exceeded, one of the address's own sessions ends, in the same order.
    ///
    /// Has no effect if client addresses are unknown. Behind a proxy, set
    /// `HttpOptions::trusted_proxies`; otherwise, all clients have the
    /// proxy's address.
    pub max_per_address: usize,
    /// Maximum size of all sessions kept in the memory of the process, in bytes, without their subscriptions. Default
    /// 32 MiB. When exceeded, sessions end as for `max_sessions`; an address may use a quarter of it.
    pub max_bytes: usize,
    /// Maximum number of HTTP sessions per [`Principal`](crate::context::Principal). Default 64. When exceeded, the principal's
    /// session that has been idle the longest ends or, if no session is idle, the new session is rejected with 503. A
    /// custom session store counts sessions itself.
    pub max_per_principal: usize,
    /// Maximum size of the client information and capabilities kept with a session, in bytes of JSON. Default 16 KiB.
    /// When exceeded: -32602.
    pub max_client_bytes: usize,
    /// Time an HTTP session may be idle. Default 24 hours. The session then ends, and the client receives 404 and must
    /// start over.
    ///
    /// An idle session takes about half a kibibyte, and some clients do not start over, so sessions should end only when
    /// they are many.
    pub idle_timeout: Duration,
    /// Time an HTTP session may be idle while its client keeps a stream open. Default 72 hours. The session then ends.
    pub streaming_idle_timeout: Duration,
    /// Maximum time between the handshake and the first use of an HTTP session. Default 10 minutes. The session then
    /// ends.
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
            max_per_address: 2_500,
            max_bytes: 32 << 20,
            max_per_principal: 64,
            max_client_bytes: 16 << 10,
            idle_timeout: Duration::from_hours(24),
            streaming_idle_timeout: Duration::from_hours(72),
            start_timeout: Duration::from_mins(10),
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
            max_per_address: 256,
            max_bytes: 4 << 20,
            max_client_bytes: 4 << 10,
            ..Self::default()
        }
    }

    /// Returns the name of each field that must not be zero, paired with `true` if the field is zero.
    pub(super) fn zero_fields(&self) -> [(&'static str, bool); 4] {
        [
            ("sessions.max_per_address", self.max_per_address == 0),
            ("sessions.max_bytes", self.max_bytes == 0),
            ("sessions.max_per_principal", self.max_per_principal == 0),
            ("sessions.store_timeout", self.store_timeout.is_zero()),
        ]
    }
}
