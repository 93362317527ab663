//! A timer that is cheap to poll and to reschedule.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// A timer whose deadline can be moved to a later time at no cost, because it checks the deadline again when the
/// earlier one is reached. Polling it again from the same task is also cheap.
#[derive(Default)]
pub(in crate::http) struct Alarm(Option<(Pin<Box<Sleep>>, Waker)>);

impl Alarm {
    pub(in crate::http) fn poll(&mut self, due: Instant, cx: &mut Context<'_>) -> Poll<()> {
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
pub(in crate::http) fn instant_after(now: Instant, time: Duration) -> Instant {
    let far = || now + Duration::from_hours(24 * 365);
    now.checked_add(time).unwrap_or_else(far)
}

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
