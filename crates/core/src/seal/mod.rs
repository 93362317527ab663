//! Protects `requestState`, which holds a call's state. Only this server can create or read a state, and each state is
//! valid only for its call.
//!
//! The state is sealed with XChaCha20-Poly1305. The result consists of the key's id, the expiry time, a nonce, and the
//! sealed bytes, encoded as base64url. The state's binding (server, principal, method, name, arguments) is
//! authenticated along with it, but does not take up any space.
//!
//! Specification: 2026-07-28, basic/patterns, "Multi round-trip requests", "Security".

mod sealed;

use std::borrow::Cow;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::host;
use crate::jsonrpc::{ErrorObject, Scan, write_string};
use crate::order::sort_by;

pub use sealed::{Seal, SealingKey, SealingKeys, hash};

/// The reason why a state is rejected. The error code is always -32602, and the call does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealError {
    /// The state was not issued by this server.
    Malformed,
    /// The state was sealed with a key that this server does not have.
    UnknownKey,
    /// The state was modified or belongs to another call.
    Foreign,
    /// The state has expired.
    Expired,
}

impl SealError {
    pub(crate) fn into_error(self) -> ErrorObject {
        ErrorObject::invalid_params(match self {
            Self::Malformed => "`requestState` was not issued by this server",
            Self::UnknownKey => {
                "`requestState` was sealed with a key that this server does not have; all instances of a server need the same \
                 keys, even after a restart (see the setting `sealing_keys`)"
            }
            Self::Foreign => "`requestState` was changed or belongs to another request",
            Self::Expired => "`requestState` has expired; call again without it",
        })
    }
}

/// The call to which a state is bound.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    pub server: &'a str,
    /// The principal's key, or an empty string for an anonymous caller.
    pub principal: &'a str,
    pub method: &'a str,
    /// The name of the tool or prompt, or the URI of the resource.
    pub name: &'a str,
    /// The arguments as JSON text. Formatting does not matter, and numbers are compared by their exact value.
    pub arguments: &'a str,
}

impl Binding<'_> {
    /// Returns a digest of all parts.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut arguments = Vec::new();
        canonical(self.arguments, &mut arguments);
        let parts = [
            self.server.as_bytes(),
            self.principal.as_bytes(),
            self.method.as_bytes(),
            self.name.as_bytes(),
            &arguments,
        ];
        let mut whole = Vec::new();
        for part in parts {
            // The lengths ensure that different lists of parts never produce the same bytes.
            whole.extend_from_slice(&(part.len() as u64).to_be_bytes());
            whole.extend_from_slice(part);
        }
        hash(&whole)
    }
}

/// Returns a short digest for use in a question's key.
pub(crate) fn digest(asked: &[u8]) -> String {
    let hash = hash(asked);
    URL_SAFE_NO_PAD.encode(hash.first_chunk::<9>().unwrap_or(&[0; 9]))
}

/// Returns the time elapsed since the Unix epoch.
#[must_use]
pub fn now() -> Duration {
    host::unix_time()
}

// --- The canonical form of JSON: two texts have the same canonical form if and only if they are equivalent.
//
// Members are sorted by name. Names and strings are compared by their characters, regardless of how they are escaped.
// Numbers are compared by their exact value, using decimal digits and never floating point. `1`, `1.0` and `10e-1` are
// the same number, and `-0` equals `0`, because a client may reformat numbers when it serializes them again.
// `10000000000000000000000` and `10000000000000000000001` differ, because handlers can distinguish them.

/// Maximum nesting depth. Messages are never nested this deeply.
const MAX_DEPTH: u32 = 256;

/// Marks text that is copied unchanged because it has no canonical form. JSON text never begins with this byte.
const VERBATIM: u8 = b'?';

/// Appends the canonical form of JSON that has already been parsed.
pub(super) fn canonical(json: &str, out: &mut Vec<u8>) {
    let mut scan = Scan::new(json);
    let node = read_node(&mut scan, MAX_DEPTH);
    match node.filter(|_| scan.peek().is_none()) {
        Some(node) => node.write(out),
        None => verbatim(json, out),
    }
}

fn verbatim(text: &str, out: &mut Vec<u8>) {
    out.push(VERBATIM);
    out.extend_from_slice(text.as_bytes());
}

