#![doc = include_str!("../README.md")]

mod error;
#[cfg(feature = "http")]
mod events;
#[cfg(feature = "http")]
mod instances;
mod once;
mod operators;
mod options;
mod results;
mod row;
mod schema;
mod sealing;
#[cfg(feature = "http")]
mod sessions;
mod statements;
mod tasks;
#[cfg(test)]
mod tests;
mod usage;
mod writer;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use mcp_core::seal::SealingKeys;
use mcp_stores::Backend;
use tokio::sync::Notify;

pub use crate::error::SqliteError;
pub use crate::options::SqliteOptions;
use crate::writer::Writer;

/// Number of groups into which tasks are divided. A change to a task wakes the callers waiting for any task in its
/// group.
const GROUPS: usize = 256;

/// Stores all data that outlives a request in an SQLite file: tasks, the results of `once`, large results, legacy
/// sessions (with the `http` feature) and the events on their streams. Also passes clients' messages to the process that
/// runs the call. The file also contains the key that seals the state of calls between their rounds (with the `sealing`
/// feature). Cheap to clone.
///
/// ```no_run
/// use mcp_runtime::prelude::*;
/// use mcp_runtime_sqlite::Sqlite;
///
/// # fn f() -> Result<(), Box<dyn std::error::Error>> {
/// let server = new_server!().backend(Sqlite::open("state.db")?);
/// # Ok(()) }
/// ```
///
/// Several processes on the same machine can share the file, and each process continues the tasks of other processes
/// that have died. The file must be on a local disk, because SQLite's write-ahead log does not work over a network.
///
/// The data survives the death of the process. After a power cut, the most recent data may be missing unless
/// [`SqliteOptions::survives_power_cut`] is set; in either case, the file remains intact.
///
/// While the file is open, it is accompanied by two additional files, whose names end with `-wal` and `-shm`. On Unix,
/// only the owner can read and write the file, because it contains arguments, results, callers' claims, and session
/// ids.
#[derive(Clone)]
pub struct Sqlite(Arc<Shared>);

struct Shared {
    writer: Writer,
    options: SqliteOptions,
    changes: [Notify; GROUPS],
    /// Notified when this process has sent a message to an instance, perhaps to itself.
    #[cfg(feature = "http")]
    sent: Notify,
    /// The key of the caller whose due task this process claimed last.
    last_turn: Mutex<Arc<str>>,
    sealing_keys: Option<SealingKeys>,
}

impl Sqlite {
    /// Opens a file with the default [options](SqliteOptions), or creates it if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be opened, read or written, is not an SQLite database, is damaged, belongs to another
    /// program, or was written by a newer version of this crate.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SqliteError> {
        SqliteOptions::new().open(path)
    }

    fn with(options: SqliteOptions, path: &Path) -> Result<Self, SqliteError> {
        let connection = schema::open(path, &options)?;
        let sealing_keys = options
            .sealing_keys
            .then(|| sealing::load_keys(&connection, path))
            .transpose()?;
        let writer = Writer::start(connection).map_err(|error| {
            SqliteError::new(
                path,
                &format!("the writer thread cannot be started: {error}"),
            )
        })?;
        Ok(Self(Arc::new(Shared {
            writer,
            options,
            changes: std::array::from_fn(|_| Notify::new()),
            #[cfg(feature = "http")]
            sent: Notify::new(),
            last_turn: Mutex::new("".into()),
            sealing_keys,
        })))
    }
}

impl From<Sqlite> for Backend {
    fn from(store: Sqlite) -> Self {
        let store = Arc::new(store);
        let backend = Self::new()
            .tasks(Arc::<Sqlite>::clone(&store))
            .once(Arc::<Sqlite>::clone(&store))
            .results(Arc::<Sqlite>::clone(&store));
        let backend = match &store.0.sealing_keys {
            Some(keys) => backend.sealing_keys(keys.clone()),
            None => backend,
        };
        #[cfg(feature = "http")]
        let backend = backend
            .sessions(Arc::<Sqlite>::clone(&store))
            .events(Arc::<Sqlite>::clone(&store))
            .instances(store);
        backend
    }
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sqlite")
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}
