//! Checks that this reader agrees with `serde_json` on arbitrary text.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::jsonrpc::{
    Id, Incoming, KnownMeta, Member, MetaMember, ParseLimits, RequestId, Scan, parse, parse_next,
    unquote, write_string,
};

/// Checks that both readers accept the same text as JSON and find the same parts of a message.
pub fn assert_readers_agree(bytes: &[u8]) {
    // `serde_json` counts down from 128 and fails at zero, so it allows 127 levels.
    let limits = ParseLimits {
        max_depth: 127,
        max_values: usize::MAX,
        max_batch: usize::MAX,
        ..ParseLimits::ROOMY
    };
    let ours = parse(bytes, &limits);
    let mut known = KnownMeta::default();
    for reading in ["first", "second"] {
        let next = parse_next(bytes, &limits, &mut known);
        assert_eq!(format!("{next:?}"), format!("{ours:?}"), "{reading}");
    }
    let accepted = !matches!(&ours, Err((_, error)) if error.code == -32700);
    let text = std::str::from_utf8(bytes);
    let expected = text.is_ok_and(|text| is_json(text, 127));
    assert_eq!(accepted, expected, "{:?}", String::from_utf8_lossy(bytes));
    let value = |json: Option<&str>| json.map(|json| serde_json::from_str::<Value>(json).unwrap());
    // A `Value` cannot hold every number.
    let Ok(whole) = serde_json::from_slice::<Value>(bytes) else {
        return;
    };
    match ours {
        Ok(Incoming::Batch(elements)) => {
            let elements: Vec<Value> = elements
                .iter()
                .map(|json| value(Some(json)).unwrap())
                .collect();
            assert_eq!(Value::Array(elements), whole);
        }
        Ok(Incoming::Message(message)) => {
            let raw_id = message.id.valid().map(RequestId::as_json);
            if message.id != Id::Invalid {
                assert_eq!(value(raw_id).as_ref(), whole.get("id"));
            }
            assert_eq!(
                message.method.as_deref().map(Value::from).as_ref(),
                whole.get("method")
            );
            assert_eq!(value(message.result).as_ref(), whole.get("result"));
            assert_eq!(value(message.error).as_ref(), whole.get("error"));
            let params = whole.get("params").filter(|params| !params.is_null());
            assert_eq!(value(message.params.raw()).as_ref(), params);
            for (member, name) in MEMBERS {
                let expected = params.and_then(|params| params.as_object()?.get(name));
                let expected = expected.filter(|value| !value.is_null());
                assert_eq!(
                    value(message.params.get(member)).as_ref(),
                    expected,
                    "{name}"
                );
            }
            for member in [
                MetaMember::ProtocolVersion,
                MetaMember::ClientCapabilities,
                MetaMember::ClientInfo,
                MetaMember::LogLevel,
                MetaMember::ProgressToken,
            ] {
                let expected = params.and_then(|params| params.get("_meta")?.get(member.as_str()));
                assert_eq!(
                    value(message.params.meta(member)).as_ref(),
                    expected,
                    "{member:?}"
                );
            }
        }
        Err(_) => {}
    }
}

/// Returns `true` if `serde_json` accepts a text that is nested at most `depth` levels deep. It is asked only about parts
/// for which it does not compute the value of a number, because it refuses numbers that are out of range.
fn is_json(text: &str, depth: usize) -> bool {
    let Ok(raw) = serde_json::from_str::<&RawValue>(text) else {
        return false;
    };
    let parts: Vec<&RawValue> = match raw.get().as_bytes().first() {
        Some(b'{') => match serde_json::from_str::<MemberValues<'_>>(raw.get()) {
            Ok(MemberValues(values)) => values,
            Err(_) => return false,
        },
        Some(b'[') => serde_json::from_str(raw.get()).unwrap(),
        Some(b'"') => return serde_json::from_str::<String>(raw.get()).is_ok(),
        _ => return true,
    };
    let inside = depth.checked_sub(1);
    inside.is_some_and(|depth| parts.iter().all(|part| is_json(part.get(), depth)))
}

/// The values of all members of an object whose names can be decoded.
struct MemberValues<'t>(Vec<&'t RawValue>);

impl<'de> Deserialize<'de> for MemberValues<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = MemberValues<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<MemberValues<'de>, A::Error> {
                let mut values = Vec::new();
                while let Some((_, value)) = map.next_entry::<String, &RawValue>()? {
                    values.push(value);
                }
                Ok(MemberValues(values))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

/// Checks that both readers accept the same strings, which are given without quotes, and decode them to the same text,
/// and that both writers write this text in the same way.
pub fn assert_strings_agree(inside: &[u8]) {
    let json = [b"\"", inside, b"\""].concat();
    let expected = serde_json::from_slice::<String>(&json).ok();
    let found = std::str::from_utf8(&json).ok().and_then(|json| {
        let mut scan = Scan::new(json);
        let text = scan.next_string()?;
        scan.peek().is_none().then_some(text)
    });
    let shown = String::from_utf8_lossy(&json);
    assert_eq!(found.as_deref(), expected.as_deref(), "{shown}");
    if let Some(text) = expected {
        let json = std::str::from_utf8(&json).unwrap();
        assert_eq!(unquote(json).as_deref(), Ok(&*text), "{shown}");
        let mut written = Vec::new();
        write_string(&mut written, &text);
        assert_eq!(written, serde_json::to_vec(&text).unwrap(), "{shown}");
    }
    // The string is also read inside a message, because messages are checked for valid UTF-8.
    let message = [br#"{"jsonrpc":"2.0","id":1,"method":"#, &*json, b"}"].concat();
    assert_readers_agree(&message);
}

/// Checks that the id in an error is the same as the id that `serde_json` reads, no matter how little of the message
/// could be read.
pub fn assert_ids_agree(bytes: &[u8]) {
    let tight = ParseLimits {
        max_depth: 3,
        max_values: 8,
        ..ParseLimits::ROOMY
    };
    for limits in [tight, ParseLimits::ROOMY] {
        let Err((Some(id), _)) = parse(bytes, &limits) else {
            continue;
        };
        if let Ok(whole) = serde_json::from_slice::<Value>(bytes) {
            let id: Value = serde_json::from_str(id.as_json()).unwrap();
            assert_eq!(whole.get("id"), Some(&id));
            assert!(whole.get("method").is_some() || whole.get("result").is_none());
        }
    }
}

const MEMBERS: [(Member, &str); 16] = [
    (Member::Name, "name"),
    (Member::Uri, "uri"),
    (Member::Cursor, "cursor"),
    (Member::Arguments, "arguments"),
    (Member::Ref, "ref"),
    (Member::Argument, "argument"),
    (Member::Context, "context"),
    (Member::Level, "level"),
    (Member::RequestId, "requestId"),
    (Member::ProtocolVersion, "protocolVersion"),
    (Member::Capabilities, "capabilities"),
    (Member::ClientInfo, "clientInfo"),
    (Member::Notifications, "notifications"),
    (Member::InputResponses, "inputResponses"),
    (Member::RequestState, "requestState"),
    (Member::Meta, "_meta"),
];
