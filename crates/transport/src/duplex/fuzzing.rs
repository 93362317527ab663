//! See [`crate::fuzzing`].

use std::task::{Context, Poll, Waker};

use bytes::BytesMut;

use super::lines::{LineReader, NextLine};

/// Returns the lines of a stream that arrives in these chunks. `None` represents a line that exceeds the limit.
#[must_use]
pub fn lines(limit: usize, chunks: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
    let mut lines = LineReader::new(limit);
    let mut line = BytesMut::new();
    let mut found = Vec::new();
    let mut cx = Context::from_waker(Waker::noop());
    let mut take = |lines: &mut LineReader| {
        while let Some(kind) = lines.next(&mut line) {
            found.push((kind == NextLine::Text).then(|| line.to_vec()));
            LineReader::release(&mut line);
        }
    };
    for chunk in chunks {
        let mut reader = *chunk;
        while !reader.is_empty() {
            let read = lines.poll_read(&mut reader, &mut cx);
            assert!(matches!(read, Poll::Ready(Ok(()))), "memory can be read");
            take(&mut lines);
        }
    }
    lines.end();
    take(&mut lines);
    found
}
