//! Timers for server shutdown, the expiry of credentials, silent calls, and operations of stores.
//!
//! A timer only reports that it is due; the stream or connection that polls it decides how to react.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use mcp_core::context::Principal;
use mcp_core::limits::Limits;
use mcp_core::sync::CancellationToken;
use tokio::time::{Instant, Sleep};

/// A timer whose deadline can be moved to a later time at no cost, because it checks the deadline again when the
/// earlier one is reached. Polling it again from the same task is also cheap.
#[derive(Default)]
pub(crate) struct Alarm(Option<(Pin<Box<Sleep>>, Waker)>);

impl Alarm {
    pub(crate) fn poll(&mut self, due: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let sleep = || Box::pin(tokio::time::sleep_until(due));
        let begin = || (sleep(), Waker::noop().clone());
        let (sleep, waker) = self.0.get_or_insert_with(begin);
        if sleep.deadline() > due {
            sleep.as_mut().reset(due);
        }
        if waker.will_wake(cx.waker()) && !sleep.is_elapsed() {
            return Poll::Pending;
        }
        waker.clone_from(cx.waker());
        while sleep.as_mut().poll(cx).is_ready() {
            if Instant::now() >= due {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(due);
        }
        Poll::Pending
    }
}

/// Returns the time at which a time limit expires. If the clock cannot represent it, returns a time one year from now,
/// which is later than any practical limit.
pub(crate) fn instant_after(now: Instant, time: Duration) -> Instant {
    let far = || now + Duration::from_hours(24 * 365);
    now.checked_add(time).unwrap_or_else(far)
}

/// Polls for the server to begin shutting down.
pub(crate) struct ShutdownPoll {
    shutdown: CancellationToken,
    /// Completes when shutdown begins.
    cancelled: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// The most recently registered waker.
    waker: Option<Waker>,
}

impl ShutdownPoll {
    pub(crate) fn new(shutdown: &CancellationToken) -> Self {
        let shutdown = shutdown.clone();
        let waited_for = shutdown.clone();
        Self {
            shutdown,
            cancelled: Box::pin(async move { waited_for.cancelled().await }),
            waker: None,
        }
    }

    /// Returns `true` once shutdown has begun; until then, registers the task to be woken. Polling again from the same
    /// task is cheap.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        if self.shutdown.is_cancelled() {
            return true;
        }
        let waker = self.waker.as_ref();
        if waker.is_some_and(|waker| waker.will_wake(cx.waker())) {
            return false;
        }
        self.waker = Some(cx.waker().clone());
        self.cancelled.as_mut().poll(cx).is_ready()
    }
}

// Stream expiry: a stream ends when its caller's credentials expire.
//
// A token is checked when the request that carries it arrives, but the stream that answers the request can last for
// days. The stream therefore ends when the token expires, and its client reconnects with a new one. A session's stream
// ends only when all tokens that its caller has sent have expired, so a client that sends a new token in time does not
// have to reconnect.
//
// Source: `docs/requirements.md`, SUBS-11.

/// The time until which credentials are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ValidUntil {
    Time(SystemTime),
    /// The expiry is unknown, or there are no credentials.
    Always,
}

impl ValidUntil {
    /// No credentials have been sent yet.
    pub(crate) const NEVER: Self = Self::Time(SystemTime::UNIX_EPOCH);

    pub(crate) fn of_credentials(caller: Option<&Principal>) -> Self {
        let expiry = caller.and_then(Principal::expires_at);
        expiry.map_or(Self::Always, Self::Time)
    }
}

/// A timer for the expiry of credentials.
#[derive(Default)]
pub(crate) struct ExpiryTimer {
    /// An expiry and the corresponding time on the runtime's clock, which never goes backward.
    due: Option<(SystemTime, Instant)>,
    alarm: Alarm,
}

impl ExpiryTimer {
    /// Returns `true` if the credentials have expired; otherwise, schedules this task to be woken when they expire.
    /// The expiry may be moved to a later time between polls.
    pub(crate) fn poll(&mut self, until: ValidUntil, cx: &mut Context<'_>) -> bool {
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

// The maximum duration for which a call may be silent before its response starts.
//
// Proxies and clients give up on a response that does not start. After a few seconds, the response therefore starts as
// an event stream, and comments are sent on it until the answer is available. Once shutdown has begun, this no longer
// happens, so a call that does not finish in time can still be answered with an error status.

/// The silence timeout for a single call, measured from the first poll.
pub(crate) struct SilenceTimeout {
    limit: Duration,
    shutdown: CancellationToken,
    due: Option<Instant>,
    alarm: Alarm,
}

impl SilenceTimeout {
    pub(crate) fn new(limits: &Limits, shutdown: &CancellationToken) -> Self {
        Self {
            limit: limits.http.silence_timeout,
            shutdown: shutdown.clone(),
            due: None,
            alarm: Alarm::default(),
        }
    }

    /// Returns `true` if the timeout has elapsed; otherwise, schedules this task to be woken when it elapses.
    pub(crate) fn has_elapsed(&mut self, cx: &mut Context<'_>) -> bool {
        let begin = || instant_after(Instant::now(), self.limit);
        let due = *self.due.get_or_insert_with(begin);
        self.alarm.poll(due, cx).is_ready() && !self.shutdown.is_cancelled()
    }
}

// A time limit that does not count the time in which this process was stopped, for example by SIGSTOP or with its
// virtual machine.

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_deadline_can_move_in_both_directions() {
        for (first, then) in [(10, 1), (1, 10)] {
            let (first, then) = (Duration::from_secs(first), Duration::from_secs(then));
            let start = Instant::now();
            let mut alarm = Alarm::default();
            poll_fn(|cx| {
                assert!(alarm.poll(start + first, cx).is_pending());
                Poll::Ready(())
            })
            .await;
            poll_fn(|cx| alarm.poll(start + then, cx)).await;
            let late = start.elapsed().checked_sub(then).expect("not early");
            assert!(late < Duration::from_millis(10), "{late:?}");
        }
    }
}

#[cfg(test)]
mod shutdown_tests {
    use std::sync::Arc;
    use std::task::Wake;

    use super::*;

    struct Task;

    impl Wake for Task {
        fn wake(self: Arc<Self>) {}
    }

    #[test]
    fn a_shutdown_poll_can_be_polled_repeatedly_with_different_wakers() {
        let shutdown = CancellationToken::default();
        let mut stopping = ShutdownPoll::new(&shutdown);
        let wakers = [Arc::new(Task), Arc::new(Task)].map(Waker::from);
        let mut ask = || {
            wakers
                .each_ref()
                .map(|waker| stopping.poll(&mut Context::from_waker(waker)))
        };
        assert_eq!([ask(), ask()], [[false; 2]; 2]);
        shutdown.cancel();
        assert_eq!([ask(), ask()], [[true; 2]; 2]);
    }
}
