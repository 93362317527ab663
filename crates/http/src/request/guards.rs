//! Browser access checks: which host a request is addressed to and which web page it comes from.
//!
//! A web page can make a browser send requests to this machine, either by using the page's own host name (DNS
//! rebinding) or by sending simple requests (CSRF). Both kinds of request are rejected before any part of them is used.
//! The error names the setting that would allow the request.
//!
//! Specification: basic/transports, "Security Warning".

use std::net::IpAddr;
use std::sync::OnceLock;

use hyper::header::HeaderValue;
use hyper::{Method, Response, StatusCode, Uri, header};

use crate::options::HttpOptions;
use crate::request::RequestHeaders;
use crate::response;
use crate::response::{HttpBody, HttpRefusal};

/// Host names that always refer to this machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The first allowed value of the `Host` header. Nearly all requests have the same one, and comparing it costs less
/// than checking it again.
#[derive(Default)]
pub(crate) struct KnownHost(OnceLock<HeaderValue>);

impl KnownHost {
    /// Checks the host that a request is addressed to, as [`check_host`] does. The options must always be the same.
    pub(crate) fn check(
        &self,
        options: &HttpOptions,
        uri: &Uri,
        host: Option<&HeaderValue>,
    ) -> Result<(), HttpRefusal> {
        let Some(header) = host.filter(|_| uri.authority().is_none()) else {
            return check_host(options, uri, host);
        };
        match self.0.get() {
            Some(known) if known == header => return Ok(()),
            Some(_) => check_host(options, uri, host)?,
            None => {
                check_host(options, uri, host)?;
                // The header shares its memory with the rest of the request.
                if let Ok(copy) = HeaderValue::from_bytes(header.as_bytes()) {
                    let _ = self.0.set(copy);
                }
            }
        }
        Ok(())
    }
}

/// Checks the host that a request is addressed to like [`check_host`], and also allows any IP address.
pub(crate) fn check_host_or_address(
    options: &HttpOptions,
    uri: &Uri,
    host: Option<&HeaderValue>,
) -> Result<(), HttpRefusal> {
    let named = host.and_then(|host| without_port(host.to_str().ok()?));
    let is_address = named.is_some_and(|name| {
        let name = name.trim_start_matches('[').trim_end_matches(']');
        name.parse::<IpAddr>().is_ok()
    });
    if is_address && uri.authority().is_none() {
        return Ok(());
    }
    check_host(options, uri, host)
}

/// Checks the host that a request is addressed to. If the request target is absolute, it also contains a host, and both
/// hosts must be allowed.
pub(crate) fn check_host(
    options: &HttpOptions,
    uri: &Uri,
    host: Option<&HeaderValue>,
) -> Result<(), HttpRefusal> {
    let named = host.map(|host| host.to_str().unwrap_or("?"));
    let target = uri.authority().map(hyper::http::uri::Authority::as_str);
    if named.is_none() && target.is_none() {
        return Err(HttpRefusal::bad_request("the `Host` header is missing"));
    }
    for host in [named, target].into_iter().flatten() {
        if !is_allowed_host(options, host) {
            return Err(HttpRefusal::forbidden(
                "this host is not allowed; allow it with `allow_host` (`--allow-host`)",
            ));
        }
    }
    Ok(())
}

/// Checks the origin of the web page that a request comes from, if any.
pub(crate) fn check_origin(
    options: &HttpOptions,
    origin: Option<&HeaderValue>,
) -> Result<(), HttpRefusal> {
    let Some(origin) = origin else { return Ok(()) };
    let allowed = origin
        .to_str()
        .is_ok_and(|origin| is_allowed_origin(options, origin));
    if allowed {
        return Ok(());
    }
    Err(HttpRefusal::forbidden(
        "web pages of this origin are not allowed; allow them with `allow_origin` (`--allow-origin`)",
    ))
}

fn is_allowed_host(options: &HttpOptions, host: &str) -> bool {
    let Some(name) = without_port(host) else {
        return false;
    };
    let is = |text: &str, other: &str| text.eq_ignore_ascii_case(other);
    is_loopback(name)
        || options.hosts.iter().any(|allowed| {
            (allowed == "*" && is_valid_host(name)) || is(allowed, host) || is(allowed, name)
        })
}

fn is_loopback(name: &str) -> bool {
    LOOPBACK.iter().any(|own| own.eq_ignore_ascii_case(name))
}

fn is_allowed_origin(options: &HttpOptions, origin: &str) -> bool {
    let lower = origin.to_ascii_lowercase();
    let is_local = ["http://", "https://"]
        .iter()
        .find_map(|scheme| lower.strip_prefix(scheme))
        .and_then(without_port)
        .is_some_and(is_loopback);
    is_local || is_listed_origin(options, origin)
}

/// Returns `true` if the program has allowed this origin. Pages of this machine are not allowed by that alone.
fn is_listed_origin(options: &HttpOptions, origin: &str) -> bool {
    let mut origins = options.origins.iter();
    origins.any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(origin))
}

/// Returns the host without its port, or `None` if it is malformed.
fn without_port(host: &str) -> Option<&str> {
    let end = match host.strip_prefix('[') {
        Some(rest) => rest.find(']')?.checked_add(2)?,
        None => host
            .bytes()
            .position(|byte| byte == b':')
            .unwrap_or(host.len()),
    };
    let (name, port) = host.split_at_checked(end)?;
    let port = match port.strip_prefix(':') {
        Some(port) => port,
        None if port.is_empty() => "",
        None => return None,
    };
    port.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(name)
}

