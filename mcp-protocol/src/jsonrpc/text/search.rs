//! Finds the bytes of text that JSON strings escape.
//!
//! Text is examined in words, which suits names, or in blocks.

use wide::u8x16;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Number of bytes whose special bytes are found in one step.
pub(super) const BLOCK: usize = 32;
/// Number of bytes in a vector.
const HALF: usize = 16;
/// Number of consecutive vectors without a special byte after which text is searched in larger steps.
const CLEAN_VECTORS: usize = 8;

/// Returns the number of bytes before the first quote, backslash or control character.
#[inline]
pub(in crate::jsonrpc) fn plain_length(bytes: &[u8]) -> usize {
    // Most strings end within the first word, so only this part is inlined. The inlined part does not use any of the
    // caller's registers.
    match bytes.split_first_chunk() {
        Some((chunk, after)) => match first_special(*chunk) {
            Some(at) => at,
            None => long_plain_length(after).saturating_add(chunk.len()),
        },
        None => long_plain_length(bytes),
    }
}

/// Like `plain_length`, but for the text between escapes, which is usually longer than a name and shorter than a line.
#[inline]
pub(in crate::jsonrpc) fn plain_run_length(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    for half in 0..4 {
        let Some((bytes, after)) = rest.split_first_chunk() else {
            break;
        };
        if let Some(at) = first_special_of(bytes) {
            return half * HALF + at;
        }
        rest = after;
    }
    bytes.len() - rest.len() + long_plain_length(rest)
}

/// Like `plain_length`, but efficient even for long runs of plain bytes.
#[inline(never)]
pub(super) fn long_plain_length(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    let mut clean = 0;
    while let Some((block, after)) = rest.split_first_chunk::<HALF>() {
        if let Some(at) = first_special_of(block) {
            return bytes.len() - rest.len() + at;
        }
        rest = after;
        clean += 1;
        if clean == CLEAN_VECTORS {
            // This is long text rather than a name.
            while let Some((chunk, after)) = rest.split_first_chunk::<64>()
                && !chunk
                    .iter()
                    .fold(false, |any, byte| any | is_special(*byte))
            {
                rest = after;
            }
        }
    }
    if let Some((chunk, after)) = rest.split_first_chunk() {
        if let Some(at) = first_special(*chunk) {
            return bytes.len() - rest.len() + at;
        }
        rest = after;
    }
    let last = rest.iter().position(|byte| is_special(*byte));
    bytes.len() - rest.len() + last.unwrap_or(rest.len())
}

fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// Returns the position of the first special byte in a block.
#[inline]
pub(super) fn first_special_of(block: &[u8; HALF]) -> Option<usize> {
    let marks = special_marks_of_half(block);
    (marks != 0).then(|| marks.trailing_zeros() as usize)
}

/// Returns a bit for each byte of a block, with the first byte in the lowest bit. A bit is set if its byte is special.
#[inline]
pub(super) fn special_marks(block: &[u8; BLOCK]) -> u32 {
    let (Some(low), Some(high)) = (block.first_chunk(), block.last_chunk()) else {
        return 0;
    };
    special_marks_of_half(low) | (special_marks_of_half(high) << HALF)
}

#[inline]
fn special_marks_of_half(half: &[u8; HALF]) -> u32 {
    let bytes = u8x16::new(*half);
    // Exchanges quotes and spaces, so that all special bytes except for backslashes are the lowest ones.
    let exchanged = bytes ^ u8x16::splat(b' ' ^ b'"');
    let is_low = exchanged.min(u8x16::splat(b' ')).simd_eq(exchanged);
    let is_backslash = bytes.simd_eq(u8x16::splat(b'\\'));
    (is_low | is_backslash).to_bitmask()
}

/// Returns the position of the first special byte in a word.
#[inline]
fn first_special(chunk: [u8; 8]) -> Option<usize> {
    let word = u64::from_le_bytes(chunk);
    // Each term marks the bytes that it is meant to find, but may also mark bytes above the lowest match, so only the
    // lowest mark is reliable.
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = word ^ (ONES * 0x22);
    let quote = quote.wrapping_sub(ONES) & !quote;
    let backslash = word ^ (ONES * 0x5C);
    let backslash = backslash.wrapping_sub(ONES) & !backslash;
    let marks = (control | quote | backslash) & HIGH;
    (marks != 0).then(|| (marks.trailing_zeros() / 8) as usize)
}
