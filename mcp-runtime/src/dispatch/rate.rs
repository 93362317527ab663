//! A token bucket: so many a second, so many at once.

use std::time::Instant;

/// Allows `rate` takings a second on average, and `burst` at once.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: f64,
    burst: f64,
    tokens: f64,
    filled: Option<Instant>,
}

impl Bucket {
    /// A full bucket. A rate of zero would allow nothing for ever, so at least one a second is allowed.
    pub(super) fn new(rate: u32, burst: u32) -> Self {
        let burst = f64::from(burst.max(1));
        Self {
            rate: f64::from(rate.max(1)),
            burst,
            tokens: burst,
            filled: None,
        }
    }

    /// Takes one, if there is one.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        if let Some(filled) = self.filled {
            let gained = now.saturating_duration_since(filled).as_secs_f64() * self.rate;
            self.tokens = (self.tokens + gained).min(self.burst);
        }
        self.filled = Some(now);
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_is_allowed_and_then_the_rate() {
        let start = Instant::now();
        let mut bucket = Bucket::new(10, 3);
        let taken =
            |bucket: &mut Bucket, after: u64| bucket.take(start + Duration::from_millis(after));
        assert!((0..3).all(|_| taken(&mut bucket, 0)));
        assert!(!taken(&mut bucket, 0));
        assert!(!taken(&mut bucket, 99));
        assert!(taken(&mut bucket, 101));
        assert!(!taken(&mut bucket, 102));
    }

    #[test]
    fn a_pause_refills_no_more_than_the_burst() {
        let start = Instant::now();
        let mut bucket = Bucket::new(10, 2);
        assert!(bucket.take(start));
        let later = start + Duration::from_mins(1);
        assert!(bucket.take(later) && bucket.take(later) && !bucket.take(later));
    }
}
