//! Stores the events on sessions' streams in the file.

use std::time::Duration;

use mcp_core::limits::StreamLimits;
use mcp_stores::{EventStore, MaybeReady, StreamEntry};
use rusqlite::{Connection, OptionalExtension as _, Result, params};

use crate::Sqlite;
use crate::error::SqliteError;
use crate::row::{length, whole};
use crate::writer::{milliseconds, now};

/// A stream as a row. Its entries have positions from `first` up to, but not including, `next`.
struct Stream {
    number: i64,
    first: i64,
    next: i64,
    bytes: i64,
}

impl EventStore for Sqlite {
    fn append<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        position: u64,
        entry: StreamEntry,
        keep: Duration,
    ) -> MaybeReady<'a, ()> {
        let limits = self.0.options.limits.streams.clone();
        let (session, key) = (session.to_owned(), (whole(stream), whole(position)));
        let appended = self
            .0
            .writer
            .write(move |db| append(db, &session, key, (&entry, keep), &limits));
        MaybeReady::later(async move {
            let follows = appended.await?;
            let gap = || SqliteError::text("the entry does not follow the previous one");
            Ok(follows.then_some(()).ok_or_else(gap)?)
        })
    }

    fn read<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        after: u64,
    ) -> MaybeReady<'a, Option<Vec<StreamEntry>>> {
        let (session, stream, after) = (session.to_owned(), whole(stream), whole(after));
        let read = self
            .0
            .writer
            .read(move |db| read(db, &session, stream, after));
        MaybeReady::Later(read)
    }

    fn forget<'a>(&'a self, session: &'a str) -> MaybeReady<'a, ()> {
        let session = session.to_owned();
        MaybeReady::Later(self.0.writer.write(move |db| {
            let mut forget = db.prepare_cached("DELETE FROM streams WHERE session = ?1")?;
            forget.execute([&session]).map(drop)
        }))
    }
}

/// Appends an entry. Returns `false` if it does not follow the previous entry.
fn append(
    db: &Connection,
    session: &str,
    (stream, position): (i64, i64),
    (entry, keep): (&StreamEntry, Duration),
    limits: &StreamLimits,
) -> Result<bool> {
    let mut kept = match find(db, session, stream, None)? {
        Some(kept) => kept,
        None => create(db, session, stream, position)?,
    };
    if kept.next == position.saturating_add(1) {
        // The instance was not notified that its first attempt had succeeded.
        return Ok(true);
    }
    if kept.next != position {
        return Ok(false);
    }
    let (kind, message) = match entry {
        StreamEntry::Opened => (0, None),
        StreamEntry::Message(message) => (1, Some(&**message)),
        StreamEntry::Ended => (2, None),
    };
    let sql = "INSERT INTO events (stream, position, kind, message) VALUES (?1, ?2, ?3, ?4)";
    let mut insert = db.prepare_cached(sql)?;
    insert.execute(params![kept.number, position, kind, message])?;
    kept.next += 1;
    kept.bytes += message.map_or(0, |message| length(message.len()));
    let (max_entries, max_bytes) = (
        length(limits.max_replay_events).max(2),
        length(limits.max_replay_bytes),
    );
    // The last entry is kept regardless of its size.
    while kept.next - kept.first > 1
        && (kept.next - kept.first > max_entries || kept.bytes > max_bytes)
    {
        let sql = "DELETE FROM events WHERE stream = ?1 AND position = ?2 \
                   RETURNING coalesce(length(message), 0)";
        let mut delete = db.prepare_cached(sql)?;
        let freed = delete.query_row(params![kept.number, kept.first], |row| row.get::<_, i64>(0));
        kept.bytes -= freed.optional()?.unwrap_or_default();
        kept.first += 1;
    }
    let sql = "UPDATE streams SET first = ?2, next = ?3, bytes = ?4, has_ended = ?5, expires_at = ?6 \
               WHERE number = ?1";
    let mut update = db.prepare_cached(sql)?;
    let expires_at = now() + milliseconds(keep);
    let has_ended = *entry == StreamEntry::Ended;
    let Stream {
        number,
        first,
        next,
        bytes,
    } = kept;
    update.execute(params![number, first, next, bytes, has_ended, expires_at])?;
    make_room(db, session, (max_entries, max_bytes))?;
    Ok(true)
}

fn create(db: &Connection, session: &str, stream: i64, position: i64) -> Result<Stream> {
    let sql = "INSERT INTO streams (session, stream, first, next, bytes, has_ended, expires_at) \
               VALUES (?1, ?2, ?3, ?3, 0, 0, 0) RETURNING number";
    let mut insert = db.prepare_cached(sql)?;
    let number = insert.query_row(params![session, stream, position], |row| row.get(0))?;
    Ok(Stream {
        number,
        first: position,
        next: position,
        bytes: 0,
    })
}

/// Drops a session's ended streams, oldest first, until the session no longer exceeds the maximum number of streams or
/// bytes.
fn make_room(db: &Connection, session: &str, (max_streams, max_bytes): (i64, i64)) -> Result<()> {
    loop {
        let sql = "SELECT count(*), coalesce(sum(bytes), 0) FROM streams WHERE session = ?1";
        let mut select = db.prepare_cached(sql)?;
        let (streams, bytes): (i64, i64) =
            select.query_row([session], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if streams <= max_streams && bytes <= max_bytes {
            return Ok(());
        }
        let sql = "DELETE FROM streams WHERE number = (SELECT number FROM streams \
                   WHERE session = ?1 AND has_ended ORDER BY expires_at LIMIT 1)";
        if db.prepare_cached(sql)?.execute([session])? == 0 {
            return Ok(());
        }
    }
}

fn read(
    db: &Connection,
    session: &str,
    stream: i64,
    after: i64,
) -> Result<Option<Vec<StreamEntry>>> {
    let Some(kept) = find(db, session, stream, Some(now()))? else {
        return Ok(None);
    };
    let next = after.saturating_add(1);
    if next < kept.first || next > kept.next {
        return Ok(None);
    }
    let sql =
        "SELECT kind, message FROM events WHERE stream = ?1 AND position >= ?2 ORDER BY position";
    let mut select = db.prepare_cached(sql)?;
    let entries = select.query_map(params![kept.number, next], |row| {
        Ok(match row.get::<_, i64>(0)? {
            0 => StreamEntry::Opened,
            1 => StreamEntry::Message(row.get::<_, Vec<u8>>(1)?.into()),
            _ => StreamEntry::Ended,
        })
    })?;
    entries.collect::<Result<_>>().map(Some)
}

/// Returns a stream unless it has expired at the given time.
fn find(db: &Connection, session: &str, stream: i64, at: Option<i64>) -> Result<Option<Stream>> {
    let sql = "SELECT number, first, next, bytes FROM streams \
               WHERE session = ?1 AND stream = ?2 AND (?3 IS NULL OR expires_at > ?3)";
    let mut select = db.prepare_cached(sql)?;
    let found = select.query_row(params![session, stream, at], |row| {
        Ok(Stream {
            number: row.get(0)?,
            first: row.get(1)?,
            next: row.get(2)?,
            bytes: row.get(3)?,
        })
    });
    found.optional()
}
