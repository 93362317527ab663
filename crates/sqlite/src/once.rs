//! Stores results of `once` in calls that are not tasks, and calls with an idempotency key.

use std::time::Duration;

use mcp_core::context::{CallId, ClaimId, OnceClaim, OnceKind, OnceStore, OnceWork, StoreFuture};
use mcp_core::limits::Limits;
use rusqlite::{Connection, OptionalExtension as _, Result, params};

use crate::Sqlite;
use crate::row::length;
use crate::usage::used;
use crate::writer::{milliseconds, now};

/// Time for which a claim is kept, which is longer than a call can last by default.
const CLAIM_KEPT: Duration = Duration::from_hours(24);

/// [`OnceWork`] for the writer's thread.
struct WorkRow {
    call: CallId,
    name: String,
    claim: ClaimId,
    owner: String,
    kind: OnceKind,
    note: String,
    size: usize,
    kept: Duration,
}

impl From<OnceWork<'_>> for WorkRow {
    fn from(work: OnceWork<'_>) -> Self {
        Self {
            call: work.call,
            name: work.name.to_owned(),
            claim: work.claim,
            owner: work.owner.to_owned(),
            kind: work.kind,
            note: work.note.to_owned(),
            size: work.size(),
            kept: work.kept,
        }
    }
}

/// Returns the response to a claim, without claiming anything.
fn find(db: &Connection, work: &WorkRow) -> Result<Option<OnceClaim>> {
    let sql = "SELECT result, claim = ?3, note FROM once WHERE call = ?1 AND name = ?2 AND expires_at > ?4";
    let mut select = db.prepare_cached(sql)?;
    let (call, claim) = (work.call.as_bytes(), work.claim.as_bytes());
    let found = select.query_row(params![call, work.name, claim, now()], |row| {
        Ok(match (row.get(0)?, row.get(1)?) {
            (Some(result), _) => OnceClaim::Done(result),
            // The reply to the first claim was lost.
            (None, true) => OnceClaim::Granted,
            (None, false) => OnceClaim::Taken(row.get(2)?),
        })
    });
    found.optional()
}

/// Returns the refusal of a claim for which there is no room.
fn refusal(db: &Connection, work: &WorkRow, limits: &Limits) -> Result<Option<OnceClaim>> {
    let room = work.kind.room(limits);
    let kind = work.kind.as_str();
    let size = length(work.size);
    let (entries, bytes) = used(db, &format!("{kind} of {}", work.owner))?;
    if entries >= length(room.max_entries_per_caller)
        || bytes.saturating_add(size) > length(room.max_bytes_per_caller)
    {
        return Ok(Some(OnceClaim::CallerFull));
    }
    let (entries, bytes) = used(db, kind)?;
    let is_full =
        entries >= length(room.max_entries) || bytes.saturating_add(size) > length(room.max_bytes);
    Ok(is_full.then_some(OnceClaim::Full))
}

fn insert(db: &Connection, work: &WorkRow, kept: Duration) -> Result<()> {
    let sql = "INSERT INTO once (call, name, claim, kind, owner, note, bytes, expires_at) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let mut insert = db.prepare_cached(sql)?;
    let inserted = insert.execute(params![
        work.call.as_bytes(),
        work.name,
        work.claim.as_bytes(),
        work.kind.as_str(),
        work.owner,
        work.note,
        length(work.size),
        now() + milliseconds(kept),
    ]);
    inserted.map(drop)
}

/// Removes an entry that has expired but has not been swept yet, so that the triggers count its removal.
fn remove_expired(db: &Connection, work: &WorkRow) -> Result<()> {
    let sql = "DELETE FROM once WHERE call = ?1 AND name = ?2 AND expires_at <= ?3";
    let mut delete = db.prepare_cached(sql)?;
    let deleted = delete.execute(params![work.call.as_bytes(), work.name, now()]);
    deleted.map(drop)
}

impl OnceStore for Sqlite {
    fn begin<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, OnceClaim> {
        let (work, limits) = (WorkRow::from(work), self.0.options.limits.clone());
        self.0.writer.write(move |db| {
            if let Some(known) = find(db, &work)? {
                return Ok(known);
            }
            remove_expired(db, &work)?;
            if let Some(refusal) = refusal(db, &work, &limits)? {
                return Ok(refusal);
            }
            insert(db, &work, CLAIM_KEPT)?;
            Ok(OnceClaim::Granted)
        })
    }

    fn complete<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        let (work, result) = (WorkRow::from(work), result.to_owned());
        self.0.writer.record(move |db| {
            if find(db, &work)?.is_none() {
                remove_expired(db, &work)?;
                insert(db, &work, work.kept)?;
            }
            let sql = "UPDATE once SET result = ?3, bytes = bytes + ?4, expires_at = ?5 \
                       WHERE call = ?1 AND name = ?2 AND result IS NULL";
            let mut update = db.prepare_cached(sql)?;
            let expires = now() + milliseconds(work.kept);
            let (call, more) = (work.call.as_bytes(), length(result.len()));
            let updated = update.execute(params![call, work.name, result, more, expires]);
            updated.map(drop)
        })
    }

    fn abandon<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, ()> {
        let work = WorkRow::from(work);
        self.0.writer.record(move |db| {
            let sql =
                "DELETE FROM once WHERE call = ?1 AND name = ?2 AND claim = ?3 AND result IS NULL";
            let mut forget = db.prepare_cached(sql)?;
            let (call, claim) = (work.call.as_bytes(), work.claim.as_bytes());
            forget.execute(params![call, work.name, claim]).map(drop)
        })
    }

    fn end(&self, call: CallId) -> StoreFuture<'_, ()> {
        self.0.writer.write(move |db| {
            let mut forget = db.prepare_cached("DELETE FROM once WHERE call = ?1")?;
            forget.execute(params![call.as_bytes()]).map(drop)
        })
    }

    fn forget<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        let (work, result) = (WorkRow::from(work), result.to_owned());
        self.0.writer.record(move |db| {
            let sql = "DELETE FROM once WHERE call = ?1 AND name = ?2 AND result = ?3";
            let mut forget = db.prepare_cached(sql)?;
            forget
                .execute(params![work.call.as_bytes(), work.name, result])
                .map(drop)
        })
    }
}
