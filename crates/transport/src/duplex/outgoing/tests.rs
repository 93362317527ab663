use mcp_protocol::ProtocolVersion;
use mcp_protocol::encode::{self, CacheHint, Identity, ResponseContext};
use mcp_protocol::jsonrpc::RequestId;
use mcp_protocol::types::Implementation;

use super::*;

#[test]
fn a_large_message_keeps_its_position_in_the_outgoing_queue() {
    let mut outgoing = OutgoingBytes::default();
    outgoing.push(b"first");
    let large = "x".repeat(TextGap::MIN_SHARED_BYTES);
    outgoing.push_whole(&mut large.clone().into_bytes());
    outgoing.push(b"last");
    assert_eq!(outgoing.pieces.len(), 2);
    let mut client = Slow {
        accepts: large.len() / 2,
        takes_pieces: true,
        ..Slow::default()
    };
    let mut cx = Context::from_waker(std::task::Waker::noop());
    assert!(outgoing.poll_write(&mut client, &mut cx).is_ready());
    assert!(client.got == format!("first\n{large}\nlast\n").as_bytes());
}

/// A client that accepts a few bytes at a time.
#[derive(Default)]
struct Slow {
    accepts: usize,
    takes_pieces: bool,
    /// The errors of the next writes, the last one first.
    fails: Vec<io::ErrorKind>,
    got: Vec<u8>,
}

impl AsyncWrite for Slow {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Some(kind) = self.fails.pop() {
            return Poll::Ready(Err(kind.into()));
        }
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
                ..Slow::default()
            };
            let mut cx = Context::from_waker(std::task::Waker::noop());
            assert!(outgoing.poll_write(&mut client, &mut cx).is_ready());
            assert!(client.got == expected, "{size} {accepts} {takes_pieces}");
            assert_eq!((outgoing.len(), outgoing.piece_bytes), (0, 0));
        }
    }
}

#[test]
fn written_bytes_are_removed_once_they_exceed_half_of_the_buffer() {
    let mut outgoing = OutgoingBytes::default();
    outgoing.push(b"012345678");
    outgoing.written = 5;
    outgoing.push(b"a");
    assert_eq!((outgoing.written, outgoing.len()), (5, 7));
    let mark = outgoing.position();
    outgoing.buffer().push(b'b');
    outgoing.end_line(&mark);
    assert_eq!((outgoing.written, outgoing.len()), (5, 9));
    outgoing.written = 9;
    outgoing.push(b"c");
    assert_eq!(
        (outgoing.written, &*outgoing.bytes),
        (0, b"\na\nb\nc\n".as_slice())
    );
    outgoing.written = 1;
    assert_eq!(outgoing.unwritten().0.len(), outgoing.len());
}

#[test]
fn an_interrupted_write_is_repeated_and_other_errors_are_returned() {
    let mut cx = Context::from_waker(std::task::Waker::noop());
    let small = || b"small".to_vec();
    let large = || vec![b'x'; TextGap::MIN_SHARED_BYTES];
    for message in [small, large] as [fn() -> Vec<u8>; 2] {
        let mut outgoing = OutgoingBytes::default();
        outgoing.push(b"first");
        outgoing.push_whole(&mut message());
        let mut client = Slow {
            accepts: 1 << 20,
            fails: vec![io::ErrorKind::BrokenPipe, io::ErrorKind::Interrupted],
            ..Slow::default()
        };
        let Poll::Ready(Err(error)) = outgoing.poll_write(&mut client, &mut cx) else {
            panic!("the pipe is broken");
        };
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        client.fails.push(io::ErrorKind::Interrupted);
        let written = outgoing.poll_write(&mut client, &mut cx);
        assert!(matches!(written, Poll::Ready(Ok(()))));
        assert_eq!(client.got.len(), "first\n\n".len() + message().len());
    }
}

#[test]
fn only_a_large_buffer_is_freed_once_it_is_empty() {
    let mut cx = Context::from_waker(std::task::Waker::noop());
    for (bytes, is_kept) in [
        (MAX_KEPT_BUFFER_BYTES - 1, true),
        (MAX_KEPT_BUFFER_BYTES, false),
    ] {
        let mut outgoing = OutgoingBytes::default();
        outgoing.push(&vec![b'x'; bytes]);
        let mut client = Slow {
            accepts: bytes,
            ..Slow::default()
        };
        assert!(outgoing.poll_write(&mut client, &mut cx).is_ready());
        assert_eq!(outgoing.bytes.capacity() > 0, is_kept, "{bytes}");
    }
}
