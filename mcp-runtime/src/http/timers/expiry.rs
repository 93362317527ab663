//! Stream expiry: a stream ends when its caller's credentials expire.
//!
//! A token is checked when the request that carries it arrives, but the stream that answers the request can last for
//! days. The stream therefore ends when the token expires, and its client reconnects with a new one. A session's stream
//! ends only when all tokens that its caller has sent have expired, so a client that sends a new token in time does not
//! have to reconnect.
//!
//! Source: `docs/requirements.md`, SUBS-11.

use std::task::Context;
use std::time::SystemTime;

use tokio::time::Instant;

use crate::context::Principal;
use crate::http::timers::alarm::{Alarm, instant_after};

/// The time until which credentials are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::http) enum ValidUntil {
    Time(SystemTime),
    /// The expiry is unknown, or there are no credentials.
    Always,
}

impl ValidUntil {
    /// No credentials have been sent yet.
    pub(in crate::http) const NEVER: Self = Self::Time(SystemTime::UNIX_EPOCH);

    pub(in crate::http) fn of_credentials(caller: Option<&Principal>) -> Self {
        let expiry = caller.and_then(Principal::expires_at);
        expiry.map_or(Self::Always, Self::Time)
    }
}

/// A timer for the expiry of credentials.
#[derive(Default)]
pub(in crate::http) struct ExpiryTimer {
    /// An expiry and the corresponding time on the runtime's clock, which never goes backward.
    due: Option<(SystemTime, Instant)>,
    alarm: Alarm,
}

impl ExpiryTimer {
    /// Returns `true` if the credentials have expired; otherwise, schedules this task to be woken when they expire.
    /// The expiry may be moved to a later time between polls.
    pub(in crate::http) fn poll(&mut self, until: ValidUntil, cx: &mut Context<'_>) -> bool {
        let ValidUntil::Time(time) = until else {
            return false;
        };
        let due = match self.due {
            Some((known, due)) if known == time => due,
            _ => {
                let left = time.duration_since(SystemTime::now()).unwrap_or_default();
                let due = instant_after(Instant::now(), left);
                self.due = Some((time, due));
                due
            }
        };
        let is_over = self.alarm.poll(due, cx).is_ready();
        if is_over {
            tracing::debug!("a stream ended because its caller's credentials have expired");
        }
        is_over
    }
}
