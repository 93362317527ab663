//! Recovers the id from a message that could not be read, for use in the error response.

use crate::jsonrpc::scan::Scan;
use crate::jsonrpc::text::plain_length;

/// Returns the value of `id`, as JSON text, from a request that is too deeply nested or too long to be read in full.
///
/// Values are skipped by matching brackets without validating the contents, so the id must be used only for an error
/// response. Returns `None` for a response, for a message with more than one id, and for a message in which a member's
/// name contains an escape, because the decoded name could be a second `id`.
pub(super) fn rescue_id(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, 0_usize);
    let (mut id, mut requests) = (None, false);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let (start, mut escaped) = (at, false);
                at += 1;
                loop {
                    at += plain_length(bytes.get(at..)?);
                    match bytes.get(at)? {
                        b'"' => break,
                        b'\\' => {
                            escaped = true;
                            at += 2;
                        }
                        _ => return None,
                    }
                }
                let rest = text.get(at + 1..)?.trim_ascii_start();
                if let (1, Some(value)) = (depth, rest.strip_prefix(':')) {
                    if escaped {
                        return None;
                    }
                    match text.get(start..=at)? {
                        "\"method\"" => requests = true,
                        "\"result\"" | "\"error\"" => return None,
                        "\"id\"" if id.is_some() => return None,
                        "\"id\"" => id = Some(value),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    let id = id.filter(|_| requests && depth == 0)?;
    Scan::scalar(id).next_value()
}
