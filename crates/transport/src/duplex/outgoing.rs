//! The single queue of bytes to be sent to the client. The task that holds the queue is the only writer.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use mcp_core::dispatch::WrittenResponse;
use mcp_protocol::encode::TextGap;
use tokio::io::AsyncWrite;
use tokio::time::Instant;

/// A buffer larger than this is freed once it is empty.
const MAX_KEPT_BUFFER_BYTES: usize = 64 << 10;
/// Maximum number of pieces in a single write.
const PIECES: usize = 8;

/// Bytes waiting to be sent.
#[derive(Debug, Default)]
pub(super) struct OutgoingBytes {
    /// The pieces that are sent before `bytes`: shared text and the bytes that were queued before it. None of the
    /// pieces is empty.
    pieces: VecDeque<Bytes>,
    /// Number of bytes in `pieces`.
    piece_bytes: usize,
    bytes: Vec<u8>,
    /// Number of `bytes` already written. This is zero while there are pieces.
    written: usize,
    /// `true` if bytes have been written but not flushed yet.
    unflushed: bool,
    /// Time at which the client stopped accepting bytes. `None` while it accepts them.
    blocked: Option<Instant>,
}

impl OutgoingBytes {
    /// Returns the number of waiting bytes.
    pub(super) fn len(&self) -> usize {
        let last = self.bytes.len().saturating_sub(self.written);
        self.piece_bytes.saturating_add(last)
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

    /// Like [`push`](Self::push), but takes ownership of a large message's buffer, so that the message is not copied.
    pub(super) fn push_whole(&mut self, message: &mut Vec<u8>) {
        if message.len() < TextGap::MIN_SHARED_BYTES {
            return self.push(message);
        }
        if self.len() == 0 {
            std::mem::swap(&mut self.bytes, message);
            self.written = 0;
        } else {
            self.push_shared(std::mem::take(message).into());
        }
        self.bytes.push(b'\n');
    }

    /// Appends a whole message with a gap as a line. The text in the gap is not copied if it is large.
    pub(super) fn push_around(&mut self, message: &[u8], gap: TextGap, text: Bytes) {
        let (before, after) = gap.parts(message);
        self.buffer().extend_from_slice(before);
        self.push_shared(text);
        self.push(after);
    }

    /// Adds the missing text to the response that was appended last. The text is not copied if it is large.
    pub(super) fn complete(&mut self, response: &mut WrittenResponse) {
        if let Some(shared) = response.shared.take() {
            let (gap, text) = *shared;
            let after = gap.split(&mut self.bytes);
            self.push_shared(text);
            self.bytes.extend_from_slice(&after);
        }
    }

    fn push_shared(&mut self, text: Bytes) {
        if text.len() < TextGap::MIN_SHARED_BYTES {
            return self.bytes.extend_from_slice(&text);
        }
        self.remove_written();
        for piece in [std::mem::take(&mut self.bytes).into(), text] {
            self.piece_bytes = self.piece_bytes.saturating_add(piece.len());
            if !piece.is_empty() {
                self.pieces.push_back(piece);
            }
        }
    }

    /// Returns the queue so that a message of unknown length can be appended. [`end_line`](Self::end_line) must be
    /// called afterwards.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        self.compact();
        &mut self.bytes
    }

    /// Like [`buffer`](Self::buffer), but the returned queue holds only waiting bytes. Also returns the number of
    /// waiting bytes that precede them.
    pub(super) fn unwritten(&mut self) -> (&mut Vec<u8>, usize) {
        self.remove_written();
        (&mut self.bytes, self.piece_bytes)
    }

    /// Removes bytes that have been written if they outnumber the waiting bytes. On average, therefore, at most one
    /// byte is moved for each byte that is written, no matter how slowly the client reads.
    #[inline]
    fn compact(&mut self) {
        if self.written > self.bytes.len().saturating_sub(self.written) {
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
        if self.piece_bytes > 0 {
            ready!(self.poll_pieces(writer, cx))?;
        }
        while self.bytes.len() > self.written {
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
        if self.bytes.capacity() > MAX_KEPT_BUFFER_BYTES {
            self.bytes = Vec::new();
        }
        if self.unflushed {
            ready!(Pin::new(writer).poll_flush(cx))?;
            self.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Writes all pieces, possibly along with some of `bytes`.
    #[cold]
    fn poll_pieces<W: AsyncWrite + Unpin + ?Sized>(
        &mut self,
        writer: &mut W,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while self.piece_bytes > 0 {
            let pieces = self.pieces.iter().map(|piece| &**piece);
            let pieces = pieces.chain([&*self.bytes]).take(PIECES).map(IoSlice::new);
            let pieces: Vec<_> = pieces.collect();
            match ready!(Pin::new(&mut *writer).poll_write_vectored(cx, &pieces)) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(count) => {
                    self.written = self.advance_pieces(count);
                    self.unflushed = true;
                    self.blocked = None;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Removes `count` written bytes from the front of the pieces. Returns the number of these bytes that came after
    /// the last piece.
    fn advance_pieces(&mut self, mut count: usize) -> usize {
        while let Some(piece) = self.pieces.front_mut() {
            let part = count.min(piece.len());
            piece.advance(part);
            count = count.saturating_sub(part);
            self.piece_bytes = self.piece_bytes.saturating_sub(part);
            if !piece.is_empty() {
                break;
            }
            self.pieces.pop_front();
        }
        count
    }
}

/// A position in the queue.
#[derive(Debug)]
pub(super) struct QueuePosition(usize);

#[cfg(test)]
mod tests;
