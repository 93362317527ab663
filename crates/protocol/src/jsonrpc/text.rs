//! Decodes JSON strings, finds where they end, and writes them.
//!
//! Text is examined in blocks, and copied in blocks and runs.

use std::borrow::Cow;

use wide::u8x16;

/// The error for a member whose value must be a string but is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAString;

/// Decodes a JSON string.
///
/// # Errors
///
/// Returns an error if the JSON value is not a string.
pub fn unquote(json: &str) -> Result<Cow<'_, str>, NotAString> {
    let inner = without_quotes(json)?;
    if plain_length(inner.as_bytes()) == inner.len() {
        return Ok(Cow::Borrowed(inner));
    }
    unescape(inner).map(Cow::Owned).ok_or(NotAString)
}

/// Returns the part of a JSON string between the quotes. If this part contains no backslash, it is the string's text.
///
/// # Errors
///
/// Returns an error if the JSON value is not a string.
pub(super) fn without_quotes(json: &str) -> Result<&str, NotAString> {
    let inner = json
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inner.ok_or(NotAString)
}

/// Decodes the text between the quotes of a JSON string. Returns `None` if it is not valid.
fn unescape(json: &str) -> Option<String> {
    let mut text = String::with_capacity(json.len());
    let end = decode(json, &mut text).ok()?;
    (end == json.len()).then_some(text)
}

/// Minimum capacity for a string with escapes, because its decoded length is not known in advance.
const MIN_DECODED_CAPACITY: usize = 64;
/// Length of JSON for all of which there is room when a string first grows, so that it grows once.
const AT_ONCE: usize = 2 << 10;

/// Decodes a JSON string whose opening quote has been read. Returns the string and the length of its JSON up to the
/// closing quote, or the position of the first invalid byte.
pub(super) fn decode_leading(json: &str) -> Result<(Cow<'_, str>, usize), usize> {
    let length = plain_length(json.as_bytes());
    let (head, rest) = json.split_at_checked(length).ok_or(length)?;
    if rest.starts_with('"') {
        return Ok((Cow::Borrowed(head), length));
    }
    let mut text = String::with_capacity(
        MIN_DECODED_CAPACITY
            .max(length.saturating_mul(2))
            .min(json.len()),
    );
    text.push_str(head);
    let more = decode(rest, &mut text).map_err(|at| length + at)?;
    if rest.as_bytes().get(more) == Some(&b'"') {
        Ok((Cow::Owned(text), length + more))
    } else {
        Err(length + more)
    }
}

/// Returns the room to make for decoded JSON, given what its beginning suggests.
#[inline]
const fn room(suggested: usize, json: &str) -> usize {
    if json.len() <= AT_ONCE || suggested > json.len() {
        json.len()
    } else {
        suggested
    }
}

/// Appends the decoded text up to a quote or the end. Returns the number of bytes read, or the position of an invalid
/// byte.
fn decode(json: &str, text: &mut String) -> Result<usize, usize> {
    let mut rest = json;
    loop {
        let at = json.len() - rest.len();
        let length = plain_run_length(rest.as_bytes());
        let (head, after) = rest.split_at_checked(length).ok_or(at)?;
        if text.capacity() - text.len() <= length {
            // Growing fourfold copies less than doubling. No more can follow than the rest of the JSON.
            text.reserve(room((3 * text.len()).max(length + 1), rest));
        }
        text.push_str(head);
        let at = at + length;
        let kind = match after.as_bytes() {
            [] | [b'"', ..] => return Ok(at),
            [b'\\', kind, ..] => kind,
            _ => return Err(at),
        };
        let length = if let Some(character) = short_escape(*kind) {
            text.push(character);
            2
        } else {
            let (character, length) = unicode_escape(after.as_bytes()).ok_or(at)?;
            text.push(character);
            length
        };
        rest = after.get(length..).ok_or(at)?;
    }
}

/// The character for each escape of two bytes, by its second byte, or zero if there is no such escape.
const ESCAPED_BYTES: [u8; 256] = byte_table(&[
    (b'"', b'"'),
    (b'\\', b'\\'),
    (b'/', b'/'),
    (b'b', 0x08),
    (b'f', 0x0C),
    (b'n', b'\n'),
    (b'r', b'\r'),
    (b't', b'\t'),
]);

