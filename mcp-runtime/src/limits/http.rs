//! Limits on HTTP requests and connections.

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
    /// [`keep_alive_interval`](super::StreamLimits::keep_alive_interval), if the client accepts event streams. Default
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
    /// reconnect, in bytes. Default 128 MiB. A client (a [`Principal`](crate::Principal), or the address of an anonymous
    /// client) may cause at most as much as remains free. When exceeded: requests wait for up to 10 s, then 429 or 503;
    /// once half of it is used, a connection that accepts nothing is closed after 5 s.
    ///
    /// A request is refused before it runs. The sizes of results are not known by then, so calls that run at the same
    /// time can exceed the limit by their results. Answers of less than 4 KiB are not counted.
    pub max_unsent_bytes: usize,
    /// Maximum length of an access token, in bytes. Default 16 KiB. A longer token is rejected with 401 without being
    /// examined.
    pub max_token_bytes: usize,
    /// Time that each [`ready_check`](crate::Server::ready_check) may take. Default 2 s. After that, the check fails.
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
