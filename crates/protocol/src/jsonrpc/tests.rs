//! Tests for reading messages: tables of cases, and comparisons with `serde_json` on arbitrary and damaged text.

use proptest::prelude::*;

use super::agreement::{assert_ids_agree, assert_readers_agree};
use super::*;

fn read(text: &str) -> Result<Message<'_>, (Option<String>, i32)> {
    match parse(text.as_bytes(), &ParseLimits::ROOMY) {
        Ok(Incoming::Message(message)) => Ok(message),
        Ok(Incoming::Batch(_)) => panic!("a batch: {text}"),
        Err((id, error)) => Err((id.map(|id| id.as_json().to_owned()), error.code)),
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn an_invalid_message_is_refused_with_its_code_and_request_id() {
    for (text, id, code) in [
        ("", None, -32700),
        ("{", None, -32700),
        ("{}x", None, -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping""#, None, -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#, None, -32700),
        (r#"{"jsonrpc":"2.0","id":01,"method":"ping"}"#, None, -32700),
        ("\u{feff}{}", None, -32700),
        ("5", None, -32600),
        ("null", None, -32600),
        (r#""text""#, None, -32600),
        ("{}", None, -32600),
        (r#"{"id":1,"method":"ping"}"#, Some("1"), -32600),
        (
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            Some("1"),
            -32600,
        ),
        (
            r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#,
            Some("1"),
            -32600,
        ),
        (r#"{"jsonrpc":"2.0","id":1}"#, Some("1"), -32600),
        (
            r#"{"jsonrpc":"2.0","id":"a","method":7}"#,
            Some(r#""a""#),
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"a","method":null}"#,
            Some(r#""a""#),
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            None,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#,
            None,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1e3,"method":"ping"}"#,
            None,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}"#,
            None,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
            None,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
            None,
            -32600,
        ),
        // Repeated members, however they are spelled.
        (
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
            None,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#,
            Some("1"),
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","meth\u006fd":"tools/list"}"#,
            Some("1"),
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}"#,
            Some("1"),
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
            Some("1"),
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","n\u0061me":"b"}}"#,
            Some("1"),
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{},"_meta":{}}}"#,
            Some("1"),
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":1,"progressToken":1}}}"#,
            Some("1"),
            -32600,
        ),
        // Both a request and a response; the error for a response never includes its id.
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
            Some("1"),
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
            None,
            -32600,
        ),
        (r#"{"id":1,"result":{}}"#, None, -32600),
    ] {
        match read(text) {
            Err(refused) => assert_eq!(refused, (id.map(str::to_owned), code), "{text}"),
            Ok(message) => panic!("{text}: {message:?}"),
        }
    }
}

#[test]
fn a_number_of_any_size_is_a_number() {
    let digits = "9".repeat(400);
    for number in ["1e308", "1e309", "-1e999", "1E+99999999999", &digits] {
        let text =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"n":[{number}]}}}}"#);
        let request = read(&text).unwrap_or_else(|error| panic!("{number}: {error:?}"));
        assert_eq!(request.id, Id::Valid(RequestId::from_valid("1")));
        assert_readers_agree(text.as_bytes());
    }
    for damaged in ["1e", "1e+", "1.e400", "01e400", "--1e400"] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":[{damaged}]}}"#);
        assert_eq!(read(&text).unwrap_err().1, -32700, "{damaged}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_a_parse_error() {
    let (id, error) = parse(b"{\"a\":\"\xff\"}", &ParseLimits::ROOMY).unwrap_err();
    assert_eq!((id, error.code), (None, -32700));
}

