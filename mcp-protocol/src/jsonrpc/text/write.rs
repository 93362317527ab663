//! Writes JSON strings.

use super::byte_table;
use super::search::{BLOCK, first_special_of, long_plain_length, plain_length, special_marks};

/// Length above which the share of special bytes is estimated.
const MIN_SAMPLED_BYTES: usize = 4 << 10;
/// Number of bytes from which it is estimated.
const SAMPLE_BYTES: usize = 1 << 10;
/// Space reserved after a large string, which is sufficient for the rest of most messages.
const RESERVED_AFTER_BYTES: usize = 256;

/// Length from which text is written in blocks.
const MIN_BLOCK_WRITE_BYTES: usize = 128;
/// Space reserved after such a string.
const AFTER_LONG: usize = 64;

/// Appends `text` as a JSON string, including the quotes.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    if rest.len() > MIN_SAMPLED_BYTES.max(out.len()) {
        // A large buffer that must grow is copied, and both copies are in memory meanwhile.
        out.reserve_exact(expected_length(rest) + RESERVED_AFTER_BYTES);
    } else if rest.len() < MIN_BLOCK_WRITE_BYTES {
        out.reserve(rest.len() + 2);
    } else {
        // Enough for some escapes and for the end of a result, so that the buffer does not grow again.
        out.reserve(rest.len() + rest.len() / 8 + AFTER_LONG);
    }
    out.push(b'"');
    if rest.len() >= MIN_BLOCK_WRITE_BYTES {
        rest = write_blocks(out, rest);
    }
    loop {
        rest = write_plain(out, rest);
        let Some((&byte, after)) = rest.split_first() else {
            break;
        };
        write_escape(out, byte);
        rest = after;
    }
    out.push(b'"');
}

/// Estimates the length of large text inside a JSON string, from its first part.
#[cold]
fn expected_length(text: &[u8]) -> usize {
    let sample = text.get(..SAMPLE_BYTES).unwrap_or(text);
    let (blocks, _) = sample.as_chunks();
    let special: u32 = blocks
        .iter()
        .map(|block| special_marks(block).count_ones())
        .sum();
    // An eighth more than in the sample, and one byte in 64 in any case.
    let share = special as usize + special as usize / 8 + SAMPLE_BYTES / 64;
    text.len() + text.len() / SAMPLE_BYTES * share
}

/// Appends text up to the first special byte. Returns the rest, which is either empty or begins with that byte.
#[inline]
fn write_plain<'a>(out: &mut Vec<u8>, mut rest: &'a [u8]) -> &'a [u8] {
    // Copying a whole vector takes a single instruction, whereas copying a few bytes takes a function call.
    for _ in 0..2 {
        let Some((half, after)) = rest.split_first_chunk() else {
            break;
        };
        let end = out.len();
        out.extend_from_slice(half);
        if let Some(at) = first_special_of(half) {
            out.truncate(end + at);
            return rest.get(at..).unwrap_or_default();
        }
        rest = after;
    }
    let (head, after) = rest.split_at(plain_length(rest));
    out.extend_from_slice(head);
    after
}

/// The second byte of each special byte's escape, or zero if the escape is longer than two bytes.
const SHORT_ESCAPES: [u8; 256] = byte_table(&[
    (b'"', b'"'),
    (b'\\', b'\\'),
    (0x08, b'b'),
    (0x0C, b'f'),
    (b'\n', b'n'),
    (b'\r', b'r'),
    (b'\t', b't'),
]);

/// Appends the escape for a special byte.
fn write_escape(out: &mut Vec<u8>, byte: u8) {
    match SHORT_ESCAPES[usize::from(byte)] {
        0 => out.extend_from_slice(&long_escape(byte)),
        kind => out.extend_from_slice(&[b'\\', kind]),
    }
}

