//! The caller, as seen by access rules, and the principal that its credentials identify.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The caller of a request, as seen by access rules such as `visible_if` functions.
///
/// ```
/// use mcp_runtime::Caller;
///
/// /// For `#[tool(visible_if = is_staff)]`.
/// fn is_staff(caller: &Caller) -> bool {
///     caller.is_trusted() || caller.principal().is_some_and(|who| who.claims().contains_key("staff"))
/// }
/// ```
///
/// | Caller | When | Scopes |
/// |---|---|---|
/// | trusted | standard input and output, a client in the same process, `Connection::trusted` | not checked; the caller has all scopes |
/// | a [`Principal`] | credentials were checked, on any transport | the granted scopes, and any scopes that they include (`Server::scope_implies`) |
/// | anonymous | all other callers | none |
///
/// Callers over stdio are trusted because the user who starts a process already has all of the process's privileges,
/// and because the specification allows servers on stdio to take credentials from the environment. A principal is
/// limited to its scopes on every transport.
///
/// Source: every revision since 2025-03-26, basic/authorization, "Protocol Requirements".
#[derive(Clone, Debug, Default)]
pub struct Caller(CallerKind);

#[derive(Clone, Debug, Default)]
enum CallerKind {
    #[default]
    Anonymous,
    Known(Principal),
    /// `is_shared` is `true` if this value represents all anonymous callers.
    Trusted {
        is_shared: bool,
    },
}

impl Caller {
    /// Returns an anonymous caller.
    #[must_use]
    pub const fn anonymous() -> Self {
        Self(CallerKind::Anonymous)
    }

    /// Returns a caller who has full access, such as the user who started the process.
    #[must_use]
    pub const fn trusted() -> Self {
        Self(CallerKind::Trusted { is_shared: false })
    }

    /// Returns the caller that represents all anonymous callers of a server that trusts them.
    pub(crate) const fn trusted_anonymous() -> Self {
        Self(CallerKind::Trusted { is_shared: true })
    }

    /// Returns `true` if the caller can be distinguished from other callers, because it has credentials or is the user
    /// who started the process.
    #[doc(hidden)]
    #[must_use]
    pub const fn is_identified(&self) -> bool {
        matches!(
            self.0,
            CallerKind::Known(_) | CallerKind::Trusted { is_shared: false }
        )
    }

    /// Returns the principal, if the caller has credentials.
    #[must_use]
    pub const fn principal(&self) -> Option<&Principal> {
        match &self.0 {
            CallerKind::Known(principal) => Some(principal),
            CallerKind::Anonymous | CallerKind::Trusted { .. } => None,
        }
    }

    /// Returns `true` if scopes do not apply to the caller.
    #[must_use]
    pub const fn is_trusted(&self) -> bool {
        matches!(self.0, CallerKind::Trusted { .. })
    }

    /// Returns `true` if the caller may use definitions that require this scope.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        match &self.0 {
            CallerKind::Anonymous => false,
            CallerKind::Known(principal) => principal.has_scope(scope),
            CallerKind::Trusted { .. } => true,
        }
    }

    /// Returns a key that identifies the caller, for use in maps and stores. All anonymous callers share a single key,
    /// the empty string. All trusted callers also share a key. For a principal, the key is [`Principal::key`].
    #[must_use]
    pub fn key(&self) -> &str {
        match &self.0 {
            CallerKind::Anonymous => "",
            // This cannot be a principal's key, because such a key starts with a number.
            CallerKind::Trusted { .. } => "trusted",
            CallerKind::Known(principal) => principal.key(),
        }
    }
}

impl From<Principal> for Caller {
    fn from(principal: Principal) -> Self {
        Self(CallerKind::Known(principal))
    }
}

/// Converts `None` into an anonymous caller.
impl From<Option<Principal>> for Caller {
    fn from(principal: Option<Principal>) -> Self {
        principal.map_or_else(Self::anonymous, Self::from)
    }
}

// Callers in their stored form, for calls that another process continues.

/// A caller in its stored form, which does not include credentials.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallerRecord {
    Anonymous,
    /// The user who started the process.
    Trusted,
    /// Any anonymous caller of a server that trusts them.
    TrustedAnonymous,
    Principal(PrincipalRecord),
}

/// A principal in its stored form.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PrincipalRecord {
    issuer: String,
    subject: String,
    client: String,
    scopes: Vec<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    claims: Map<String, Value>,
    /// Seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
}

impl CallerRecord {
    pub(crate) fn of(caller: &Caller) -> Self {
        match caller.principal() {
            None if !caller.is_trusted() => Self::Anonymous,
            None if caller.is_identified() => Self::Trusted,
            None => Self::TrustedAnonymous,
            Some(principal) => Self::Principal(PrincipalRecord::of(principal)),
        }
    }

    pub(crate) fn into_caller(self) -> Caller {
        match self {
            Self::Trusted => Caller::trusted(),
            // The server decides whether it still trusts anonymous callers when it readmits the caller.
            Self::Anonymous | Self::TrustedAnonymous => Caller::anonymous(),
            Self::Principal(principal) => principal.into_principal().into(),
        }
    }
}

impl PrincipalRecord {
    fn of(principal: &Principal) -> Self {
        let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
        Self {
            issuer: principal.issuer().to_owned(),
            subject: principal.subject().to_owned(),
            client: principal.client_id().to_owned(),
            scopes: principal.scopes().map(str::to_owned).collect(),
            claims: principal.claims().clone(),
            expires_at: principal
                .expires_at()
                .and_then(since)
                .map(|at| at.as_secs()),
        }
    }

    fn into_principal(self) -> Principal {
        let expires_at = self.expires_at.map(Duration::from_secs);
        let principal = Principal::new(self.subject)
            .with_issuer(self.issuer)
            .with_client_id(self.client)
            .with_scopes(self.scopes)
            .with_claims(self.claims);
        match expires_at.and_then(|at| UNIX_EPOCH.checked_add(at)) {
            Some(at) => principal.with_expires_at(at),
            None => principal,
        }
    }
}

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
    use crate::context::caller::*;

    #[test]
    fn callers_are_distinguished_by_issuer_subject_and_client_id() {
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

#[cfg(test)]
mod caller_record_tests {
    use serde_json::json;

    use crate::context::caller::*;

    fn stored(caller: &Caller) -> Caller {
        let text = serde_json::to_string(&CallerRecord::of(caller)).unwrap();
        serde_json::from_str::<CallerRecord>(&text)
            .unwrap()
            .into_caller()
    }

    #[test]
    fn a_caller_is_the_same_after_it_was_stored() {
        let claims = json!({"tenant": "acme"}).as_object().cloned().unwrap();
        let alice = Principal::new("alice")
            .with_issuer("https://issuer")
            .with_client_id("app")
            .with_scopes(["read", "write"])
            .with_claims(claims.clone())
            .with_expires_at(UNIX_EPOCH + Duration::from_secs(7));
        let found = stored(&alice.clone().into());
        assert_eq!(found.key(), Caller::from(alice.clone()).key());
        let found = found.principal().unwrap();
        assert!(found.has_scope("write") && !found.has_scope("admin"));
        assert_eq!(
            (found.claims(), found.expires_at()),
            (&claims, alice.expires_at())
        );
        let facts = |caller: &Caller| (caller.is_trusted(), caller.is_identified());
        for caller in [Caller::anonymous(), Caller::trusted()] {
            assert_eq!(facts(&stored(&caller)), facts(&caller));
        }
        let anonymous = stored(&Caller::trusted_anonymous());
        assert_eq!(facts(&anonymous), facts(&Caller::anonymous()));
    }
}
