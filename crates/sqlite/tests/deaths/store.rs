//! The store under test: a file in the folder of the run.

use std::path::Path;

use mcp_runtime_sqlite::Sqlite;

use crate::run::Failure;

pub(crate) type Store = Sqlite;

/// The command that tries all pairs of deaths.
pub(crate) const ALL_PAIRS: &str = "cargo test -p mcp-runtime-sqlite --test deaths -- --all";

#[allow(clippy::unused_async, reason = "other stores connect")]
pub(crate) async fn open(folder: &Path) -> Result<Store, Failure> {
    Ok(Sqlite::open(folder.join("state.db"))?)
}

/// Returns the variables in the environment of the servers, which find the file in the folder.
pub(crate) fn variables() -> Option<(&'static str, String)> {
    None
}
