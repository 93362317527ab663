//! Cursors: positions in a list, encoded as strings that are opaque to clients.
//!
//! A cursor contains the last item that a client saw rather than a page number, so that unrelated changes do not cause
//! items to be skipped or repeated. The cursor is self-contained, so every instance of the server can read it.
//! Validation is strict: a cursor must belong to this list and be complete and unmodified. If the list depends on the
//! caller, the cursor must also have been issued to the same caller. A client that forges a cursor can only choose the
//! position at which the list continues.
//!
//! Specification: 2026-07-28, server/utilities/pagination.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::context::Capability;
use crate::registry::order::{OrderKey, fingerprint};

/// Indicates that a cursor is not valid for its list. The error code is -32602.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidCursor;

/// The position at which a list continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) list: Capability,
    pub(crate) position: CursorPosition,
}

/// A position in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CursorPosition {
    /// After this item.
    After(ItemMark),
    /// Within the resources listed by this template, either at the given lister cursor or at the start.
    Within(ItemMark, Option<String>),
}

/// Identifies an item independently of its current position in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ItemMark {
    /// The fingerprint of the item's name.
    pub(crate) fingerprint: u64,
    /// The item's position in the order, used if the item has been removed. Long names are truncated.
    pub(crate) key: OrderKey,
}

/// Maximum length of a name in a cursor, in bytes.
const NAME: usize = 192;
/// Maximum length of a lister's cursor, in bytes.
pub(crate) const INNER: usize = 512;
/// The value used as the rank of items inserted at run time.
const INSERTED: u32 = u32::MAX;
/// Included in the checksum so that cursors from other programs or with other layouts are invalid.
const SALT: &[u8] = b"mcp-runtime cursor 2";

impl ItemMark {
    pub(crate) fn new(key: &OrderKey, name: &str) -> Self {
        let key = match key {
            OrderKey::Declared(rank) => OrderKey::Declared(*rank),
            OrderKey::Inserted(name) => {
                let mut end = name.len().min(NAME);
                while !name.is_char_boundary(end) {
                    end = end.saturating_sub(1);
                }
                OrderKey::Inserted(name.get(..end).unwrap_or_default().into())
            }
        };
        Self {
            fingerprint: fingerprint(name),
            key,
        }
    }
}

impl Cursor {
    /// Returns the string for the client. The string is at most 1 KiB long and valid only for `owner`, which is
    /// included in the checksum. `owner` is empty for a list that is the same for all callers.
    pub(crate) fn encode(&self, owner: &str) -> String {
        let (stage, mark, inner) = match &self.position {
            CursorPosition::After(mark) => (0, mark, None),
            CursorPosition::Within(mark, None) => (1, mark, None),
            CursorPosition::Within(mark, Some(inner)) => (2, mark, Some(inner)),
        };
        let (rank, name) = match &mark.key {
            OrderKey::Declared(rank) => (*rank, ""),
            OrderKey::Inserted(name) => (INSERTED, &**name),
        };
        let mut bytes = vec![(list_tag(self.list) << 2) | stage];
        bytes.extend(rank.to_be_bytes());
        bytes.extend(mark.fingerprint.to_be_bytes());
        bytes.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        bytes.extend(name.as_bytes());
        bytes.extend(inner.map(String::as_bytes).unwrap_or_default());
        let check = checksum(&bytes, owner).to_be_bytes();
        URL_SAFE_NO_PAD.encode([&check[..], &bytes].concat())
    }

    /// Parses a cursor for `list` that was issued to `owner`.
    pub(crate) fn decode(list: Capability, owner: &str, text: &str) -> Result<Self, InvalidCursor> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidCursor)?;
        let position = decode_position(list, owner, &bytes).ok_or(InvalidCursor)?;
        Ok(Self { list, position })
    }
}

