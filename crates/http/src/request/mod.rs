//! Reads requests and performs the checks that both eras have in common.
//!
//! The host, the origin and the headers are checked before any part of the body is read. Authentication is handled by
//! `access`, and the body is interpreted by `modern` and `legacy`.

pub(super) mod body;
pub(super) mod guards;
pub(super) mod tags;

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{StatusCode, Uri, header};
use mcp_core::budget::{ClientNetwork, Holder};
use mcp_core::context::{HttpParts, Principal};
use mcp_core::handler::tags::TagSelection;
use mcp_core::observe::Origin;
use mcp_protocol::jsonrpc::ErrorObject;
use mcp_protocol::{ProtocolVersion, errors};

use crate::response::HttpRefusal;

pub(crate) static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

pub(crate) static VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Error text for a repeated header that may occur only once.
const TWICE: &str = "occurs more than once";

static LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

static TAGS: HeaderName = HeaderName::from_static("x-mcp-tags");

/// Returns `true` for headers that must have a single value. If a header occurred twice, a proxy and the server could
/// use different values.
fn must_be_single(name: &HeaderName) -> bool {
    let single = [
        header::HOST,
        header::ORIGIN,
        header::CONTENT_LENGTH,
        header::CONTENT_TYPE,
        header::AUTHORIZATION,
    ];
    single.contains(name) || is_protocol_header(name) || *name == LAST_EVENT || *name == TAGS
}

/// Returns `true` for headers that the protocol defines.
fn is_protocol_header(name: &HeaderName) -> bool {
    name.as_str().starts_with("mcp-")
}

/// Rejects requests that repeat a header that may occur only once. Headers that the protocol defines are left to
/// [`RequestHeaders::check_legacy`] and [`RequestHeaders::check_modern`], because each era has its own error for them.
pub(crate) fn check_repeated(headers: &HeaderMap) -> Result<(), HttpRefusal> {
    match find_repeated(headers, |name| !is_protocol_header(name)) {
        Some(name) => Err(repeated_header_refusal(name)),
        None => Ok(()),
    }
}

/// Finds a header that is repeated although it may occur only once. Considers only headers for which `of` returns
/// `true`.
fn find_repeated(headers: &HeaderMap, of: impl Fn(&HeaderName) -> bool) -> Option<&HeaderName> {
    if headers.len() == headers.keys_len() {
        return None;
    }
    let mut names = headers
        .keys()
        .filter(|name| must_be_single(name) && of(name));
    names.find(|name| headers.get_all(*name).iter().nth(1).is_some())
}

fn repeated_header_refusal(name: &HeaderName) -> HttpRefusal {
    HttpRefusal::bad_request(&format!("header `{name}` {TWICE}"))
}

/// A request's headers. The relevant headers are found in a single pass, because a lookup costs as much as stepping
/// over three headers.
pub(crate) struct RequestHeaders<'h> {
    /// All headers, for looking up rarely used ones.
    pub(crate) all: &'h HeaderMap,
    pub(crate) host: Option<&'h HeaderValue>,
    pub(crate) origin: Option<&'h HeaderValue>,
    pub(super) length: Option<&'h HeaderValue>,
    pub(crate) name: Option<&'h HeaderValue>,
    pub(crate) accepts: AcceptedContentTypes,
    kind: Option<&'h HeaderValue>,
    session: Option<&'h HeaderValue>,
    /// The protocol version.
    pub(crate) version: Option<Result<&'h str, MalformedHeader>>,
    method: Option<&'h HeaderValue>,
    /// The tags by which the request selects definitions.
    pub(super) tags: Option<&'h HeaderValue>,
    is_encoded: bool,
    is_coded: bool,
    /// A header defined by the protocol that occurs more than once.
    repeated: Option<&'h HeaderName>,
}

impl<'h> RequestHeaders<'h> {
    pub(crate) fn read(all: &'h HeaderMap) -> Self {
        let mut headers = Self {
            all,
            host: None,
            origin: None,
            length: None,
            name: None,
            accepts: AcceptedContentTypes::EVERYTHING,
            kind: None,
            session: None,
            version: None,
            method: None,
            tags: None,
            is_encoded: false,
            is_coded: false,
            repeated: find_repeated(all, is_protocol_header),
        };
        let mut accepts = None;
        for (name, value) in all {
            let header = match name.as_str() {
                "host" => &mut headers.host,
                "origin" => &mut headers.origin,
                "content-length" => &mut headers.length,
                "content-type" => &mut headers.kind,
                "mcp-session-id" => &mut headers.session,
                "mcp-protocol-version" => {
                    headers
                        .version
                        .get_or_insert_with(|| plain_header_value(value));
                    continue;
                }
                "mcp-method" => &mut headers.method,
                "mcp-name" => &mut headers.name,
                "x-mcp-tags" => &mut headers.tags,
                "accept" => {
                    accepts
                        .get_or_insert(AcceptedContentTypes::NOTHING)
                        .add_accept_header(value);
                    continue;
                }
                "content-encoding" => {
                    headers.is_encoded |= !value.as_bytes().eq_ignore_ascii_case(b"identity");
                    continue;
                }
                "transfer-encoding" => {
                    headers.is_coded |= !value.as_bytes().eq_ignore_ascii_case(b"chunked");
                    continue;
                }
                _ => continue,
            };
            header.get_or_insert(value);
        }
        headers.accepts = accepts.unwrap_or(headers.accepts);
        headers
    }