/// Returns the character for an escape of two bytes whose second byte is `kind`.
#[inline]
fn short_escape(kind: u8) -> Option<char> {
    let character = ESCAPED_BYTES[usize::from(kind)];
    (character != 0).then_some(char::from(character & 0x7F))
}

/// Reads an escape such as `\u00e9`, or two escapes that form a surrogate pair. Returns the character and the number of
/// bytes read.
#[cold]
fn unicode_escape(escape: &[u8]) -> Option<(char, usize)> {
    if escape.get(1) != Some(&b'u') {
        return None;
    }
    let unit = parse_hex4(escape, 2)?;
    if !(0xD800..0xDC00).contains(&unit) {
        return Some((char::from_u32(unit)?, 6));
    }
    if escape.get(6..8) != Some(b"\\u") {
        return None;
    }
    let low = parse_hex4(escape, 8)?;
    let low = low.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
    let character = char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + low)?;
    Some((character, 12))
}

/// Returns the position of the quote that ends a JSON string, or the position of the first invalid byte or escape. The
/// search begins at `from`, which is inside the string, but not inside an escape.
pub(super) fn string_end(json: &[u8], from: usize) -> Result<usize, usize> {
    let (blocks, tail) = json.get(from..).unwrap_or_default().as_chunks::<BLOCK>();
    let mut base = from;
    let mut resume = from;
    for block in blocks {
        if let Some(end) = end_in_block(json, base, special_marks(block), &mut resume) {
            return end;
        }
        base += BLOCK;
    }
    let mut last = [b' '; BLOCK];
    for (byte, from) in last.iter_mut().zip(tail) {
        *byte = *from;
    }
    end_in_block(json, base, special_marks(&last), &mut resume).unwrap_or(Err(json.len()))
}

/// Examines the special bytes in the block at `base`, beginning with the byte at `resume`. Returns `None` if the string
/// continues after the block, and sets `resume` to a later position if an escape does.
#[inline]
fn end_in_block(
    json: &[u8],
    base: usize,
    mut marks: u32,
    resume: &mut usize,
) -> Option<Result<usize, usize>> {
    while marks != 0 {
        let bit = marks.trailing_zeros();
        marks &= !(1 << bit);
        let at = base + bit as usize;
        if at < *resume {
            continue;
        }
        let special = json.get(at..).unwrap_or_default();
        let [b'\\', kind, ..] = special else {
            let is_end = special.first() == Some(&b'"');
            return Some(if is_end { Ok(at) } else { Err(at) });
        };
        let length = if short_escape(*kind).is_some() {
            2
        } else if let Some((_, length)) = unicode_escape(special) {
            length
        } else {
            return Some(Err(at));
        };
        *resume = at + length;
    }
    None
}

/// Returns the number written as four hexadecimal digits at `at`.
fn parse_hex4(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at.checked_add(4)?)?;
    digits.iter().try_fold(0, |number, digit| {
        let value = char::from(*digit).to_digit(16)?;
        Some((number << 4) | value)
    })
}

// --- Writes JSON strings.

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

// --- Finds the bytes of text that JSON strings escape. Text is examined in words, which suits names, or in blocks.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Number of bytes whose special bytes are found in one step.
const BLOCK: usize = 32;
/// Number of bytes in a vector.
const HALF: usize = 16;
/// Number of consecutive vectors without a special byte after which text is searched in larger steps.
const CLEAN_VECTORS: usize = 8;

/// Returns the number of bytes before the first quote, backslash or control character.
#[inline]
pub(super) fn plain_length(bytes: &[u8]) -> usize {
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
fn plain_run_length(bytes: &[u8]) -> usize {
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
fn long_plain_length(bytes: &[u8]) -> usize {
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
fn first_special_of(block: &[u8; HALF]) -> Option<usize> {
    let marks = special_marks_of_half(block);
    (marks != 0).then(|| marks.trailing_zeros() as usize)
}

/// Returns a bit for each byte of a block, with the first byte in the lowest bit. A bit is set if its byte is special.
#[inline]
fn special_marks(block: &[u8; BLOCK]) -> u32 {
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

/// Returns a table with the second byte of each pair at the index of the first, and zero everywhere else.
const fn byte_table(mut pairs: &[(u8, u8)]) -> [u8; 256] {
    let mut table = [0; 256];
    while let [(index, value), rest @ ..] = pairs {
        table[*index as usize] = *value;
        pairs = rest;
    }
    table
}

#[cfg(test)]
mod tests;
