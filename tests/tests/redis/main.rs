//! Several instances of a server with one Redis: each request goes to any of them, and some are killed. Each test
//! starts a `redis-server` of its own, so these are run by `tests/redis/run`, and ignored otherwise.

#![cfg(unix)]

mod builds;
mod calls;
mod instance;
mod notifications;
mod operating;
mod outages;
mod sessions;
#[allow(dead_code, reason = "the tests of the store itself use the rest")]
#[path = "../../../crates/redis/tests/redis/support.rs"]
mod support;
mod tasks;
mod tls;
