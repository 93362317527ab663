//! Callers in their stored form, for calls that another process continues.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::context::{Caller, Principal};

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
mod tests {
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
