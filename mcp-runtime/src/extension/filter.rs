//! Members that an extension adds to the filter of `subscriptions/listen`.

use std::fmt;
use std::sync::Arc;

use crate::context::Caller;
use crate::panics;

/// A member of `params.notifications` in `subscriptions/listen`, with which a client asks for an extension's
/// notifications.
///
/// Source: revision 2026-07-28, basic/extensions and server/utilities/subscriptions.
#[derive(Clone)]
pub struct FilterMember {
    pub(super) name: String,
    pub(super) is_keyed: bool,
    pub(super) visible_if: Option<Arc<KeyVisibleIf>>,
}

/// A function that returns `true` if a caller may be notified about a key.
pub(super) type KeyVisibleIf = dyn Fn(&Caller, &str) -> bool + Send + Sync;

impl FilterMember {
    /// Creates a member whose value is `true` if the client wants the notification.
    pub fn flag(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            is_keyed: false,
            visible_if: None,
        }
    }

    /// Creates a member whose value is an array of strings: the keys that the client wants to be notified about, such as
    /// the ids of tasks. They count towards [`limits.streams.max_subscriptions`](crate::Limits).
    pub fn keys(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            is_keyed: true,
            visible_if: None,
        }
    }

    /// Honours only keys for which the function returns `true`. By default, every key is honoured, so callers can be
    /// notified about keys that belong to other callers.
    ///
    /// The function runs once for each key when a client asks for it, so it must not block. It has no effect on a flag.
    #[must_use]
    pub fn visible_if(
        mut self,
        visible_if: impl Fn(&Caller, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.visible_if = Some(Arc::new(visible_if));
        self
    }

    /// Returns `true` if this caller may be notified about the key. A function that panics honours nothing.
    pub(super) fn is_key_visible_to(&self, caller: &Caller, key: &str) -> bool {
        let Some(visible_if) = &self.visible_if else {
            return true;
        };
        panics::catch(|| visible_if(caller, key)).unwrap_or_else(|_| {
            tracing::error!(
                member = self.name,
                "a `visible_if` function of a filter panicked; the key is left out"
            );
            false
        })
    }
}

impl fmt::Debug for FilterMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterMember")
            .field("name", &self.name)
            .field("is_keyed", &self.is_keyed)
            .finish_non_exhaustive()
    }
}
