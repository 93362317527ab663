//! The trait for stores that count calls against rate limits for all instances of a server.

use std::time::Duration;

use mcp_core::context::StoreFuture;

/// Counts calls against rate limits for all instances of a server, so that `10/min` means ten calls, whichever
/// instances receive them.
///
/// **Open**: implement it on top of a database that all instances share. A store keeps a token bucket for each name
/// that it is given. A bucket that has not been used is full, so full buckets do not have to be kept.
///
/// The store counts calls to handlers with a `rate` and calls limited by `Server::rate`. Each
/// instance also counts its own calls: those that exceed the rate on this instance alone are refused without asking the
/// store.
pub trait RateStore: Send + Sync + 'static {
    /// Takes one token from each of the buckets, or none at all if one of the buckets is empty. Must be atomic. Which
    /// clock is used does not matter, provided that it is the same for all instances.
    ///
    /// The future may be dropped; tokens may then have been taken.
    fn take<'a>(&'a self, tokens: &'a [RateToken]) -> StoreFuture<'a, RateDecision>;
}

/// A token that a call needs, and the bucket that contains it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateToken {
    /// The name of the bucket, which is the same on all instances.
    pub bucket: String,
    /// Maximum number of tokens in the bucket, at least 1.
    pub capacity: u32,
    /// Time in which the bucket gains one token, at least 1 µs and at most 366 days.
    pub refill: Duration,
}

impl RateToken {
    /// Creates a token. Values out of bounds are replaced by the nearest bound.
    #[must_use]
    pub fn new(bucket: impl Into<String>, capacity: u32, refill: Duration) -> Self {
        Self {
            bucket: bucket.into(),
            capacity: capacity.max(1),
            refill: refill.clamp(Duration::from_micros(1), Duration::from_hours(366 * 24)),
        }
    }
}

/// A [`RateStore`]'s decision about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateDecision {
    /// All tokens were taken.
    Admitted,
    /// No token was taken. All of them will be available after this time, unless other calls take them first.
    Refused(Duration),
}

/// How calls are admitted while a [`RateStore`] fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateFallback {
    /// Each instance counts its own calls, so that all of them together may exceed the rate.
    #[default]
    CountLocally,
    /// Calls that have a rate are refused with an error that says when to try again.
    Refuse,
}
