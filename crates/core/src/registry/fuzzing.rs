//! See [`crate::fuzzing`].

use super::cursor::{Cursor, CursorPosition, CursorReader, ItemMark, TestSeal};
use crate::context::Capability;
use crate::registry::cursor::OrderKey;

/// A reader of lists that are the same for all callers.
const READER: CursorReader<'static> = CursorReader {
    seal: &TestSeal,
    caller: "",
    is_shared: true,
};

/// Returns a cursor for `list` that points after an item. The item is a declared item with this rank, or an inserted
/// item if `rank` is `None`. If `inner` is given, the cursor points to a position within the resources that a template
/// lists.
#[must_use]
pub fn cursor(list: Capability, rank: Option<u32>, name: &str, inner: Option<&str>) -> String {
    let key = match rank {
        Some(rank) => OrderKey::Declared(rank),
        None => OrderKey::Inserted(name.into()),
    };
    let mark = ItemMark::new(&key, name);
    let position = match inner {
        Some(inner) => CursorPosition::Within(mark, Some(inner.to_owned())),
        None => CursorPosition::After(mark),
    };
    let cursor = Cursor { list, position };
    let text = cursor.encode(READER);
    assert_eq!(Cursor::decode(list, READER, &text), Ok(cursor));
    text
}

/// Parses a cursor for `list` and encodes it again, with a seal if it had one. Returns `None` if the cursor is invalid.
#[must_use]
pub fn read_cursor(list: Capability, text: &str) -> Option<String> {
    let cursor = Cursor::decode(list, READER, text).ok()?;
    let again = cursor.encode(READER);
    if again == text {
        return Some(again);
    }
    // Cursors that were sealed while a list depended on the caller remain valid when it no longer does.
    let sealed = CursorReader {
        is_shared: false,
        ..READER
    };
    Some(cursor.encode(sealed))
}
