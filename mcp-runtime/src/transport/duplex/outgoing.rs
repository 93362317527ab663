//! The single queue of bytes to be sent to the client. The task that holds the queue is the only writer.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use tokio::io::AsyncWrite;
use tokio::time::Instant;

use crate::dispatch::WrittenResponse;
use crate::protocol::encode::TextGap;

/// A buffer larger than this is freed once it is empty.
const LARGE: usize = 64 << 10;
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
        if self.bytes.capacity() > LARGE {
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
mod tests {
    use super::*;
    use crate::jsonrpc::RequestId;
    use crate::protocol::ProtocolVersion;
    use crate::protocol::encode::{self, CacheHint, Identity, ResponseContext};
    use crate::types::Implementation;

    #[test]
    fn a_large_message_does_not_displace_what_waits() {
        let mut outgoing = OutgoingBytes::default();
        outgoing.push(b"first");
        let large = "x".repeat(TextGap::MIN_SHARED_BYTES);
        outgoing.push_whole(&mut large.clone().into_bytes());
        outgoing.push(b"last");
        assert_eq!(outgoing.pieces.len(), 2);
        let mut client = Slow {
            accepts: large.len() / 2,
            takes_pieces: true,
            got: Vec::new(),
        };
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(outgoing.poll_write(&mut client, &mut cx).is_ready());
        assert!(client.got == format!("first\n{large}\nlast\n").as_bytes());
    }

    /// A client that accepts a few bytes at a time.
    struct Slow {
        accepts: usize,
        takes_pieces: bool,
        got: Vec<u8>,
    }

    impl AsyncWrite for Slow {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let count = bytes.len().min(self.accepts);
            self.got.extend_from_slice(&bytes[..count]);
            Poll::Ready(Ok(count))
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            pieces: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            let bytes: Vec<u8> = if self.takes_pieces {
                pieces.iter().flat_map(|piece| piece.to_vec()).collect()
            } else {
                pieces.first().map_or_else(Vec::new, |piece| piece.to_vec())
            };
            self.as_mut().poll_write(cx, &bytes)
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// Returns a message with a gap in its middle.
    fn around(out: &mut Vec<u8>) -> TextGap {
        let (id, identity) = (
            RequestId::from_valid("1"),
            Identity::new(Implementation::new("test", "1")),
        );
        let reply = ResponseContext {
            id: Some(&id),
            version: ProtocolVersion::LATEST,
            identity: &identity,
        };
        encode::list_with_gap(out, reply, CacheHint::default())
    }

    #[test]
    fn shared_text_keeps_its_place_in_the_queue() {
        let mut message = Vec::new();
        let gap = around(&mut message);
        let shared = TextGap::MIN_SHARED_BYTES;
        for size in [1, shared - 1, shared, 3 * shared] {
            for (accepts, takes_pieces) in [(1_000, true), (1_000, false), (1 << 20, true)] {
                let page = Bytes::from(vec![b'p'; size]);
                let mut whole = message.clone();
                gap.fill(&mut whole, &page);
                let mut outgoing = OutgoingBytes::default();
                outgoing.push(b"first");
                drop(outgoing.bytes.splice(0..0, *b"gone"));
                outgoing.written = 4;
                for _ in 0..10 {
                    outgoing.push_around(&message, gap, page.clone());
                }
                outgoing.push(b"between");
                let mark = outgoing.position();
                let at = around(outgoing.buffer());
                outgoing.complete(&mut WrittenResponse {
                    error: None,
                    shared: Some(Box::new((at, page.clone()))),
                });
                outgoing.end_line(&mark);
                outgoing.push(b"last");
                let mut expected = b"first\n".to_vec();
                for line in std::iter::repeat_n(&*whole, 10).chain([b"between", &*whole, b"last"]) {
                    expected.extend_from_slice(line);
                    expected.push(b'\n');
                }
                assert_eq!(outgoing.len(), expected.len());
                assert_eq!(outgoing.pieces.is_empty(), size < shared);
                let (queue, before) = outgoing.unwritten();
                assert_eq!(queue.len() + before, expected.len());
                let mut client = Slow {
                    accepts,
                    takes_pieces,
                    got: Vec::new(),
                };
                let mut cx = Context::from_waker(std::task::Waker::noop());
                assert!(outgoing.poll_write(&mut client, &mut cx).is_ready());
                assert!(client.got == expected, "{size} {accepts} {takes_pieces}");
                assert_eq!((outgoing.len(), outgoing.piece_bytes), (0, 0));
            }
        }
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
        assert_eq!(outgoing.unwritten().0.len(), outgoing.len());
    }
}
