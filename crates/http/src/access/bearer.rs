//! Reads a request's access token from its `Authorization` header.
//!
//! Specification: RFC 6750, section 2.1.

use hyper::Uri;
use hyper::header::{self, HeaderMap};
use mcp_schema::template::decode;

use crate::request::MalformedHeader;

/// Returns `true` if the query string contains a token. Such a token is never used, because proxies and browsers may
/// have recorded it.
pub(super) fn has_token_in_query(uri: &Uri) -> bool {
    let names = uri.query().unwrap_or_default().split('&');
    let mut names = names.map(|pair| pair.split('=').next().unwrap_or_default());
    names.any(|name| match decode(name) {
        Some(name) => name.eq_ignore_ascii_case("access_token"),
        None => false,
    })
}

/// Returns a request's bearer token, or `None` if the request has no credentials or uses a different scheme.
pub(super) fn bearer_token(headers: &HeaderMap) -> Result<Option<&str>, MalformedHeader> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Ok(None);
    };
    let value = value.to_str().map_err(|_| MalformedHeader)?.trim();
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Ok(None);
    }
    let token = token.trim_start();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    let body = token.trim_end_matches('=');
    if body.is_empty() || !body.bytes().all(is_plain) {
        return Err(MalformedHeader);
    }
    Ok(Some(token))
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn a_token_is_read_only_from_the_authorization_header() {
        for (value, token) in [
            ("Bearer abc", Ok(Some("abc"))),
            ("bearer   a.b-c_d~e+f/g==", Ok(Some("a.b-c_d~e+f/g=="))),
            ("Basic YWxpY2U6cGFzcw==", Ok(None)),
            ("Bearerabc", Ok(None)),
            ("Bearer", Err(MalformedHeader)),
            ("Bearer ", Err(MalformedHeader)),
            ("Bearer =", Err(MalformedHeader)),
            ("Bearer a b", Err(MalformedHeader)),
            ("Bearer a,b", Err(MalformedHeader)),
            ("Bearer \"a\"", Err(MalformedHeader)),
            ("Bearer a=b", Err(MalformedHeader)),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_static(value));
            assert_eq!(bearer_token(&headers), token, "{value}");
        }
        assert_eq!(bearer_token(&HeaderMap::new()), Ok(None));
        for (uri, there) in [
            ("/mcp?access_token=x", true),
            ("/mcp?a=b&access_token", true),
            ("/mcp?access%5Ftoken=x", true),
            ("/mcp?%61CCESS%5ftoken=x", true),
            ("/mcp?access%token=x", false),
            ("/mcp?a=access_token", false),
            ("/mcp?connection=x", false),
            ("/mcp", false),
        ] {
            assert_eq!(has_token_in_query(&uri.parse().unwrap()), there, "{uri}");
        }
    }
}
