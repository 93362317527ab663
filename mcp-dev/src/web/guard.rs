//! Rejects all requests except the page's: those from other pages in the browser, to names rebound to this machine, or
//! from other users.
//!
//! The token is in the fragment of the URL, which browsers never send. The page moves the token to its session storage
//! and sends it as a header. A cookie would be sent to every other port on this machine, whereas other origins cannot
//! send a custom header.

use std::fmt;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq as _;

const TOKEN: HeaderName = HeaderName::from_static("x-mcp-dev-token");
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' blob:; media-src blob:; frame-src {frames}; form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

/// The secret for one run of this program.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    pub(crate) fn new() -> Result<Self> {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes)
            .map_err(|error| anyhow!("cannot generate random numbers: {error}"))?;
        Ok(Self(BASE64_URL_SAFE_NO_PAD.encode(bytes)))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Decides which requests are accepted.
pub(super) struct Guard {
    hosts: [String; 2],
    token: Token,
    policy: HeaderValue,
}

impl Guard {
    /// Creates a guard. `app_port` is the port on which app frames are served.
    pub(super) fn new(port: u16, app_port: u16, token: Token) -> Self {
        let names = ["127.0.0.1", "localhost"];
        let frames = names.map(|name| format!("http://{name}:{app_port}"));
        let policy = POLICY.replace("{frames}", &frames.join(" "));
        Self {
            // Browsers omit HTTP's default port.
            hosts: names.map(|name| match port {
                80 => name.to_owned(),
                _ => format!("{name}:{port}"),
            }),
            token,
            // The policy is plain text; without a policy, nothing may be shown.
            policy: HeaderValue::from_str(&policy)
                .unwrap_or(HeaderValue::from_static("default-src 'none'")),
        }
    }

    fn allows(&self, headers: &HeaderMap) -> bool {
        let host = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok());
        let Some(host) = host.filter(|host| self.hosts.iter().any(|own| own == host)) else {
            return false;
        };
        let origin = headers.get(header::ORIGIN).map(HeaderValue::as_bytes);
        let site = headers.get(SITE).map(HeaderValue::as_bytes);
        origin.is_none_or(|origin| origin == format!("http://{host}").as_bytes())
            && site.is_none_or(|site| matches!(site, b"same-origin" | b"none"))
    }

    fn knows(&self, headers: &HeaderMap) -> bool {
        let token = headers.get(TOKEN).map(HeaderValue::as_bytes);
        token.is_some_and(|token| token.ct_eq(self.token.0.as_bytes()).into())
    }
}

/// Rejects other hosts and origins, and adds the headers that protect the page to every response.
pub(super) async fn origin(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    // A link from elsewhere, such as a terminal in the browser, may open the page, because the page itself does not
    // contain data.
    let opens = request.uri().path() == "/"
        && request
            .headers()
            .get("sec-fetch-mode")
            .is_some_and(|mode| mode == "navigate");
    let mut headers = request.headers().clone();
    if opens {
        headers.remove(SITE);
    }
    let policy = guard.policy.clone();
    let mut response = if guard.allows(&headers) {
        next.run(request).await
    } else {
        (
            StatusCode::FORBIDDEN,
            "request refused: only mcp-dev's own page may use this address",
        )
            .into_response()
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    protect(headers);
    response
}

/// Adds the headers that protect every response, whatever it contains.
pub(super) fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Rejects requests without the token.
pub(super) async fn token(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    if guard.knows(request.headers()) {
        next.run(request).await
    } else {
        (
            StatusCode::UNAUTHORIZED,
            "open the URL that mcp-dev printed; it contains this run's token",
        )
            .into_response()
    }
}
