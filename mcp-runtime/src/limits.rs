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
    /// Longest name of a method, tool or prompt, in bytes. Default 256. Beyond: -32601 or -32602.
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
    /// Longest a tool may run. Default 5 minutes. Then it is cancelled and the model is told. A tool's own `timeout` wins.
    pub tool_time: Duration,
    /// Most blocking tools running at once in the process. Default 64.
    pub blocking: usize,
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
    /// Progress notifications a second, per token. Default 20, in bursts of that. Beyond: merged into the next.
    pub progress: u32,
    /// Completions a second, per session. Default 20, in bursts of twice that. Beyond: refused.
    pub completions: u32,
    /// Longest partial text of a completion, in bytes. Default 1 KiB. Beyond: -32602.
    pub completion_input: usize,
    /// Most questions to the client that one call may have open at once. Default 16. Beyond: the call gets an error.
    pub questions: usize,
    /// How long the client may take to answer a question (legacy era). Default 5 minutes. Then the call gets an error.
    pub question_time: Duration,
    /// Longest `requestState`, in characters. Default 16 KiB. Longer ones are refused, and a call that needs more fails.
    pub request_state: usize,
    /// How long a client may take from one round of a call to the next (2026-07-28). Default 10 minutes. Later: -32602.
    pub state_time: Duration,
    /// Most rounds of one call (2026-07-28). Default 32. Then the call fails.
    pub rounds: u16,
    /// How long work may go on after the end of input or a signal to stop. Default 5 s.
    pub drain: Duration,
    /// How long a client may leave output unread before its stream is closed. Default 60 s.
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
            outgoing: 1 << 20,
            result: 8 << 20,
            subscriptions: 1_024,
            listens: 64,
            logs: 100,
            progress: 20,
            completions: 20,
            completion_input: 1 << 10,
            questions: 16,
            question_time: Duration::from_secs(5 * 60),
            request_state: 16 << 10,
            state_time: Duration::from_secs(10 * 60),
            rounds: 32,
            drain: Duration::from_secs(5),
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
            outgoing: 256 << 10,
            result: 1 << 20,
            subscriptions: 64,
            listens: 8,
            logs: 20,
            ..Self::default()
        }
    }
}
