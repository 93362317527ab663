//! A definition's access rules: its required scopes and the function that determines its visibility.

use std::fmt;
use std::sync::Arc;

use crate::context::{Caller, Principal};
use crate::jsonrpc::ErrorObject;
use crate::protocol::errors;
use crate::spawn;

/// Access rules for a definition. By default, all callers have access.
#[derive(Clone, Default)]
pub struct Access {
    /// The required scopes. A caller must have all of them.
    scopes: Vec<Box<str>>,
    visible_if: Option<Arc<IsVisibleTo>>,
}

type IsVisibleTo = dyn Fn(&Caller) -> bool + Send + Sync;

/// A function that returns `true` if a definition is visible to a caller.
#[derive(Clone)]
pub enum VisibleIf {
    /// From an attribute.
    Declared(fn(&Caller) -> bool),
    /// From a builder.
    Inserted(Arc<IsVisibleTo>),
}

impl fmt::Debug for VisibleIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VisibleIf")
    }
}

impl Access {
    /// Creates rules that require scopes.
    #[cfg(test)]
    pub(crate) fn requiring(scopes: &[&str]) -> Self {
        let mut access = Self::default();
        access.require(scopes);
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
    pub(crate) fn show_if(&mut self, visible_if: VisibleIf) {
        self.visible_if = Some(match visible_if {
            VisibleIf::Declared(function) => Arc::new(function),
            VisibleIf::Inserted(function) => function,
        });
    }

    /// Returns `true` if access to the definition is restricted at all.
    pub(crate) fn is_restricted(&self) -> bool {
        !self.scopes.is_empty() || self.visible_if.is_some()
    }

    /// Returns `true` if both sets of rules treat every caller in the same way. Two `visible_if` functions are
    /// considered equal only if they are the same function.
    fn is_equivalent(&self, other: &Self) -> bool {
        let is_same = match (&self.visible_if, &other.visible_if) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (Some(_), None) | (None, Some(_)) => false,
        };
        is_same && self.scopes == other.scopes
    }

    /// Returns the required scopes.
    pub(crate) fn required_scopes(&self) -> impl Iterator<Item = &str> {
        self.scopes.iter().map(|scope| &**scope)
    }

    /// Returns `true` if scopes are required.
    pub(crate) fn needs_scopes(&self) -> bool {
        !self.scopes.is_empty()
    }

    /// Returns `true` if the definition is visible only to some callers.
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

// --- The callers to notify of a change: those whose view of a list is changed by an edit, or those selected by the
// program.

/// The callers to notify of a change.
#[derive(Clone, Debug, Default)]
pub enum NotifiedCallers {
    /// Nobody.
    #[default]
    None,
    /// Callers who satisfy at least one of these rules. The list has at most `MAX_RULES` rules.
    Some(Vec<CallerRule>),
    /// Everybody.
    All,
}

/// A rule that callers may satisfy.
#[derive(Clone, Debug)]
pub enum CallerRule {
    /// The caller may use a definition with these access rules.
    Access(Arc<Access>),
    /// The caller has this key.
    Key(Arc<str>),
    /// The program decides.
    Chosen(ChosenCallers),
}

/// One of the program's functions, which returns `true` for the callers to notify.
#[derive(Clone)]
pub struct ChosenCallers(Arc<dyn Fn(&Caller) -> bool + Send + Sync>);

impl ChosenCallers {
    fn include(&self, caller: &Caller) -> bool {
        // If the function panics, the caller is not notified. The panic does not leave any data here in an inconsistent
        // state.
        spawn::catch(|| (self.0)(caller)).unwrap_or_else(|panic| {
            tracing::error!(
                panic,
                "the function that chooses which callers to notify has panicked; a caller was not notified"
            );
            false
        })
    }
}

impl fmt::Debug for ChosenCallers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChosenCallers")
    }
}

impl CallerRule {
    /// Returns `true` if both rules are known to include the same callers.
    fn is_equivalent(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Access(one), Self::Access(other)) => one.is_equivalent(other),
            (Self::Key(one), Self::Key(other)) => one == other,
            (Self::Chosen(one), Self::Chosen(other)) => Arc::ptr_eq(&one.0, &other.0),
            _ => false,
        }
    }

    fn includes(&self, caller: &Caller) -> bool {
        match self {
            Self::Access(access) => access.is_usable_by(caller),
            Self::Key(key) => *caller.key() == **key,
            Self::Chosen(chosen) => chosen.include(caller),
        }
    }
}

impl NotifiedCallers {
    /// If there are more rules than this, all callers are notified. Some of these notifications are unnecessary, but
    /// every relevant caller is notified.
    const MAX_RULES: usize = 16;

    /// Includes only this principal.
    #[must_use]
    pub fn principal(principal: &Principal) -> Self {
        Self::with_key(principal.key().into())
    }

    /// Includes the callers with this key.
    #[must_use]
    pub fn with_key(key: Arc<str>) -> Self {
        Self::Some(vec![CallerRule::Key(key)])
    }

    /// Includes the callers for whom the function returns `true`.
    pub fn those(includes: impl Fn(&Caller) -> bool + Send + Sync + 'static) -> Self {
        Self::Some(vec![CallerRule::Chosen(ChosenCallers(Arc::new(includes)))])
    }

