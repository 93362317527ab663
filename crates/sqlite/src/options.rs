//! Options for opening a file and for the amount of data that it may hold.

use std::path::Path;
use std::time::Duration;

use mcp_core::limits::Limits;

use crate::Sqlite;
use crate::error::SqliteError;

/// Options for opening a file and for the amount of data that it may hold.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    pub(crate) limits: Limits,
    pub(crate) syncs: bool,
    pub(crate) busy_timeout: Duration,
    pub(crate) sealing_keys: bool,
}

impl SqliteOptions {
    /// Creates the default options.
    #[must_use]
    pub fn new() -> Self {
        Self {
            limits: Limits::default(),
            syncs: false,
            busy_timeout: Duration::from_secs(5),
            sealing_keys: true,
        }
    }

    /// Sets how much data the file may hold. The server's limits are not passed to the store, so if you set
    /// `Server::limits`, pass the same value here. These limits are used:
    ///
    /// - `tasks`: `max_tasks`, `max_per_caller`, `max_bytes` and `max_bytes_per_caller`.
    /// - `once`: all limits on steps that are not part of tasks.
    /// - `idempotency`: `max_calls`, `max_calls_per_caller`, `max_bytes` and `max_bytes_per_caller`.
    /// - `sessions`: `max_sessions` and `max_per_principal`.
    /// - `results`: `max_bytes` and `max_bytes_per_caller`.
    /// - `streams`: `max_replay_events` and `max_replay_bytes`.
    ///
    /// The limits apply jointly to all processes that share the file.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Waits for the disk at each commit (`synchronous = FULL`), so that acknowledged data survives a power cut. Each
    /// write then takes as long as the disk needs, and waiting writes share a commit. Defaults to `false`: acknowledged
    /// data survives the death of the process, but the most recent data may be missing after a power cut.
    #[must_use]
    pub fn survives_power_cut(mut self, survives: bool) -> Self {
        self.syncs = survives;
        self
    }

    /// Sets the maximum time to wait while another process is writing, after which the operation fails. Defaults to
    /// 5 s.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Sets whether the server takes its sealing keys from the file, so that a call that waits for its client's answer
    /// continues after a restart. Defaults to `true`: the first process that opens the file makes a key, which all later
    /// ones use. Keys set by `Server::sealing_keys` take precedence.
    ///
    /// The key is in the file in plain text: clients cannot read or change what is sealed, but anyone who can read the
    /// file can. The key does not seal tasks. To replace it, stop the server and delete the rows of the table
    /// `sealing_keys`.
    #[must_use]
    pub fn sealing_keys(mut self, are_kept: bool) -> Self {
        self.sealing_keys = are_kept;
        self
    }

    /// Opens a file, or creates it if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails like [`Sqlite::open`].
    pub fn open(self, path: impl AsRef<Path>) -> Result<Sqlite, SqliteError> {
        Sqlite::with(self, path.as_ref())
    }
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self::new()
    }
}