/// Returns the escape for a control character that has no short one.
#[cold]
#[inline(never)]
fn long_escape(byte: u8) -> [u8; 6] {
    const HEX: [u8; 16] = *b"0123456789abcdef";
    let (high, low) = (usize::from(byte >> 4), usize::from(byte & 0xF));
    [b'\\', b'u', b'0', b'0', HEX[high], HEX[low & 0xF]]
}

/// Number of bytes into which one block is written at most, including a block that follows it.
const ESCAPED: usize = 6 * BLOCK + BLOCK;
/// Number of bytes that are collected before they are appended to the output, and room for one more block.
const COLLECTED_BYTES: usize = (1 << 10) + ESCAPED;
/// Number of consecutive blocks without a special byte after which text is searched in larger steps.
const CLEAN_BLOCKS: usize = 8;

/// Appends text as the inside of a JSON string, as long as whole blocks follow. Returns the rest.
///
/// Bytes are collected on the stack, where room for them needs no check.
#[inline(never)]
fn write_blocks<'t>(out: &mut Vec<u8>, text: &'t [u8]) -> &'t [u8] {
    let mut collected = [0; COLLECTED_BYTES];
    let mut length = 0;
    let mut rest = text;
    let mut clean = 0;
    while let Some((window, after)) = rest.first_chunk().zip(rest.get(BLOCK..)) {
        let room = collected.get_mut(length..);
        let room = room.and_then(<[u8]>::first_chunk_mut::<ESCAPED>);
        let Some(room) = room.filter(|_| clean < CLEAN_BLOCKS) else {
            out.extend_from_slice(collected.get(..length).unwrap_or_default());
            length = 0;
            if clean == CLEAN_BLOCKS {
                let (plain, after) = rest.split_at(long_plain_length(rest));
                out.extend_from_slice(plain);
                rest = after;
                clean = 0;
            }
            continue;
        };
        let written = write_block(room, window);
        clean = if written == BLOCK { clean + 1 } else { 0 };
        length += written;
        rest = after;
    }
    out.extend_from_slice(collected.get(..length).unwrap_or_default());
    rest
}

/// Writes the first block of `window`. Returns the number of bytes written.
///
/// Each run between special bytes is copied with the bytes that happen to follow it, up to the length of a block, because
/// copying a fixed number of bytes takes a few instructions. What is written next replaces the bytes that do not belong
/// to the run.
#[inline]
fn write_block(room: &mut [u8; ESCAPED], window: &[u8; 2 * BLOCK]) -> usize {
    let mut marks = window.first_chunk().map_or(0, special_marks);
    let mut read = 0;
    let mut written = 0;
    if let (Some(to), Some(block)) = (room.first_chunk_mut::<BLOCK>(), window.first_chunk()) {
        *to = *block;
    }
    while marks != 0 {
        let at = marks.trailing_zeros() as usize & (BLOCK - 1);
        marks &= !(1 << at);
        written += at - read;
        read = at + 1;
        let kind = SHORT_ESCAPES[usize::from(window[at])];
        let to = room.get_mut(written..);
        let to = to.and_then(<[u8]>::first_chunk_mut::<{ 2 + BLOCK }>);
        let run = window.get(read..).and_then(<[u8]>::first_chunk);
        let (Some([first, second, to @ ..]), Some(run)) = (to, run) else {
            break;
        };
        (*first, *second, *to) = (b'\\', kind, *run);
        written += 2;
        if kind == 0 {
            replace_by_long_escape(room, written - 2, window[at], run);
            written += 4;
        }
    }
    written + BLOCK - read
}

/// Writes the escape of a special byte that has no short one, and the run after it.
#[cold]
#[inline(never)]
fn replace_by_long_escape(room: &mut [u8; ESCAPED], at: usize, byte: u8, run: &[u8; BLOCK]) {
    let to = room.get_mut(at..);
    let to = to.and_then(<[u8]>::first_chunk_mut::<{ 6 + BLOCK }>);
    if let Some((escape, to)) = to.and_then(|to| to.split_first_chunk_mut()) {
        *escape = long_escape(byte);
        to.copy_from_slice(run);
    }
}
