//! Rate limits, implemented as token buckets. A limit has one bucket for all calls or one for each key, such as the caller.
//!
//! A bucket is stored as the time at which it will be full again. A full bucket therefore does not need an entry and is
//! discarded. `mcp_schema::rules` defines the syntax of rates; `dispatch` identifies callers.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use mcp_schema::rules::{RateKeySyntax, RateSyntax, parse_rate};

use crate::host::Instant;
use crate::sync::lock;

/// Counts calls that this process has admitted where other processes count theirs, too.
pub trait RateCounter: Send + Sync {
    /// Counts a call, and says whether it may run. Nothing is counted before the future is polled.
    fn count(&self, call: CountedCall) -> CountFuture;
}

pub type CountFuture = Pin<Box<dyn Future<Output = CountOutcome> + Send>>;

/// The buckets from which a call takes a token each.
pub struct CountedCall {
    /// The bucket of the call's round, if an earlier round was charged: such a round is admitted once without being charged
    /// again.
    pub round: Option<CountedBucket>,
    pub buckets: Vec<CountedBucket>,
}

/// A bucket by the name that it has in all processes.
pub struct CountedBucket {
    pub name: String,
    pub rate: Rate,
}

/// Whether a call may run.
pub enum CountOutcome {
    Admitted,
    /// There are no tokens until this time has passed.
    Refused(Duration),
    /// The call could not be counted, for this reason.
    Failed {
        error: Box<dyn std::error::Error + Send + Sync>,
        /// `true` if the call may run nevertheless.
        may_run: bool,
    },
}

/// A number of tokens per time span and a burst size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Time required to refill one token.
    interval: Duration,
    /// Maximum lead over the refill rate: the time required to refill all but one of a burst's tokens.
    slack: Duration,
    key: RateKey,
}

/// The calls that share a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RateKey {
    /// All calls.
    All,
    /// Those of the same caller.
    Caller,
    /// Those whose credentials have the same value for this claim, or no value.
    Claim(Arc<str>),
    /// Those for which a trusted proxy has set this header to the same value, or to none.
    Header(Arc<str>),
}

impl Rate {
    /// Parses a rate, such as `10/min` or `5/s burst 20 per caller`.
    ///
    /// # Errors
    ///
    /// Returns a message that describes the mistake.
    pub fn parse(text: &str) -> Result<Self, String> {
        let RateSyntax {
            count,
            seconds,
            burst,
            key,
        } = parse_rate(text).map_err(|_| mcp_schema::rules::rate(text).text().to_owned())?;
        let mut rate = Self::new(count, Duration::from_secs(seconds), burst);
        rate.key = match key {
            RateKeySyntax::All => RateKey::All,
            RateKeySyntax::Caller => RateKey::Caller,
            RateKeySyntax::Claim(name) => RateKey::Claim(name.into()),
            RateKeySyntax::Header(name) => RateKey::Header(name.into()),
        };
        Ok(rate)
    }

    /// Creates a rate of `count` per `span`, with bursts of `burst`. Zeros are treated as ones.
    pub(crate) const fn new(count: u32, span: Duration, burst: u32) -> Self {
        let count = if count == 0 { 1 } else { count };
        let burst = if burst == 0 { 1 } else { burst };
        let interval = match span.checked_div(count) {
            Some(interval) if !interval.is_zero() => interval,
            _ => Duration::from_nanos(1),
        };
        Self {
            interval,
            slack: interval.saturating_mul(burst - 1),
            key: RateKey::All,
        }
    }

    /// Creates a rate of `count` per second, with bursts of `burst`.
    pub(crate) const fn per_second(count: u32, burst: u32) -> Self {
        Self::new(count, Duration::from_secs(1), burst)
    }

    /// Applies the rate to each caller separately rather than to all callers together.
    pub(crate) fn per_caller(self) -> Self {
        Self {
            key: RateKey::Caller,
            ..self
        }
    }

    pub(crate) const fn key(&self) -> &RateKey {
        &self.key
    }

