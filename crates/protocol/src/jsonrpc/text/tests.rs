use proptest::prelude::*;

use super::*;
use crate::jsonrpc::agreement::{assert_readers_agree, assert_strings_agree};

#[test]
fn unquoting_undoes_every_escape() {
    for (json, text) in [
        (r#""""#, Some("")),
        (r#""plain""#, Some("plain")),
        (r#""tools\/call""#, Some("tools/call")),
        (r#""\"\\\b\f\n\r\t""#, Some("\"\\\u{8}\u{c}\n\r\t")),
        (r#""\u00e9\ud83d\ude00""#, Some("é😀")),
        (r#""\ud83d""#, None),
        (r#""\ud83dx""#, None),
        (r#""\ud83d\u0041""#, None),
        (r#""\u12""#, None),
        (r#""\x""#, None),
        (r#""\""#, None),
        ("\"", None),
        ("5", None),
        ("null", None),
    ] {
        assert_eq!(unquote(json).ok().as_deref(), text, "{json}");
    }
}

proptest! {
    #[test]
    fn writing_agrees_with_serde(text in any::<String>()) {
        let mut out = Vec::new();
        write_string(&mut out, &text);
        prop_assert_eq!(serde_json::to_vec(&text).unwrap(), out.clone());
        let json = String::from_utf8(out).unwrap();
        prop_assert_eq!(unquote(&json).unwrap(), text);
    }

    #[test]
    fn the_plain_length_ends_at_the_first_byte_that_needs_an_escape(plains in 0..100_usize, bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let bytes = [vec![b'a'; plains], bytes].concat();
        let expected = bytes.iter().position(|b| *b < 0x20 || *b == b'"' || *b == b'\\').unwrap_or(bytes.len());
        prop_assert_eq!(plain_length(&bytes), expected);
    }
}

/// Text that must be handled at every position in a block: every kind of special byte, bytes with neighboring values,
/// and multi-byte characters.
const PARTS: [&str; 10] = [
    "\"", "\\", "\n", "\0", "\u{1f}", " ", "\u{7f}", "é", "€", "😀",
];

#[test]
fn characters_that_need_escapes_are_found_at_every_offset() {
    for length in 0..=200 {
        for part in PARTS {
            for at in 0..=length {
                let text = format!("{}{part}{}", "a".repeat(at), "b".repeat(length - at));
                let mut json = Vec::new();
                write_string(&mut json, &text);
                let json = String::from_utf8(json).unwrap();
                assert_eq!(json, serde_json::to_string(&text).unwrap());
                assert_eq!(unquote(&json).unwrap(), text);
                assert_eq!(
                    plain_length(text.as_bytes()),
                    plain_run_length(text.as_bytes())
                );
            }
        }
    }
}

#[test]
fn invalid_bytes_in_strings_are_refused_at_every_offset_like_serde_json() {
    // The last lengths belong to messages whose UTF-8 is checked in blocks.
    for length in (0..=200).chain(590..=592) {
        for bad in [
            &b"\""[..],
            b"\n",
            b"\x1f",
            b"\\",
            b"\\x",
            b"\\ud83d",
            b"\\ud83d\\u0041",
            b"\\ude00",
            b"\\u12",
            b"\xff",
            b"\xc3",
            b"\xa9",
            b"\xc0\x80",
            b"\xed\xa0\x80",
            b"\xf4\x90\x80\x80",
        ] {
            let step = if length > 200 { 7 } else { 1 };
            for at in (0..=length).step_by(step) {
                let text = [&vec![b'a'; at], bad, &vec![b'b'; length - at]].concat();
                assert_strings_agree(&text);
            }
        }
    }
}

#[test]
fn truncated_escapes_are_refused_at_every_position() {
    let escapes = r#"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é"#.as_bytes();
    for before in 0..40 {
        for end in 0..=escapes.len() {
            let cut = [&vec![b'a'; before], &escapes[..end]].concat();
            assert_strings_agree(&cut);
            let message = [br#"{"jsonrpc":"2.0","id":1,"method":""#, &*cut].concat();
            assert_readers_agree(&message);
        }
    }
}

#[test]
fn a_million_escapes_are_read_and_written() {
    let text = "\n\u{1}\"é".repeat(250_000);
    let mut json = Vec::new();
    write_string(&mut json, &text);
    let json = String::from_utf8(json).unwrap();
    assert_eq!(json.len(), 2 + 250_000 * (2 + 6 + 2 + 2));
    assert_eq!(unquote(&json).unwrap(), text);
}

proptest! {
    #[test]
    fn long_text_is_written_and_decoded_as_serde_does(
        parts in proptest::collection::vec(proptest::sample::select(PARTS.into_iter().chain(["abc"; 20]).collect::<Vec<_>>()), 0..300),
    ) {
        let text = parts.concat();
        let mut json = Vec::new();
        write_string(&mut json, &text);
        let json = String::from_utf8(json).unwrap();
        prop_assert_eq!(&json, &serde_json::to_string(&text).unwrap());
        prop_assert_eq!(unquote(&json).unwrap(), text);
    }

    #[test]
    fn strings_agree_with_serde(bytes in proptest::collection::vec(
        proptest::sample::select(b"aaaaaaaabc \"\\\\\\nut/0189dDeE\n\x00\x1f\x7f\xff\xc3\xa9\xed\xa0\x80".to_vec()), 0..200,
    )) {
        assert_strings_agree(&bytes);
    }
}
