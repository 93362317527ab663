//! Who calls, as far as that is known from credentials.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use serde_json::{Map, Value};

/// Who calls, established from credentials: by an authenticator of ours, or by the program the server is mounted into.
///
/// Made by whoever checked the credentials, never from what a client says of itself. Cheap to clone.
///
/// Two principals are the same caller if issuer, subject and client are the same; scopes and claims may differ from one
/// token to the next. What a session or a call remembers is for the same caller alone.
///
/// ```
/// use mcp_runtime::Principal;
///
/// let principal = Principal::new("alice").issuer("https://login.example.com").scopes(["notes:read"]);
/// assert!(principal.has_scope("notes:read"));
/// ```
///
/// Source: every revision since 2025-03-26, basic/authorization; `docs/requirements.md`, AUTH-11.
#[derive(Clone)]
pub struct Principal(Arc<Known>);

#[derive(Clone)]
struct Known {
    issuer: Box<str>,
    subject: Box<str>,
    client: Box<str>,
    scopes: BTreeSet<Box<str>>,
    claims: Map<String, Value>,
    expires_at: Option<SystemTime>,
    /// Made when first asked for.
    key: OnceLock<Box<str>>,
}

impl Principal {
    /// Somebody, by the name under which the issuer of the credentials knows them: `sub` of a token.
    #[must_use]
    pub fn new(subject: impl Into<String>) -> Self {
        Self(Arc::new(Known {
            issuer: "".into(),
            subject: subject.into().into_boxed_str(),
            client: "".into(),
            scopes: BTreeSet::new(),
            claims: Map::new(),
            expires_at: None,
            key: OnceLock::new(),
        }))
    }

    /// Who vouches for them: `iss` of a token. Default: nobody, an empty text.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.known().issuer = issuer.into().into_boxed_str();
        self
    }

    /// The program that acts for them: `client_id` of a token. Default: unknown, an empty text.
    #[must_use]
    pub fn client_id(mut self, client: impl Into<String>) -> Self {
        self.known().client = client.into().into_boxed_str();
        self
    }

    /// What they may do. Default: nothing that needs a scope.
    #[must_use]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let scopes = scopes.into_iter();
        let known = &mut self.known().scopes;
        known.clear();
        known.extend(scopes.map(|scope| scope.into().into_boxed_str()));
        self
    }

    /// What else the credentials say: the claims of a token. Default: none.
    #[must_use]
    pub fn with_claims(mut self, claims: Map<String, Value>) -> Self {
        self.known().claims = claims;
        self
    }

    /// The time at which the credentials expire: `exp` of a token, plus the tolerated clock skew. Default: never.
    ///
    /// From then on, HTTP requests with these credentials are refused with 401, and streams of notifications that they opened end:
    /// `subscriptions/listen` with its result, others without a word. Their clients come back with new credentials. Calls that
    /// run are not ended. A principal among the extensions of a request is not refused: there the embedding program decides.
    #[must_use]
    pub fn with_expires_at(mut self, time: SystemTime) -> Self {
        self.known().expires_at = Some(time);
        self
    }

    fn known(&mut self) -> &mut Known {
        let known = Arc::make_mut(&mut self.0);
        known.key = OnceLock::new();
        known
    }

    /// The name under which the issuer knows them.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.0.subject
    }

    /// Who vouches for them; empty if nobody does.
    #[must_use]
    pub fn issued_by(&self) -> &str {
        &self.0.issuer
    }

    /// The program that acts for them; empty if that is unknown.
    #[must_use]
    pub fn client(&self) -> &str {
        &self.0.client
    }

    /// What they may do, in order.
    pub fn granted(&self) -> impl Iterator<Item = &str> {
        self.0.scopes.iter().map(|scope| &**scope)
    }

    /// Whether this scope was granted.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        self.0.scopes.contains(scope)
    }

    /// What else the credentials say.
    #[must_use]
    pub fn claims(&self) -> &Map<String, Value> {
        &self.0.claims
    }

    /// The time at which the credentials expire; `None` if that is unknown, or never.
    #[must_use]
    pub fn expires_at(&self) -> Option<SystemTime> {
        self.0.expires_at
    }

    /// What tells callers apart: a text that is the same for the same caller, and for nobody else.
    ///
    /// Issuer, subject and client, each with its length before it. For keys of maps and stores, not for people.
    #[must_use]
    pub fn key(&self) -> &str {
        self.0.key.get_or_init(|| {
            let parts = [&self.0.issuer, &self.0.subject, &self.0.client];
            let parts = parts.map(|part| format!("{}:{part}", part.len()));
            parts.concat().into_boxed_str()
        })
    }
}

/// Says who it is and what they may do; claims can hold what nobody should read in a log.
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
        let alice = Principal::new("alice").issuer("a").client_id("c");
        let again = alice.clone().scopes(["x"]);
        assert_eq!(alice.key(), again.key());
        for other in [
            Principal::new("alice").issuer("a"),
            Principal::new("alice").issuer("ac"),
            Principal::new("a").issuer("alice").client_id("c"),
            Principal::new("alicec").issuer("a"),
        ] {
            assert_ne!(alice.key(), other.key(), "{other:?}");
        }
    }
}
