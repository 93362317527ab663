//! The merged changes that a listener has yet to be notified of.

use std::sync::Arc;

use crate::context::ExtensionNotification;
use crate::handler::notified_callers::NotifiedCallers;

/// The changes since the client was last notified.
#[derive(Default)]
pub(super) struct PendingNotifications {
    /// For each list, the callers who have yet to be notified of a change.
    pub(super) lists: [NotifiedCallers; 3],
    /// The resources that have changed, and the callers who have yet to be notified.
    pub(super) uris: Vec<(Arc<str>, NotifiedCallers)>,
    /// The latest notification with each name and key, in the order in which they were sent. Bounded by the keys in the
    /// filter, because notifications for other callers are not added.
    pub(super) extensions: Vec<Arc<ExtensionNotification>>,
}

impl PendingNotifications {
    /// Adds a changed resource. Returns `true` if more callers must be notified than before.
    pub(super) fn add_resource(&mut self, uri: &Arc<str>, audience: &NotifiedCallers) -> bool {
        let mut uris = self.uris.iter_mut();
        if let Some((_, told)) = uris.find(|(known, _)| *known == *uri) {
            return told.add(audience);
        }
        self.uris.push((Arc::clone(uri), audience.clone()));
        true
    }

    /// Adds an extension's notification. Returns `true` unless it replaces an earlier notification.
    pub(super) fn add_extension(&mut self, notification: &Arc<ExtensionNotification>) -> bool {
        let mut known = self.extensions.iter();
        let replaced = known.position(|known| known.is_replaced_by(notification));
        if let Some(replaced) = replaced {
            self.extensions.remove(replaced);
        }
        self.extensions.push(Arc::clone(notification));
        replaced.is_none()
    }
}
