//! The header fields that matter, and what they have to be before a body is read.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::answer::Refusal;
use crate::jsonrpc::ErrorObject;
use crate::protocol::errors;

// Names that are names already: to look for a text costs as much again as to find it.
pub(super) static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) static VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) static METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(super) static NAME: HeaderName = HeaderName::from_static("mcp-name");
static LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Fields that say one thing, so that two of them could be read differently by whoever stands in between.
fn is_single(name: &HeaderName) -> bool {
    let single = [
        header::HOST,
        header::ORIGIN,
        header::CONTENT_LENGTH,
        header::CONTENT_TYPE,
        header::AUTHORIZATION,
    ];
    single.contains(name) || name.as_str().starts_with("mcp-") || *name == LAST_EVENT
}

/// Refuses fields that are there twice and may not be.
pub(super) fn check_repeated(headers: &HeaderMap) -> Result<(), Refusal> {
    if headers.len() == headers.keys_len() {
        return Ok(());
    }
    for name in headers.keys().filter(|name| is_single(name)) {
        if headers.get_all(name).iter().nth(1).is_some() {
            let problem = "is there twice";
            let error = if name.as_str().starts_with("mcp-") {
                errors::header_mismatch(name.as_str(), problem)
            } else {
                ErrorObject::invalid_request(format!("header `{name}` {problem}"))
            };
            return Err(Refusal::new(StatusCode::BAD_REQUEST, error));
        }
    }
    Ok(())
}

/// Refuses bodies that are not plain JSON: what a web page can send without asking first, and what is compressed, for its
/// receiver or on the way.
pub(super) fn check_content(headers: &HeaderMap) -> Result<(), Refusal> {
    let refuse = |message: &str| {
        Err(Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ErrorObject::invalid_request(message),
        ))
    };
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let is_json = kind.is_some_and(|kind| {
        let essence = kind.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/json")
    });
    if !is_json {
        return refuse("`Content-Type` must be `application/json`");
    }
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    if encodings.any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return refuse("`Content-Encoding` is not supported: send the body as it is");
    }
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    if codings.any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"chunked")) {
        return Err(Refusal::new(
            StatusCode::NOT_IMPLEMENTED,
            ErrorObject::invalid_request("`Transfer-Encoding` can only be `chunked`"),
        ));
    }
    Ok(())
}

/// Which forms of answer a client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepts {
    pub(super) json: bool,
    pub(super) events: bool,
}

impl Accepts {
    /// A client that does not say takes everything.
    pub(super) fn read(headers: &HeaderMap) -> Self {
        if !headers.contains_key(header::ACCEPT) {
            return Self {
                json: true,
                events: true,
            };
        }
        let mut accepts = Self {
            json: false,
            events: false,
        };
        let fields = headers.get_all(header::ACCEPT).iter();
        for field in fields.filter_map(|field| field.to_str().ok()) {
            for range in field.split(',') {
                let mut parts = range.split(';').map(str::trim);
                let kind = parts.next().unwrap_or_default();
                if parts.any(is_never) {
                    continue;
                }
                let is = |name| kind.eq_ignore_ascii_case(name);
                accepts.json |= is("*/*") || is("application/json") || is("application/*");
                accepts.events |= is("*/*") || is("text/event-stream") || is("text/*");
            }
        }
        accepts
    }
}

/// A weight of zero says that the client does not take it.
fn is_never(parameter: &str) -> bool {
    let weight = parameter
        .strip_prefix("q=")
        .or_else(|| parameter.strip_prefix("Q="));
    weight.is_some_and(|weight| weight.parse::<f32>().is_ok_and(|weight| weight <= 0.0))
}

/// A field as text, without blanks around it. `Some(Err)` if it holds what a header cannot.
pub(super) fn text<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> Option<Result<&'h str, Malformed>> {
    headers.get(name).map(plain)
}

