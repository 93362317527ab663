//! Tests that the store follows the rules for stores and copes with anything that can happen to Redis. Each test starts
//! its own `redis-server`, so these tests are run by `tests/redis/run` and are otherwise ignored.

#![cfg(unix)]

mod lossy;
mod once;
mod outages;
mod partitions;
mod results;
#[cfg(feature = "http")]
mod sessions;
mod sharing;
#[allow(dead_code, reason = "the tests of several instances use the rest")]
mod support;
mod tasks;
#[cfg(feature = "telemetry")]
mod telemetry;
mod topologies;