    /// Returns the session id.
    pub(crate) fn session_id(&self) -> Option<Result<&'h str, MalformedHeader>> {
        self.session.map(plain_header_value)
    }

    /// Returns the id of the session that a legacy request names. A request that declares a modern version has no
    /// session, even if it names one.
    pub(crate) fn legacy_session(&self) -> Option<Result<&'h str, MalformedHeader>> {
        let version = self.version.and_then(Result::ok);
        let version = version.and_then(ProtocolVersion::from_wire);
        let is_modern = version.is_some_and(ProtocolVersion::is_modern);
        self.session_id().filter(|_| !is_modern)
    }

    /// Returns `true` if the request names a session.
    pub(crate) fn names_session(&self) -> bool {
        self.session.is_some()
    }

    /// Returns the MCP method from the `Mcp-Method` header, which proxies can read.
    pub(crate) fn method(&self) -> Option<Result<&'h str, MalformedHeader>> {
        self.method.map(plain_header_value)
    }

    /// Returns the id of the last event that the client received.
    pub(crate) fn last_event_id(&self) -> Option<Result<&'h str, MalformedHeader>> {
        self.all.get(&LAST_EVENT).map(plain_header_value)
    }

    /// Rejects a repeated header that the protocol defines, with an error for legacy clients.
    pub(crate) fn check_legacy(&self) -> Result<(), HttpRefusal> {
        self.repeated
            .map_or(Ok(()), |name| Err(repeated_header_refusal(name)))
    }

    /// Rejects a repeated header that the protocol defines, with an error for modern clients.
    pub(crate) fn check_modern(&self) -> Result<(), ErrorObject> {
        let error = |name: &HeaderName| errors::header_mismatch(name.as_str(), TWICE);
        self.repeated.map_or(Ok(()), |name| Err(error(name)))
    }

    /// Rejects bodies that are not plain JSON. Other content types are rejected because web pages can send some of them
    /// without a preflight request. Content encodings and transfer encodings other than `chunked` are rejected, too.
    pub(super) fn check_content_headers(&self) -> Result<(), HttpRefusal> {
        let refuse = |message: &str| {
            Err(HttpRefusal::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                ErrorObject::invalid_request(message),
            ))
        };
        let is_json = self.kind.is_some_and(|kind| {
            let mut parts = kind.as_bytes().split(|byte| *byte == b';');
            let mut essence = || parts.next().unwrap_or_default().trim_ascii();
            kind == "application/json" || essence().eq_ignore_ascii_case(b"application/json")
        });
        if !is_json {
            return refuse("`Content-Type` must be `application/json`");
        }
        if self.is_encoded {
            return refuse("`Content-Encoding` is not supported: send the body unencoded");
        }
        if self.is_coded {
            return Err(HttpRefusal::new(
                StatusCode::NOT_IMPLEMENTED,
                ErrorObject::invalid_request("`Transfer-Encoding` must be `chunked`"),
            ));
        }
        Ok(())
    }
}

/// The error for a header value that contains invalid bytes or does not have the form that its header requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MalformedHeader;

fn plain_header_value(value: &HeaderValue) -> Result<&str, MalformedHeader> {
    let text = value.to_str().map_err(|_| MalformedHeader)?;
    Ok(text.trim_ascii())
}

/// Decodes a header value. Strings that a header cannot contain directly are Base64-encoded.
pub(crate) fn decode_header_value(value: &HeaderValue) -> Result<Cow<'_, str>, MalformedHeader> {
    let text = plain_header_value(value)?;
    let Some(wrapped) = text
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="))
    else {
        return Ok(Cow::Borrowed(text));
    };
    let bytes = STANDARD.decode(wrapped).map_err(|_| MalformedHeader)?;
    String::from_utf8(bytes)
        .map(Cow::Owned)
        .map_err(|_| MalformedHeader)
}

// The content types that a client accepts, from its `Accept` headers.

/// The content types that a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AcceptedContentTypes {
    pub(crate) json: bool,
    pub(crate) events: bool,
}

impl AcceptedContentTypes {
    /// Used for clients that do not send an `Accept` header.
    pub(super) const EVERYTHING: Self = Self {
        json: true,
        events: true,
    };
    const NOTHING: Self = Self {
        json: false,
        events: false,
    };

