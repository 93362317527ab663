//! Options for the connection to Redis, the names of keys, and the amount of data.

use std::time::Duration;

use mcp_core::limits::Limits;

use crate::error::RedisError;

const MAX_PARTITIONS: usize = 64;

/// Options for the connection to Redis, the names of keys, and the amount of data.
#[derive(Clone, Debug)]
pub struct RedisOptions {
    pub(crate) name: String,
    pub(crate) operation_timeout: Duration,
    pub(crate) max_at_once: usize,
    pub(crate) shared_rates: bool,
    pub(crate) task_partitions: usize,
    pub(crate) sealing_keys: bool,
    #[cfg(feature = "http")]
    pub(crate) ready_check: bool,
    pub(crate) limits: Limits,
}

impl RedisOptions {
    /// Creates the default options.
    #[must_use]
    pub fn new() -> Self {
        Self {
            name: "mcp".into(),
            operation_timeout: Duration::from_secs(2),
            max_at_once: 1024,
            shared_rates: true,
            task_partitions: 1,
            sealing_keys: false,
            #[cfg(feature = "http")]
            ready_check: true,
            limits: Limits::default(),
        }
    }

    /// Sets the name of the server, which its instances share. Each key begins with this name in braces, so that
    /// servers with different names can share a Redis server and all of a server's keys are in the same cluster slot,
    /// unless its tasks are in several [partitions](Self::task_partitions).
    /// The name consists of 1 to 64 letters, digits, `-`, `_`, `.` and `:`. Defaults to `mcp`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the time after which an operation fails, even if Redis has not responded. Defaults to 2 s. The next
    /// operation then uses a new connection. If that one does not work either, operations fail immediately, except that
    /// one operation every 250 ms tries again.
    #[must_use]
    pub fn operation_timeout(mut self, timeout: Duration) -> Self {
        self.operation_timeout = timeout;
        self
    }

    /// Sets the maximum number of concurrent operations on the single connection that they share. Other operations
    /// wait. Defaults to 1,024.
    #[must_use]
    pub fn max_at_once(mut self, max: usize) -> Self {
        self.max_at_once = max.max(1);
        self
    }

    /// Sets whether rates (a handler's `rate` option and `Server::rate`) apply to all
    /// instances together. Defaults to `true`: a call to which a rate applies then takes one round trip. With `false`,
    /// each instance counts its own calls.
    ///
    /// While Redis is failing, each instance counts its own calls;
    /// `Backend::rate_fallback` can have them refused instead.
    #[must_use]
    pub fn shared_rates(mut self, are_shared: bool) -> Self {
        self.shared_rates = are_shared;
        self
    }

    /// Sets the number of partitions that tasks are divided into, by their ids. Defaults to 1; at most 64. In a cluster,
    /// each partition is in a slot of its own and can thus be on another node, so that several nodes share the work of
    /// tasks. All other data remains in one slot. Each instance has a connection for each partition.
    ///
    /// Each partition holds an equal share of `max_tasks` and `max_bytes` in the [limits](Self::limits), so with few
    /// tasks, a partition can be full before these limits are reached. A caller's tasks are counted in all partitions
    /// before a task is created, so calls at the same moment can exceed `max_per_caller` and `max_bytes_per_caller`.
    /// Results and steps are counted for each caller in their partition only.
    ///
    /// All instances must have the same number, because they would not find each other's tasks otherwise. An instance
    /// does not start if there are tasks in another number of partitions. To change the number, stop all instances once
    /// there are no tasks, and delete the key `{name}:partitions`.
    #[must_use]
    pub fn task_partitions(mut self, partitions: usize) -> Self {
        self.task_partitions = partitions;
        self
    }

    /// Sets whether the instances take their sealing keys from Redis. Defaults to `false`. With `true`, the first
    /// instance makes a key, and a new one takes its place every 30 days; replaced keys can open sealed state for
    /// another 30 days. Keys set by `Server::sealing_keys` take precedence.
    ///
    /// The keys are in Redis in plain text: clients cannot read or change what is sealed, but anyone who can read
    /// Redis's data can. The keys do not seal tasks.
    #[must_use]
    pub fn sealing_keys(mut self, are_shared: bool) -> Self {
        self.sealing_keys = are_shared;
        self
    }

    /// Sets whether `/readyz` returns 503 while Redis does not accept writes. Defaults to `true`, so that a load
    /// balancer prefers instances that can reach Redis. With `false`, instances continue to serve requests that do not
    /// need Redis.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn ready_check(mut self, is_checked: bool) -> Self {
        self.ready_check = is_checked;
        self
    }

    /// Sets how much data Redis may hold. Normally, pass the server's [`Limits`]. These limits are used: from `tasks`,
    /// `max_tasks`, `max_per_caller`, `max_bytes` and `max_bytes_per_caller`; from `results`, `max_bytes` and
    /// `max_bytes_per_caller`; from `sessions`, `max_sessions` and `max_per_principal`; and from `streams`,
    /// `max_replay_events` and `max_replay_bytes`, as in memory; all limits in `once`; and from `idempotency`,
    /// `max_calls`, `max_calls_per_caller`, `max_bytes` and `max_bytes_per_caller`. The limits apply to all instances
    /// together, so all instances should have the same limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Fails if an option has an invalid value.
    pub(crate) fn check(&self) -> Result<(), RedisError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
        let is_valid = (1..=64).contains(&self.name.len()) && self.name.chars().all(is_plain);
        let wrong = format!(
            "the name `{}` must consist of 1 to 64 letters, digits, `-`, `_`, `.` and `:`",
            self.name.escape_debug()
        );
        if !is_valid {
            return Err(RedisError::text(wrong));
        }
        let partitions = self.task_partitions;
        if (1..=MAX_PARTITIONS).contains(&partitions) {
            return Ok(());
        }
        let wrong = format!("task_partitions is {partitions}; allowed: 1 to {MAX_PARTITIONS}");
        Err(RedisError::text(wrong))
    }
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self::new()
    }
}
