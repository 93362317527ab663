//! The processes that share the file, and their inboxes. A process counts as alive until its lease ends, so that others
//! learn when it has died.

use std::pin::pin;
use std::time::Duration;

use mcp_core::context::StoreFuture;
use mcp_stores::{InstanceRelay, RelayedTexts};
use rusqlite::{Connection, OptionalExtension as _, Result, params};
use tokio::time::{Instant, timeout_at};

use crate::Sqlite;
use crate::error::SqliteError;
use crate::row::length;
use crate::writer::{milliseconds, now};

/// Time after which an inbox is read again because another process may have sent a message.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// Maximum number of messages, and of their bytes, that can wait in one inbox.
const MAX_MESSAGES: usize = 1_000;
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// A position in an inbox: the inbox, and the number of the last message that has been received.
#[derive(Clone, Copy)]
struct Position {
    inbox: i64,
    number: i64,
}

impl Position {
    fn parse(text: &str) -> Option<Self> {
        let (inbox, number) = text.split_once(' ')?;
        Some(Self {
            inbox: inbox.parse().ok()?,
            number: number.parse().ok()?,
        })
    }
}

impl InstanceRelay for Sqlite {
    fn send<'a>(&'a self, to: &'a str, text: &'a str) -> StoreFuture<'a, usize> {
        let (to, text) = (to.to_owned(), text.to_owned());
        let sent = self.0.writer.write(move |db| send(db, &to, &text));
        Box::pin(async move {
            let full = || SqliteError::text("an instance has too many messages");
            let reached = sent.await?.ok_or_else(full)?;
            self.0.sent.notify_waiters();
            Ok(reached)
        })
    }

    fn receive<'a>(
        &'a self,
        instance: &'a str,
        lease: Duration,
        after: Option<&'a str>,
    ) -> StoreFuture<'a, RelayedTexts> {
        Box::pin(async move {
            let until = Instant::now() + lease / 3;
            let received = self.receive_now(instance, lease, after).await?;
            if received.has_news() || after.is_none() {
                return Ok(received);
            }
            loop {
                let mut sent = pin!(self.0.sent.notified());
                // From here on, no message of this process is missed.
                sent.as_mut().enable();
                let name = instance.to_owned();
                let has_news = self.0.writer.read(move |db| has_messages(db, &name));
                if has_news.await? {
                    return self.receive_now(instance, lease, after).await;
                }
                if Instant::now() >= until {
                    return Ok(received);
                }
                let next = until.min(Instant::now() + LOOK_AGAIN);
                let _ = timeout_at(next, sent).await;
            }
        })
    }

    fn instances(&self) -> StoreFuture<'_, Vec<String>> {
        self.0.writer.read(|db| alive(db, ""))
    }
}

impl Sqlite {
    fn receive_now(
        &self,
        instance: &str,
        lease: Duration,
        after: Option<&str>,
    ) -> StoreFuture<'_, RelayedTexts> {
        // Every inbox is replaced if its position cannot be read.
        let after = after.map(|text| Position::parse(text).ok_or(()));
        let name = instance.to_owned();
        self.0
            .writer
            .write(move |db| receive(db, &name, lease, after))
    }
}

/// Adds a message to the inboxes of the live instances whose names begin with `to`. Returns their number, or `None` if
/// an inbox is full.
fn send(connection: &Connection, to: &str, text: &str) -> Result<Option<usize>> {
    let names = alive(connection, to)?;
    let mut waiting = connection.prepare_cached(
        "SELECT count(*), coalesce(sum(length(CAST(text AS BLOB))), 0) FROM messages WHERE instance = ?1",
    )?;
    for name in &names {
        let (messages, bytes) = waiting.query_row([name], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        })?;
        let is_too_large = messages > 0 && bytes + length(text.len()) > length(MAX_BYTES);
        if messages >= length(MAX_MESSAGES) || is_too_large {
            return Ok(None);
        }
    }
    let mut insert =
        connection.prepare_cached("INSERT INTO messages (instance, text) VALUES (?1, ?2)")?;
    for name in &names {
        insert.execute(params![name, text])?;
    }
    Ok(Some(names.len()))
}

/// Keeps an instance alive and returns the messages after a position. Earlier messages are removed.
fn receive(
    connection: &Connection,
    name: &str,
    lease: Duration,
    after: Option<std::result::Result<Position, ()>>,
) -> Result<RelayedTexts> {
    let now = now();
    let mut expire = connection.prepare_cached("DELETE FROM instances WHERE alive_until <= ?1")?;
    expire.execute([now])?;
    let mut keep = connection.prepare_cached(
        "INSERT INTO instances (name, inbox, alive_until) VALUES (?1, random(), ?2) \
         ON CONFLICT (name) DO UPDATE SET alive_until = ?2 RETURNING inbox",
    )?;
    let inbox: i64 = keep.query_row(params![name, now + milliseconds(lease)], |row| row.get(0))?;
    // Every message so far.
    let mut last =
        connection.prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'messages'")?;
    let last: i64 = last
        .query_row([], |row| row.get(0))
        .optional()?
        .unwrap_or(0);
    let seen = match after {
        Some(Ok(position)) if position.inbox == inbox => Some(position.number),
        _ => None,
    };
    let mut remove =
        connection.prepare_cached("DELETE FROM messages WHERE instance = ?1 AND number <= ?2")?;
    remove.execute(params![name, seen.unwrap_or(last)])?;
    let mut select = connection
        .prepare_cached("SELECT number, text FROM messages WHERE instance = ?1 ORDER BY number")?;
    let rows = select.query_map([name], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows = rows.collect::<Result<Vec<(i64, String)>>>()?;
    let number = rows
        .last()
        .map_or(seen.unwrap_or(last), |(number, _)| *number);
    let texts = rows.into_iter().map(|(_, text)| text).collect();
    // Without a position, nothing is received; with one of an earlier inbox, messages may have been missed.
    let texts = (after.is_none() || seen.is_some()).then_some(texts);
    Ok(RelayedTexts::new(texts, format!("{inbox} {number}")))
}

fn has_messages(connection: &Connection, name: &str) -> Result<bool> {
    let mut select =
        connection.prepare_cached("SELECT 1 FROM messages WHERE instance = ?1 LIMIT 1")?;
    let found = select.query_row([name], |_| Ok(())).optional()?;
    Ok(found.is_some())
}

/// Returns the names of the live instances that begin with a prefix.
fn alive(connection: &Connection, prefix: &str) -> Result<Vec<String>> {
    let mut select = connection.prepare_cached(
        "SELECT name FROM instances WHERE alive_until > ?1 AND substr(name, 1, length(?2)) = ?2",
    )?;
    let names = select.query_map(params![now(), prefix], |row| row.get(0))?;
    names.collect()
}
