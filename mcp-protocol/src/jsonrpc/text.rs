//! Decodes and encodes JSON strings.
//!
//! Text is examined in blocks, and copied in blocks and runs.

mod decode;
mod search;
#[cfg(test)]
mod tests;
mod write;

pub use decode::unquote;
pub(super) use decode::{decode_leading, string_end, without_quotes};
pub(super) use search::plain_length;
pub use write::write_string;

/// Returns a table with the second byte of each pair at the index of the first, and zero everywhere else.
const fn byte_table(mut pairs: &[(u8, u8)]) -> [u8; 256] {
    let mut table = [0; 256];
    while let [(index, value), rest @ ..] = pairs {
        table[*index as usize] = *value;
        pairs = rest;
    }
    table
}
