//! URLs that can be compared and fetched.

use std::fmt;
use std::net::Ipv4Addr;

use hyper::Uri;

/// An absolute HTTPS URL, or an HTTP URL on this machine. The scheme and host are in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    text: String,
    /// Offset of the path.
    path: usize,
}

impl Url {
    /// Parses a URL. The error states why the URL is not accepted.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.contains('#') {
            return Err("has a fragment");
        }
        // The URL is sent in headers, inside quotation marks.
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
        if !text.bytes().all(is_plain) {
            return Err("contains characters that are not allowed in URLs");
        }
        let uri: Uri = text.parse().map_err(|_| "is not a URL")?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err("is not an absolute URL");
        };
        if authority.as_str().contains('@') {
            return Err("contains a user");
        }
        match scheme {
            "https" => {}
            "http" if is_loopback(authority.host()) => {}
            _ => return Err("uses neither `https` nor a host on this machine"),
        }
        let origin = format!("{scheme}://{authority}").to_ascii_lowercase();
        let path = origin.len();
        // The rest is kept as written, because `Uri` would add a path to a URL that has none.
        let rest = text.get(path..).unwrap_or_default();
        Ok(Self {
            text: origin + rest,
            path,
        })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the scheme, the host, and the port if the URL has one.
    pub(crate) fn origin(&self) -> &str {
        self.text.get(..self.path).unwrap_or_default()
    }

    /// Returns the host, followed by the port if the URL has one.
    pub(crate) fn authority(&self) -> &str {
        let origin = self.origin();
        origin.split_once("://").map_or(origin, |(_, rest)| rest)
    }

    /// Returns the path without a trailing slash, or an empty string if the URL has no path.
    pub(crate) fn path(&self) -> &str {
        let rest = self.text.get(self.path..).unwrap_or_default();
        rest.split('?')
            .next()
            .unwrap_or_default()
            .trim_end_matches('/')
    }

    /// Returns the URL of this URL's metadata document, with `/.well-known/NAME` inserted between the host and the
    /// path.
    pub(crate) fn well_known(&self, name: &str) -> String {
        format!("{}/.well-known/{name}{}", self.origin(), self.path())
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn is_loopback(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    host == "localhost"
        || host == "[::1]"
        || host
            .parse::<Ipv4Addr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_loopback_urls_are_accepted() {
        for (text, same) in [
            ("https://A.example.com/Mcp", "https://a.example.com/Mcp"),
            ("HTTPS://a.example.com", "https://a.example.com"),
            (
                "https://a.example.com:8443/a/b/",
                "https://a.example.com:8443/a/b/",
            ),
            ("http://127.0.0.1:1/mcp", "http://127.0.0.1:1/mcp"),
            ("http://localhost", "http://localhost"),
            ("http://[::1]:9/x?y=z", "http://[::1]:9/x?y=z"),
        ] {
            assert_eq!(Url::parse(text).unwrap().as_str(), same);
        }
        for text in [
            "http://a.example.com",
            "http://localhost.evil.com",
            "http://127.0.0.1.evil.com",
            "https://u:p@a.example.com",
            "https://a.example.com/#x",
            "https://a.example.com/\"",
            "https://a.example.com/a b",
            "ftp://a.example.com",
            "file:///etc/passwd",
            "/mcp",
            "a.example.com",
            "",
        ] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_well_known_url_is_at_the_root_of_the_host() {
        for (text, place) in [
            ("https://a.b/mcp", "https://a.b/.well-known/x/mcp"),
            ("https://a.b/mcp/", "https://a.b/.well-known/x/mcp"),
            ("https://a.b/", "https://a.b/.well-known/x"),
            ("https://a.b", "https://a.b/.well-known/x"),
            ("https://a.b:1/c/d?e=f", "https://a.b:1/.well-known/x/c/d"),
        ] {
            assert_eq!(Url::parse(text).unwrap().well_known("x"), place);
        }
    }
}
