//! How much a peer may ask of the server. Everything is bounded; zero never means "no limit".

use std::time::Duration;

/// How much a peer may ask of the server.
///
/// Every default suits a server on somebody's machine or behind a proxy. Change one with a struct update:
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
    /// Longest line of stdio and byte streams, in bytes. Default 16 MiB. A longer one is read away and answered -32600.
    pub line: usize,
    /// Deepest nesting of a message. Default 128, and never more than that. A deeper one is answered -32700.
    pub depth: usize,
    /// Most values in one message, counting every key, item and scalar. Default 100,000. Beyond: -32600.
    pub nodes: usize,
    /// Longest string id of a request, in bytes. Default 1 KiB. Beyond: -32600.
    pub id: usize,
    /// Longest name of a tool or prompt, in bytes. Default 256. Beyond: -32602.
    pub name: usize,
    /// Longest resource address, in bytes. Default 8 KiB. Beyond: -32602.
    pub uri: usize,
    /// Longest cursor, in bytes. Default 1 KiB. Beyond: -32602.
    pub cursor: usize,
    /// Most entries of a batch (revision 2025-03-26 only). Default 100. Beyond: -32600.
    pub batch: usize,
    /// Most calls running at once, per session or stdio process. Default 256. Further ones are queued.
    pub running: usize,
    /// Most calls waiting to run, per session or stdio process. Default 1,024. Further ones are refused.
    pub queued: usize,
    /// Longest a call may run. Default 5 minutes. Then it is cancelled and the model is told. A `timeout` of its own wins.
    pub tool_time: Duration,
    /// Most blocking tools running at once in the process. Default 64. Further ones wait.
    pub blocking: usize,
    /// Most blocking tools waiting for one of those places. Default 256. Further ones are refused.
    pub blocking_queued: usize,
    /// Most calls waiting for a handler that is limited by `concurrency`, per handler. Default 256. Further ones are refused.
    pub waiting: usize,
    /// Most callers that each rate tells apart. Default 10,000. Further ones share what one of them would have.
    pub callers: usize,
    /// Most bytes waiting to be written to one stream. Default 1 MiB. Then reading stops until the client reads.
    ///
    /// Calls under way go on: their answers, and those of unfinished arrays, may take four times [`result`](Self::result)
    /// beyond that. Further answers become errors.
    pub outgoing: usize,
    /// Largest result, in bytes. Default 8 MiB. A larger one becomes an error that says its size.
    pub result: usize,
    /// Most resource addresses one session or listen stream may follow. Default 1,024. Beyond: -32602.
    pub subscriptions: usize,
    /// Most `subscriptions/listen` requests open at once per connection. Default 64. Beyond: -32602.
    pub listens: usize,
    /// Log notifications a second, per session. Default 100, in bursts of twice that. Beyond: dropped, one summary.
    pub logs: u32,
    /// Longest log message, in bytes of its `data`. Default 64 KiB. A longer one is cut, and says so.
    pub log: usize,
    /// Progress notifications a second, per token. Default 20, in bursts of that. Beyond: merged into the next.
    pub progress: u32,
    /// Completions a second, per caller. Default 20, in bursts of twice that. Beyond: refused.
    ///
    /// A caller is whoever is known from credentials, else the session or connection. Requests of 2026-07-28 over HTTP by
    /// nobody known are one caller, all of them.
    pub completions: u32,
    /// Longest partial text of a completion, in bytes. Default 1 KiB. Beyond: -32602.
    pub completion_input: usize,
    /// Most questions to the client that one call may have open at once. Default 16. Beyond: the call gets an error.
    pub questions: usize,
    /// How long the client may take to answer a question (legacy era), and to be ready for one. Default 5 minutes. Then the
    /// call gets an error.
    pub question_time: Duration,
    /// Longest `requestState`, in characters. Default 16 KiB. Longer ones are refused, and a call that needs more fails.
    pub request_state: usize,
    /// How long a client may take from one round of a call to the next (2026-07-28). Default 10 minutes. Later: -32602.
    pub state_time: Duration,
    /// Most rounds of one call (2026-07-28). Default 32. Then the call fails.
    pub rounds: u16,
    /// How long work may go on after the end of input or a signal to stop. Default 5 s. Then what is left is refused.
    pub drain: Duration,
    /// Longest body of an HTTP request, in bytes. Default 4 MiB, counted while it comes. Beyond: 413.
    pub body: usize,
    /// Longest head of an HTTP request, in bytes. Default 64 KiB, and never less than 8 KiB. Beyond: 431.
    pub head: usize,
    /// Most header fields of an HTTP request. Default 100. Beyond: 431.
    pub headers: usize,
    /// How long a client may take to shake hands on an HTTP connection, where that is asked for, as for TLS. Default 10 s.
    /// Then the connection is closed.
    pub handshake_time: Duration,
    /// How long the head of an HTTP request may take from its first byte, or from the start of the connection. Default
    /// 15 s. Then the connection is closed.
    pub head_time: Duration,
    /// How long the body of an HTTP request may take. Default 30 s. Then: 408.
    pub body_time: Duration,
    /// How many bytes a second the body of an HTTP request must bring after its first five seconds. Default 1 KiB.
    /// Slower: 408.
    pub body_rate: u32,
    /// How long an HTTP connection may be idle between requests. Default 60 s. Then it is closed.
    pub idle_connection: Duration,
    /// Most HTTP connections at once. Default 10,000. Beyond: the oldest idle one is closed, or else the new one.
    pub connections: usize,
    /// Most HTTP sessions at once. Default 10,000. Beyond: the longest idle one ends, or else the new one gets 503.
    ///
    /// For a store of sessions that is not ours, and for sessions that are not kept: most with something under way.
    pub sessions: usize,
    /// Most HTTP sessions of one [`Principal`](crate::Principal) at once. Default 64. Beyond: the one of theirs that was idle
    /// longest ends, or else the new one gets 503. A store that is not ours counts for itself.
    pub principal_sessions: usize,
    /// Most bytes that a session keeps of what its client says of itself, as JSON. Default 16 KiB. Beyond: -32602.
    pub session_client: usize,
    /// How long an HTTP session may be idle. Default 5 minutes. Then it ends; its client is answered 404 and starts over.
    pub session_idle: Duration,
    /// How long an HTTP session may be idle while its client keeps a stream open. Default 30 minutes. Then it ends.
    pub session_idle_streaming: Duration,
    /// How soon an HTTP session must be used after the handshake. Default 10 s. Then it ends.
    pub session_start: Duration,
    /// Longest id of a sealed HTTP session, in characters. Default 4 KiB, since proxies rarely take header fields over 8 KiB.
    /// A client that says more of itself than fits is answered -32602.
    pub sealed_session: usize,
    /// How long a sealed HTTP session lasts, used or not. Default 8 hours. Then its client is answered 404 and starts over.
    pub sealed_session_time: Duration,
    /// How long a store of sessions or events may take to answer. Default 5 s. Then the client gets 503.
    pub store_time: Duration,
    /// Most events kept per stream for clients that reconnect. Default 256. What is gone cannot be resumed: 400.
    pub replay_events: usize,
    /// Most bytes of events kept per stream for clients that reconnect. Default 1 MiB. What is gone cannot be resumed: 400.
    pub replay_bytes: usize,
    /// How long a finished stream is kept for clients that reconnect. Default 60 s. Then it cannot be resumed: 400.
    pub replay_time: Duration,
    /// Most event streams that wait for what may happen, open at once over HTTP: `subscriptions/listen`, and the streams of
    /// sessions. Default 8,000, which is less than [`connections`](Self::connections), so that there is room for requests.
    /// Beyond: 503 with `Retry-After`.
    pub streams: usize,
    /// Most of those that one [`Principal`](crate::Principal) has open at once. Default 64. Beyond: 429.
    pub principal_streams: usize,
    /// Longest access token, in bytes. Default 16 KiB. Longer: 401, unread.
    pub token: usize,
    /// How long it may take to find out who sends a request. Default 10 s. Then: 503.
    pub authentication_time: Duration,
    /// How often a silent event stream sends a comment, so that nobody in between takes it for dead. Default 15 s. Clients
    /// skip it.
    pub keep_alive: Duration,
    /// How long a client may leave output unread. Default 60 s. Then its stream is closed.
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
            keep_alive: Duration::from_secs(15),
            stalled: Duration::from_mins(1),
            _private: (),
        }
    }
}

impl Limits {
    /// Tight limits, for servers that strangers reach and that need little.
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

    /// The fields that would stop the server from doing anything.
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