    /// Returns the keys of the callers, if all of them are identified by their keys.
    #[must_use]
    pub fn keys(&self) -> Option<Vec<String>> {
        let Self::Some(rules) = self else { return None };
        let keys = rules.iter().map(|rule| match rule {
            CallerRule::Key(key) => Some(key.to_string()),
            _ => None,
        });
        keys.collect()
    }

    /// Adds the callers who have access to a changed definition.
    pub(crate) fn add_callers_with_access(&mut self, access: &Access) {
        if access.is_restricted() {
            self.add(&Self::Some(vec![CallerRule::Access(Arc::new(
                access.clone(),
            ))]));
        } else {
            *self = Self::All;
        }
    }

    /// Adds all callers in another audience. Returns `false` if all of those callers were already included.
    pub fn add(&mut self, other: &Self) -> bool {
        match (&mut *self, other) {
            (Self::All, _) | (_, Self::None) => return false,
            (Self::None, _) | (_, Self::All) => *self = other.clone(),
            (Self::Some(known), Self::Some(others)) => {
                let before = known.len();
                for rule in others {
                    if !known.iter().any(|known| known.is_equivalent(rule)) {
                        known.push(rule.clone());
                    }
                }
                if known.len() == before {
                    return false;
                }
                if known.len() > Self::MAX_RULES {
                    *self = Self::All;
                }
            }
        }
        true
    }

    /// Returns `true` if the caller is included. This may call the program's functions.
    pub(crate) fn includes(&self, caller: &Caller) -> bool {
        match self {
            Self::None => false,
            Self::Some(rules) => rules.iter().any(|rule| rule.includes(caller)),
            Self::All => true,
        }
    }

    /// Returns `true` if no caller is included.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }
}

#[cfg(test)]
mod tests {
    mod access {
        use crate::context::Principal;
        use crate::handler::access::*;

        #[test]
        fn all_scopes_are_needed_and_all_are_named() {
            let access = Access::requiring(&["read", "write", "read"]);
            let alice = |scopes: &[&str]| {
                Caller::from(Principal::new("alice").with_scopes(scopes.to_vec()))
            };
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

        fn shown_if(visible_if: fn(&Caller) -> bool) -> Access {
            let mut access = Access::default();
            access.show_if(VisibleIf::Declared(visible_if));
            access
        }

        #[test]
        fn a_definition_is_hidden_if_its_visibility_check_panics() {
            let access = shown_if(Caller::is_trusted);
            assert!(access.is_usable_by(&Caller::trusted()));
            assert!(!access.is_usable_by(&Caller::anonymous()));
            let access = shown_if(|_| panic!("nobody knows"));
            assert!(!access.is_usable_by(&Caller::trusted()));
        }
    }

    mod notified_callers {
        use crate::handler::access::*;

        fn caller(scope: &str) -> Caller {
            Principal::new("alice").with_scopes([scope]).into()
        }

        fn users(scope: &str) -> NotifiedCallers {
            let mut audience = NotifiedCallers::default();
            audience.add_callers_with_access(&Access::requiring(&[scope]));
            audience
        }

        #[test]
        fn an_audience_includes_callers_with_access_to_a_changed_definition() {
            let mut audience = users("a");
            assert!(audience.includes(&caller("a")) && !audience.includes(&caller("b")));
            assert!(audience.add(&users("b")));
            assert!(!audience.add(&users("b")) && !audience.add(&NotifiedCallers::None));
            assert!(audience.includes(&caller("b")) && !audience.includes(&Caller::anonymous()));
            audience.add_callers_with_access(&Access::default());
            assert!(audience.includes(&Caller::anonymous()));
            assert!(
                !audience.add(&users("c")) && !NotifiedCallers::None.includes(&Caller::trusted())
            );
        }

        #[test]
        fn an_audience_includes_a_principal_by_identity_or_by_a_rule() {
            let alice = Principal::new("alice").with_issuer("a");
            let mut audience = NotifiedCallers::principal(&alice);
            assert!(audience.includes(&alice.clone().with_scopes(["x"]).into()));
            assert!(!audience.includes(&Principal::new("alice").with_issuer("b").into()));
            assert!(
                !audience.includes(&Caller::anonymous()) && !audience.includes(&Caller::trusted())
            );
            assert!(!audience.add(&NotifiedCallers::principal(&alice)));
            let those = NotifiedCallers::those(Caller::is_trusted);
            assert!(audience.add(&those) && !audience.add(&those));
            assert!(
                audience.includes(&Caller::trusted()) && !audience.includes(&Caller::anonymous())
            );
            let undecided = NotifiedCallers::those(|_| panic!("nobody knows"));
            assert!(!undecided.includes(&Caller::trusted()));
        }

        #[test]
        fn an_audience_with_too_many_rules_includes_all_callers() {
            let mut audience = NotifiedCallers::default();
            for number in 0..NotifiedCallers::MAX_RULES {
                audience.add(&users(&format!("s{number}")));
                assert!(!audience.includes(&caller("other")));
            }
            audience.add(&users("one more"));
            assert!(audience.includes(&caller("other")));
        }
    }
}
