//! Stores the events on sessions' streams. Each stream is a list of entries that begin with their kind.

use std::time::Duration;

use mcp_stores::{EventStore, MaybeReady, StreamEntry};

use crate::error::RedisError;
use crate::fields::milliseconds;
use crate::link::OnLostConnection::Repeat;
use crate::{Redis, scripts};

const OPENED: u8 = b'0';
const MESSAGE: u8 = b'1';
const ENDED: u8 = b'2';

impl EventStore for Redis {
    fn append<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        position: u64,
        entry: StreamEntry,
        keep: Duration,
    ) -> MaybeReady<'a, ()> {
        MaybeReady::later(async move {
            let limits = &self.0.options.limits.streams;
            let mut append = self.script(&scripts::APPEND_EVENT);
            append.arg(session).arg(stream).arg(position);
            append.arg(written(&entry)).arg(milliseconds(keep));
            append
                .arg(limits.max_replay_events.max(2))
                .arg(limits.max_replay_bytes);
            let follows: bool = self.run(&append, Repeat).await?;
            let gap = || RedisError::text("the entry does not follow the previous one");
            Ok(follows.then_some(()).ok_or_else(gap)?)
        })
    }

    fn read<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        after: u64,
    ) -> MaybeReady<'a, Option<Vec<StreamEntry>>> {
        MaybeReady::later(async move {
            let mut read = self.script(&scripts::READ_EVENTS);
            read.arg(session).arg(stream).arg(after);
            let entries: Option<Vec<Vec<u8>>> = self.run(&read, Repeat).await?;
            let Some(entries) = entries else {
                return Ok(None);
            };
            let entries = entries.iter().map(|entry| read_entry(entry));
            Ok(Some(entries.collect::<Result<_, _>>()?))
        })
    }

    fn forget<'a>(&'a self, session: &'a str) -> MaybeReady<'a, ()> {
        MaybeReady::later(async move {
            let mut forget = self.script(&scripts::FORGET_EVENTS);
            let _: u64 = self.run(forget.arg(session), Repeat).await?;
            Ok(())
        })
    }
}

fn written(entry: &StreamEntry) -> Vec<u8> {
    match entry {
        StreamEntry::Opened => vec![OPENED],
        StreamEntry::Message(message) => [&[MESSAGE], &**message].concat(),
        StreamEntry::Ended => vec![ENDED],
    }
}

fn read_entry(entry: &[u8]) -> Result<StreamEntry, RedisError> {
    match entry {
        [OPENED] => Ok(StreamEntry::Opened),
        [MESSAGE, message @ ..] => Ok(StreamEntry::Message(message.into())),
        [ENDED] => Ok(StreamEntry::Ended),
        _ => Err(RedisError::unexpected()),
    }
}
