//! Access to the server: the caller of a request, and the challenges that answer callers without access.
//!
//! A program that the server is mounted into may have authenticated the request already: then a `Principal` is among
//! the request's extensions, and is the caller. Otherwise, on a protected server, a token identifies the caller. A
//! refusal says how to get a token, but not what is wrong with the one received.
//!
//! Specification: basic/authorization of every revision since 2025-03-26; RFC 6750, section 3; RFC 9728, section 5.

use hyper::StatusCode;
use hyper::header::HeaderValue;
use hyper::http::request::Parts;

use super::answer::HttpRefusal;
use super::service::ServiceState;
use crate::context::Principal;
use crate::jsonrpc::ErrorObject;
use crate::protocol::errors;

/// Returns the caller of a request, if known.
#[cfg_attr(
    not(feature = "auth"),
    expect(clippy::unused_async, reason = "checking a token has to wait")
)]
pub(super) async fn caller(
    inner: &ServiceState,
    parts: &Parts,
) -> Result<Option<Principal>, HttpRefusal> {
    if let Some(principal) = parts.extensions.get::<Principal>() {
        return Ok(Some(principal.clone()));
    }
    #[cfg(feature = "auth")]
    if let Some(protection) = &inner.protection {
        return protection.admit(parts, &inner.dispatcher).await.map(Some);
    }
    #[cfg(not(feature = "auth"))]
    let _ = inner;
    Ok(None)
}

/// Refuses a request that needs scopes, which the error names: 403 for a caller who lacks some of them, 401 for an
/// anonymous caller.
pub(super) fn refuse(
    inner: &ServiceState,
    caller: Option<&Principal>,
    error: ErrorObject,
) -> HttpRefusal {
    let (status, said) = match caller {
        Some(_) => (StatusCode::FORBIDDEN, Some("insufficient_scope")),
        None => (StatusCode::UNAUTHORIZED, None),
    };
    let challenge = Challenge {
        error: said,
        scopes: &errors::scopes_needed(&error).unwrap_or_default(),
        metadata: metadata(inner),
    };
    let challenge = challenge.value();
    HttpRefusal::new(status, error).with_challenge(challenge)
}

/// Returns the URL of the server's metadata, if it has any.
#[cfg_attr(
    not(feature = "auth"),
    expect(unused_variables, reason = "only protected servers have metadata")
)]
fn metadata(inner: &ServiceState) -> Option<&str> {
    #[cfg(feature = "auth")]
    if let Some(protection) = &inner.protection {
        return protection.metadata();
    }
    None
}

/// The contents of a challenge.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Challenge<'c> {
    pub(super) error: Option<&'static str>,
    /// All scopes that the request needs.
    pub(super) scopes: &'c [&'c str],
    /// The URL of the server's metadata.
    pub(super) metadata: Option<&'c str>,
}

impl Challenge<'_> {
    /// Returns the value of `WWW-Authenticate`. Its parts were checked at start-up.
    fn value(&self) -> HeaderValue {
        let mut said = Vec::new();
        if let Some(error) = self.error {
            said.push(format!("error=\"{error}\""));
        }
        // A token that never expires is not needed for a single operation.
        let scopes = self.scopes.iter().copied();
        let scopes: Vec<&str> = scopes.filter(|scope| *scope != "offline_access").collect();
        if !scopes.is_empty() {
            said.push(format!("scope=\"{}\"", scopes.join(" ")));
        }
        if let Some(metadata) = self.metadata {
            said.push(format!("resource_metadata=\"{metadata}\""));
        }
        let value = format!("Bearer {}", said.join(", "));
        HeaderValue::from_str(value.trim_end())
            .unwrap_or_else(|_| HeaderValue::from_static("Bearer"))
    }

    /// Refuses a request with this challenge. The body is the same for all responses with this status.
    #[cfg(feature = "auth")]
    pub(super) fn refuse(&self, status: StatusCode) -> HttpRefusal {
        let message = match status {
            StatusCode::UNAUTHORIZED => "unauthorized",
            StatusCode::FORBIDDEN => "forbidden",
            _ => "the request is malformed",
        };
        let error = ErrorObject::invalid_request(message);
        HttpRefusal::new(status, error).with_challenge(self.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_says_what_is_needed() {
        let scopes = ["a:read", "offline_access", "a:write"];
        for (challenge, value) in [
            (Challenge::default(), "Bearer"),
            (
                Challenge {
                    error: Some("insufficient_scope"),
                    scopes: &scopes,
                    metadata: Some("https://a.b/.well-known/oauth-protected-resource"),
                },
                r#"Bearer error="insufficient_scope", scope="a:read a:write", resource_metadata="https://a.b/.well-known/oauth-protected-resource""#,
            ),
            (
                Challenge {
                    scopes: &["line\nbreak"],
                    ..Challenge::default()
                },
                "Bearer",
            ),
        ] {
            assert_eq!(challenge.value(), value);
        }
    }
}
