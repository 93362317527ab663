//! Entry points for fuzzing; see [`crate::fuzzing`].

use hyper::Uri;
use hyper::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use mcp_core::handler::decode::HeaderArgument;

use crate::modern::check_argument_headers;
use crate::options::HttpOptions;
use crate::request::{RequestHeaders, decode_header_value, guards};
use crate::response;

/// Parses `Accept` headers. The first returned value is `true` if they accept JSON, and the second is `true` if they
/// accept events. Returns `None` if any field is not a valid header value.
#[must_use]
pub fn accepts(fields: &[&[u8]]) -> Option<(bool, bool)> {
    let mut headers = HeaderMap::new();
    for field in fields {
        headers.append(ACCEPT, HeaderValue::from_bytes(field).ok()?);
    }
    let accepts = RequestHeaders::read(&headers).accepts;
    Some((accepts.json, accepts.events))
}

/// Returns the decoded value of a header that may be Base64-encoded, or `None` if the header is malformed.
#[must_use]
pub fn unwrapped(field: &[u8]) -> Option<String> {
    let field = HeaderValue::from_bytes(field).ok()?;
    decode_header_value(&field)
        .ok()
        .map(std::borrow::Cow::into_owned)
}

/// Returns `true` if the header that mirrors the argument `a` has the same value as that argument.
#[must_use]
pub fn mirrors(field: Option<&[u8]>, arguments: &str) -> bool {
    let mirrored = [HeaderArgument {
        path: vec!["a".into()],
        header: "A".into(),
    }];
    let mut headers = HeaderMap::new();
    if let Some(field) = field {
        let Ok(field) = HeaderValue::from_bytes(field) else {
            return false;
        };
        headers.insert(HeaderName::from_static("mcp-param-a"), field);
    }
    check_argument_headers(&headers, &mirrored, arguments).is_ok()
}

/// Returns `true` if a request to this host is allowed.
#[must_use]
pub fn is_allowed_host(options: &HttpOptions, host: &[u8]) -> bool {
    let host = HeaderValue::from_bytes(host);
    host.is_ok_and(|host| guards::check_host(options, &Uri::default(), Some(&host)).is_ok())
}

/// Returns `true` if web pages with this origin may send requests.
#[must_use]
pub fn is_allowed_origin(options: &HttpOptions, origin: &[u8]) -> bool {
    let origin = HeaderValue::from_bytes(origin);
    origin.is_ok_and(|origin| guards::check_origin(options, Some(&origin)).is_ok())
}

/// Appends an event.
pub fn write_event(out: &mut Vec<u8>, id: Option<(u64, u64)>, name: &str, data: &[u8]) {
    let id = id.map(|(stream, position)| response::EventId {
        stream,
        position,
        request: None,
    });
    response::write_event(out, id, name, data);
}

/// Parses an event id.
#[must_use]
pub fn read_event_id(id: &str) -> Option<(u64, u64)> {
    response::parse_event_id(id).map(|id| (id.stream, id.position))
}
