//! Decides which callers can see items that are identified by keys: filter keys, and skills, which are identified by
//! path.

use std::fmt;
use std::sync::Arc;

use crate::context::Caller;
use crate::panics;

/// A `visible_if` function that takes a caller and a key. By default, every caller sees every key.
#[derive(Clone, Default)]
pub(crate) struct KeyVisibility(Option<Arc<VisibleIf>>);

type VisibleIf = dyn Fn(&Caller, &str) -> bool + Send + Sync;

impl KeyVisibility {
    pub(crate) fn new(visible_if: impl Fn(&Caller, &str) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(visible_if)))
    }

    /// Returns `true` if a function determines the visibility.
    pub(crate) fn is_restricted(&self) -> bool {
        self.0.is_some()
    }

    /// Returns `true` if both have the same function, or if neither has a function. Two functions with the same code
    /// are not the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// Returns `true` if the key is visible to the caller. If the function panics, the key is hidden.
    pub(crate) fn is_visible_to(&self, caller: &Caller, key: &str) -> bool {
        let Some(visible_if) = &self.0 else {
            return true;
        };
        panics::catch(|| visible_if(caller, key)).unwrap_or_else(|_| {
            tracing::error!(key, "a `visible_if` function panicked; the key is hidden");
            false
        })
    }
}

impl fmt::Debug for KeyVisibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeyVisibility")
            .field(&self.is_restricted())
            .finish()
    }
}