enum JsonNode<'a> {
    Object(Vec<(Cow<'a, str>, Self)>),
    Array(Vec<Self>),
    String(Cow<'a, str>),
    Number(&'a str),
    Word(&'a str),
}

impl JsonNode<'_> {
    fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Object(mut members) => {
                // The sort is stable, so duplicate members keep their order.
                sort_by(&mut members, |(one, _), (other, _)| one.cmp(other));
                out.push(b'{');
                for (name, value) in members {
                    write_string(out, &name);
                    out.push(b':');
                    value.write(out);
                    out.push(b',');
                }
                out.push(b'}');
            }
            Self::Array(items) => {
                out.push(b'[');
                for item in items {
                    item.write(out);
                    out.push(b',');
                }
                out.push(b']');
            }
            Self::String(text) => write_string(out, &text),
            Self::Number(number) => write_number(number, out),
            Self::Word(word) => out.extend_from_slice(word.as_bytes()),
        }
    }
}

/// Writes a number as its digits, without leading or trailing zeros, and a power of ten.
fn write_number(number: &str, out: &mut Vec<u8>) {
    let (sign, size) = match number.strip_prefix('-') {
        Some(size) => ("-", size),
        None => ("", number),
    };
    let (mantissa, exponent) = size.split_once(['e', 'E']).unwrap_or((size, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let digits = digits.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        out.push(b'0');
        return;
    }
    let zeros = digits.len() - significant.len();
    let exponent = exponent.parse::<i128>().ok();
    let exponent = exponent.and_then(|exponent| {
        let zeros = i128::try_from(zeros).ok()?;
        let fraction = i128::try_from(fraction.len()).ok()?;
        exponent.checked_add(zeros)?.checked_sub(fraction)
    });
    match exponent {
        Some(exponent) => {
            out.extend_from_slice(format!("{sign}{significant}e{exponent}").as_bytes());
        }
        None => verbatim(number, out),
    }
}

/// Reads the next value, which may have at most `depth` levels of nesting.
fn read_node<'a>(scan: &mut Scan<'a>, depth: u32) -> Option<JsonNode<'a>> {
    let depth = depth.checked_sub(1)?;
    Some(match scan.peek()? {
        b'{' => {
            let mut members = Vec::new();
            scan.members(|scan, name| {
                members.push((name, read_node(scan, depth)?));
                Some(())
            })?;
            JsonNode::Object(members)
        }
        b'[' => {
            let mut items = Vec::new();
            scan.items(|scan| {
                items.push(read_node(scan, depth)?);
                Some(())
            })?;
            JsonNode::Array(items)
        }
        b'"' => JsonNode::String(scan.next_string()?),
        b'-' | b'0'..=b'9' => {
            // Numbers beyond the range of floating point also have a canonical form.
            let is_part = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
            let rest = scan.rest();
            let end = rest.bytes().position(|byte| !is_part(byte));
            let number = rest.get(..end.unwrap_or(rest.len()))?;
            scan.advance(number.len());
            JsonNode::Number(number)
        }
        _ => JsonNode::Word(scan.next_value()?),
    })
}

#[cfg(test)]
mod tests {
    mod seal {
        use crate::seal::*;

        fn binding(arguments: &str) -> Binding<'_> {
            Binding {
                server: "s",
                principal: "",
                method: "tools/call",
                name: "t",
                arguments,
            }
        }

