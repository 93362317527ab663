//! Who may use a definition: which scopes it needs, and to whom it shows at all.

use std::fmt;
use std::sync::Arc;

use crate::context::Caller;
use crate::handler::rules;
use crate::jsonrpc::ErrorObject;
use crate::panics;
use crate::protocol::errors;

/// Who may use a definition. By default everybody.
#[derive(Clone, Default)]
pub(crate) struct Access {
    /// All of them are needed.
    scopes: Vec<Box<str>>,
    visible_if: Option<Arc<VisibleIf>>,
}

/// Says whether a definition is there for a caller.
type VisibleIf = dyn Fn(&Caller) -> bool + Send + Sync;

impl Access {
    /// What the options of an annotated function say.
    pub(crate) fn declared(scopes: &[&str], visible_if: Option<fn(&Caller) -> bool>) -> Self {
        let mut access = Self::default();
        access.require(scopes.iter().copied());
        if let Some(visible_if) = visible_if {
            access.show_if(visible_if);
        }
        access
    }

    /// Needs these scopes as well.
    pub(crate) fn require(&mut self, scopes: impl IntoIterator<Item = impl AsRef<str>>) {
        for scope in scopes {
            let scope = scope.as_ref();
            if !self.scopes.iter().any(|known| **known == *scope) {
                self.scopes.push(scope.into());
            }
        }
    }

    /// Is there only for callers of whom this holds.
    pub(crate) fn show_if(&mut self, visible_if: impl Fn(&Caller) -> bool + Send + Sync + 'static) {
        self.visible_if = Some(Arc::new(visible_if));
    }

    /// What is wrong with it.
    pub(crate) fn problems(&self) -> impl Iterator<Item = String> {
        let verdicts = self.scopes.iter().map(|scope| rules::scope(scope));
        verdicts.filter_map(|verdict| verdict.into_result().err())
    }

    /// Whether not everybody may use it.
    pub(crate) fn is_restricted(&self) -> bool {
        !self.scopes.is_empty() || self.visible_if.is_some()
    }

    /// Returns `true` if it says the same of every caller as another. Functions of `visible_if` are the same only if they are one.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let is_same = match (&self.visible_if, &other.visible_if) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (Some(_), None) | (None, Some(_)) => false,
        };
        is_same && self.scopes == other.scopes
    }

    /// The scopes it needs.
    #[cfg(feature = "auth")]
    pub(crate) fn scopes(&self) -> impl Iterator<Item = &str> {
        self.scopes.iter().map(|scope| &**scope)
    }

    /// Whether it needs scopes.
    #[cfg(feature = "http")]
    pub(crate) fn needs_scopes(&self) -> bool {
        !self.scopes.is_empty()
    }

    /// Whether it is not there for everybody.
    #[cfg(feature = "auth")]
    pub(crate) fn is_hidden_from_some(&self) -> bool {
        self.visible_if.is_some()
    }

    /// Whether it is there for the caller.
    pub(crate) fn is_visible_to(&self, caller: &Caller) -> bool {
        let Some(visible_if) = &self.visible_if else {
            return true;
        };
        // Nothing was begun that a panic could leave half done; and what cannot be decided is not shown.
        panics::catch(|| visible_if(caller)).unwrap_or_else(|_| {
            tracing::error!(
                "a function for `visible_if` panicked; what it decides on is not shown"
            );
            false
        })
    }

    /// Whether it is there for the caller, who may use it.
    pub(crate) fn is_open_to(&self, caller: &Caller) -> bool {
        self.has_scopes(caller) && self.is_visible_to(caller)
    }

    /// Refuses a caller who lacks scopes, whether or not it is visible.
    pub(crate) fn check_scopes(&self, caller: &Caller) -> Result<(), ErrorObject> {
        if self.has_scopes(caller) {
            return Ok(());
        }
        let needed: Vec<&str> = self.scopes.iter().map(|scope| &**scope).collect();
        Err(errors::insufficient_scope(&needed))
    }

    fn has_scopes(&self, caller: &Caller) -> bool {
        self.scopes.iter().all(|scope| caller.has_scope(scope))
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// What `visible_if = …` names: so that a function of another kind is told which is expected.
#[must_use]
pub const fn visible_if(function: fn(&Caller) -> bool) -> Option<fn(&Caller) -> bool> {
    Some(function)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Principal;

    #[test]
    fn all_scopes_are_needed_and_all_are_named() {
        let access = Access::declared(&["read", "write", "read"], None);
        let alice = |scopes: &[&str]| Caller::from(Principal::new("alice").scopes(scopes.to_vec()));
        access
            .check_scopes(&alice(&["read", "write", "more"]))
            .unwrap();
        access.check_scopes(&Caller::trusted()).unwrap();
        for caller in [alice(&["read"]), alice(&[]), Caller::anonymous()] {
            let error = access.check_scopes(&caller).unwrap_err();
            assert_eq!(errors::scopes_needed(&error), Some(vec!["read", "write"]));
            assert!(!access.is_open_to(&caller) && access.is_visible_to(&caller));
        }
    }

    #[test]
    fn what_cannot_be_decided_is_not_shown() {
        let access = Access::declared(&[], Some(Caller::is_trusted));
        assert!(access.is_open_to(&Caller::trusted()));
        assert!(!access.is_open_to(&Caller::anonymous()));
        let access = Access::declared(&[], Some(|_| panic!("nobody knows")));
        assert!(!access.is_open_to(&Caller::trusted()));
    }
}
