//! Challenges, which tell a caller how to get access but not why its token was rejected.
//!
//! Specification: basic/authorization of every protocol version since 2025-03-26; RFC 6750, section 3; RFC 9728,
//! section 5.

#[cfg(feature = "auth")]
use hyper::StatusCode;
use hyper::header::HeaderValue;
#[cfg(feature = "auth")]
use mcp_protocol::jsonrpc::ErrorObject;

#[cfg(feature = "auth")]
use crate::response::HttpRefusal;

/// The contents of a challenge.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BearerChallenge<'c> {
    pub(super) error: Option<&'static str>,
    /// All scopes that the request needs.
    pub(super) scopes: &'c [&'c str],
    /// The URL of the server's metadata.
    pub(super) metadata: Option<&'c str>,
}

impl BearerChallenge<'_> {
    /// Returns the value of the `WWW-Authenticate` header. All of its parts were checked at start-up.
    pub(super) fn header_value(&self) -> HeaderValue {
        let mut parameters = Vec::new();
        if let Some(error) = self.error {
            parameters.push(format!("error=\"{error}\""));
        }
        // No single operation needs a token that never expires.
        let scopes = self.scopes.iter().copied();
        let scopes: Vec<&str> = scopes.filter(|scope| *scope != "offline_access").collect();
        if !scopes.is_empty() {
            parameters.push(format!("scope=\"{}\"", scopes.join(" ")));
        }
        if let Some(metadata) = self.metadata {
            parameters.push(format!("resource_metadata=\"{metadata}\""));
        }
        let value = format!("Bearer {}", parameters.join(", "));
        HeaderValue::from_str(value.trim_end())
            .unwrap_or_else(|_| HeaderValue::from_static("Bearer"))
    }

    /// Rejects a request with this challenge. The body is the same for all responses with this status.
    #[cfg(feature = "auth")]
    pub(super) fn refuse(&self, status: StatusCode) -> HttpRefusal {
        let message = match status {
            StatusCode::UNAUTHORIZED => "unauthorized",
            StatusCode::FORBIDDEN => "forbidden",
            _ => "the request is malformed",
        };
        let error = ErrorObject::invalid_request(message);
        HttpRefusal::new(status, error).with_challenge(self.header_value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_lists_the_scopes_and_the_metadata_url() {
        let scopes = ["a:read", "offline_access", "a:write"];
        for (challenge, value) in [
            (BearerChallenge::default(), "Bearer"),
            (
                BearerChallenge {
                    error: Some("insufficient_scope"),
                    scopes: &scopes,
                    metadata: Some("https://a.b/.well-known/oauth-protected-resource"),
                },
                r#"Bearer error="insufficient_scope", scope="a:read a:write", resource_metadata="https://a.b/.well-known/oauth-protected-resource""#,
            ),
            (
                BearerChallenge {
                    scopes: &["line\nbreak"],
                    ..BearerChallenge::default()
                },
                "Bearer",
            ),
        ] {
            assert_eq!(challenge.header_value(), value);
        }
    }
}