        #[test]
        fn arguments_have_the_same_digest_in_any_json_notation() {
            let one = binding(r#"{"a": 1, "b": {"d": [1.0, "é"], "c": null}}"#).digest();
            let other = binding(r#"{"b":{"c":null,"d":[1,"\u00e9"]},"a":1.0}"#).digest();
            assert_eq!(one, other);
            for different in ["{}", r#"{"a":1}"#, r#"{"a":1,"b":{"d":["é",1],"c":null}}"#] {
                assert_ne!(binding(different).digest(), one, "{different}");
            }
            let one = binding("1111111111111111111111").digest();
            assert_ne!(binding("1.1111111111111111e21").digest(), one);
            assert_eq!(binding("1.111111111111111111111e21").digest(), one);
        }

        #[test]
        fn adjacent_parts_of_a_binding_are_delimited_in_the_digest() {
            let (mut one, mut other) = (binding("{}"), binding("{}"));
            (one.server, one.principal) = ("ab", "c");
            (other.server, other.principal) = ("a", "bc");
            assert_ne!(one.digest(), other.digest());
        }
    }

    mod canonical {
        use proptest::prelude::*;

        use crate::seal::*;

        fn spelled(json: &str) -> String {
            let mut out = Vec::new();
            canonical(json, &mut out);
            String::from_utf8(out).unwrap()
        }

        #[test]
        fn numbers_have_the_same_digest_only_if_exactly_equal() {
            for same in [
                &["0", "-0", "0.0", "0e5", "-0.000e-9"][..],
                &["1", "1.0", "1e0", "10e-1", "0.1E+1", "1.000"],
                &["100", "1e2", "1E+2", "100.0", "0.1e3"],
                &["10000000000000000000000", "1e22", "0.01e24"],
                &["-12.5", "-125e-1", "-1.25e1", "-12.50"],
                &["1e-400", "0.1e-399"],
                &["1e9223372036854775808", "10e9223372036854775807"],
            ] {
                for number in same {
                    assert_eq!(spelled(number), spelled(same[0]), "{number}");
                }
            }
            let different = [
                "0",
                "1",
                "-1",
                "10",
                "0.1",
                "1e-400",
                "1e-401",
                "10000000000000000000000",
                "10000000000000000000001",
                "10000000000000000999999",
                "9007199254740992",
                "9007199254740993",
                "0.1000000000000000055511151231257827",
                "1e9223372036854775808",
                "1e9223372036854775809",
                "1e999999999999999999999999999999999999999999",
                "1e999999999999999999999999999999999999999998",
                "\"1\"",
                "\"1e0\"",
                "[1]",
                "true",
                "null",
            ];
            for (index, one) in different.iter().enumerate() {
                for other in &different[index + 1..] {
                    assert_ne!(spelled(one), spelled(other), "{one} {other}");
                }
            }
        }

        #[test]
        fn equivalent_json_texts_have_the_same_digest() {
            for (one, other, is_same) in [
                (
                    r#"{"a":1,"b":[2,{"c":null}]}"#,
                    " {\"b\" : [ 2.0 ,\n{ \"\\u0063\":null}] ,\t\"a\":1e0}\r",
                    true,
                ),
                (r#""\u00e9\/\ud83d\ude00""#, "\"é/😀\"", true),
                (r#"{"a":1,"b":2}"#, r#"{"a":2,"b":1}"#, false),
                (r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#, false),
                (r#"{"a":1,"a":2}"#, r#"{"a":2}"#, false),
                ("[1,2]", "[12]", false),
                ("[1,2]", "[2,1]", false),
                ("[[],[]]", "[[[]]]", false),
                ("{}", "[]", false),
                ("{}", "", false),
                // These texts cannot be parsed, so they are copied unchanged.
                (r#"{"a":"\ud800"}"#, r#"{"a":"\ud801"}"#, false),
                (r#"{"a":"\ud800","b":1}"#, r#"{"a":"\ud800","b":2}"#, false),
                ("{", "[", false),
                ("", " ", false),
            ] {
                assert_eq!(spelled(one) == spelled(other), is_same, "{one} {other}");
            }
            let deep = "[".repeat(1_000);
            let same = format!("{deep}{}", "]".repeat(1_000));
            assert_eq!(spelled(&same), spelled(&same));
            assert_ne!(spelled(&deep), spelled(&same));
        }

        proptest! {
            #[test]
            fn shifting_the_decimal_point_keeps_the_digest_of_a_number(digits in any::<u128>(), by in 0_usize..60, negative: bool) {
                let sign = if negative { "-" } else { "" };
                let whole = format!("{sign}{digits}");
                let padded = format!("{digits:0>width$}", width = by + 1);
                let (left, right) = padded.split_at(padded.len() - by);
                let right = if right.is_empty() { "0" } else { right };
                prop_assert_eq!(spelled(&whole), spelled(&format!("{sign}{left}.{right}e{by}")));
                prop_assert_eq!(spelled(&whole), spelled(&format!("{sign}{digits}{}E-{by}", "0".repeat(by))));
                let next = digits.checked_add(1).unwrap_or(0);
                prop_assert_ne!(spelled(&whole), spelled(&format!("{sign}{next}")));
            }

            #[test]
            fn any_json_text_is_digested_without_a_panic(text in any::<String>()) {
                spelled(&text);
                let quoted = serde_json::to_string(&text).unwrap();
                prop_assert_eq!(spelled(&quoted), quoted);
            }
        }
    }
}
