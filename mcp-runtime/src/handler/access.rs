//! A definition's access rules: its required scopes and the function that determines its visibility.

use std::fmt;
use std::sync::Arc;

use crate::context::Caller;
use crate::handler::rules;
use crate::jsonrpc::ErrorObject;
use crate::protocol::errors;
use crate::spawn;

/// Access rules for a definition. By default, all callers have access.
#[derive(Clone, Default)]
pub(crate) struct Access {
    /// The required scopes. A caller must have all of them.
    scopes: Vec<Box<str>>,
    visible_if: Option<Arc<VisibleIf>>,
}

/// A function that returns `true` if a definition is visible to a caller.
type VisibleIf = dyn Fn(&Caller) -> bool + Send + Sync;

impl Access {
    /// Creates the rules from the options of an annotated function.
    pub(crate) fn declared(scopes: &[&str], visible_if: Option<fn(&Caller) -> bool>) -> Self {
        let mut access = Self::default();
        access.require(scopes.iter().copied());
        if let Some(visible_if) = visible_if {
            access.show_if(visible_if);
        }
        access
    }

    /// Adds required scopes.
    pub(crate) fn require(&mut self, scopes: impl IntoIterator<Item = impl AsRef<str>>) {
        for scope in scopes {
            let scope = scope.as_ref();
            if !self.scopes.iter().any(|known| **known == *scope) {
                self.scopes.push(scope.into());
            }
        }
    }

    /// Makes the definition visible only to callers for whom the function returns `true`.
    pub(crate) fn show_if(&mut self, visible_if: impl Fn(&Caller) -> bool + Send + Sync + 'static) {
        self.visible_if = Some(Arc::new(visible_if));
    }

    /// Returns a message for each invalid scope.
    pub(crate) fn problems(&self) -> impl Iterator<Item = String> {
        let verdicts = self.scopes.iter().map(|scope| rules::scope(scope));
        verdicts.filter_map(|verdict| verdict.into_result().err())
    }

    /// Returns `true` if access to the definition is restricted at all.
    pub(crate) fn is_restricted(&self) -> bool {
        !self.scopes.is_empty() || self.visible_if.is_some()
    }

    /// Returns `true` if both sets of rules treat every caller in the same way. Two `visible_if` functions are
    /// considered equal only if they are the same function.
    pub(crate) fn is_equivalent(&self, other: &Self) -> bool {
        let is_same = match (&self.visible_if, &other.visible_if) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (Some(_), None) | (None, Some(_)) => false,
        };
        is_same && self.scopes == other.scopes
    }

    /// Returns the required scopes.
    #[cfg(feature = "auth")]
    pub(crate) fn required_scopes(&self) -> impl Iterator<Item = &str> {
        self.scopes.iter().map(|scope| &**scope)
    }

    /// Returns `true` if scopes are required.
    pub(crate) fn needs_scopes(&self) -> bool {
        !self.scopes.is_empty()
    }

    /// Returns `true` if the definition is visible only to some callers.
    #[cfg(feature = "auth")]
    pub(crate) fn is_hidden_from_some(&self) -> bool {
        self.visible_if.is_some()
    }

    /// Returns `true` if the definition is visible to the caller.
    #[inline]
    pub(crate) fn is_visible_to(&self, caller: &Caller) -> bool {
        self.visible_if.is_none() || self.is_shown_to(caller)
    }

    #[inline(never)]
    fn is_shown_to(&self, caller: &Caller) -> bool {
        let Some(visible_if) = &self.visible_if else {
            return true;
        };
        // If the function panics, the definition is hidden. The panic does not leave any data here in an inconsistent
        // state.
        spawn::catch(|| visible_if(caller)).unwrap_or_else(|_| {
            tracing::error!("a `visible_if` function panicked; the definition is hidden");
            false
        })
    }

    /// Returns `true` if the definition is visible to the caller and the caller has the required scopes.
    pub(crate) fn is_usable_by(&self, caller: &Caller) -> bool {
        self.has_scopes(caller) && self.is_visible_to(caller)
    }

    /// Rejects callers who lack required scopes, whether or not the definition is visible to them.
    #[inline]
    pub(crate) fn check_scopes(&self, caller: &Caller) -> Result<(), ErrorObject> {
        if self.scopes.is_empty() || self.has_scopes(caller) {
            return Ok(());
        }
        Err(self.insufficient_scopes())
    }

    #[cold]
    fn insufficient_scopes(&self) -> ErrorObject {
        let needed: Vec<&str> = self.scopes.iter().map(|scope| &**scope).collect();
        errors::insufficient_scope(&needed)
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

/// Converts the function given as `visible_if = …`. If the function has the wrong type, the compiler's error names the
/// expected type.
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
        let alice =
            |scopes: &[&str]| Caller::from(Principal::new("alice").with_scopes(scopes.to_vec()));
        access
            .check_scopes(&alice(&["read", "write", "more"]))
            .unwrap();
        access.check_scopes(&Caller::trusted()).unwrap();
        for caller in [alice(&["read"]), alice(&[]), Caller::anonymous()] {
            let error = access.check_scopes(&caller).unwrap_err();
            assert_eq!(errors::scopes_needed(&error), Some(vec!["read", "write"]));
            assert!(!access.is_usable_by(&caller) && access.is_visible_to(&caller));
        }
    }

    #[test]
    fn what_cannot_be_decided_is_not_shown() {
        let access = Access::declared(&[], Some(Caller::is_trusted));
        assert!(access.is_usable_by(&Caller::trusted()));
        assert!(!access.is_usable_by(&Caller::anonymous()));
        let access = Access::declared(&[], Some(|_| panic!("nobody knows")));
        assert!(!access.is_usable_by(&Caller::trusted()));
    }
}
