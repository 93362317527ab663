//! Stores large results in the file.

use std::time::Duration;

use mcp_core::context::StoreFuture;
use mcp_stores::{KeptResult, ResultId, ResultStore};
use rusqlite::{OptionalExtension as _, params};

use crate::Sqlite;
use crate::row::length;
use crate::writer::{milliseconds, now};

impl ResultStore for Sqlite {
    fn keep(&self, result: KeptResult, ttl: Duration) -> StoreFuture<'_, bool> {
        let limits = self.0.options.limits.results.clone();
        self.0.writer.write(move |db| {
            let (now, bytes) = (now(), length(result.size()));
            let sql = "SELECT coalesce(sum(bytes), 0), coalesce(sum(bytes) FILTER (WHERE owner = ?1), 0) \
                       FROM results WHERE expires_at > ?2";
            let mut select = db.prepare_cached(sql)?;
            let (all, of_owner) = select.query_row(params![&*result.owner, now], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
            })?;
            if of_owner + bytes > length(limits.max_bytes_per_caller)
                || all + bytes > length(limits.max_bytes)
            {
                return Ok(false);
            }
            let sql = "INSERT INTO results (id, owner, about, text, bytes, expires_at) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let mut insert = db.prepare_cached(sql)?;
            insert.execute(params![
                result.id.as_str(),
                &*result.owner,
                &*result.about,
                &*result.text,
                bytes,
                now + milliseconds(ttl),
            ])?;
            Ok(true)
        })
    }

    fn load<'a>(&'a self, id: &'a ResultId) -> StoreFuture<'a, Option<KeptResult>> {
        let id = id.clone();
        self.0.writer.read(move |db| {
            let sql = "SELECT owner, about, text FROM results WHERE id = ?1 AND expires_at > ?2";
            let mut select = db.prepare_cached(sql)?;
            let found = select.query_row(params![id.as_str(), now()], |row| {
                let (owner, about, text) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok::<(String, String, String), _>((owner, about, text))
            });
            let found = found.optional()?;
            Ok(
                found
                    .map(|(owner, about, text)| KeptResult::stored(id.clone(), owner, about, text)),
            )
        })
    }

    fn delete_all<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, usize> {
        let owner = owner.to_owned();
        self.0.writer.write(move |db| {
            let now = now();
            let sql = "SELECT count(*) FROM results WHERE owner = ?1 AND expires_at > ?2";
            let mut count = db.prepare_cached(sql)?;
            let deleted: i64 = count.query_row(params![owner, now], |row| row.get(0))?;
            let mut delete = db.prepare_cached("DELETE FROM results WHERE owner = ?1")?;
            delete.execute(params![owner])?;
            Ok(usize::try_from(deleted).unwrap_or_default())
        })
    }
}
