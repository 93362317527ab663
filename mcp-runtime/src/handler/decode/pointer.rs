//! Finds the value in which serde stopped reading.

use std::borrow::Cow;

use mcp_schema::explain::push_token;

use crate::jsonrpc::Scan;

/// Returns the JSON pointer to the value that contains or ends at the given position. The position is as reported by
/// serde, which counts lines and bytes from 1.
///
/// At the end of an object or array, the position could refer either to the object or array itself or to its last
/// member. In this case, the returned pointer refers to the object or array.
pub(super) fn pointer_at(text: &str, line: usize, column: usize) -> String {
    let before = text.split_inclusive('\n').take(line.saturating_sub(1));
    let start: usize = before.map(str::len).sum();
    let end = start.saturating_add(column);
    // An error in an item is reported only after the following comma has been read. That comma must not be counted as
    // the start of the next item.
    let read = text.get(..end).unwrap_or(text).trim_ascii_end();
    let end = read.strip_suffix(',').unwrap_or(read).len();
    let mut parts: Vec<PointerPart<'_>> = Vec::new();
    let mut at = 0_usize;
    while at < end {
        let Some(byte) = text.as_bytes().get(at) else {
            break;
        };
        let mut length = 1;
        match byte {
            b'{' => parts.push(PointerPart::Name(Cow::Borrowed(""), false)),
            b'[' => parts.push(PointerPart::Index(0)),
            b'}' | b']' => {
                parts.pop();
            }
            b',' => match parts.last_mut() {
                Some(PointerPart::Index(index)) => *index = index.saturating_add(1),
                Some(PointerPart::Name(_, known)) => *known = false,
                None => {}
            },
            b'"' => {
                let mut scan = Scan::new(text.get(at..).unwrap_or(""));
                let Some(string) = scan.next_string() else {
                    break;
                };
                length = scan.position();
                if let Some(PointerPart::Name(name, known @ false)) = parts.last_mut() {
                    (*name, *known) = (string, true);
                }
            }
            _ => {}
        }
        at = at.saturating_add(length);
    }
    let mut pointer = String::new();
    for part in parts {
        match part {
            PointerPart::Name(name, true) => push_token(&mut pointer, &name),
            PointerPart::Name(_, false) => break,
            PointerPart::Index(index) => push_token(&mut pointer, &index.to_string()),
        }
    }
    pointer
}

/// A position in an object or array: either a member's name and whether it has been read since the last comma,
/// or an item's index.
enum PointerPart<'t> {
    Name(Cow<'t, str>, bool),
    Index(usize),
}
