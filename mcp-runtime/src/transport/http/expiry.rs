//! Until when a stream may go on: no longer than the credentials are valid that its caller came with.
//!
//! A token is checked with the request that brings it, and the stream that answers such a request can last for days. So the
//! stream ends when the token expires, and its client comes back with another. A session goes by the latest expiry of all
//! tokens that its caller sent: whoever has another token by then need not come back.
//!
//! Source: `docs/requirements.md`, SUBS-11.

use std::task::Context;
use std::time::SystemTime;

use tokio::time::Instant;

use super::io::{Alarm, after};
use crate::context::Principal;

/// Until when credentials are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Until {
    Time(SystemTime),
    /// Nobody said that they expire, or there are none.
    Always,
}

impl Until {
    /// Before any credentials came.
    pub(super) const NEVER: Self = Self::Time(SystemTime::UNIX_EPOCH);

    pub(super) fn of(caller: Option<&Principal>) -> Self {
        let expiry = caller.and_then(Principal::expires_at);
        expiry.map_or(Self::Always, Self::Time)
    }
}

/// Goes off when credentials expire.
#[derive(Default)]
pub(super) struct Expiry {
    /// An expiry, and when that is on the clock of the runtime, which nobody sets back.
    due: Option<(SystemTime, Instant)>,
    alarm: Alarm,
}

impl Expiry {
    /// Returns `true` if the credentials have expired; if not, this task is woken when they do. Their expiry may move away.
    pub(super) fn poll(&mut self, until: Until, cx: &mut Context<'_>) -> bool {
        let Until::Time(time) = until else {
            return false;
        };
        let due = match self.due {
            Some((known, due)) if known == time => due,
            _ => {
                let left = time.duration_since(SystemTime::now()).unwrap_or_default();
                let due = after(Instant::now(), left);
                self.due = Some((time, due));
                due
            }
        };
        let is_over = self.alarm.poll(due, cx).is_ready();
        if is_over {
            tracing::debug!("a stream ends: the credentials of its caller have expired");
        }
        is_over
    }
}
