//! The sealing keys in the file. The first process that opens the file makes a key, and all later ones use it.

use std::path::Path;

use mcp_core::seal::{SealingKey, SealingKeys};
use rusqlite::{Connection, params};

use crate::error::SqliteError;
use crate::writer::now;

/// Reads the keys, and makes one if there are none.
pub(crate) fn load_keys(connection: &Connection, path: &Path) -> Result<SealingKeys, SqliteError> {
    let read = || {
        // A single statement, so that two processes cannot both make a key.
        let sql = "INSERT INTO sealing_keys (key, made_at) \
                   SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM sealing_keys)";
        connection.execute(sql, params![SealingKey::random().to_base64(), now()])?;
        let sql = "SELECT key FROM sealing_keys ORDER BY made_at DESC, rowid DESC";
        let mut select = connection.prepare(sql)?;
        let keys = select.query_map([], |row| row.get::<_, String>(0))?;
        keys.collect::<rusqlite::Result<Vec<_>>>()
    };
    let keys = read().map_err(|error| SqliteError::at_open(path, &error))?;
    let keys: Option<Vec<_>> = keys.iter().map(|text| SealingKey::parse(text)).collect();
    let keys = keys.ok_or_else(|| {
        let text = "the table `sealing_keys` contains a row that is not a key; delete the row";
        SqliteError::new(path, text)
    })?;
    Ok(SealingKeys::new(&keys))
}
