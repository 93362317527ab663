//! Stores legacy sessions in the file.

use std::sync::Arc;
use std::time::Duration;

use mcp_core::limits::SessionLimits;
use mcp_stores::{MaybeReady, SessionRecord, SessionStore};
use rusqlite::{Connection, OptionalExtension as _, Result, params};

use crate::Sqlite;
use crate::row::length;
use crate::writer::{milliseconds, now};

/// Maximum number of idle sessions considered first when a session must be removed to make room. If all of these are in
/// use, all other sessions are considered.
const CANDIDATES: i64 = 64;
/// No limit on the number of rows.
const ALL: i64 = -1;
/// A session's expiry is written only if the extension exceeds this time, or the time for which the session is kept divided
/// by `SHARE`.
const SIGNIFICANT: Duration = Duration::from_secs(30);
const SHARE: u32 = 8;

/// A session to insert.
#[derive(Clone)]
struct SessionRow {
    id: String,
    owner: Option<String>,
    changes: u32,
    record: String,
    keep: i64,
}

/// The result of an attempt to insert a session.
enum SessionInsertion {
    Done,
    /// The store has no room. These are the sessions that would expire first: those that were not used after the
    /// handshake, and then those that have been idle for the longest time.
    Full(Vec<IdleSession>),
}

/// A session that may be removed to make room.
struct IdleSession {
    id: String,
    used_at: i64,
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
            let session = SessionRow {
                id: id.to_owned(),
                owner: record.owner().map(str::to_owned),
                changes: record.changes(),
                record: serde_json::to_string(&*record)?,
                keep: milliseconds(keep),
            };
            let limits = &self.0.options.limits.sessions;
            let (mut ended, mut candidates) = (None::<IdleSession>, CANDIDATES);
            loop {
                let (session, limits, ending) = (session.clone(), limits.clone(), ended.take());
                let inserted = self.0.writer.write(move |db| {
                    if let Some(ending) = &ending {
                        remove_idle(db, ending)?;
                    }
                    insert(db, &session, &limits, candidates)
                });
                match inserted.await? {
                    SessionInsertion::Done => return Ok(true),
                    SessionInsertion::Full(idle) => {
                        match idle.into_iter().find(|idle| !in_use(&idle.id)) {
                            None if candidates == ALL => return Ok(false),
                            None => candidates = ALL,
                            idle => ended = idle,
                        }
                    }
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
            let Ok(record) = serde_json::from_str::<SessionRecord>(&json) else {
                // The session was written by a different version of the program, so the client must start over.
                return Ok(None);
            };
            let longer = now() + milliseconds(keep);
            let significant = milliseconds(SIGNIFICANT.min(keep / SHARE));
            let is_significant = longer - expires_at > significant;
            if !keep.is_zero() && is_significant {
                let key = id.to_owned();
                self.0
                    .writer
                    .write(move |db| keep_until(db, &key, longer))
                    .await?;
            }
            Ok(Some(Arc::new(record)))
        })
    }

    fn save<'a>(&'a self, id: &'a str, record: Arc<SessionRecord>) -> MaybeReady<'a, bool> {
        MaybeReady::later(async move {
            let json = serde_json::to_string(&*record)?;
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

/// Inserts a session if there is room for it. Otherwise, returns a limited number of sessions that may be removed to
/// make room.
fn insert(
    db: &Connection,
    session: &SessionRow,
    limits: &SessionLimits,
    candidates: i64,
) -> Result<SessionInsertion> {
    let now = now();
    if let Some(owner) = &session.owner {
        let sql = "SELECT count(*) FROM sessions WHERE owner = ?1 AND expires_at > ?2";
        let mut count = db.prepare_cached(sql)?;
        let owned: i64 = count.query_row(params![owner, now], |row| row.get(0))?;
        if owned >= length(limits.max_per_principal.max(1)) {
            let sql = "SELECT id, used_at FROM sessions WHERE owner = ?1 AND expires_at > ?2 \
                       ORDER BY expires_at, used_at LIMIT ?3";
            return idle(db, sql, params![owner, now, candidates]);
        }
    }
    let mut count = db.prepare_cached("SELECT count(*) FROM sessions")?;
    let sessions: i64 = count.query_row([], |row| row.get(0))?;
    if sessions >= length(limits.max_sessions.max(1)) {
        let sql = "SELECT id, used_at FROM sessions ORDER BY expires_at, used_at LIMIT ?1";
        return idle(db, sql, params![candidates]);
    }
    // Only an expired session can already have this id.
    remove(db, &session.id)?;
    let sql = "INSERT INTO sessions (id, owner, changes, record, used_at, expires_at) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut insert = db.prepare_cached(sql)?;
    let SessionRow {
        id,
        owner,
        changes,
        record,
        keep,
    } = session;
    insert.execute(params![id, owner, changes, record, now, now + keep])?;
    Ok(SessionInsertion::Done)
}

fn idle(db: &Connection, sql: &str, values: &[&dyn rusqlite::ToSql]) -> Result<SessionInsertion> {
    let mut select = db.prepare_cached(sql)?;
    let idle = select.query_map(values, |row| {
        Ok(IdleSession {
            id: row.get(0)?,
            used_at: row.get(1)?,
        })
    })?;
    Ok(SessionInsertion::Full(idle.collect::<Result<_>>()?))
}

/// Removes a session unless it has been used since it was found idle.
fn remove_idle(db: &Connection, idle: &IdleSession) -> Result<()> {
    let sql = "DELETE FROM sessions WHERE id = ?1 AND used_at = ?2";
    let mut delete = db.prepare_cached(sql)?;
    delete.execute(params![idle.id, idle.used_at]).map(drop)
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