    /// Returns the time required to refill one token.
    #[must_use]
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// Returns the number of tokens in a full bucket.
    #[must_use]
    pub fn capacity(&self) -> u32 {
        let others = self.slack.as_nanos() / self.interval.as_nanos().max(1);
        u32::try_from(others).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// Takes a token from a bucket that will be full at `full`. Returns the time at which it will be full again, or how
    /// long to wait for a token.
    fn take_token(&self, full: Option<Instant>, now: Instant) -> Result<Instant, Duration> {
        let full = full.map_or(now, |full| full.max(now));
        let ahead = full.saturating_duration_since(now);
        match ahead.checked_sub(self.slack) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => Ok(full.checked_add(self.interval).unwrap_or(full)),
        }
    }
}

/// A token bucket.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    rate: Rate,
    full: Option<Instant>,
}

impl TokenBucket {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, full: None }
    }

    /// Takes a token. Returns `false` if none is available.
    pub(crate) fn take_token(&mut self, now: Instant) -> bool {
        let taken = self.rate.take_token(self.full, now);
        self.full = taken.ok().or(self.full);
        taken.is_ok()
    }
}

/// The token buckets for a rate, either one for all calls or one for each key.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    rate: Rate,
    taken: Mutex<RateUsage>,
}

#[derive(Debug, Default)]
struct RateUsage {
    /// The time at which each key's bucket will be full again.
    full: HashMap<u64, Instant>,
    /// The time at which the bucket shared by all other keys will be full again.
    others: Option<Instant>,
    swept: Option<Instant>,
}

/// Minimum time between two searches for full buckets.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

impl RateLimiter {
    pub(crate) fn new(rate: Rate) -> Self {
        Self {
            rate,
            taken: Mutex::default(),
        }
    }

    /// Checks whether a token is available without taking it. The error contains the time to wait.
    pub(crate) fn check(&self, key: u64, now: Instant) -> Result<(), Duration> {
        let key = self.bucket_key(key);
        let taken = self.lock_usage();
        let full = taken.full.get(&key).copied();
        self.rate.take_token(full, now).map(|_| ())
    }

    /// Takes a token. The error contains the time to wait. Up to `max` keys have their own bucket; all other keys
    /// share one.
    pub(crate) fn take_token(&self, key: u64, max: usize, now: Instant) -> Result<(), Duration> {
        let key = self.bucket_key(key);
        let taken = &mut *self.lock_usage();
        if let Some(full) = taken.full.get_mut(&key) {
            *full = self.rate.take_token(Some(*full), now)?;
            return Ok(());
        }
        if taken.full.len() >= max {
            taken.discard_full_buckets(now);
        }
        if taken.full.len() >= max {
            taken.others = Some(self.rate.take_token(taken.others, now)?);
        } else {
            taken.full.insert(key, self.rate.take_token(None, now)?);
        }
        Ok(())
    }

    /// Returns a token that was taken for a call that did not run.
    pub(crate) fn return_token(&self, key: u64) {
        let key = self.bucket_key(key);
        let taken = &mut *self.lock_usage();
        let full = match taken.full.get_mut(&key) {
            Some(full) => Some(full),
            None => taken.others.as_mut(),
        };
        if let Some(full) = full
            && let Some(earlier) = full.checked_sub(self.rate.interval)
        {
            *full = earlier;
        }
    }

    pub(crate) const fn rate(&self) -> &Rate {
        &self.rate
    }

    fn bucket_key(&self, key: u64) -> u64 {
        match self.rate.key {
            RateKey::All => 0,
            _ => key,
        }
    }

    fn lock_usage(&self) -> MutexGuard<'_, RateUsage> {
        lock(&self.taken)
    }
}

/// A rate that several definitions share, by its name.
#[derive(Debug)]
pub struct SharedQuota {
    pub(crate) name: String,
    pub(crate) limiter: RateLimiter,
}

impl SharedQuota {
    /// Creates a quota.
    #[must_use]
    pub fn new(name: String, rate: Rate) -> Self {
        Self {
            name,
            limiter: RateLimiter::new(rate),
        }
    }
}

