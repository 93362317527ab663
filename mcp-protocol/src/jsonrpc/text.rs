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
