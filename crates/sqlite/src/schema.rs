//! Opens a file, checks that it belongs to this crate, and creates its tables.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::SqliteError;
use crate::options::SqliteOptions;

/// The version of the tables that this build reads and writes.
pub(crate) const VERSION: i64 = 6;
/// The tables that each version adds.
const TABLES: [&str; 6] = [
    include_str!("schema.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
    include_str!("schema_instances.sql"),
    include_str!("schema_once.sql"),
];
/// Indexes on tables of earlier versions. Builds without them can still read and write these tables.
const INDEXES: &str =
    "CREATE INDEX IF NOT EXISTS tasks_by_turn ON tasks (owner, due, tool) WHERE due IS NOT NULL";
/// A number that marks a file as belonging to this crate: `mcpt` in ASCII.
const APPLICATION: i64 = 0x6d63_7074;
/// Time between two attempts to switch to the write-ahead log. SQLite does not retry this on its own.
const RETRY: Duration = Duration::from_millis(20);

/// Opens a file, or creates it if it does not exist.
pub(crate) fn open(path: &Path, options: &SqliteOptions) -> Result<Connection, SqliteError> {
    create_for_owner(path);
    let failed = |error: rusqlite::Error| SqliteError::at_open(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection
        .busy_timeout(options.busy_timeout)
        .map_err(failed)?;
    // This check comes before any change, because the file may belong to another program.
    check_owner(&connection, path)?;
    if use_log(&connection, options.busy_timeout).map_err(failed)? != "wal" {
        let text = "the write-ahead log cannot be used here; choose a file on a local disk";
        return Err(SqliteError::new(path, text));
    }
    let synchronous = if options.syncs {
        // On macOS, `FULL` alone leaves data in the disk's cache.
        "FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON"
    } else {
        "NORMAL"
    };
    let settings = format!("PRAGMA synchronous = {synchronous}; BEGIN IMMEDIATE");
    connection.execute_batch(&settings).map_err(failed)?;
    // If two processes open the file, the second process has waited here for the first.
    let version = check_owner(&connection, path)?;
    for (number, tables) in (1..).zip(TABLES) {
        if version < number {
            connection.execute_batch(tables).map_err(failed)?;
        }
    }
    let mark = format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}");
    if version < VERSION {
        connection.execute_batch(&mark).map_err(failed)?;
    }
    connection.execute_batch(INDEXES).map_err(failed)?;
    connection.execute_batch("COMMIT").map_err(failed)?;
    check_pages(&connection, path)?;
    check_tables(&connection, path)?;
    Ok(connection)
}

/// Creates the file so that only its owner can read it. If this fails, the reason is reported when the file is opened.
fn create_for_owner(path: &Path) {
    let mut file = std::fs::OpenOptions::new();
    file.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    drop(file.open(path));
}

/// Returns the version of the tables, or 0 if the file is empty.
fn check_owner(connection: &Connection, path: &Path) -> Result<i64, SqliteError> {
    let number = |sql: &str| {
        let found = connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        found.map_err(|error| SqliteError::at_open(path, &error))
    };
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    let (application, version) = (
        number("PRAGMA application_id")?,
        number("PRAGMA user_version")?,
    );
    if tables == 0 && application == 0 && version == 0 {
        return Ok(0);
    }
    if application != APPLICATION {
        let text = "the database belongs to another program; choose a different file";
        return Err(SqliteError::new(path, text));
    }
    if !(1..=VERSION).contains(&version) {
        let text = format!(
            "the tables have version {version}, but this build supports only versions up to {VERSION}; {}",
            if version > VERSION {
                "they were written by a newer version of `mcp-runtime-sqlite`"
            } else {
                "move the file away"
            }
        );
        return Err(SqliteError::new(path, &text));
    }
    Ok(version)
}

/// Switches to the write-ahead log. Returns the name of the journal mode in use.
fn use_log(connection: &Connection, patience: Duration) -> Result<String, rusqlite::Error> {
    let started = Instant::now();
    loop {
        let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| {
            row.get::<_, String>(0)
        });
        match mode {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && started.elapsed() < patience =>
            {
                sleep(RETRY);
            }
            mode => return mode,
        }
    }
}

/// Fails if the file lacks a table, an index, a trigger or a column that a new file has.
fn check_tables(connection: &Connection, path: &Path) -> Result<(), SqliteError> {
    let failed = |error: rusqlite::Error| SqliteError::at_open(path, &error);
    let new = Connection::open_in_memory().map_err(failed)?;
    new.execute_batch(&TABLES.concat()).map_err(failed)?;
    let found = names(connection).map_err(failed)?;
    let expected = names(&new).map_err(failed)?;
    match expected.difference(&found).next() {
        None => Ok(()),
        Some(missing) => {
            let text = format!(
                "the database is incomplete, because {missing} is missing; restore it or move it away"
            );
            Err(SqliteError::new(path, &text))
        }
    }
}

/// Returns the kind and name of everything in the schema.
fn names(connection: &Connection) -> Result<BTreeSet<String>, rusqlite::Error> {
    let mut select = connection.prepare(
        "SELECT 'the ' || type || ' `' || name || '`' FROM sqlite_schema UNION ALL \
         SELECT 'the column `' || c.name || '` of the table `' || t.name || '`' \
         FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'",
    )?;
    let names = select.query_map([], |row| row.get(0))?;
    names.collect()
}

fn check_pages(connection: &Connection, path: &Path) -> Result<(), SqliteError> {
    let checked = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    let checked = checked.map_err(|error| SqliteError::at_open(path, &error))?;
    if checked == "ok" {
        return Ok(());
    }
    let text = format!("the database is damaged; restore it or move it away ({checked})");
    Err(SqliteError::new(path, &text))
}