fn decode_position(list: Capability, owner: &str, bytes: &[u8]) -> Option<CursorPosition> {
    let (check, bytes) = bytes.split_first_chunk::<8>()?;
    if checksum(bytes, owner) != u64::from_be_bytes(*check) {
        return None;
    }
    let (head, rest) = bytes.split_first()?;
    if head >> 2 != list_tag(list) {
        return None;
    }
    let (rank, rest) = rest.split_first_chunk()?;
    let (fingerprint, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first()?;
    let (name, inner) = rest.split_at_checked(usize::from(*length))?;
    let name = std::str::from_utf8(name).ok()?;
    let inner = std::str::from_utf8(inner).ok()?;
    let key = match u32::from_be_bytes(*rank) {
        INSERTED => OrderKey::Inserted(name.into()),
        rank if name.is_empty() => OrderKey::Declared(rank),
        _ => return None,
    };
    let mark = ItemMark {
        fingerprint: u64::from_be_bytes(*fingerprint),
        key,
    };
    match head & 3 {
        0 if inner.is_empty() => Some(CursorPosition::After(mark)),
        1 if inner.is_empty() && list == Capability::Resources => {
            Some(CursorPosition::Within(mark, None))
        }
        2 if list == Capability::Resources => {
            Some(CursorPosition::Within(mark, Some(inner.to_owned())))
        }
        _ => None,
    }
}

fn list_tag(list: Capability) -> u8 {
    match list {
        Capability::Tools => 1,
        Capability::Prompts => 2,
        Capability::Resources => 3,
        Capability::Templates => 4,
    }
}

/// Comes first in a cursor: if it came last, a lister's cursor that contained the right eight bytes would make the part
/// of the cursor up to them valid too.
fn checksum(bytes: &[u8], owner: &str) -> u64 {
    crate::fnv::fnv(SALT.iter().chain(bytes).chain(owner.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTS: [Capability; 4] = [
        Capability::Tools,
        Capability::Prompts,
        Capability::Resources,
        Capability::Templates,
    ];

    fn cursors() -> Vec<Cursor> {
        let long = "é".repeat(5_000);
        let marks = [
            ItemMark::new(&OrderKey::Declared(7), "add"),
            ItemMark::new(&OrderKey::Inserted("add".into()), "add"),
            ItemMark::new(&OrderKey::Inserted(long.as_str().into()), &long),
        ];
        let mut cursors = Vec::new();
        for mark in marks {
            for list in LISTS {
                let position = CursorPosition::After(mark.clone());
                cursors.push(Cursor { list, position });
            }
            for inner in [None, Some(String::new()), Some("x".repeat(INNER))] {
                cursors.push(Cursor {
                    list: Capability::Resources,
                    position: CursorPosition::Within(mark.clone(), inner),
                });
            }
        }
        cursors
    }

    #[test]
    fn a_cursor_reads_back_and_fits() {
        for cursor in cursors() {
            let text = cursor.encode("");
            assert!(text.len() <= 1_024, "{}", text.len());
            assert_eq!(Cursor::decode(cursor.list, "", &text), Ok(cursor));
        }
    }

    #[test]
    fn a_cursor_of_another_list_is_invalid() {
        for cursor in cursors() {
            let text = cursor.encode("");
            for list in LISTS {
                assert_eq!(
                    Cursor::decode(list, "", &text).is_ok(),
                    list == cursor.list,
                    "{list:?}"
                );
            }
        }
    }

    #[test]
    fn a_cursor_is_good_for_whom_it_was_given_to() {
        for cursor in cursors() {
            let text = cursor.encode("5:alice");
            for owner in ["", "5:alice", "5:alicf", "3:bob"] {
                let is_good = Cursor::decode(cursor.list, owner, &text).is_ok();
                assert_eq!(is_good, owner == "5:alice", "{owner}");
            }
        }
    }

    #[test]
    fn a_changed_or_cut_cursor_is_invalid() {
        for cursor in cursors() {
            let text = cursor.encode("");
            for end in 0..text.len() {
                let cut = text.get(..end).unwrap();
                assert_eq!(Cursor::decode(cursor.list, "", cut), Err(InvalidCursor));
            }
            for at in 0..text.len() {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
                let changed = String::from_utf8(bytes).unwrap();
                assert_eq!(
                    Cursor::decode(cursor.list, "", &changed),
                    Err(InvalidCursor)
                );
            }
            let padded = format!("{text}=");
            assert_eq!(Cursor::decode(cursor.list, "", &padded), Err(InvalidCursor));
        }
    }

    #[test]
    fn a_position_that_no_cursor_has_is_invalid_even_with_a_checksum() {
        let mark = ItemMark::new(&OrderKey::Declared(7), "add");
        let after = Cursor {
            list: Capability::Tools,
            position: CursorPosition::After(mark),
        };
        let bytes = URL_SAFE_NO_PAD.decode(after.encode("")).unwrap();
        let (_, valid) = bytes.split_first_chunk::<8>().unwrap();
        let decode = |list, kind: u8, inner: &[u8]| {
            let mut bytes = valid.to_vec();
            bytes[0] = list_tag(list) << 2 | kind;
            bytes.extend_from_slice(inner);
            let check = checksum(&bytes, "").to_be_bytes();
            decode_position(list, "", &[&check, &*bytes].concat()).is_some()
        };
        let mut named = valid.to_vec();
        *named.last_mut().unwrap() = 1;
        named.push(b'a');
        let check = checksum(&named, "").to_be_bytes();
        let named = [&check, &*named].concat();
        assert_eq!(decode_position(Capability::Tools, "", &named), None);
        for list in LISTS {
            let is_resources = list == Capability::Resources;
            let valid = [true, is_resources, is_resources, false];
            let valid_with_inner = [false, false, is_resources, false];
            for kind in 0..4 {
                let at = usize::from(kind);
                assert_eq!(decode(list, kind, b""), valid[at], "{list:?} {kind}");
                let with_inner = decode(list, kind, b"inner");
                assert_eq!(with_inner, valid_with_inner[at], "{list:?} {kind}");
            }
        }
    }

    #[test]
    fn a_cursor_cut_after_a_checksum_in_a_listers_cursor_is_invalid() {
        let within = |rank, inner: &str| Cursor {
            list: Capability::Resources,
            position: CursorPosition::Within(
                ItemMark::new(&OrderKey::Declared(rank), "a"),
                Some(inner.into()),
            ),
        };
        let mut tried = 0;
        for rank in 0..10_000 {
            let shorter = URL_SAFE_NO_PAD.decode(within(rank, "").encode("")).unwrap();
            // The lister's cursor is text, so only some checksums can appear in it.
            let Ok(check) = std::str::from_utf8(&shorter[..8]) else {
                continue;
            };
            let bytes = URL_SAFE_NO_PAD
                .decode(within(rank, check).encode(""))
                .unwrap();
            for end in 0..bytes.len() {
                let cut = URL_SAFE_NO_PAD.encode(&bytes[..end]);
                let decoded = Cursor::decode(Capability::Resources, "", &cut);
                assert_eq!(decoded, Err(InvalidCursor), "{rank} {end}");
            }
            tried += 1;
        }
        assert!(tried > 10, "{tried}");
    }

    #[test]
    fn what_is_no_cursor_is_invalid() {
        for text in ["", "0", "invalid-cursor", "AAAA", "\u{0}", "é", "eyJ9"] {
            assert_eq!(
                Cursor::decode(Capability::Tools, "", text),
                Err(InvalidCursor),
                "{text}"
            );
        }
    }
}
