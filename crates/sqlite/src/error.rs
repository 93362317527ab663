//! Errors from the store, worded for the operator.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rusqlite::ErrorCode;

/// An error from the store. The message says what to do and names the file if it could not be opened.
#[derive(Clone)]
pub struct SqliteError {
    text: Arc<str>,
    /// `true` if the operation may yet be carried out.
    pub(crate) is_outcome_unknown: bool,
}

impl SqliteError {
    pub(crate) fn new(path: &Path, problem: &str) -> Self {
        Self::text(&format!("`{}`: {problem}", path.display()))
    }

    /// Returns the error for a file that cannot be opened.
    pub(crate) fn at_open(path: &Path, error: &rusqlite::Error) -> Self {
        Self::new(path, &words(error))
    }

    /// Returns the error for an operation.
    pub(crate) fn in_operation(error: &rusqlite::Error) -> Self {
        Self::text(&words(error))
    }

    pub(crate) fn text(text: &str) -> Self {
        Self {
            text: text.into(),
            is_outcome_unknown: false,
        }
    }

    /// Returns the error for an operation that was not carried out in time.
    pub(crate) fn not_responding() -> Self {
        Self {
            is_outcome_unknown: true,
            ..Self::text("the database is not responding")
        }
    }
}

fn words(error: &rusqlite::Error) -> String {
    let advice = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => "the file is not an SQLite database",
        Some(ErrorCode::DatabaseCorrupt) => "the database is damaged; restore it or move it away",
        Some(ErrorCode::ReadOnly) => "the file or its folder is not writable",
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            "the file cannot be opened; its folder must exist and be writable"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "the database is locked by another program"
        }
        Some(ErrorCode::DiskFull) => "the disk is full",
        _ => return format!("the database failed: {error}"),
    };
    format!("{advice} ({error})")
}

impl fmt::Display for SqliteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Like `Display`, because this is how a `main` function reports the error that it returns.
impl fmt::Debug for SqliteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for SqliteError {}

/// For a `main` function that opens a store and runs a server.
impl From<SqliteError> for mcp_core::error::Error {
    fn from(error: SqliteError) -> Self {
        std::io::Error::other(error).into()
    }
}
