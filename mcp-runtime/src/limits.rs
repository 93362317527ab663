//! Limits on the load that peers can cause. Everything is bounded; zero never means "no limit".

use std::time::Duration;

/// Limits on the load that peers can cause.
///
/// The defaults suit a server on a user's machine or behind a proxy. Change single ones with a struct update:
///
/// ```
/// # use mcp_runtime::Limits;
/// let limits = Limits { line: 1024 * 1024, ..Limits::default() };
/// ```
#[derive(Clone, Debug)]
#[allow(
    clippy::exhaustive_structs,
    reason = "struct update is how limits are set; `_private` keeps it open"
)]
pub struct Limits {
    /// Maximum line length of stdio and byte streams, in bytes. Default 16 MiB. Longer lines are discarded and answered
    /// -32600.
    pub line: usize,
    /// Maximum nesting of a message. Default 128, which is also the upper bound. When exceeded: -32700.
    pub depth: usize,
    /// Maximum number of values in one message, counting every key, item and scalar. Default 100,000. When exceeded: -32600.
    pub nodes: usize,
    /// Maximum length of a string id of a request, in bytes. Default 1 KiB. When exceeded: -32600.
    pub id: usize,
    /// Maximum length of the name of a tool or prompt, in bytes. Default 256. When exceeded: -32602.
    pub name: usize,
    /// Maximum length of a resource URI, in bytes. Default 8 KiB. When exceeded: -32602.
    pub uri: usize,
    /// Maximum length of a cursor, in bytes. Default 1 KiB. When exceeded: -32602.
    pub cursor: usize,
    /// Maximum number of entries in a batch (protocol version 2025-03-26 only). Default 100. When exceeded: -32600.
    pub batch: usize,
    /// Maximum number of calls running at once, per session or stdio process. Default 256. Further calls are queued.
    pub running: usize,
    /// Maximum number of calls waiting to run, per session or stdio process. Default 1,024. Further calls are refused.
    pub queued: usize,
    /// Maximum duration of a call. Default 5 minutes. Then it is cancelled, with a message for the model. A handler's
    /// `timeout` takes precedence.
    pub tool_time: Duration,
    /// Maximum number of blocking tools running at once in the process. Default 64. Further calls wait.
    pub blocking: usize,
    /// Maximum number of blocking tools waiting to run. Default 256. Further calls are refused.
    pub blocking_queued: usize,
    /// Maximum number of calls waiting for a handler with a `concurrency` limit, per handler. Default 256. Further calls are
    /// refused.
    pub waiting: usize,
    /// Maximum number of callers that each rate tracks. Default 10,000. All others share one bucket.
    pub callers: usize,
    /// Maximum number of bytes waiting to be written to one stream. Default 1 MiB. Then reading stops until the client reads.
    ///
    /// Running calls go on: their responses, and those of unfinished arrays, may take another four times
    /// [`result`](Self::result). Further responses become errors.
    pub outgoing: usize,
    /// Maximum size of a result, in bytes. Default 8 MiB. Larger results become an error that states the limit; larger errors
    /// lose their text.
    pub result: usize,
    /// Maximum number of resources that one session or listen stream may subscribe to. Default 1,024. When exceeded: -32602.
    pub subscriptions: usize,
    /// Maximum number of open `subscriptions/listen` requests per connection. Default 64. When exceeded: -32602.
    pub listens: usize,
    /// Maximum rate of log notifications per second, per session. Default 100, in bursts of twice that. When exceeded:
    /// messages are dropped, with one summary.
    pub logs: u32,
    /// Maximum length of a log message, in bytes of its `data`. Default 64 KiB. Longer messages are truncated and marked.
    pub log: usize,
    /// Maximum rate of progress notifications per second, per token. Default 20, in bursts of that. When exceeded: merged
    /// into the next.
    pub progress: u32,
    /// Maximum rate of completions per second, per caller. Default 20, in bursts of twice that. When exceeded: refused.
    ///
    /// Callers are identified by their credentials, otherwise by their session or connection. All requests of 2026-07-28 over
    /// HTTP from anonymous callers count as a single caller.
    pub completions: u32,
    /// Maximum length of the partial text of a completion, in bytes. Default 1 KiB. When exceeded: -32602.
    pub completion_input: usize,
    /// Maximum number of questions to the client that one call may have open at once. Default 16. When exceeded: the call
    /// gets an error.
    pub questions: usize,
    /// Maximum time for the client to answer a question (legacy era), and to become ready for one. Default 5 minutes. Then
    /// the call gets an error.
    pub question_time: Duration,
    /// Maximum length of `requestState`, in characters. Default 16 KiB. Longer ones are refused, and calls that need more
    /// fail.
    pub request_state: usize,
    /// Maximum time between two rounds of a call (2026-07-28). Default 10 minutes. When exceeded: -32602.
    pub state_time: Duration,
    /// Maximum number of rounds of one call (2026-07-28). Default 32. Then the call fails.
    pub rounds: u16,
    /// Maximum time for running work after the end of input or a signal to stop. Default 5 s. Then remaining requests are
    /// refused.
    pub drain: Duration,
    /// Maximum size of the body of an HTTP request, in bytes. Default 4 MiB, counted as it arrives. When exceeded: 413.
    pub body: usize,
    /// Maximum size of the request line and headers of an HTTP request, in bytes. Default 64 KiB, and at least 8 KiB. When
    /// exceeded: 431.
    pub head: usize,
    /// Maximum number of headers of an HTTP request. Default 100. When exceeded: 431.
    pub headers: usize,
    /// Maximum time for the handshake on an HTTP connection that needs one, such as TLS. Default 10 s. Then the connection is
    /// closed.
    pub handshake_time: Duration,
    /// Maximum time for the headers of an HTTP request, from the first byte or the start of the connection. Default 15 s.
    /// Then the connection is closed.
    pub head_time: Duration,
    /// Maximum time for the body of an HTTP request. Default 30 s. When exceeded: 408.
    pub body_time: Duration,
    /// Minimum rate of the body of an HTTP request after its first five seconds, in bytes per second. Default 1 KiB. Slower:
    /// 408.
    pub body_rate: u32,
    /// Maximum idle time of an HTTP connection between requests. Default 60 s. Then it is closed.
    pub idle_connection: Duration,
    /// Maximum number of HTTP connections. Default 10,000. When exceeded: the oldest idle connection is closed, or else the
    /// new one.
    pub connections: usize,
    /// Maximum number of HTTP sessions. Default 10,000. When exceeded: the session that was idle longest ends, or else the
    /// new one gets 503.
    ///
    /// For custom session stores, and for sessions that are not stored: maximum number of sessions with running calls or open
    /// streams.
    pub sessions: usize,
    /// Maximum number of HTTP sessions of one [`Principal`](crate::Principal). Default 64. When exceeded: its session that
    /// was idle longest ends, or else the new one gets 503. Custom stores count for themselves.
    pub principal_sessions: usize,
    /// Maximum size of a client's `clientInfo` and `capabilities` that a session keeps, in bytes of JSON. Default 16 KiB.
    /// When exceeded: -32602.
    pub session_client: usize,
    /// Maximum idle time of an HTTP session. Default 5 minutes. Then it ends; its client is answered 404 and starts a new
    /// one.
    pub session_idle: Duration,
    /// Maximum idle time of an HTTP session while its client keeps a stream open. Default 30 minutes. Then it ends.
    pub session_idle_streaming: Duration,
    /// Maximum time from the handshake of an HTTP session to its first use. Default 10 s. Then it ends.
    pub session_start: Duration,
    /// Maximum length of the id of a sealed HTTP session, in characters. Default 4 KiB, since proxies rarely accept headers
    /// over 8 KiB. Clients whose `clientInfo` and `capabilities` do not fit are answered -32602.
    pub sealed_session: usize,
    /// Lifetime of a sealed HTTP session, used or not. Default 8 hours. Then its client is answered 404 and starts a new one.
    pub sealed_session_time: Duration,
    /// Maximum time for a call of a session or event store. Default 5 s. Then the client gets 503.
    pub store_time: Duration,
    /// Maximum number of events kept per stream for clients that reconnect. Default 256. Discarded events cannot be resumed:
    /// 400.
    pub replay_events: usize,
    /// Maximum size of the events kept per stream for clients that reconnect, in bytes. Default 1 MiB. Discarded events
    /// cannot be resumed: 400.
    pub replay_bytes: usize,
    /// Time for which a finished stream is kept for clients that reconnect. Default 60 s. Then it cannot be resumed: 400.
    pub replay_time: Duration,
    /// Maximum number of open event streams for notifications over HTTP: `subscriptions/listen`, and the streams of sessions.
    /// Default 8,000, which is less than [`connections`](Self::connections), so that there is room for requests. When
    /// exceeded: 503 with `Retry-After`.
    pub streams: usize,
    /// Maximum number of these streams that one [`Principal`](crate::Principal) has open. Default 64. When exceeded: 429.
    pub principal_streams: usize,
    /// Maximum length of an access token, in bytes. Default 16 KiB. Longer: 401, without validation.
    pub token: usize,
    /// Maximum time for authenticating a request. Default 10 s. When exceeded: 503.
    pub authentication_time: Duration,
    /// Time after which the response to a silent call over HTTP begins as an event stream, if the client accepts one. Default
    /// 5 s. Then comments and the response are sent on this stream. `Duration::MAX` always waits for the response.
    pub stream_after: Duration,
    /// Interval of comments on a silent event stream, so that no proxy takes it for dead. Default 15 s. Clients ignore them.
    pub keep_alive: Duration,
    /// Maximum time for which a client may leave output unread. Default 60 s. Then its stream is closed.
    pub stalled: Duration,
    #[doc(hidden)]
    pub _private: (),
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            line: 16 << 20,
            depth: 128,
            nodes: 100_000,
            id: 1 << 10,
            name: 256,
            uri: 8 << 10,
            cursor: 1 << 10,
            batch: 100,
            running: 256,
            queued: 1_024,
            tool_time: Duration::from_mins(5),
            blocking: 64,
            blocking_queued: 256,
            waiting: 256,
            callers: 10_000,
            outgoing: 1 << 20,
            result: 8 << 20,
            subscriptions: 1_024,
            listens: 64,
            logs: 100,
            log: 64 << 10,
            progress: 20,
            completions: 20,
            completion_input: 1 << 10,
            questions: 16,
            question_time: Duration::from_mins(5),
            request_state: 16 << 10,
            state_time: Duration::from_mins(10),
            rounds: 32,
            drain: Duration::from_secs(5),
            body: 4 << 20,
            head: 64 << 10,
            headers: 100,
            handshake_time: Duration::from_secs(10),
            head_time: Duration::from_secs(15),
            body_time: Duration::from_secs(30),
            body_rate: 1 << 10,
            idle_connection: Duration::from_mins(1),
            connections: 10_000,
            sessions: 10_000,
            principal_sessions: 64,
            session_client: 16 << 10,
            session_idle: Duration::from_mins(5),
            session_idle_streaming: Duration::from_mins(30),
            session_start: Duration::from_secs(10),
            sealed_session: 4 << 10,
            sealed_session_time: Duration::from_hours(8),
            store_time: Duration::from_secs(5),
            replay_events: 256,
            replay_bytes: 1 << 20,
            replay_time: Duration::from_mins(1),
            streams: 8_000,
            principal_streams: 64,
            token: 16 << 10,
            authentication_time: Duration::from_secs(10),
            stream_after: Duration::from_secs(5),
            keep_alive: Duration::from_secs(15),
            stalled: Duration::from_mins(1),
            _private: (),
        }
    }
}

