//! The one queue of bytes on their way to the client. Whoever holds it is the one writer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;
use tokio::time::Instant;

/// A buffer above this is given back once it is empty.
const LARGE: usize = 64 << 10;

/// Bytes on their way out.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    /// How many of `bytes` are written.
    written: usize,
    /// Something was written and not flushed.
    unflushed: bool,
    /// Since when the client takes nothing.
    blocked: Option<Instant>,
}

impl Outgoing {
    /// How much waits.
    pub(super) fn len(&self) -> usize {
        self.bytes.len().saturating_sub(self.written)
    }

    pub(super) fn blocked_since(&self) -> Option<Instant> {
        self.blocked
    }

    /// A whole message, which becomes a line.
    pub(super) fn push(&mut self, message: &[u8]) {
        self.bytes.reserve(message.len().saturating_add(1));
        self.bytes.extend_from_slice(message);
        self.bytes.push(b'\n');
    }

    /// The same, and takes the buffer of a large message with it if nothing else waits.
    pub(super) fn push_whole(&mut self, message: &mut Vec<u8>) {
        if self.len() > 0 || message.len() <= LARGE {
            return self.push(message);
        }
        std::mem::swap(&mut self.bytes, message);
        self.bytes.push(b'\n');
        self.written = 0;
    }

    /// To append a message of which the length is not known; [`end_line`](Self::end_line) must follow.
    ///
    /// Holds only what waits, so that its length is [`len`](Self::len).
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        self.bytes.drain(..self.written.min(self.bytes.len()));
        self.written = 0;
        &mut self.bytes
    }

    /// Where a message that is appended now begins.
    pub(super) fn mark(&self) -> Mark {
        Mark(self.len())
    }

    /// Ends the message that begins at `mark`, if anything was appended.
    pub(super) fn end_line(&mut self, mark: &Mark) {
        if self.len() > mark.0 {
            self.bytes.push(b'\n');
        }
    }

    /// Writes and flushes as much as the client takes. Ready when all is out.
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

/// A place in the queue.
#[derive(Debug)]
pub(super) struct Mark(usize);
