//! Keeps the most recent messages sent over the wire, up to a maximum number and a maximum size.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

use crate::session::Era;

/// Maximum number of messages that are kept.
const MAX_MESSAGES: usize = 2_000;
/// Maximum total size in bytes of the messages that are kept. A single message is always kept, because `session` limits
/// its size.
const MAX_BYTES: usize = 64 << 20;

/// A message on the wire, or other data that was sent instead of a message.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The entry's sequence number, starting at 1.
    pub(crate) seq: u64,
    pub(crate) era: Era,
    /// `true` if the client sent the message to the server.
    pub(crate) sent: bool,
    /// Milliseconds since the program started.
    pub(crate) at: f64,
    pub(crate) text: Arc<str>,
    /// Headers, a status, or the reason why the entry is not a message.
    pub(crate) notes: Value,
}

/// The most recent entries.
#[derive(Debug, Default)]
pub(crate) struct Record {
    entries: VecDeque<Entry>,
    bytes: usize,
    last: u64,
}

impl Record {
    /// Appends an entry, assigns a sequence number to it, and discards the oldest entries while the limits are
    /// exceeded.
    pub(crate) fn push(&mut self, mut entry: Entry) -> Entry {
        self.last += 1;
        entry.seq = self.last;
        self.bytes += entry.text.len();
        self.entries.push_back(entry.clone());
        while self.entries.len() > MAX_MESSAGES
            || (self.bytes > MAX_BYTES && self.entries.len() > 1)
        {
            if let Some(oldest) = self.entries.pop_front() {
                self.bytes -= oldest.text.len();
            }
        }
        entry
    }

    pub(crate) fn get(&self, seq: u64) -> Option<&Entry> {
        let at = self.entries.binary_search_by_key(&seq, |entry| entry.seq);
        at.ok().and_then(|at| self.entries.get(at))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Entry {
        Entry {
            seq: 0,
            era: Era::Modern,
            sent: false,
            at: 0.0,
            text: text.into(),
            notes: Value::Null,
        }
    }

    #[test]
    fn old_messages_are_forgotten() {
        let mut record = Record::default();
        for _ in 0..MAX_MESSAGES + 10 {
            record.push(entry("{}"));
        }
        assert_eq!(record.entries.len(), MAX_MESSAGES);
        assert!(record.get(10).is_none());
        assert_eq!(record.get(11).unwrap().seq, 11);
    }

    #[test]
    fn old_messages_are_removed_when_messages_exceed_the_byte_limit() {
        let mut record = Record::default();
        let large = entry(&"x".repeat(MAX_BYTES / 3 + 1));
        for _ in 0..3 {
            record.push(large.clone());
        }
        assert_eq!(
            record.iter().map(|entry| entry.seq).collect::<Vec<_>>(),
            [2, 3]
        );
        record.push(entry(&"x".repeat(MAX_BYTES + 1)));
        assert_eq!(
            record.iter().map(|entry| entry.seq).collect::<Vec<_>>(),
            [4]
        );
    }
}
