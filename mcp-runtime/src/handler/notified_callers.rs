//! The callers to notify when a list changes: all callers whose view of the list differs after the change.

use std::sync::Arc;

use super::access::Access;
use crate::context::Caller;

/// The callers whose view of a list differs after an edit.
#[derive(Clone, Debug, Default)]
pub(crate) enum NotifiedCallers {
    #[default]
    None,
    /// Callers who satisfy at least one of these rules. The list has at most [`MAX`](Self::MAX) rules.
    WithAccess(Vec<Arc<Access>>),
    All,
}

impl NotifiedCallers {
    /// With more rules than this, all callers are notified. Some of these notifications are unnecessary, but no caller
    /// is missed.
    const MAX: usize = 16;

    /// Adds the callers who have access to a changed definition.
    pub(crate) fn add_callers_with_access(&mut self, access: &Access) {
        if access.is_restricted() {
            self.add(&Self::WithAccess(vec![Arc::new(access.clone())]));
        } else {
            *self = Self::All;
        }
    }

    /// Adds all callers in another audience. Returns `false` if all of them were already included.
    pub(crate) fn add(&mut self, other: &Self) -> bool {
        match (&mut *self, other) {
            (Self::All, _) | (_, Self::None) => return false,
            (Self::None, _) | (_, Self::All) => *self = other.clone(),
            (Self::WithAccess(known), Self::WithAccess(others)) => {
                let before = known.len();
                for access in others {
                    if !known.iter().any(|known| known.is_equivalent(access)) {
                        known.push(Arc::clone(access));
                    }
                }
                if known.len() == before {
                    return false;
                }
                if known.len() > Self::MAX {
                    *self = Self::All;
                }
            }
        }
        true
    }

    /// Returns `true` if the caller is included. This runs the `visible_if` functions.
    pub(crate) fn includes(&self, caller: &Caller) -> bool {
        match self {
            Self::None => false,
            Self::WithAccess(rules) => rules.iter().any(|access| access.is_usable_by(caller)),
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
    use super::*;
    use crate::context::Principal;

    fn caller(scope: &str) -> Caller {
        Principal::new("alice").with_scopes([scope]).into()
    }

    fn users(scope: &str) -> NotifiedCallers {
        let mut audience = NotifiedCallers::default();
        audience.add_callers_with_access(&Access::declared(&[scope], None));
        audience
    }

    #[test]
    fn callers_are_in_it_who_may_use_one_of_what_was_touched() {
        let mut audience = users("a");
        assert!(audience.includes(&caller("a")) && !audience.includes(&caller("b")));
        assert!(audience.add(&users("b")));
        assert!(!audience.add(&users("b")) && !audience.add(&NotifiedCallers::None));
        assert!(audience.includes(&caller("b")) && !audience.includes(&Caller::anonymous()));
        audience.add_callers_with_access(&Access::default());
        assert!(audience.includes(&Caller::anonymous()));
        assert!(!audience.add(&users("c")) && !NotifiedCallers::None.includes(&Caller::trusted()));
    }

    #[test]
    fn with_too_many_rules_it_is_everybody() {
        let mut audience = NotifiedCallers::default();
        for number in 0..NotifiedCallers::MAX {
            audience.add(&users(&format!("s{number}")));
            assert!(!audience.includes(&caller("other")));
        }
        audience.add(&users("one more"));
        assert!(audience.includes(&caller("other")));
    }
}
