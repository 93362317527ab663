//! The store keeps the rules of stores, and bears what can happen to Redis. Each test starts a `redis-server` of its own, so these
//! are run by `tests/redis/run`, and ignored otherwise.

#![cfg(unix)]

mod once;
mod outages;
#[cfg(feature = "http")]
mod sessions;
#[allow(dead_code, reason = "the tests of several instances use the rest")]
mod support;
mod tasks;
