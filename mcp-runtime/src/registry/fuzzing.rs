//! See [`crate::fuzzing`].

use super::cursor::{Cursor, Mark, Place};
use super::table::Key;
use crate::context::List;

/// Returns a cursor of `list` after an item: a declared item with this rank, or else an inserted one. With `inner`, a cursor
/// among the resources that a template lists.
#[must_use]
pub fn cursor(list: List, rank: Option<u32>, name: &str, inner: Option<&str>) -> String {
    let key = match rank {
        Some(rank) => Key::Declared(rank),
        None => Key::Inserted(name.into()),
    };
    let mark = Mark::new(&key, name);
    let place = match inner {
        Some(inner) => Place::Within(mark, Some(inner.to_owned())),
        None => Place::After(mark),
    };
    let cursor = Cursor { list, place };
    let text = cursor.encode("");
    assert_eq!(Cursor::decode(list, "", &text), Ok(cursor));
    text
}

/// Parses a cursor of `list` and encodes it again; `None` if it is invalid.
#[must_use]
pub fn read_cursor(list: List, text: &str) -> Option<String> {
    let cursor = Cursor::decode(list, "", text).ok()?;
    Some(cursor.encode(""))
}