/// Returns `true` if `host` has the syntax of a host name or an IP address.
fn is_valid_host(host: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._[]:".contains(&byte);
    !host.is_empty() && host.bytes().all(is_part)
}

// --- CORS: lets web pages of listed origins send requests and read the responses.

/// Headers that web pages may send.
const ALLOWED: &str = "content-type, accept, authorization, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, \
                       last-event-id, x-mcp-tags";

/// Returns `true` if web pages of this origin may send requests and read the responses: the program has listed it. Pages
/// of this machine may send simple requests without that, but not read the responses.
fn is_granted(options: &HttpOptions, origin: Option<&HeaderValue>) -> bool {
    let origin = origin.and_then(|origin| origin.to_str().ok());
    origin.is_some_and(|origin| is_listed_origin(options, origin))
}

/// Allows the web page that sent the request to read the response, if its origin is listed.
pub(crate) fn add_cors(
    options: &HttpOptions,
    origin: Option<&HeaderValue>,
    response: &mut Response<HttpBody>,
) {
    if options.origins.is_empty() {
        return;
    }
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin.filter(|_| is_granted(options, origin)) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("mcp-session-id, retry-after, www-authenticate"),
        );
    }
}

/// Answers a CORS preflight request, in which a browser asks on behalf of a web page. Returns `None` for any other
/// request, and if the page's origin is not listed.
pub(crate) fn answer_preflight(
    options: &HttpOptions,
    method: &Method,
    headers: &RequestHeaders<'_>,
) -> Option<Response<HttpBody>> {
    if *method != Method::OPTIONS || !is_granted(options, headers.origin) {
        return None;
    }
    let mut allowed = ALLOWED.to_owned();
    let wanted = headers
        .all
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
    let mut response = response::empty_response(StatusCode::NO_CONTENT);
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
    Some(response)
}

#[cfg(test)]
mod tests {
    use crate::request::guards::*;

    #[test]
    fn only_loopback_hosts_and_those_that_were_listed_are_served() {
        let options = HttpOptions::new()
            .allow_host("mcp.example.com")
            .allow_host("other.example.com:8443");
        for (host, allowed) in [
            ("localhost", true),
            ("LOCALHOST:1", true),
            ("127.0.0.1:8000", true),
            ("[::1]:8000", true),
            ("[::1]", true),
            ("mcp.example.com", true),
            ("mcp.example.com:9", true),
            ("other.example.com:8443", true),
            ("other.example.com", false),
            ("evil.example.com", false),
            ("localhost.evil.com", false),
            ("localhost:80@evil.com", false),
            ("localhost:x", false),
            ("[::1", false),
            ("[::1]x", false),
            ("", false),
            (":80", false),
        ] {
            assert_eq!(is_allowed_host(&options, host), allowed, "{host}");
        }
        assert!(is_allowed_host(
            &HttpOptions::new().allow_host("*"),
            "evil.example.com"
        ));
    }

    #[test]
    fn an_address_is_a_host_of_extra_routes_only() {
        let options = HttpOptions::new();
        let uri = |uri: &str| uri.parse::<Uri>().unwrap();
        for (host, allowed) in [
            ("10.1.2.3:8000", true),
            ("[fe80::1]:8000", true),
            ("[fe80::1]", true),
            ("localhost", true),
            ("evil.example.com", false),
            ("10.1.2.3.example.com", false),
            ("10.1.2.3:x", false),
            ("[[10.1.2.3", false),
        ] {
            let header = HeaderValue::from_static(host);
            let checked = check_host_or_address(&options, &uri("/metrics"), Some(&header));
            assert_eq!(checked.is_ok(), allowed, "{host}");
        }
        let header = HeaderValue::from_static("10.1.2.3");
        let absolute = uri("http://evil.example.com/metrics");
        assert!(check_host_or_address(&options, &absolute, Some(&header)).is_err());
        assert!(check_host_or_address(&options, &uri("/metrics"), None).is_err());
    }

    #[test]
    fn caching_an_allowed_host_does_not_allow_other_hosts() {
        let options = HttpOptions::new().allow_host("mcp.example.com");
        let known = KnownHost::default();
        let check = |uri: &str, host: Option<&'static str>| {
            let host = host.map(HeaderValue::from_static);
            let uri = uri.parse().unwrap();
            known.check(&options, &uri, host.as_ref()).is_ok()
        };
        for _ in 0..2 {
            assert!(!check("/mcp", Some("evil.example.com")));
            assert!(check("/mcp", Some("mcp.example.com")));
            assert!(check("/mcp", Some("localhost")));
            assert!(!check("/mcp", Some("mcp.example.com.evil.com")));
            assert!(!check("/mcp", None));
            assert!(check("http://localhost/mcp", Some("mcp.example.com")));
            assert!(!check("http://evil.com/mcp", Some("mcp.example.com")));
        }
    }

    #[test]
    fn only_web_pages_of_this_machine_and_of_listed_origins_may_use_the_server() {
        let options = HttpOptions::new().allow_origin("https://App.example.com/");
        for (origin, allowed) in [
            ("http://localhost:3000", true),
            ("https://[::1]", true),
            ("https://app.example.com", true),
            ("http://app.example.com", false),
            ("https://app.example.com:444", false),
            ("null", false),
            ("http://evil.example.com", false),
            ("http://localhost.evil.com", false),
            ("file://localhost", false),
            ("", false),
        ] {
            assert_eq!(is_allowed_origin(&options, origin), allowed, "{origin}");
        }
    }
}
