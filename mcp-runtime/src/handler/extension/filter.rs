//! Members that an extension adds to the `subscriptions/listen` filter.

use std::fmt;
use std::sync::Arc;

use crate::context::{Caller, ServerHandle};
use crate::handler::extension::visibility::KeyVisibility;

/// A member of `params.notifications` in `subscriptions/listen`, with which a client requests an extension's
/// notifications.
///
/// Source: revision 2026-07-28, basic/extensions and server/utilities/subscriptions.
#[derive(Clone, Debug)]
pub struct FilterMember {
    pub(crate) name: String,
    pub(crate) is_keyed: bool,
    /// Decides which callers may be notified about a key.
    pub(crate) visible_if: KeyVisibility,
    /// Called for each key to which a client begins to listen.
    pub(crate) on_listen: Option<OnListen>,
}

type Listening = dyn Fn(&ServerHandle, &Caller, &str) + Send + Sync;

/// A function that learns that a caller has begun to listen to a key.
#[derive(Clone)]
pub(crate) struct OnListen(pub(crate) Arc<Listening>);

impl fmt::Debug for OnListen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnListen").finish_non_exhaustive()
    }
}

impl FilterMember {
    /// Creates a member whose value is `true` if the client wants the notification.
    pub fn flag(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            is_keyed: false,
            visible_if: KeyVisibility::default(),
            on_listen: None,
        }
    }

    /// Creates a member whose value is an array of strings: the keys for which the client wants notifications, such as
    /// task ids. The keys count toward [`limits.streams.max_subscriptions`](crate::Limits), and each key can be up to
    /// [`limits.message.max_uri_bytes`](crate::Limits) long.
    pub fn keys(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            is_keyed: true,
            visible_if: KeyVisibility::default(),
            on_listen: None,
        }
    }

    /// Accepts only keys for which the function returns `true`. By default, every key is accepted, so callers can be
    /// notified about keys that belong to other callers.
    ///
    /// The function runs once for each key that a client requests, so it must not block. Start-up fails if the member
    /// is a flag, or if another notification has the same member with a different function. To share a member, give
    /// both notifications a clone of it.
    #[must_use]
    pub fn visible_if(
        mut self,
        visible_if: impl Fn(&Caller, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.visible_if = KeyVisibility::new(visible_if);
        self
    }

    /// Sets a function that is called for each key to which a client begins to listen. It must not block.
    pub(crate) fn on_listen(
        mut self,
        on_listen: impl Fn(&ServerHandle, &Caller, &str) + Send + Sync + 'static,
    ) -> Self {
        self.on_listen = Some(OnListen(Arc::new(on_listen)));
        self
    }
}
