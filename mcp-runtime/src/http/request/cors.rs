//! CORS: lets web pages from allowed origins send requests and read the responses.
//!
//! The origin has already been checked by `guards`.

use hyper::Response;
use hyper::header::{self, HeaderMap, HeaderValue};

use crate::http::options::HttpOptions;
use crate::http::request::guards;
use crate::http::response::body::HttpBody;

/// Headers that web pages may send.
const ALLOWED: &str = "content-type, accept, authorization, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, \
                       last-event-id, x-mcp-tags";

/// Returns `true` if web pages of this origin may send requests and read the responses: the program has listed it. Pages
/// of this machine may send simple requests without that, but not read the responses.
pub(in crate::http) fn is_granted(options: &HttpOptions, origin: Option<&HeaderValue>) -> bool {
    let origin = origin.and_then(|origin| origin.to_str().ok());
    origin.is_some_and(|origin| guards::is_listed_origin(options, origin))
}

/// Allows the web page that sent the request to read the response, if its origin is listed.
pub(in crate::http) fn add_cors(
    options: &HttpOptions,
    origin: Option<&HeaderValue>,
    response: &mut Response<HttpBody>,
) {
    if options.origins.is_empty() {
        return;
    }
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    let Some(origin) = origin.filter(|_| is_granted(options, origin)) else {
        return;
    };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("mcp-session-id, retry-after, www-authenticate"),
    );
}

/// Answers a CORS preflight request from a web page whose origin has already been checked.
pub(in crate::http) fn preflight(headers: &HeaderMap, response: &mut Response<HttpBody>) {
    let mut allowed = ALLOWED.to_owned();
    let wanted = headers
        .get(header::ACCESS_CONTROL_REQUEST_HEADERS)
        .and_then(|wanted| wanted.to_str().ok())
        .unwrap_or_default();
    for name in wanted.split(',').map(str::trim) {
        // In addition to the fixed headers, only headers that mirror tool arguments are allowed.
        let is_param = name
            .get(..10)
            .is_some_and(|start| start.eq_ignore_ascii_case("mcp-param-"));
        if is_param && allowed.len() < 4_096 {
            allowed.push_str(", ");
            allowed.push_str(name);
        }
    }
    let answer = response.headers_mut();
    if let Ok(allowed) = HeaderValue::from_str(&allowed) {
        answer.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    }
    answer.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST, DELETE"),
    );
    answer.insert(
        header::ACCESS_CONTROL_MAX_AGE,
        HeaderValue::from_static("600"),
    );
}