/// The value of the field for the id of the last event.
pub(super) fn last_event(headers: &HeaderMap) -> Option<Result<&str, Malformed>> {
    text(headers, &LAST_EVENT)
}

/// The value holds bytes that may not be in one, or is not the Base64 it says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

fn plain(value: &HeaderValue) -> Result<&str, Malformed> {
    let text = value.to_str().map_err(|_| Malformed)?;
    Ok(text.trim_matches([' ', '\t']))
}

/// A field whose text may be wrapped in Base64, as text that a header cannot hold is.
pub(super) fn decoded(value: &HeaderValue) -> Result<Cow<'_, str>, Malformed> {
    let text = plain(value)?;
    let Some(wrapped) = text
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="))
    else {
        return Ok(Cow::Borrowed(text));
    };
    let bytes = STANDARD.decode(wrapped).map_err(|_| Malformed)?;
    String::from_utf8(bytes)
        .map(Cow::Owned)
        .map_err(|_| Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> HeaderValue {
        HeaderValue::from_bytes(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_wrapped_value_is_taken_out_and_anything_else_is_itself() {
        for (header, expected) in [
            ("Hello", Ok("Hello")),
            (" Hello\t", Ok("Hello")),
            ("=?base64?SGVsbG8=?=", Ok("Hello")),
            ("=?base64?w6k=?=", Ok("é")),
            ("=?base64??=", Ok("")),
            ("=?base64?SGVsbG8?=", Err(Malformed)),
            ("=?base64?SGVs!!!bG8=?=", Err(Malformed)),
            ("=?base64?/w==?=", Err(Malformed)),
            ("SGVsbG8=", Ok("SGVsbG8=")),
            ("=?base64?SGVsbG8=", Ok("=?base64?SGVsbG8=")),
            ("=?BASE64?SGVsbG8=?=", Ok("=?BASE64?SGVsbG8=?=")),
            ("=?base64?=", Ok("=?base64?=")),
            ("é", Err(Malformed)),
        ] {
            assert_eq!(
                decoded(&value(header)).as_deref(),
                expected.as_deref(),
                "{header}"
            );
        }
    }

    #[test]
    fn what_a_client_takes_is_read_from_all_it_accepts() {
        for (accept, json, events) in [
            (&[][..], true, true),
            (&["*/*"], true, true),
            (&["application/json, text/event-stream"], true, true),
            (&["application/json", "text/event-stream"], true, true),
            (&["application/json"], true, false),
            (&["Text/Event-Stream; q=0.5"], false, true),
            (&["application/json;q=0, text/event-stream"], false, true),
            (&["text/html"], false, false),
        ] {
            let mut headers = HeaderMap::new();
            for field in accept {
                headers.append(header::ACCEPT, value(field));
            }
            assert_eq!(
                Accepts::read(&headers),
                Accepts { json, events },
                "{accept:?}"
            );
        }
    }

    #[test]
    fn content_is_json_and_nothing_that_only_looks_like_it() {
        for (kind, allowed) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/json-patch+json", false),
            ("text/plain", false),
            ("text/plain; x=application/json", false),
            ("application/x-www-form-urlencoded", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, value(kind));
            assert_eq!(check_content(&headers).is_ok(), allowed, "{kind}");
            headers.insert(header::CONTENT_ENCODING, value("gzip"));
            assert!(check_content(&headers).is_err(), "{kind}");
        }
        assert!(check_content(&HeaderMap::new()).is_err());
    }

    #[test]
    fn what_may_be_there_once_is_refused_twice() {
        for (name, allowed) in [
            ("mcp-method", false),
            ("mcp-param-a", false),
            ("host", false),
            ("accept", true),
        ] {
            let mut headers = HeaderMap::new();
            let name = HeaderName::from_static(name);
            headers.append(name.clone(), value("a"));
            headers.append(name.clone(), value("a"));
            assert_eq!(check_repeated(&headers).is_ok(), allowed, "{name}");
        }
    }
}