#[test]
fn requests_notifications_and_responses_are_distinguished() {
    let request = read(r#" {"method":"tools\/call","jsonrpc":"2\u002e0","params":{"arguments":{"a":1},"name":"add","_meta":{"progressToken":"t"}},"id":-3} "#).unwrap();
    assert_eq!(request.id, Id::Valid(RequestId::from_valid("-3")));
    assert_eq!(request.method.as_deref(), Some("tools/call"));
    assert_eq!(request.params.get(Member::Arguments), Some(r#"{"a":1}"#));
    assert_eq!(
        request.params.string(Member::Name).unwrap().as_deref(),
        Some("add")
    );
    assert_eq!(
        request.params.meta(MetaMember::ProgressToken),
        Some(r#""t""#)
    );
    assert!(request.params.is_object());

    let notification = read(r#"{"jsonrpc":"2.0","method":"x","params":null}"#).unwrap();
    assert_eq!(
        (notification.id, notification.params.raw()),
        (Id::Absent, None)
    );

    let response = read(r#"{"jsonrpc":"2.0","id":"a","result":null}"#).unwrap();
    assert_eq!(response.method, None);
    assert_eq!(
        (response.id, response.result),
        (Id::Valid(RequestId::from_valid(r#""a""#)), Some("null"))
    );

    let response = read(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#).unwrap();
    assert_eq!(response.id, Id::Invalid);
}

#[test]
fn members_with_other_spellings_or_positions_are_ignored() {
    let message = read(r#"{"jsonrpc":"2.0","ID":1,"method":"x","params":{"Name":"a","x":{"name":"b","_meta":{"progressToken":1}},"_meta":[{"progressToken":2}]}}"#).unwrap();
    assert_eq!(message.id, Id::Absent);
    assert_eq!(message.params.get(Member::Name), None);
    assert_eq!(message.params.meta(MetaMember::ProgressToken), None);
    assert_eq!(
        message.params.get(Member::Meta),
        Some(r#"[{"progressToken":2}]"#)
    );
    assert!(
        !read(r#"{"jsonrpc":"2.0","method":"x","params":["name"]}"#)
            .unwrap()
            .params
            .is_object()
    );
}

#[test]
fn parse_limits_are_exact() {
    let limits = ParseLimits {
        max_depth: 4,
        max_id_bytes: 3,
        max_batch: 2,
        ..ParseLimits::ROOMY
    };
    let code = |text: &str| match parse(text.as_bytes(), &limits) {
        Ok(_) => (None, 0),
        Err((id, error)) => (id.map(|id| id.as_json().to_owned()), error.code),
    };
    let message = |rest: &str| format!(r#"{{"jsonrpc":"2.0","method":"x",{rest}}}"#);
    let one = || Some("1".to_owned());
    assert_eq!(code(&message(r#""id":1,"p":[[[0]]]"#)), (None, 0));
    assert_eq!(code(&message(r#""id":1,"p":[[[[]]]]"#)), (one(), -32700));
    assert_eq!(code(&message(r#""p":[[[[]]]],"id":1"#)), (one(), -32700));
    assert_eq!(
        code(&message(r#""id":1,"params":{"_meta":{"a":[]}}"#)),
        (None, 0)
    );
    assert_eq!(
        code(&message(r#""id":1,"params":{"_meta":{"a":[[]]}}"#)),
        (one(), -32700)
    );
    assert_eq!(code(&message(r#""id":"abc""#)), (None, 0));
    assert_eq!(code(&message(r#""id":"abcd""#)), (None, -32600));
    assert_eq!(code("[]"), (None, -32600));
    assert_eq!(code("[{},{}]"), (None, 0));
    assert_eq!(code("[{},{},{}]"), (None, -32600));
    assert_eq!(code("[{},{},{}"), (None, -32700));
    assert_eq!(code("[{},]"), (None, -32700));
}

#[test]
fn a_response_that_is_too_deep_never_has_its_id_in_the_error() {
    let limits = ParseLimits {
        max_depth: 2,
        ..ParseLimits::ROOMY
    };
    for (text, id) in [
        (r#"{"jsonrpc":"2.0","id":1,"result":[[[]]]}"#, None),
        (r#"{"result":[[[]]],"jsonrpc":"2.0","id":1}"#, None),
        (
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x","p":[[[]]]}"#,
            None,
        ),
        (
            r#"{"id":1,"p":[[["id",{"id":3}]]],"method":"x","q":"id"}"#,
            Some("1"),
        ),
        (r#"{"id":1,"method":"x","p":[[["#, None),
        // Once decoded, this member is a second id, and other readers would use it.
        (r#"{"id":1,"\u0069d":2,"method":"x","p":[[[]]]}"#, None),
        (r#"{"id":1,"method":"x","p":[[["\u0069d"]]]}"#, Some("1")),
    ] {
        let (found, error) = parse(text.as_bytes(), &limits).unwrap_err();
        assert_eq!(found.as_ref().map(RequestId::as_json), id, "{text}");
        assert_eq!(error.code, -32700, "{text}");
    }
}

#[test]
fn every_key_item_and_scalar_counts() {
    let limits = ParseLimits {
        max_values: 12,
        ..ParseLimits::ROOMY
    };
    for (members, refused) in [
        // The object and its first three members count as 7 values, the fourth key is the 8th, and its array is the
        // 9th.
        (r#""id":1,"p":[1,2,3]"#, false),
        (r#""id":1,"p":[1,2,3,4]"#, true),
        (r#""id":1,"p":{"a":1}"#, false),
        (r#""id":1,"p":{"a":1,"b":2}"#, true),
        (r#""id":1,"params":{"_meta":{"a":1}}"#, true),
        (r#""p":["\"id\":5",2,3,4,5,6],"id":1"#, true),
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","method":"x",{members}}}"#);
        match parse(text.as_bytes(), &limits) {
            Ok(_) => assert!(!refused, "{members}"),
            Err((id, error)) => {
                assert!(refused, "{members}");
                assert_eq!(id, Some(RequestId::from_valid("1")));
                assert_eq!(error.code, -32600);
            }
        }
    }
}

#[test]
fn a_batch_gives_the_text_of_each_element() {
    let Ok(Incoming::Batch(elements)) = parse(br#" [ {"a": [1]} , 5,"x" ] "#, &ParseLimits::ROOMY)
    else {
        panic!("no batch")
    };
    assert_eq!(elements, [r#"{"a": [1]}"#, "5", r#""x""#]);
}

#[test]
fn a_message_with_100000_levels_is_refused_without_a_stack_overflow() {
    let limits = ParseLimits {
        max_depth: usize::MAX,
        max_values: usize::MAX,
        ..ParseLimits::ROOMY
    };
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let deep = format!("{}0{}", open.repeat(100_000), close.repeat(100_000));
        for text in [
            deep.clone(),
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"_meta":{deep}}}}}"#),
        ] {
            let (_, error) = parse(text.as_bytes(), &limits).unwrap_err();
            assert_eq!(error.code, -32700);
        }
    }
}

fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just(""), 1 => Just(" "), 1 => Just("\r\n\t")]
}

#[test]
fn a_repeated_meta_object_is_parsed_like_a_new_one() {
    let limits = ParseLimits {
        max_values: 24,
        ..ParseLimits::ROOMY
    };
    let long = format!(r#"{{"progressToken":"{}"}}"#, "x".repeat(4_000));
    let metas = [
        "{}",
        r#"{"progressToken":1}"#,
        r#"{"progressToken":12}"#,
        r#"{"progressToken":1,"io.modelcontextprotocol/logLevel":"info"}"#,
        r#"{"progressToken":"\u0061"}"#,
        r#"{"progressToken":1,"progressToken":1}"#,
        r#"{"a":[1,2,3,4,5]}"#,
        r#"{"a":[[[1]]]}"#,
        r#"{"progressToken":1"#,
        &long,
    ];
    let around = [
        ("", "}"),
        (r#""name":"x","#, r#", "cursor":"\n"}"#),
        (r#""a":[1,2,3,4,5],"#, "}"),
        (r#""_meta":{},"#, "}"),
        ("", "\"}"),
        (r#""_meta":{"progressToken":7},"#, "}"),
    ];
    let mut known = KnownMeta::default();
    for (first, second) in metas.iter().flat_map(|a| metas.iter().map(move |b| (a, b))) {
        for (meta, (before, after)) in around
            .iter()
            .flat_map(|rest| [(first, rest), (second, rest), (second, rest)])
        {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{{before}"_meta":{meta}{after}}}"#
            );
            let fresh = parse(text.as_bytes(), &limits);
            let next = parse_next(text.as_bytes(), &limits, &mut known);
            assert_eq!(format!("{next:?}"), format!("{fresh:?}"), "{text}");
        }
    }
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?",
        string(),
    ]
}

fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z /]{0,12}",
        any::<char>().prop_map(|c| serde_json::to_string(&c.to_string())
            .unwrap()
            .trim_matches('"')
            .to_owned()),
        any::<u16>().prop_map(|unit| format!("\\u{unit:04x}")),
        (0xD800_u16..0xDC00, 0xDC00_u16..0xE000)
            .prop_map(|(high, low)| format!("\\u{high:04X}\\u{low:04x}")),
        Just("\\/\\b\\f\\n\\r\\t\\\"\\\\".to_owned()),
    ];
    proptest::collection::vec(piece, 0..3).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn key() -> impl Strategy<Value = String> {
    let known = proptest::sample::select(vec![
        "jsonrpc",
        "id",
        "method",
        "params",
        "result",
        "error",
        "name",
        "arguments",
        "_meta",
        "progressToken",
        "io.modelcontextprotocol/protocolVersion",
        "requestId",
        "io.modelcontextprotocol/clientCapabilities",
        "uri",
        "cursor",
    ]);
    prop_oneof![
        8 => known.clone().prop_map(|key| format!("\"{key}\"")),
        1 => (known, any::<proptest::sample::Index>()).prop_map(|(key, at)| {
            let at = at.index(key.len());
            format!("\"{}\\u{:04x}{}\"", &key[..at], key.as_bytes()[at], &key[at + 1..])
        }),
        2 => string(),
    ]
}

fn json() -> impl Strategy<Value = String> {
    scalar().prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            (proptest::collection::vec(inner.clone(), 0..6), space()).prop_map(
                |(items, space)| format!(
                    "[{space}{}{space}]",
                    items.join(&format!("{space},{space}"))
                )
            ),
            object(inner),
        ]
    })
}

fn object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (proptest::collection::vec((key(), value), 0..6), space()).prop_map(|(members, space)| {
        let members: Vec<String> = members
            .into_iter()
            .map(|(key, value)| format!("{key}{space}:{space}{value}"))
            .collect();
        format!(
            "{{{space}{}{space}}}",
            members.join(&format!("{space},{space}"))
        )
    })
}

fn message() -> impl Strategy<Value = String> {
    let meta = object(json());
    let params = (object(json()), meta).prop_map(|(params, meta)| {
        if params.len() > 9 {
            params
        } else {
            format!(r#"{{"name":"x","_meta":{meta},"arguments":{params}}}"#)
        }
    });
    (scalar(), string(), params, json()).prop_map(|(id, method, params, extra)| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params},"extra":{extra}}}"#
        )
    })
}

/// Generates JSON, often a message, sometimes with a few wrong bytes.
pub(crate) fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => proptest::sample::select(b"{}[]\",:\\u0123456789.eE+-tfn \n\x00\x1f\x7f\xff\xc3\xa9\xed\xa0\x80".to_vec()),
        1 => any::<u8>(),
    ];
    let damage = proptest::collection::vec((any::<proptest::sample::Index>(), 0..4_u8, byte), 0..4);
    (prop_oneof![json(), message()], damage).prop_map(|(text, damage)| {
        let mut bytes = text.into_bytes();
        for (at, kind, byte) in damage {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => {
                    bytes.remove(at);
                }
                _ => bytes.truncate(at),
            }
        }
        bytes
    })
}

// Run with `PROPTEST_CASES=1000000` for more cases.
proptest! {
    #[test]
    fn arbitrary_bytes_are_parsed_like_serde_json(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        assert_readers_agree(&bytes);
    }

    #[test]
    fn the_id_of_an_error_is_that_of_the_message(bytes in damaged()) {
        assert_ids_agree(&bytes);
    }

    #[test]
    fn json_and_damaged_json_are_parsed_like_serde_json(bytes in damaged()) {
        assert_readers_agree(&bytes);
    }
}
