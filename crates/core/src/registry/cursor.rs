//! Cursors: positions in a list, encoded as strings that are opaque to clients.
//!
//! A cursor contains the last item that a client saw rather than a page number, so that unrelated changes do not cause
//! items to be skipped or repeated. The cursor is self-contained, so every instance of the server can read it.
//! Validation is strict: a cursor must belong to this list and be complete and unmodified.
//!
//! A cursor is sealed for its caller if its list depends on the caller, or if it contains the cursor of an author's
//! lister or source: nobody else can use it, and nobody at all can read it or make one. The other cursors are positions
//! in a list that is the same for everybody. They have a checksum but no seal, so that the pages that contain them can
//! be kept; a client that forges one can only choose the position at which such a list continues.
//!
//! Specification: 2026-07-28, server/utilities/pagination.

use crate::seal::{Binding, Seal, now};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::context::Capability;
use crate::fnv::fnv;

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
    /// Within the resources listed by this template or the tools of this source, either at the cursor of the lister or
    /// source, or at the start.
    Within(ItemMark, Option<String>),
}

/// Identifies an item independently of its current position in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemMark {
    /// The fingerprint of the item's name.
    pub(crate) fingerprint: u64,
    /// The item's position in the order, used if the item has been removed. Long names are truncated.
    pub(crate) key: OrderKey,
}

/// Seals cursors for their callers. A trait, because tests and fuzz targets need a seal that writes a position in one way
/// only.
pub trait CursorSeal: Send + Sync {
    /// Seals a position for the caller with this key. Returns `None` if that is not possible.
    fn seal(&self, caller: &str, position: &[u8]) -> Option<String>;
    /// Returns the position in a cursor that was sealed for the caller with this key.
    fn open(&self, caller: &str, cursor: &str) -> Option<Vec<u8>>;
}

/// Seals the cursors of lists for their callers. Instances with the same keys and the same name open each other's cursors;
/// without the `sealing` feature, only the latest 1,024 cursors of this process can be opened.
pub struct SealedCursors {
    seal: Seal,
    server: Box<str>,
}

impl SealedCursors {
    /// The time for which a cursor is valid: longer than any client walks through a list.
    pub const LIFETIME: Duration = Duration::from_hours(24 * 365);

    /// Creates the seal for the cursors of the server with this name. `seal` must be for cursors only.
    #[must_use]
    pub fn new(seal: Seal, server: &str) -> Self {
        Self {
            seal,
            server: server.into(),
        }
    }

    fn binding(&self, caller: &str) -> [u8; 32] {
        let binding = Binding {
            server: &self.server,
            principal: caller,
            method: "cursor",
            name: "",
            arguments: "{}",
        };
        binding.digest()
    }
}

impl CursorSeal for SealedCursors {
    fn seal(&self, caller: &str, position: &[u8]) -> Option<String> {
        self.seal.seal(&self.binding(caller), position, now())
    }

    fn open(&self, caller: &str, cursor: &str) -> Option<Vec<u8>> {
        let opened = self.seal.open(&self.binding(caller), cursor, now());
        opened.ok()
    }
}

/// The reader of a list, for whom its cursors are valid.
#[derive(Clone, Copy)]
pub(crate) struct CursorReader<'a> {
    pub(crate) seal: &'a dyn CursorSeal,
    /// The caller's key.
    pub(crate) caller: &'a str,
    /// `true` if the list is the same for all callers. The resources that listers return may still differ.
    pub(crate) is_shared: bool,
}

/// Maximum length of a name in a cursor, in bytes. With it, a sealed cursor is at most 1 KiB long.
const MAX_NAME_BYTES: usize = 160;

/// Maximum length of a lister's cursor, in bytes.
pub const INNER: usize = 512;

/// Maximum length of a position in bytes, before it is sealed.
#[cfg(test)]
pub(crate) const MAX_POSITION_BYTES: usize = 1 + 4 + 8 + 1 + MAX_NAME_BYTES + INNER;

/// The value used as the rank of items inserted at run time.
const INSERTED: u32 = u32::MAX;

/// Included in the checksum.
const SALT: &[u8] = b"mcp-runtime cursor 3";

impl ItemMark {
    /// Returns `true` if this is the mark of an item or source with this name.
    pub(crate) fn is_of(&self, name: &str) -> bool {
        self.fingerprint == fingerprint(name)
    }

