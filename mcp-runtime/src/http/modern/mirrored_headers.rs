//! Compares the headers that mirror the method, the name, and the tool arguments with the body.
//!
//! Proxies between the client and the server route and filter requests by these headers, so a request whose body does
//! not match its headers is always rejected.
//!
//! Specification: 2026-07-28, basic/transports, "Standard Request Headers".

use hyper::header::HeaderMap;

use crate::dispatch::MirroredName;
use crate::handler::decode::{HeaderArgument, member};
use crate::http::request::headers::{RequestHeaders, decode_header_value};
use crate::jsonrpc::{Decimal, ErrorObject, unquote};
use crate::protocol::errors::header_mismatch;

/// Compares `Mcp-Method` with the body.
pub(super) fn check_method_header(
    headers: &RequestHeaders<'_>,
    method: &str,
) -> Result<(), ErrorObject> {
    match headers.method() {
        None => Err(header_mismatch("Mcp-Method", "is missing")),
        Some(Ok(sent)) if sent == method => Ok(()),
        Some(_) => Err(header_mismatch(
            "Mcp-Method",
            "does not match the method in the body",
        )),
    }
}

/// Compares `Mcp-Name` with the body.
pub(super) fn check_name_header(
    headers: &RequestHeaders<'_>,
    body: MirroredName<'_>,
) -> Result<(), ErrorObject> {
    let body = match (headers.name, body) {
        // A missing body member is reported later.
        (_, MirroredName::Nothing) | (None, MirroredName::Missing | MirroredName::Optional(_)) => {
            return Ok(());
        }
        (None, MirroredName::Name(_)) => return Err(header_mismatch("Mcp-Name", "is missing")),
        (Some(_), MirroredName::Missing) => None,
        (Some(_), MirroredName::Name(body) | MirroredName::Optional(body)) => Some(body),
    };
    match headers.name.map(decode_header_value) {
        Some(Ok(sent)) if body.is_some_and(|body| body == sent) => Ok(()),
        Some(Ok(_)) => Err(header_mismatch(
            "Mcp-Name",
            "does not match the name in the body",
        )),
        _ => Err(header_mismatch("Mcp-Name", "is not valid")),
    }
}

/// Compares the `Mcp-Param-*` headers for a tool with the tool's arguments.
pub(in crate::http) fn check_argument_headers(
    headers: &HeaderMap,
    mirrored: &[HeaderArgument],
    arguments: &str,
) -> Result<(), ErrorObject> {
    if mirrored.is_empty() {
        return Ok(());
    }
    for HeaderArgument { path, header } in mirrored {
        let name = format!("Mcp-Param-{header}");
        // Decoding is strict along the path to a mirrored argument, so the handler receives the same value that is
        // found here.
        let value = path
            .iter()
            .try_fold(arguments, |value, step| member(value, step))
            .filter(|value| *value != "null");
        match (headers.get(&name), value) {
            (None, None) => {}
            (None, Some(_)) => return Err(header_mismatch(&name, "is missing")),
            (Some(_), None) => {
                return Err(header_mismatch(
                    &name,
                    "mirrors an argument that is missing from the body",
                ));
            }
            (Some(sent), Some(value)) => match decode_header_value(sent) {
                Ok(sent) if header_matches_value(&sent, value) => {}
                Ok(_) => {
                    return Err(header_mismatch(
                        &name,
                        "does not match the argument in the body",
                    ));
                }
                Err(_) => return Err(header_mismatch(&name, "is not valid")),
            },
        }
    }
    Ok(())
}

/// Returns `true` if a header has the same value as an argument given as JSON. Numbers are compared by value, digit by
/// digit, so `42` equals `42.0`.
fn header_matches_value(sent: &str, value: &str) -> bool {
    match value.as_bytes().first() {
        Some(b'"') => unquote(value).is_ok_and(|text| text == sent),
        Some(b't' | b'f') => sent == value,
        _ => Decimal::read(value).is_some_and(|number| Decimal::read(sent) == Some(number)),
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_says_what_the_argument_says() {
        for (sent, value, same) in [
            ("a", json!("a"), true),
            ("A", json!("a"), false),
            ("true", json!(true), true),
            ("True", json!(true), false),
            ("42", json!(42), true),
            ("42.0", json!(42), true),
            ("42", json!(42.0), true),
            ("4.2e1", json!(42), true),
            ("43", json!(42), false),
            ("6.1e-97", json!(0.0), false),
            (" 42", json!("42"), false),
            ("0x2a", json!(42), false),
            ("", json!(0), false),
            ("9007199254740993", json!(9_007_199_254_740_993_i64), true),
            ("9007199254740993.0", json!(9_007_199_254_740_993_i64), true),
            ("9007199254740992", json!(9_007_199_254_740_993_i64), false),
            ("[]", json!([]), false),
        ] {
            assert_eq!(
                header_matches_value(sent, &value.to_string()),
                same,
                "{sent} {value}"
            );
        }
    }

    #[test]
    fn a_mirrored_argument_needs_its_field_and_a_field_its_argument() {
        let mirrored = [HeaderArgument {
            path: vec!["where".into(), "region".into()],
            header: "Region".into(),
        }];
        let mut headers = HeaderMap::new();
        let check = |headers: &HeaderMap, arguments: &str| {
            check_argument_headers(headers, &mirrored, arguments).map_err(|error| error.code)
        };
        let there = r#"{"where":{"region":"eu"}}"#;
        assert_eq!(check(&headers, "{}"), Ok(()));
        assert_eq!(check(&headers, r#"{"where":{"region":null}}"#), Ok(()));
        assert_eq!(check(&headers, there), Err(-32020));
        headers.insert(
            HeaderName::from_static("mcp-param-region"),
            HeaderValue::from_static("eu"),
        );
        assert_eq!(check(&headers, there), Ok(()));
        assert_eq!(check(&headers, "{}"), Err(-32020));
        assert_eq!(check(&headers, r#"{"where":{"region":"us"}}"#), Err(-32020));
    }
}
