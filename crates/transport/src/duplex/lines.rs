//! Splits a stream of bytes into lines of bounded length. Accepts `\r\n` line endings and skips blank lines.
//!
//! The buffer starts small, grows to fit the longest line, and shrinks again. Lines leave it by moving its start, so a
//! line is not copied because another one follows it. The caller interprets the lines.

use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::pin;
use std::task::{Context, Poll};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Buffer size for an idle channel.
const SMALL: usize = 8 << 10;
/// Number of bytes by which a buffer grows at least.
const MIN_GROWTH_BYTES: usize = 64 << 10;
/// A line longer than this is not copied.
const MAX_COPIED_LINE_BYTES: usize = 4 << 10;
/// Minimum number of bytes to read at once.
const MIN_READ_BYTES: usize = 1 << 10;

/// The kind of line taken from the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextLine {
    /// A line, without its terminator.
    Text,
    /// A line that exceeded the limit and was discarded.
    TooLong,
}

/// Splits a stream into lines.
#[derive(Debug)]
pub(super) struct LineReader {
    buffer: BytesMut,
    /// Number of bytes for which the buffer was made.
    size: usize,
    /// Position of the next line in the buffer.
    start: usize,
    /// Position up to which the buffer does not contain the end of a line.
    searched: usize,
    limit: usize,
    /// `true` once input that may be a message has been read.
    begun: bool,
    /// `true` while reading a line that exceeds the limit.
    discarding: bool,
    ended: bool,
}

