//! Results that are too large to send: they are kept (`large_result`, `kept_results`) and cut into parts that a model
//! can read (`document`, `page`).

mod kept_results;
mod large_result;
mod page;

pub use large_result::{Spill, SpillExt};
use mcp_protocol::jsonrpc::write_string;
pub(crate) use page::{Document, PageEnd, PageRequest, PageText, Unit, duration, page_note, shape};

/// The name of the tool that reads parts of a kept result.
const READ_RESULT: &str = "read_result";
/// The beginning of a kept result's URI. The id follows.
const RESULT_URI: &str = "mcp-result:///";

/// Returns the number of bytes that the text takes up inside a JSON string.
pub(crate) fn escaped_size(text: &str) -> usize {
    let mut out = Vec::new();
    write_string(&mut out, text);
    out.len().saturating_sub(2)
}
