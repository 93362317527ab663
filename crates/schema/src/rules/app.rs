//! URIs of pages, and the origins that pages use.
//!
//! Specification: the extension `io.modelcontextprotocol/ui`, version 2026-01-26, "UI Resource Format".

use super::{RuleVerdict, uri};

/// Checks that the URI of a page is valid and begins with `ui://`, followed by a name.
#[must_use]
pub const fn app_uri(text: &str) -> RuleVerdict {
    let verdict = uri(text);
    if !verdict.holds() {
        return verdict;
    }
    let bytes = text.as_bytes();
    match bytes {
        [b'u', b'i', b':', b'/', b'/', first, ..] if *first != b'/' => RuleVerdict::HOLDS,
        _ => RuleVerdict::wrong(&[
            "a page's URI must begin with `ui://` and a name, but `",
            text,
            "` does not; use a URI such as `ui://garden/chart`",
        ]),
    }
}

/// Checks that an origin consists of a scheme, `://`, a host that may begin with `*.`, and optionally a port. Any other
/// text would change the policy that the host builds from the origin.
#[must_use]
pub const fn csp_origin(origin: &str) -> RuleVerdict {
    if is_origin(origin.as_bytes()) {
        return RuleVerdict::HOLDS;
    }
    RuleVerdict::wrong(&[
        "`",
        origin,
        "` is not an origin; write a scheme and a host, such as `https://api.example.com` or `https://*.example.com`",
    ])
}

const fn is_origin(bytes: &[u8]) -> bool {
    let mut index = match bytes {
        [b'h', b't', b't', b'p', b's', b':', b'/', b'/', ..] => 8,
        [b'h', b't', b't', b'p', b':', b'/', b'/', ..] => 7,
        [b'w', b's', b's', b':', b'/', b'/', ..] => 6,
        [b'w', b's', b':', b'/', b'/', ..] => 5,
        _ => return false,
    };
    if index + 1 < bytes.len() && bytes[index] == b'*' && bytes[index + 1] == b'.' {
        index += 2;
    }
    let start = index;
    while index < bytes.len() && bytes[index] != b':' {
        let byte = bytes[index];
        let after_dot = index == start || bytes[index - 1] == b'.';
        if !(byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.')
            || byte == b'.' && after_dot
        {
            return false;
        }
        index += 1;
    }
    if index == start || index == bytes.len() {
        return index > start;
    }
    is_port(bytes, index + 1)
}

/// Returns `true` if the bytes from `start` are `*` or a number of at most five digits.
const fn is_port(bytes: &[u8], start: usize) -> bool {
    let mut index = start;
    if start + 1 == bytes.len() && bytes[start] == b'*' {
        return true;
    }
    while index < bytes.len() {
        if !bytes[index].is_ascii_digit() {
            return false;
        }
        index += 1;
    }
    index > start && index - start <= 5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uri_of_a_page_has_the_scheme_and_a_name() {
        for (uri, holds) in [
            ("ui://garden/chart", true),
            ("ui://garden", true),
            ("ui://", false),
            ("ui:///chart", false),
            ("ui:garden", false),
            ("https://garden/chart", false),
            ("ui://{id}", false),
            ("chart", false),
        ] {
            assert_eq!(app_uri(uri).holds(), holds, "{uri}");
        }
    }

    #[test]
    fn an_origin_is_a_scheme_and_a_host() {
        for (origin, holds) in [
            ("https://api.example.com", true),
            ("https://*.example.com", true),
            ("wss://live.example.com:8443", true),
            ("http://localhost:*", true),
            ("http://127.0.0.1:8000", true),
            ("api.example.com", false),
            ("https://", false),
            ("https://*", false),
            ("https://example.com/", false),
            ("https://example.com/path", false),
            ("https://a.com https://b.com", false),
            ("https://a.com; script-src *", false),
            ("https://a..com", false),
            ("https://a.com:", false),
            ("https://a.com:123456", false),
            ("*", false),
            ("'unsafe-eval'", false),
            ("data:", false),
        ] {
            assert_eq!(csp_origin(origin).holds(), holds, "{origin}");
        }
    }
}
