//! Admits callers: adds the scopes that a caller's scopes imply and decides whether to trust anonymous callers.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::Caller;
use crate::order::set_of;

/// Rules for admitting callers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Admission {
    /// Maps each scope to the scopes that it directly implies.
    implied: BTreeMap<Box<str>, BTreeSet<Box<str>>>,
    /// `true` if anonymous callers have full access.
    pub(crate) trusts_anonymous: bool,
}

impl Admission {
    /// Makes the `broad` scope imply the `narrow` scope.
    pub(crate) fn imply(&mut self, broad: &str, narrow: &str) {
        let implied = self.implied.entry(broad.into()).or_default();
        implied.insert(narrow.into());
    }

    /// Applies the rules to a caller. The rest of the server uses only the returned caller.
    pub(super) fn admit(&self, caller: Caller) -> Caller {
        match caller.principal() {
            None if self.trusts_anonymous && !caller.is_trusted() => Caller::trusted_anonymous(),
            None => caller,
            Some(_) if self.implied.is_empty() => caller,
            Some(principal) => {
                let granted = set_of(principal.scopes());
                let all = self.with_implied(&granted);
                if all.len() == granted.len() {
                    return caller;
                }
                principal.clone().with_scopes(all).into()
            }
        }
    }

    /// Returns the given scopes and, transitively, all scopes that they imply.
    fn with_implied<'a>(&'a self, granted: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
        let mut all = granted.clone();
        let mut open: Vec<&str> = granted.iter().copied().collect();
        while let Some(scope) = open.pop() {
            for implied in self.implied.get(scope).into_iter().flatten() {
                if all.insert(implied) {
                    open.push(implied);
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Principal;

    fn granted(caller: &Caller) -> Vec<&str> {
        caller
            .principal()
            .into_iter()
            .flat_map(Principal::scopes)
            .collect()
    }

    #[test]
    fn a_scope_brings_all_below_it_also_in_a_circle() {
        let mut admission = Admission::default();
        admission.imply("admin", "notes:write");
        admission.imply("notes:write", "notes:read");
        admission.imply("notes:read", "admin2");
        admission.imply("admin2", "notes:read");
        let admitted = |scope| admission.admit(Principal::new("alice").with_scopes([scope]).into());
        assert_eq!(
            granted(&admitted("admin")),
            ["admin", "admin2", "notes:read", "notes:write"]
        );
        assert_eq!(granted(&admitted("notes:read")), ["admin2", "notes:read"]);
        assert_eq!(granted(&admitted("other")), ["other"]);
    }

    #[test]
    fn strangers_are_trusted_only_if_the_server_says_so() {
        let mut admission = Admission::default();
        assert!(!admission.admit(Caller::anonymous()).is_trusted());
        assert!(admission.admit(Caller::trusted()).is_trusted());
        admission.trusts_anonymous = true;
        assert!(admission.admit(Caller::anonymous()).is_trusted());
        assert!(!admission.admit(Caller::anonymous()).is_identified());
        assert!(admission.admit(Caller::trusted()).is_identified());
        assert!(!admission.admit(Principal::new("alice").into()).is_trusted());
    }
}