    pub(crate) fn new(key: &OrderKey, name: &str) -> Self {
        let key = match key {
            OrderKey::Declared(rank) => OrderKey::Declared(*rank),
            OrderKey::Inserted(name) => {
                let mut end = name.len().min(MAX_NAME_BYTES);
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
    /// Returns the string for the client, which is at most 1 KiB long.
    pub(crate) fn encode(&self, reader: CursorReader<'_>) -> String {
        let bytes = self.to_bytes();
        if reader.is_shared && matches!(self.position, CursorPosition::After(_)) {
            let check = checksum(&bytes).to_be_bytes();
            return URL_SAFE_NO_PAD.encode([&check[..], &bytes].concat());
        }
        // An empty cursor is refused when it is used, which is better than a list that ends too early.
        reader.seal.seal(reader.caller, &bytes).unwrap_or_default()
    }

    /// Parses a cursor for `list` that was issued to this reader.
    pub(crate) fn decode(
        list: Capability,
        reader: CursorReader<'_>,
        text: &str,
    ) -> Result<Self, InvalidCursor> {
        let shared = || decode_shared(list, text).filter(|_| reader.is_shared);
        let position = shared().or_else(|| {
            let bytes = reader.seal.open(reader.caller, text)?;
            decode_position(list, &bytes)
        });
        let position = position.ok_or(InvalidCursor)?;
        Ok(Self { list, position })
    }

    fn to_bytes(&self) -> Vec<u8> {
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
        bytes
    }
}

/// Parses the cursor of a list that is the same for all callers.
fn decode_shared(list: Capability, text: &str) -> Option<CursorPosition> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (check, bytes) = bytes.split_first_chunk::<8>()?;
    if checksum(bytes) != u64::from_be_bytes(*check) {
        return None;
    }
    // Everything else is sealed.
    decode_position(list, bytes).filter(|position| matches!(position, CursorPosition::After(_)))
}

fn decode_position(list: Capability, bytes: &[u8]) -> Option<CursorPosition> {
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
        1 if inner.is_empty() && has_inner(list) => Some(CursorPosition::Within(mark, None)),
        2 if has_inner(list) => Some(CursorPosition::Within(mark, Some(inner.to_owned()))),
        _ => None,
    }
}

/// Returns `true` for the lists whose last pages are made by user code.
fn has_inner(list: Capability) -> bool {
    matches!(list, Capability::Tools | Capability::Resources)
}

/// Returns the cursor for the tools of the source with this index and name, at the source's cursor or at the start.
pub fn source_cursor(
    (index, name, inner): (usize, &str, Option<String>),
    caller: &str,
    seal: &dyn CursorSeal,
) -> String {
    let rank = u32::try_from(index).unwrap_or(u32::MAX);
    let mark = ItemMark::new(&OrderKey::Declared(rank), name);
    let cursor = Cursor {
        list: Capability::Tools,
        position: CursorPosition::Within(mark, inner),
    };
    let reader = CursorReader {
        seal,
        caller,
        is_shared: false,
    };
    cursor.encode(reader)
}

fn list_tag(list: Capability) -> u8 {
    match list {
        Capability::Tools => 1,
        Capability::Prompts => 2,
        Capability::Resources => 3,
        Capability::Templates => 4,
    }
}

/// Computes the checksum of a cursor without a seal, which excludes cursors from other programs or with other layouts.
fn checksum(bytes: &[u8]) -> u64 {
    crate::fnv::fnv(SALT.iter().chain(bytes))
}

/// A seal without a key, for tests: the caller's key and a checksum.
#[cfg(any(test, fuzzing))]
pub(super) struct TestSeal;

#[cfg(any(test, fuzzing))]
impl CursorSeal for TestSeal {
    fn seal(&self, caller: &str, position: &[u8]) -> Option<String> {
        let check = crate::fnv::fnv(b"seal".iter().chain(caller.as_bytes()).chain(position));
        Some(URL_SAFE_NO_PAD.encode([&check.to_be_bytes()[..], position].concat()))
    }

    fn open(&self, caller: &str, cursor: &str) -> Option<Vec<u8>> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (_, position) = bytes.split_first_chunk::<8>()?;
        let is_own = self.seal(caller, position).as_deref() == Some(cursor);
        is_own.then(|| position.to_vec())
    }
}

/// The position of a callable in its list. The position is the same in every instance of a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OrderKey {
    /// Annotated functions come first, sorted by the position of their definitions in the program.
    Declared(u32),
    /// Definitions inserted at run time follow, sorted by name regardless of the order of insertion.
    Inserted(Arc<str>),
}