impl Limits {
    /// Returns tight limits, for servers that anonymous callers can reach and that need little.
    #[must_use]
    pub fn strict() -> Self {
        Self {
            line: 1 << 20,
            depth: 32,
            nodes: 10_000,
            running: 32,
            queued: 64,
            tool_time: Duration::from_secs(30),
            blocking: 8,
            blocking_queued: 32,
            waiting: 32,
            outgoing: 256 << 10,
            result: 1 << 20,
            subscriptions: 64,
            listens: 8,
            logs: 20,
            log: 8 << 10,
            body: 256 << 10,
            head: 16 << 10,
            headers: 50,
            handshake_time: Duration::from_secs(5),
            head_time: Duration::from_secs(5),
            body_time: Duration::from_secs(10),
            connections: 1_024,
            sessions: 1_024,
            streams: 512,
            session_client: 4 << 10,
            replay_events: 64,
            replay_bytes: 256 << 10,
            ..Self::default()
        }
    }

    /// Returns an error for each field whose value keeps the server from working.
    pub(crate) fn faults(&self) -> impl Iterator<Item = String> {
        let fields = [
            ("line", self.line == 0),
            ("depth", self.depth == 0),
            ("nodes", self.nodes == 0),
            ("id", self.id == 0),
            ("name", self.name == 0),
            ("uri", self.uri == 0),
            ("cursor", self.cursor == 0),
            ("batch", self.batch == 0),
            ("running", self.running == 0),
            ("queued", self.queued == 0),
            ("blocking", self.blocking == 0),
            ("blocking_queued", self.blocking_queued == 0),
            ("outgoing", self.outgoing == 0),
            ("result", self.result == 0),
            ("subscriptions", self.subscriptions == 0),
            ("listens", self.listens == 0),
            ("streams", self.streams == 0),
            ("principal_sessions", self.principal_sessions == 0),
            ("principal_streams", self.principal_streams == 0),
            ("token", self.token == 0),
            ("authentication_time", self.authentication_time.is_zero()),
            ("logs", self.logs == 0),
            ("log", self.log == 0),
            ("waiting", self.waiting == 0),
            ("callers", self.callers == 0),
            ("progress", self.progress == 0),
            ("completions", self.completions == 0),
            ("completion_input", self.completion_input == 0),
            ("questions", self.questions == 0),
            ("request_state", self.request_state == 0),
            ("rounds", self.rounds == 0),
            ("tool_time", self.tool_time.is_zero()),
            ("question_time", self.question_time.is_zero()),
            ("state_time", self.state_time.is_zero()),
            ("stalled", self.stalled.is_zero()),
            ("store_time", self.store_time.is_zero()),
        ];
        let zero = fields.into_iter().filter(|(_, zero)| *zero);
        zero.map(|(name, _)| format!("`Limits::{name}` is zero; the minimum is one"))
    }
}