impl LineReader {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            buffer: BytesMut::with_capacity(SMALL),
            size: SMALL,
            start: 0,
            searched: 0,
            limit,
            begun: false,
            discarding: false,
            ended: false,
        }
    }

    /// Puts the next line into `line` if a whole line has been read. At the end of input, the remaining bytes are
    /// treated as a line.
    pub(super) fn next(&mut self, line: &mut BytesMut) -> Option<NextLine> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(length) = memchr::memchr(b'\n', unsearched) else {
                self.searched = self.buffer.len();
                return self.keep_or_take_rest(line);
            };
            let end = self.searched.saturating_add(length);
            let length = end.saturating_sub(self.start);
            if length > MAX_COPIED_LINE_BYTES && length <= self.limit && !self.discarding {
                if self.take_large_line(end, line) {
                    return Some(NextLine::Text);
                }
                continue;
            }
            let found = self.copy_line(self.start..end, line);
            self.start = end.saturating_add(1);
            self.searched = self.start;
            if found.is_some() {
                return found;
            }
        }
    }

    /// Copies a line out of the buffer, unless it is blank.
    fn copy_line(&mut self, place: Range<usize>, line: &mut BytesMut) -> Option<NextLine> {
        let text = self.buffer.get(place).unwrap_or_default();
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        line.clear();
        if std::mem::take(&mut self.discarding) || text.len() > self.limit {
            return Some(NextLine::TooLong);
        }
        if text.trim_ascii().is_empty() {
            return None;
        }
        line.extend_from_slice(text);
        Some(NextLine::Text)
    }

    /// Splits off a large line, which shares the buffer until it is dropped. Returns `false` if the line is blank.
    fn take_large_line(&mut self, end: usize, line: &mut BytesMut) -> bool {
        self.buffer.advance(self.start);
        let end = end.saturating_sub(self.start);
        *line = self.buffer.split_to(end.saturating_add(1));
        line.truncate(end);
        line.truncate(line.strip_suffix(b"\r").map_or(end, <[u8]>::len));
        self.start = 0;
        self.searched = 0;
        let is_blank = line.trim_ascii().is_empty();
        if is_blank {
            Self::release(line);
        }
        !is_blank
    }

    /// Drops a line that has been handled if it is large, because it may share the reader's buffer.
    pub(super) fn release(line: &mut BytesMut) {
        if line.len() > MAX_COPIED_LINE_BYTES {
            *line = BytesMut::new();
        }
    }

    /// Removes the lines before the rest of the buffer, which does not contain any more complete lines. At the end of
    /// input, takes the rest.
    fn keep_or_take_rest(&mut self, line: &mut BytesMut) -> Option<NextLine> {
        self.buffer.advance(self.start.min(self.buffer.len()));
        self.start = 0;
        // This allows one extra byte for a `\r` that belongs to the line ending.
        if self.buffer.len() > self.limit.saturating_add(1) {
            self.discarding = true;
        }
        let found = if self.ended {
            self.copy_line(0..self.buffer.len(), line)
        } else {
            None
        };
        if self.ended || self.discarding {
            self.buffer.clear();
        }
        if self.buffer.is_empty() && self.size > SMALL {
            self.buffer = BytesMut::with_capacity(SMALL);
            self.size = SMALL;
        }
        self.searched = self.buffer.len();
        found
    }

    /// Makes room for a read.
    fn make_room(&mut self) {
        let length = self.buffer.len();
        if self.buffer.capacity().saturating_sub(length) >= MIN_READ_BYTES {
            return;
        }
        // While the rest is short, it is moved to the beginning of the buffer, into the room that lines have left.
        let additional = if length < SMALL / 2 {
            SMALL.saturating_sub(length)
        } else {
            self.size = length.saturating_add(MIN_GROWTH_BYTES.max(length));
            MIN_GROWTH_BYTES.max(length)
        };
        self.buffer.reserve(additional);
    }

    /// Performs a single read. Call it when [`next`](Self::next) returns `None`.
    pub(super) fn poll_read<R: AsyncRead + Unpin>(
        &mut self,
        reader: &mut R,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ended {
            return Poll::Ready(Ok(()));
        }
        self.make_room();
        let read = pin!(reader.read_buf(&mut self.buffer)).poll(cx)?;
        read.map(|count| {
            self.ended |= count == 0;
            Ok(())
        })
    }

    /// Returns `true` if the input so far is empty or could be the start of a message.
    pub(super) fn may_be_messages(&mut self) -> bool {
        if !self.begun {
            let first = self.buffer.trim_ascii_start().first();
            self.begun = matches!(first, Some(b'{' | b'['));
            return self.begun || first.is_none();
        }
        true
    }

    /// Ends the input and discards all bytes that have been read.
    pub(super) fn abandon_line(&mut self) {
        self.buffer = BytesMut::new();
        self.start = 0;
        self.searched = 0;
        self.discarding = false;
        self.ended = true;
    }

    /// Ends the input, because no more input will arrive or be accepted.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// Returns `true` once the input has ended. [`next`](Self::next) may still return lines.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(limit: usize, chunks: &[&[u8]]) -> Vec<String> {
        let mut lines = LineReader::new(limit);
        let mut line = BytesMut::new();
        let mut found = Vec::new();
        let mut cx = Context::from_waker(std::task::Waker::noop());
        for chunk in chunks.iter().copied().chain([&b""[..]]) {
            let mut reader = chunk;
            while let Poll::Ready(Ok(())) = lines.poll_read(&mut reader, &mut cx) {
                while let Some(kind) = lines.next(&mut line) {
                    found.push(match kind {
                        NextLine::Text => String::from_utf8_lossy(&line).into_owned(),
                        NextLine::TooLong => "!".into(),
                    });
                }
                // Reading an empty slice signals the end of input, which is intended only for the last slice.
                if lines.ended && !chunk.is_empty() {
                    lines.ended = false;
                    break;
                }
                if lines.ended {
                    break;
                }
            }
        }
        found
    }

    #[test]
    fn lines_end_with_lf_or_crlf_and_blank_ones_do_not_count() {
        assert_eq!(lines(10, &[b"a\nb\r\n\n\r\n \t\nc\n"]), ["a", "b", "c"]);
    }

    #[test]
    fn a_line_over_the_limit_is_discarded_and_reported_once() {
        let at = |length: usize, end: &str| {
            lines(10, &[format!("{}{end}ok\n", "x".repeat(length)).as_bytes()])
        };
        assert_eq!(at(9, "\n"), ["xxxxxxxxx", "ok"]);
        assert_eq!(at(10, "\n"), ["xxxxxxxxxx", "ok"]);
        assert_eq!(at(10, "\r\n"), ["xxxxxxxxxx", "ok"]);
        assert_eq!(at(11, "\n"), ["!", "ok"]);
        assert_eq!(at(100_000, "\n"), ["!", "ok"]);
    }

    #[test]
    fn a_large_line_is_returned_in_its_own_buffer() {
        let large = "x".repeat(MAX_COPIED_LINE_BYTES + 1);
        let blank = " ".repeat(MAX_COPIED_LINE_BYTES + 1);
        let text = format!("{large}\r\n{blank}\n{large}\na\n{large}\nb");
        let expected = [&large, &large, "a", &large, "b"];
        assert_eq!(
            lines(MAX_COPIED_LINE_BYTES + 1, &[text.as_bytes()]),
            expected
        );
        assert_eq!(
            lines(MAX_COPIED_LINE_BYTES, &[text.as_bytes()]),
            ["!", "!", "!", "a", "!", "b"]
        );
    }

    #[test]
    fn a_last_line_needs_no_end() {
        assert_eq!(lines(10, &[b"a\nb"]), ["a", "b"]);
        assert_eq!(lines(2, &[b"ab\r"]), ["ab"]);
        assert_eq!(lines(2, &[b"abc"]), ["!"]);
    }
}
