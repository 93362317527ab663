//! Large results, cut into parts that a model can read. Performs no I/O; `dispatch` keeps the results.

mod document;
mod page;
mod words;

pub(crate) use document::{Document, Unit};
pub(crate) use page::{PageEnd, PageRequest, PageText};
pub(crate) use words::{duration, page_note, shape};

use crate::jsonrpc::write_string;

/// Returns the number of bytes that the text takes up inside a JSON string.
pub(crate) fn escaped_size(text: &str) -> usize {
    let mut out = Vec::new();
    write_string(&mut out, text);
    out.len().saturating_sub(2)
}
