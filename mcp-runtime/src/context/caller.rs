//! The caller, as seen by access rules.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::context::Principal;

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
/// | trusted | standard input and output, a client in the same process, [`Connection::trusted`](crate::transport::Connection::trusted) | not checked; the caller has all scopes |
/// | a [`Principal`] | credentials were checked, on any transport | the granted scopes, and any scopes that they include ([`Server::scope_implies`](crate::Server::scope_implies)) |
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
    pub(crate) const fn is_identified(&self) -> bool {
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

#[cfg(test)]
mod caller_record_tests {
    use serde_json::json;

    use super::*;

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
