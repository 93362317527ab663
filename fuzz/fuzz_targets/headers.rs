//! Header fields: wrapped values, mirrored arguments, accepted media types, and allowed hosts and origins.
//! Input: one field, and the text of an argument on the next lines.
#![no_main]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use libfuzzer_sys::fuzz_target;
use mcp_runtime::fuzzing::{accepts, is_allowed_host, is_allowed_origin, mirrors, unwrapped};
use mcp_runtime::http::HttpOptions;
use serde_json::{Value, json};

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
const LISTED: &str = "mcp.example.com";

fuzz_target!(|data: &[u8]| {
    let at = data.iter().position(|byte| *byte == b'\n');
    let (field, argument) = at.map_or((data, &[][..]), |at| (&data[..at], &data[at + 1..]));
    let argument = String::from_utf8_lossy(argument);
    wrapping(field, &argument);
    mirroring(field, &argument);
    accepting(field);
    letting_in(field);
});

/// Any text can be wrapped. Text that is not wrapped represents itself, without surrounding blanks.
fn wrapping(field: &[u8], text: &str) {
    let wrapped = wrap(text);
    assert_eq!(unwrapped(wrapped.as_bytes()).as_deref(), Some(text));
    if let Some(found) = unwrapped(field) {
        let field = str::from_utf8(field).expect("a field is visible ASCII");
        let plain = field.trim_matches([' ', '\t']);
        assert!(found == plain || wrap(&found) == plain, "{found:?}");
    }
}

fn wrap(text: &str) -> String {
    format!("=?base64?{}?=", STANDARD.encode(text))
}

/// A field mirrors an argument if and only if they have the same value.
fn mirroring(field: &[u8], text: &str) {
    let arguments = json!({"a": text}).to_string();
    assert!(mirrors(Some(wrap(text).as_bytes()), &arguments));
    assert!(!mirrors(None, &arguments));
    assert!(!mirrors(
        Some(wrap(&format!("{text} ")).as_bytes()),
        &arguments
    ));
    assert_eq!(
        mirrors(Some(field), &arguments),
        unwrapped(field).as_deref() == Some(text)
    );
    // The argument may be any JSON value.
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return;
    };
    let arguments = json!({"a": value}).to_string();
    let said = unwrapped(field);
    let same = mirrors(Some(field), &arguments);
    match (&value, said) {
        (Value::Null | Value::Array(_) | Value::Object(_), _) | (_, None) => assert!(!same),
        (Value::Bool(truth), Some(said)) => assert_eq!(same, said == truth.to_string()),
        (Value::String(text), Some(said)) => assert_eq!(same, said == *text),
        (Value::Number(number), Some(said)) => {
            let said: Option<f64> = said.parse().ok();
            if same {
                assert_eq!(said, number.as_f64(), "{number}");
            }
        }
    }
}

/// The media types that a client accepts depend neither on their distribution over headers nor on case.
fn accepting(field: &[u8]) {
    let Some(found) = accepts(&[field]) else {
        return;
    };
    let ranges: Vec<&[u8]> = field.split(|byte| *byte == b',').collect();
    if field.is_ascii() {
        assert_eq!(accepts(&ranges), Some(found));
    }
    assert_eq!(accepts(&[&field.to_ascii_uppercase()]), Some(found));
    assert_eq!(accepts(&[field, b"*/*"]), Some((true, true)));
    assert_eq!(accepts(&[]), Some((true, true)));
}

/// Requests are accepted only under this machine's names and the listed names.
fn letting_in(field: &[u8]) {
    let listed = HttpOptions::new().allow_host(LISTED);
    let text = String::from_utf8_lossy(field).to_ascii_lowercase();
    let is_local = |host: &str| LOOPBACK.iter().any(|name| is_at(host, name));
    assert_eq!(is_allowed_host(&HttpOptions::new(), field), is_local(&text));
    assert_eq!(
        is_allowed_host(&listed, field),
        is_local(&text) || is_at(&text, LISTED)
    );
    let host = ["http://", "https://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    assert_eq!(
        is_allowed_origin(&listed, field),
        host.is_some_and(is_local)
    );
}

/// Returns `true` if a host is this name, with any port or none.
fn is_at(host: &str, name: &str) -> bool {
    host.strip_prefix(name).is_some_and(|rest| {
        let port = rest.strip_prefix(':').unwrap_or_default();
        rest.len() == port.len() + usize::from(!port.is_empty() || rest == ":")
            && port.bytes().all(|byte| byte.is_ascii_digit())
    })
}
