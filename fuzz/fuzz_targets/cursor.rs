//! Cursors can be read back unchanged, but only for their own list. Input: the kind of cursor to
//! make, the change to it, and names.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_runtime::fuzzing::{cursor, read_cursor};
use mcp_runtime::server::Capability;

const LISTS: [Capability; 4] = [
    Capability::Tools,
    Capability::Prompts,
    Capability::Resources,
    Capability::Templates,
];

/// Maximum length of a lister's cursor.
const INNER: usize = 512;

fuzz_target!(|data: (u8, Option<u32>, &str, Option<&str>, u16, u8)| {
    let (list, rank, name, inner, at, byte) = data;
    // A cursor that a client makes up may have the right checksum, which is not secret, but has only one spelling.
    for list in LISTS {
        assert!(read_cursor(list, name).is_none_or(|read| read == name));
    }
    // A cursor that the server issued.
    let list = LISTS[usize::from(list) % LISTS.len()];
    let inner = inner.filter(|inner| list == Capability::Resources && inner.len() <= INNER);
    // The greatest rank represents names.
    let rank = rank.filter(|rank| *rank != u32::MAX);
    let text = cursor(list, rank, name, inner);
    assert!(text.len() <= 1 << 10);
    for other in LISTS {
        let read = read_cursor(other, &text);
        assert_eq!(read, (other == list).then(|| text.clone()));
    }
    // A cursor that the server issued, but that was changed.
    let mut changed = text.clone().into_bytes();
    let at = usize::from(at) % changed.len();
    changed[at] = byte & 0x7F;
    let changed = String::from_utf8(changed).expect("ASCII stays ASCII");
    if changed != text {
        assert_eq!(read_cursor(list, &changed), None);
    }
    assert_eq!(read_cursor(list, &text[..at]), None);
});
