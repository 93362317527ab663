//! Lines are the same as if the whole input were split at once, however it is divided into chunks. Input: bytes that
//! specify the lengths of the chunks, up to the first line feed, then the stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_runtime::fuzzing::lines;

const LIMIT: usize = 16;

fuzz_target!(|data: &[u8]| {
    let (sizes, stream) = split(data);
    // If requested, the stream is long enough for the buffer to grow and shrink again.
    let stream = match sizes.first() {
        Some(b'*') => stream.repeat(4_096 / stream.len().max(1)),
        _ => stream.to_vec(),
    };
    let mut chunks = Vec::new();
    let mut rest = stream.as_slice();
    for size in sizes.iter().cycle().take(stream.len()) {
        let (chunk, after) = rest.split_at(usize::from(*size).min(rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    chunks.push(rest);
    for limit in [LIMIT, 1 << 20] {
        assert_eq!(lines(limit, &chunks), naive(limit, &stream));
    }
});

fn split(data: &[u8]) -> (&[u8], &[u8]) {
    let at = data.iter().position(|byte| *byte == b'\n');
    at.map_or((&[], data), |at| (&data[..at], &data[at + 1..]))
}

fn naive(limit: usize, stream: &[u8]) -> Vec<Option<Vec<u8>>> {
    stream
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| line.len() > limit || !line.trim_ascii().is_empty())
        .map(|line| (line.len() <= limit).then(|| line.to_vec()))
        .collect()
}