impl RateUsage {
    /// Discards full buckets, but at most once every `SWEEP_INTERVAL`, so that calls do not repeatedly iterate over all buckets
    /// when there are many anonymous callers.
    fn discard_full_buckets(&mut self, now: Instant) {
        let is_due = |swept| now.saturating_duration_since(swept) >= SWEEP_INTERVAL;
        if self.swept.is_none_or(is_due) {
            self.swept = Some(now);
            self.full.retain(|_, full| *full > now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    #[test]
    fn a_burst_is_allowed_and_then_the_rate() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(Rate::per_second(10, 3));
        let taken =
            |bucket: &mut TokenBucket, after: u32| bucket.take_token(start + MILLISECOND * after);
        assert!((0..3).all(|_| taken(&mut bucket, 0)));
        assert!(!taken(&mut bucket, 0));
        assert!(!taken(&mut bucket, 99));
        assert!(taken(&mut bucket, 100));
        assert!(!taken(&mut bucket, 101));
    }

    #[test]
    fn a_pause_refills_no_more_than_the_burst() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(Rate::per_second(10, 2));
        assert!(bucket.take_token(start));
        let later = start + Duration::from_mins(1);
        assert!(bucket.take_token(later) && bucket.take_token(later) && !bucket.take_token(later));
    }

    #[test]
    fn a_token_is_available_exactly_after_the_returned_wait() {
        let start = Instant::now();
        let limiter = RateLimiter::new(Rate::new(3, Duration::from_mins(1), 1));
        assert_eq!(limiter.take_token(1, 10, start), Ok(()));
        let wait = limiter.take_token(2, 10, start).unwrap_err();
        assert_eq!(wait, Duration::from_secs(20));
        assert_eq!(
            limiter.check(2, start + wait - MILLISECOND),
            Err(MILLISECOND)
        );
        assert_eq!(limiter.take_token(2, 10, start + wait), Ok(()));
    }

    #[test]
    fn a_returned_token_can_be_taken_again() {
        let start = Instant::now();
        for max in [1, 0] {
            let limiter = RateLimiter::new(Rate::new(1, Duration::from_mins(1), 2).per_caller());
            for _ in 0..2 {
                assert_eq!(limiter.take_token(7, max, start), Ok(()));
            }
            limiter.return_token(7);
            assert_eq!(limiter.take_token(7, max, start), Ok(()));
            assert!(limiter.take_token(7, max, start).is_err());
        }
        assert_eq!(Rate::parse("10/min burst 20").unwrap().capacity(), 20);
        assert_eq!(Rate::new(1, Duration::MAX, 1).capacity(), 1);
    }

    #[test]
    fn each_caller_has_a_bucket_and_callers_above_the_limit_share_one() {
        let start = Instant::now();
        let limiter = RateLimiter::new(Rate::new(1, Duration::from_mins(1), 1).per_caller());
        for caller in 0..10 {
            assert!(limiter.take_token(caller, 10, start).is_ok(), "{caller}");
            assert!(limiter.take_token(caller, 10, start).is_err(), "{caller}");
        }
        assert!(limiter.take_token(10, 10, start).is_ok());
        assert!(limiter.take_token(11, 10, start).is_err());
        assert_eq!(limiter.lock_usage().full.len(), 10);
        // Full buckets are discarded when space is needed.
        let later = start + Duration::from_mins(1);
        assert!(limiter.take_token(12, 10, later).is_ok());
        assert_eq!(limiter.lock_usage().full.len(), 1);
    }

    #[test]
    fn extreme_rates_are_no_panic() {
        let start = Instant::now();
        let hour = Duration::from_hours(1);
        for rate in [
            Rate::per_second(u32::MAX, u32::MAX),
            Rate::new(1, hour, u32::MAX),
            Rate::new(u32::MAX, hour, 1),
            Rate::new(1, Duration::MAX, 2),
            Rate::new(0, Duration::ZERO, 0),
        ] {
            let limiter = RateLimiter::new(rate);
            for _ in 0..3 {
                let _ = limiter.take_token(0, 1, start);
            }
        }
    }
}