/// Returns the number that represents a name in a cursor. The number is the same in all instances.
pub(crate) fn fingerprint(name: &str) -> u64 {
    fnv(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use crate::registry::cursor::*;

    const LISTS: [Capability; 4] = [
        Capability::Tools,
        Capability::Prompts,
        Capability::Resources,
        Capability::Templates,
    ];

    fn reader(caller: &str, is_shared: bool) -> CursorReader<'_> {
        CursorReader {
            seal: &TestSeal,
            caller,
            is_shared,
        }
    }

    fn readers() -> [CursorReader<'static>; 2] {
        [true, false].map(|is_shared| reader("", is_shared))
    }

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
                for list in [Capability::Tools, Capability::Resources] {
                    let position = CursorPosition::Within(mark.clone(), inner.clone());
                    cursors.push(Cursor { list, position });
                }
            }
        }
        cursors
    }

    fn is_plain(cursor: &Cursor) -> bool {
        matches!(cursor.position, CursorPosition::After(_))
    }

    #[test]
    fn the_longest_sealed_cursor_fits() {
        let seal = Seal::new(crate::seal::SealingKeys::new(&[]), SealedCursors::LIFETIME);
        let cursors = SealedCursors::new(seal, "s");
        let cursor = CursorSeal::seal(&cursors, "alice", &[0; MAX_POSITION_BYTES]).unwrap();
        assert!(cursor.len() <= 1_024, "{}", cursor.len());
        let opened = CursorSeal::open(&cursors, "alice", &cursor).unwrap();
        assert_eq!(opened, [0; MAX_POSITION_BYTES]);
        assert_eq!(CursorSeal::open(&cursors, "bob", &cursor), None);
    }

    #[test]
    fn a_cursor_reads_back() {
        for (cursor, reader) in cursors().iter().flat_map(|it| readers().map(|r| (it, r))) {
            let text = cursor.encode(reader);
            assert!(cursor.to_bytes().len() <= MAX_POSITION_BYTES);
            assert!(text.len() <= 1_024, "{}", text.len());
            let read = Cursor::decode(cursor.list, reader, &text);
            assert_eq!(read.as_ref(), Ok(cursor));
        }
    }

    #[test]
    fn a_cursor_of_another_list_is_invalid() {
        for (cursor, reader) in cursors().iter().flat_map(|it| readers().map(|r| (it, r))) {
            let text = cursor.encode(reader);
            for list in LISTS {
                let is_ok = Cursor::decode(list, reader, &text).is_ok();
                assert_eq!(is_ok, list == cursor.list, "{list:?}");
            }
        }
    }

    #[test]
    fn a_sealed_cursor_is_valid_only_for_its_caller() {
        for cursor in cursors() {
            for is_shared in [false, true] {
                let text = cursor.encode(reader("5:alice", is_shared));
                for caller in ["", "5:alice", "5:alicf", "3:bob"] {
                    let read = Cursor::decode(cursor.list, reader(caller, is_shared), &text);
                    let is_for_all = is_shared && is_plain(&cursor);
                    assert_eq!(read.is_ok(), is_for_all || caller == "5:alice", "{caller}");
                }
            }
        }
    }

    #[test]
    fn a_position_that_must_be_sealed_is_invalid_without_a_seal() {
        for cursor in cursors() {
            let bytes = cursor.to_bytes();
            let check = checksum(&bytes).to_be_bytes();
            let text = URL_SAFE_NO_PAD.encode([&check[..], &bytes].concat());
            for reader in readers() {
                let read = Cursor::decode(cursor.list, reader, &text);
                assert_eq!(read.is_ok(), reader.is_shared && is_plain(&cursor));
            }
        }
    }

    #[test]
    fn a_changed_or_cut_cursor_is_invalid() {
        for (cursor, reader) in cursors().iter().flat_map(|it| readers().map(|r| (it, r))) {
            let text = cursor.encode(reader);
            for end in 0..text.len() {
                let cut = text.get(..end).unwrap();
                let read = Cursor::decode(cursor.list, reader, cut);
                assert_eq!(read, Err(InvalidCursor));
            }
            for at in 0..text.len() {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
                let changed = String::from_utf8(bytes).unwrap();
                let read = Cursor::decode(cursor.list, reader, &changed);
                assert_eq!(read, Err(InvalidCursor));
            }
            let padded = format!("{text}=");
            let read = Cursor::decode(cursor.list, reader, &padded);
            assert_eq!(read, Err(InvalidCursor));
        }
    }

    #[test]
    fn a_cursor_with_an_impossible_position_is_invalid() {
        let mark = ItemMark::new(&OrderKey::Declared(7), "add");
        let after = Cursor {
            list: Capability::Tools,
            position: CursorPosition::After(mark),
        };
        let valid = after.to_bytes();
        let decode = |list, kind: u8, inner: &[u8]| {
            let mut bytes = valid.clone();
            bytes[0] = list_tag(list) << 2 | kind;
            bytes.extend_from_slice(inner);
            decode_position(list, &bytes).is_some()
        };
        let mut named = valid.clone();
        *named.last_mut().unwrap() = 1;
        named.push(b'a');
        assert_eq!(decode_position(Capability::Tools, &named), None);
        for list in LISTS {
            let has_inner = matches!(list, Capability::Tools | Capability::Resources);
            let valid = [true, has_inner, has_inner, false];
            let valid_with_inner = [false, false, has_inner, false];
            for kind in 0..4 {
                let at = usize::from(kind);
                assert_eq!(decode(list, kind, b""), valid[at], "{list:?} {kind}");
                let with_inner = decode(list, kind, b"inner");
                assert_eq!(with_inner, valid_with_inner[at], "{list:?} {kind}");
            }
        }
    }

    #[test]
    fn a_string_that_is_not_a_cursor_is_invalid() {
        for text in ["", "0", "invalid-cursor", "AAAA", "\u{0}", "é", "eyJ9"] {
            for reader in readers() {
                let read = Cursor::decode(Capability::Tools, reader, text);
                assert_eq!(read, Err(InvalidCursor), "{text}");
            }
        }
    }
}
