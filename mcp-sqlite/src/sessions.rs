//! Legacy sessions in the file.

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::http::{MaybeReady, SessionRecord, SessionStore};
use mcp_runtime::limits::SessionLimits;
use rusqlite::{Connection, OptionalExtension as _, Result, params};

use crate::Sqlite;
use crate::error::SqliteError;
use crate::row::length;
use crate::statements::used;
use crate::writer::{milliseconds, now};

/// Maximum number of idle sessions that are considered when one has to make room.
const CANDIDATES: i64 = 64;
/// A session's expiry is written when it would grow by more than this part of the time for which the session is kept.
const SIGNIFICANT: u32 = 8;

/// A new session as a row.
#[derive(Clone)]
struct NewSession {
    id: String,
    owner: Option<String>,
    changes: u32,
    record: String,
    keep: i64,
}

/// The result of an attempt to insert a session.
enum Insertion {
    Done,
    /// There is no room. These sessions have been idle for the longest time.
    Full(Vec<String>),
}

impl SessionStore for Sqlite {
    fn insert<'a>(
        &'a self,
        id: &'a str,
        record: Arc<SessionRecord>,
        keep: Duration,
        in_use: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> MaybeReady<'a, bool> {
        MaybeReady::later(async move {
            let session = NewSession {
                id: id.to_owned(),
                owner: record.owner().map(str::to_owned),
                changes: record.changes(),
                record: mcp_runtime::serde_json::to_string(&*record)?,
                keep: milliseconds(keep),
            };
            let limits = &self.0.options.limits.sessions;
            let mut ended = None::<String>;
            loop {
                let (session, limits, ending) = (session.clone(), limits.clone(), ended.take());
                let inserted = self.0.writer.write(move |db| {
                    if let Some(ending) = &ending {
                        remove(db, ending)?;
                    }
                    insert(db, &session, &limits)
                });
                match inserted.await? {
                    Insertion::Done => return Ok(true),
                    Insertion::Full(idle) => match idle.into_iter().find(|id| !in_use(id)) {
                        None => return Ok(false),
                        idle => ended = idle,
                    },
                }
            }
        })
    }

    fn load<'a>(
        &'a self,
        id: &'a str,
        keep: Duration,
    ) -> MaybeReady<'a, Option<Arc<SessionRecord>>> {
        MaybeReady::later(async move {
            let key = id.to_owned();
            let found = self.0.writer.read(move |db| find(db, &key));
            let Some((json, expires_at)) = found.await? else {
                return Ok(None);
            };
            let longer = now() + milliseconds(keep);
            let is_significant = longer - expires_at > milliseconds(keep / SIGNIFICANT);
            if !keep.is_zero() && is_significant {
                let key = id.to_owned();
                self.0
                    .writer
                    .write(move |db| keep_until(db, &key, longer))
                    .await?;
            }
            let record = mcp_runtime::serde_json::from_str::<SessionRecord>(&json);
            let unreadable =
                |_| SqliteError::text("a session was stored in a form that cannot be read");
            Ok(Some(Arc::new(record.map_err(unreadable)?)))
        })
    }

    fn save<'a>(&'a self, id: &'a str, record: Arc<SessionRecord>) -> MaybeReady<'a, bool> {
        MaybeReady::later(async move {
            let json = mcp_runtime::serde_json::to_string(&*record)?;
            let (id, changes) = (id.to_owned(), record.changes());
            let saved = self.0.writer.write(move |db| {
                let sql = "UPDATE sessions SET record = ?3, changes = ?2 \
                           WHERE id = ?1 AND changes = ?2 - 1 AND expires_at > ?4";
                let mut update = db.prepare_cached(sql)?;
                Ok(update.execute(params![id, changes, json, now()])? > 0)
            });
            saved.await
        })
    }

    fn remove<'a>(&'a self, id: &'a str) -> MaybeReady<'a, bool> {
        let id = id.to_owned();
        MaybeReady::Later(self.0.writer.write(move |db| remove(db, &id)))
    }
}

/// Inserts a session if there is room for it.
fn insert(db: &Connection, session: &NewSession, limits: &SessionLimits) -> Result<Insertion> {
    let now = now();
    if let Some(owner) = &session.owner {
        let sql = "SELECT count(*) FROM sessions WHERE owner = ?1 AND expires_at > ?2";
        let mut count = db.prepare_cached(sql)?;
        let owned: i64 = count.query_row(params![owner, now], |row| row.get(0))?;
        if owned >= length(limits.max_per_principal) {
            let sql = "SELECT id FROM sessions WHERE owner = ?1 AND expires_at > ?2 \
                       ORDER BY used_at LIMIT ?3";
            return idle(db, sql, params![owner, now, CANDIDATES]);
        }
    }
    let (sessions, _) = used(db, "sessions")?;
    if sessions >= length(limits.max_sessions) {
        let sql = "SELECT id FROM sessions ORDER BY used_at LIMIT ?1";
        return idle(db, sql, params![CANDIDATES]);
    }
    // Only a session that has expired can have the id.
    remove(db, &session.id)?;
    let sql = "INSERT INTO sessions (id, owner, changes, record, used_at, expires_at) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut insert = db.prepare_cached(sql)?;
    let NewSession {
        id,
        owner,
        changes,
        record,
        keep,
    } = session;
    insert.execute(params![id, owner, changes, record, now, now + keep])?;
    Ok(Insertion::Done)
}

fn idle(db: &Connection, sql: &str, values: &[&dyn rusqlite::ToSql]) -> Result<Insertion> {
    let mut select = db.prepare_cached(sql)?;
    let ids = select.query_map(values, |row| row.get(0))?;
    Ok(Insertion::Full(ids.collect::<Result<_>>()?))
}

/// Returns a session's record and the time until which it is kept.
fn find(db: &Connection, id: &str) -> Result<Option<(String, i64)>> {
    let sql = "SELECT record, expires_at FROM sessions WHERE id = ?1 AND expires_at > ?2";
    let mut select = db.prepare_cached(sql)?;
    let found = select.query_row(params![id, now()], |row| Ok((row.get(0)?, row.get(1)?)));
    found.optional()
}

fn keep_until(db: &Connection, id: &str, until: i64) -> Result<()> {
    let sql = "UPDATE sessions SET used_at = ?2, expires_at = max(expires_at, ?3) \
               WHERE id = ?1 AND expires_at > ?2";
    let mut update = db.prepare_cached(sql)?;
    update.execute(params![id, now(), until]).map(drop)
}

fn remove(db: &Connection, id: &str) -> Result<bool> {
    let sql = "DELETE FROM sessions WHERE id = ?1 RETURNING expires_at > ?2";
    let mut delete = db.prepare_cached(sql)?;
    let removed = delete.query_row(params![id, now()], |row| row.get(0));
    Ok(removed.optional()?.unwrap_or(false))
}
