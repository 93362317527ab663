//! Principals: callers identified by credentials.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use serde_json::{Map, Value};

/// A caller identified by credentials, either by a built-in authenticator or by the program that embeds the server.
///
/// A principal is created by the code that checked the credentials, never from a client's claims about itself. Cheap to
/// clone.
///
/// Two principals represent the same caller if their issuer, subject and client are equal; scopes and claims may differ
/// between tokens. The state of a session or call is available only to the caller that owns it.
///
/// ```
/// use mcp_runtime::Principal;
///
/// let principal = Principal::new("alice").with_issuer("https://login.example.com").with_scopes(["notes:read"]);
/// assert!(principal.has_scope("notes:read"));
/// ```
///
/// Source: every revision since 2025-03-26, basic/authorization; `docs/requirements.md`, AUTH-11.
#[derive(Clone)]
pub struct Principal(Arc<PrincipalData>);

#[derive(Clone)]
struct PrincipalData {
    issuer: Box<str>,
    subject: Box<str>,
    client: Box<str>,
    scopes: BTreeSet<Box<str>>,
    claims: Map<String, Value>,
    expires_at: Option<SystemTime>,
    /// Created on first use.
    key: OnceLock<Box<str>>,
}

impl Principal {
    /// Creates a principal. `subject` is the name that the issuer of the credentials uses for the principal, such as
    /// the `sub` claim in a token.
    #[must_use]
    pub fn new(subject: impl Into<String>) -> Self {
        Self(Arc::new(PrincipalData {
            issuer: "".into(),
            subject: subject.into().into_boxed_str(),
            client: "".into(),
            scopes: BTreeSet::new(),
            claims: Map::new(),
            expires_at: None,
            key: OnceLock::new(),
        }))
    }

    /// Sets the issuer of the credentials, such as the `iss` claim in a token. Defaults to an empty string, meaning
    /// none.
    #[must_use]
    pub fn with_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.data_mut().issuer = issuer.into().into_boxed_str();
        self
    }

    /// Sets the client that acts on behalf of the principal, such as the `client_id` claim in a token. Defaults to an
    /// empty string, meaning unknown.
    #[must_use]
    pub fn with_client_id(mut self, client: impl Into<String>) -> Self {
        self.data_mut().client = client.into().into_boxed_str();
        self
    }

    /// Sets the granted scopes. Default: none.
    #[must_use]
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let scopes = scopes.into_iter();
        let known = &mut self.data_mut().scopes;
        known.clear();
        known.extend(scopes.map(|scope| scope.into().into_boxed_str()));
        self
    }

    /// Sets additional claims from the credentials, such as the claims in a token. Default: none.
    #[must_use]
    pub fn with_claims(mut self, claims: Map<String, Value>) -> Self {
        self.data_mut().claims = claims;
        self
    }

    /// Sets the time at which the credentials expire, such as the `exp` claim in a token plus the tolerated clock skew.
    /// Default: never.
    ///
    /// From then on, HTTP requests with these credentials are rejected with 401, and notification streams opened with
    /// them end. A `subscriptions/listen` stream ends with its result, and all other streams end without a message.
    /// Clients can reconnect with new credentials. Running calls are not cancelled. If the embedding program has put
    /// the principal into a request's extensions, the request is not rejected, because the program makes that decision.
    #[must_use]
    pub fn with_expires_at(mut self, time: SystemTime) -> Self {
        self.data_mut().expires_at = Some(time);
        self
    }

    fn data_mut(&mut self) -> &mut PrincipalData {
        let known = Arc::make_mut(&mut self.0);
        known.key = OnceLock::new();
        known
    }

    /// Returns the name that the issuer uses for the principal.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.0.subject
    }

    /// Returns the issuer of the credentials, or an empty string if there is none.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.0.issuer
    }

    /// Returns the client that acts on behalf of the principal, or an empty string if it is unknown.
    #[must_use]
    pub fn client_id(&self) -> &str {
        &self.0.client
    }

    /// Returns the granted scopes, sorted.
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        self.0.scopes.iter().map(|scope| &**scope)
    }

    /// Returns `true` if the scope was granted.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        self.0.scopes.contains(scope)
    }

    /// Returns additional claims from the credentials.
    #[must_use]
    pub fn claims(&self) -> &Map<String, Value> {
        &self.0.claims
    }

    /// Returns the time at which the credentials expire, or `None` if the time is unknown or the credentials never
    /// expire.
    #[must_use]
    pub fn expires_at(&self) -> Option<SystemTime> {
        self.0.expires_at
    }

    /// Returns a string that uniquely identifies the caller.
    ///
    /// The string consists of the issuer, subject and client, each prefixed with its length. The string is intended as
    /// a key for maps and stores, not for display.
    #[must_use]
    pub fn key(&self) -> &str {
        self.0.key.get_or_init(|| {
            let parts = [&self.0.issuer, &self.0.subject, &self.0.client];
            let parts = parts.map(|part| format!("{}:{part}", part.len()));
            parts.concat().into_boxed_str()
        })
    }
}

/// Shows the identity and scopes, but not the claims, which may contain data that does not belong in a log.
impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Principal")
            .field("issuer", &self.0.issuer)
            .field("subject", &self.0.subject)
            .field("client", &self.0.client)
            .field("scopes", &self.0.scopes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_told_apart_by_issuer_subject_and_client() {
        let alice = Principal::new("alice").with_issuer("a").with_client_id("c");
        let again = alice.clone().with_scopes(["x"]);
        assert_eq!(alice.key(), again.key());
        for other in [
            Principal::new("alice").with_issuer("a"),
            Principal::new("alice").with_issuer("ac"),
            Principal::new("a").with_issuer("alice").with_client_id("c"),
            Principal::new("alicec").with_issuer("a"),
        ] {
            assert_ne!(alice.key(), other.key(), "{other:?}");
        }
    }
}
