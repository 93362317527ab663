//! Stores results of `once` in calls that are not tasks.

use mcp_runtime::once::{CallId, OnceClaim, OnceStore, StoreFuture};
use rusqlite::{OptionalExtension as _, params};

use crate::error::SqliteError;
use crate::writer::now;
use crate::{Sqlite, usage};

impl OnceStore for Sqlite {
    fn begin<'a>(&'a self, call: CallId, name: &'a str) -> StoreFuture<'a, OnceClaim> {
        let (name, limits) = (name.to_owned(), self.0.options.limits.tasks.clone());
        let begun = self.0.writer.write(move |db| {
            let sql = "SELECT result FROM once WHERE call = ?1 AND name = ?2";
            let mut select = db.prepare_cached(sql)?;
            let known = select.query_row(params![call.as_bytes(), name], |row| {
                row.get::<_, Option<String>>(0)
            });
            match known.optional()? {
                Some(Some(result)) => Ok(Some(OnceClaim::Done(result))),
                Some(None) => Ok(Some(OnceClaim::Taken)),
                None if !usage::has_room_for_once(db, &limits)? => Ok(None),
                None => {
                    let sql = "INSERT INTO once (call, name, begun_at) VALUES (?1, ?2, ?3)";
                    let mut insert = db.prepare_cached(sql)?;
                    insert.execute(params![call.as_bytes(), name, now()])?;
                    Ok(Some(OnceClaim::Granted))
                }
            }
        });
        let full = "the store has no room for more `once` results";
        Box::pin(async move { Ok(begun.await?.ok_or_else(|| SqliteError::text(full))?) })
    }

    fn complete<'a>(&'a self, call: CallId, name: &'a str, result: &'a str) -> StoreFuture<'a, ()> {
        let (name, result) = (name.to_owned(), result.to_owned());
        self.0.writer.record(move |db| {
            // The row is inserted first, because the triggers count a result when it is set.
            let sql = "INSERT OR IGNORE INTO once (call, name, begun_at) VALUES (?1, ?2, ?3)";
            let mut insert = db.prepare_cached(sql)?;
            insert.execute(params![call.as_bytes(), name, now()])?;
            let sql =
                "UPDATE once SET result = ?3 WHERE call = ?1 AND name = ?2 AND result IS NULL";
            let mut update = db.prepare_cached(sql)?;
            update
                .execute(params![call.as_bytes(), name, result])
                .map(drop)
        })
    }

    fn abandon<'a>(&'a self, call: CallId, name: &'a str) -> StoreFuture<'a, ()> {
        let name = name.to_owned();
        self.0.writer.write(move |db| {
            let sql = "DELETE FROM once WHERE call = ?1 AND name = ?2 AND result IS NULL";
            let mut forget = db.prepare_cached(sql)?;
            forget.execute(params![call.as_bytes(), name]).map(drop)
        })
    }

    fn forget<'a>(&'a self, call: CallId, name: &'a str, result: &'a str) -> StoreFuture<'a, ()> {
        let (name, result) = (name.to_owned(), result.to_owned());
        self.0.writer.record(move |db| {
            let sql = "DELETE FROM once WHERE call = ?1 AND name = ?2 AND result = ?3";
            let mut forget = db.prepare_cached(sql)?;
            forget
                .execute(params![call.as_bytes(), name, result])
                .map(drop)
        })
    }
}
