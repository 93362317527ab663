//! The single queue of bytes for the client. The task that holds it is the only writer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;
use tokio::time::Instant;

/// A buffer larger than this is freed once it is empty.
const LARGE: usize = 64 << 10;

/// Bytes waiting to be sent.
#[derive(Debug, Default)]
pub(super) struct OutgoingBytes {
    bytes: Vec<u8>,
    /// Number of `bytes` already written.
    written: usize,
    /// `true` if bytes have been written but not flushed yet.
    unflushed: bool,
    /// Time at which the client stopped accepting bytes. `None` while it accepts them.
    blocked: Option<Instant>,
}

impl OutgoingBytes {
    /// Returns the number of waiting bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len().saturating_sub(self.written)
    }

    pub(super) fn blocked_since(&self) -> Option<Instant> {
        self.blocked
    }

    /// Appends a whole message as a line.
    pub(super) fn push(&mut self, message: &[u8]) {
        self.compact();
        self.bytes.reserve(message.len().saturating_add(1));
        self.bytes.extend_from_slice(message);
        self.bytes.push(b'\n');
    }

    /// Like [`push`](Self::push), but takes over the buffer of a large message if no other bytes are waiting.
    pub(super) fn push_whole(&mut self, message: &mut Vec<u8>) {
        if self.len() > 0 || message.len() <= LARGE {
            return self.push(message);
        }
        std::mem::swap(&mut self.bytes, message);
        self.bytes.push(b'\n');
        self.written = 0;
    }

    /// Returns the queue so that a message of unknown length can be appended. [`end_line`](Self::end_line) must be
    /// called afterwards.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        self.compact();
        &mut self.bytes
    }

    /// Like [`buffer`](Self::buffer), but the returned queue holds only waiting bytes, so its length is
    /// [`len`](Self::len).
    pub(super) fn unwritten(&mut self) -> &mut Vec<u8> {
        self.remove_written();
        &mut self.bytes
    }

    /// Removes bytes that have been written if there are more of them than waiting bytes. A byte is therefore moved at
    /// most once for every byte that is written, no matter how slowly the client reads.
    #[inline]
    fn compact(&mut self) {
        if self.written > self.len() {
            self.remove_written();
        }
    }

    #[cold]
    fn remove_written(&mut self) {
        self.bytes.drain(..self.written.min(self.bytes.len()));
        self.written = 0;
    }

    /// Returns the position at which the next message begins.
    pub(super) fn position(&self) -> QueuePosition {
        QueuePosition(self.len())
    }

    /// Ends the message that begins at `mark`, if anything was appended.
    pub(super) fn end_line(&mut self, mark: &QueuePosition) {
        if self.len() > mark.0 {
            self.bytes.push(b'\n');
        }
    }

    /// Writes and flushes as much as the client accepts. Ready when everything has been sent.
    pub(super) fn poll_write<W: AsyncWrite + Unpin + ?Sized>(
        &mut self,
        writer: &mut W,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let written = self.poll_all(writer, cx);
        if written.is_ready() {
            self.blocked = None;
        } else {
            self.blocked.get_or_insert_with(Instant::now);
        }
        written
    }

    fn poll_all<W: AsyncWrite + Unpin + ?Sized>(
        &mut self,
        writer: &mut W,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while self.len() > 0 {
            let rest = self.bytes.get(self.written..).unwrap_or_default();
            match ready!(Pin::new(&mut *writer).poll_write(cx, rest)) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(count) => {
                    self.written = self.written.saturating_add(count);
                    self.unflushed = true;
                    self.blocked = None;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        self.bytes.clear();
        self.written = 0;
        if self.bytes.capacity() > LARGE {
            self.bytes = Vec::new();
        }
        if self.unflushed {
            ready!(Pin::new(writer).poll_flush(cx))?;
            self.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }
}

/// A position in the queue.
#[derive(Debug)]
pub(super) struct QueuePosition(usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_message_does_not_displace_what_waits() {
        let mut outgoing = OutgoingBytes::default();
        outgoing.push(b"first");
        outgoing.push_whole(&mut vec![b'x'; LARGE + 1]);
        assert!(outgoing.bytes.starts_with(b"first\nxx"));
        assert_eq!(outgoing.len(), b"first\n".len() + LARGE + 1 + b"\n".len());
    }

    #[test]
    fn written_bytes_are_removed_once_they_prevail() {
        let mut outgoing = OutgoingBytes::default();
        outgoing.push(b"0123456789");
        outgoing.written = 5;
        outgoing.push(b"a");
        assert_eq!((outgoing.written, outgoing.len()), (5, 8));
        let mark = outgoing.position();
        outgoing.buffer().push(b'b');
        outgoing.end_line(&mark);
        assert_eq!((outgoing.written, outgoing.len()), (5, 10));
        outgoing.written = 9;
        outgoing.push(b"c");
        assert_eq!(
            (outgoing.written, &*outgoing.bytes),
            (0, b"9\na\nb\nc\n".as_slice())
        );
        outgoing.written = 1;
        assert_eq!(outgoing.unwritten().len(), outgoing.len());
    }
}