    /// Adds the content types in an `Accept` header.
    fn add_accept_header(&mut self, accept: &HeaderValue) {
        // Fast path for the value that clients usually send.
        if accept.as_bytes() == b"application/json, text/event-stream" {
            *self = Self::EVERYTHING;
            return;
        }
        for range in accept.as_bytes().split(|byte| *byte == b',') {
            let mut parts = range.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
            let kind = parts.next().unwrap_or_default();
            if parts.any(has_zero_weight) {
                continue;
            }
            let is = |name: &[u8]| kind.eq_ignore_ascii_case(name);
            let is_any = is(b"*/*");
            self.json |= is_any || is(b"application/json") || is(b"application/*");
            self.events |= is_any || is(b"text/event-stream") || is(b"text/*");
        }
    }
}

/// Returns `true` for a weight of zero, which means that the client does not accept this content type.
fn has_zero_weight(parameter: &[u8]) -> bool {
    let weight = parameter
        .strip_prefix(b"q=")
        .or_else(|| parameter.strip_prefix(b"Q="));
    let weight = weight.and_then(|weight| std::str::from_utf8(weight).ok());
    weight.is_some_and(|weight| weight.parse::<f32>().is_ok_and(|weight| weight <= 0.0))
}

// --- The parts of a request that are known before its body is read.

/// The parts of a request that are known before its body is read.
#[derive(Clone, Copy)]
pub(crate) struct RequestHead<'h> {
    pub(crate) parts: &'h Arc<HttpParts>,
    pub(crate) uri: &'h Uri,
    pub(crate) headers: &'h RequestHeaders<'h>,
    /// The authenticated caller, or `None` if there were no credentials to check.
    pub(crate) caller: Option<&'h Principal>,
    /// The definitions that the request selects by their tags; `None` for all.
    pub(crate) selection: Option<&'h TagSelection>,
    pub(crate) origin: &'h Origin,
}

impl RequestHead<'_> {
    /// Returns the client for whom the server holds what it keeps for the request.
    pub(crate) fn holder(&self) -> Holder {
        Holder::new(self.caller, self.network())
    }

    /// Returns the network of the client, which may be behind trusted proxies, if it is known.
    pub(crate) fn network(&self) -> Option<ClientNetwork> {
        self.parts.client_address().map(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use crate::request::*;

    fn value(text: &str) -> HeaderValue {
        HeaderValue::from_bytes(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_base64_header_value_is_decoded_and_any_other_is_unchanged() {
        for (header, expected) in [
            ("Hello", Ok("Hello")),
            (" Hello\t", Ok("Hello")),
            ("=?base64?SGVsbG8=?=", Ok("Hello")),
            ("=?base64?w6k=?=", Ok("é")),
            ("=?base64??=", Ok("")),
            ("=?base64?SGVsbG8?=", Err(MalformedHeader)),
            ("=?base64?SGVs!!!bG8=?=", Err(MalformedHeader)),
            ("=?base64?/w==?=", Err(MalformedHeader)),
            ("SGVsbG8=", Ok("SGVsbG8=")),
            ("=?base64?SGVsbG8=", Ok("=?base64?SGVsbG8=")),
            ("=?BASE64?SGVsbG8=?=", Ok("=?BASE64?SGVsbG8=?=")),
            ("=?base64?=", Ok("=?base64?=")),
            ("é", Err(MalformedHeader)),
        ] {
            assert_eq!(
                decode_header_value(&value(header)).as_deref(),
                expected.as_deref(),
                "{header}"
            );
        }
    }

    #[test]
    fn accepted_media_types_are_read_from_all_accept_headers() {
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
            let accepts = RequestHeaders::read(&headers).accepts;
            assert_eq!(accepts, AcceptedContentTypes { json, events }, "{accept:?}");
        }
    }

    #[test]
    fn only_application_json_is_accepted_as_content_type() {
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
            let check = |headers: &HeaderMap| {
                RequestHeaders::read(headers)
                    .check_content_headers()
                    .is_ok()
            };
            assert_eq!(check(&headers), allowed, "{kind}");
            headers.insert(header::CONTENT_ENCODING, value("gzip"));
            assert!(!check(&headers), "{kind}");
        }
        assert!(
            RequestHeaders::read(&HeaderMap::new())
                .check_content_headers()
                .is_err()
        );
    }

    #[test]
    fn a_repeated_singleton_header_is_refused() {
        // Expected results of the check made before the era is known (`at_first`) and of the checks made afterward
        // (`later`).
        for (name, at_first, later) in [
            ("mcp-method", true, false),
            ("mcp-param-a", true, false),
            ("host", false, true),
            ("last-event-id", false, true),
            ("accept", true, true),
        ] {
            let mut headers = HeaderMap::new();
            let name = HeaderName::from_static(name);
            headers.append(name.clone(), value("a"));
            headers.append(name.clone(), value("a"));
            assert_eq!(check_repeated(&headers).is_ok(), at_first, "{name}");
            let headers = RequestHeaders::read(&headers);
            assert_eq!(headers.check_legacy().is_ok(), later, "{name}");
            assert_eq!(headers.check_modern().is_ok(), later, "{name}");
        }
    }
}
