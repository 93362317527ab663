//! Determines how long a session's live part and record are kept.

use std::time::Duration;

use crate::http::sessions::http_session::{HttpSession, SessionKind};
use crate::limits::Limits;

/// Time for which a standalone stream that nobody reads is kept for a client that reconnects.
const STREAM_LINGER: Duration = Duration::from_mins(5);

impl HttpSession {
    /// Returns `true` if the live part is empty, or has only a stream that nobody has read for a while, and the live part
    /// has not been used for more than `linger`.
    pub(super) fn is_unused(&self, linger: Duration, limits: &Limits) -> bool {
        let mut state = self.state();
        state.streams.drop_ended_streams(limits);
        self.kind != SessionKind::Connection
            && state.calls.is_empty()
            && state.readers == 0
            && (state.streams.is_empty()
                || state.streams.has_only_standalone() && state.used.elapsed() > STREAM_LINGER)
            && !state.channel.has_subscriptions()
            && state.used.elapsed() > linger
    }

    /// Returns how long to keep the record from now on, if the record has not been read for at least `after`.
    pub(super) fn renewed_lifetime(&self, after: Duration, limits: &Limits) -> Option<Duration> {
        let state = self.state();
        let is_read_rarely = state.renewed.elapsed() >= after;
        let is_listening = state.readers > 0 && state.compared.elapsed() >= after;
        let is_due =
            matches!(self.kind, SessionKind::Kept { .. }) && (is_read_rarely || is_listening);
        is_due.then(|| {
            let streaming = limits
                .sessions
                .streaming_idle_timeout
                .saturating_sub(state.used.elapsed());
            match (state.calls.is_empty(), state.readers) {
                (false, _) => limits.sessions.idle_timeout,
                (true, 0) => Duration::ZERO,
                (true, _) => limits.sessions.idle_timeout.min(streaming),
            }
        })
    }

    /// Returns `true` if the session's connection has been silent for too long.
    pub(super) fn is_expired(&self, limits: &Limits) -> bool {
        let state = self.state();
        self.kind == SessionKind::Connection
            && state.calls.is_empty()
            && state.used.elapsed() > limits.sessions.streaming_idle_timeout
    }
}
