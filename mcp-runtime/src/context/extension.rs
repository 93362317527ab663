//! A notification defined by an extension.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::handler::notified_callers::NotifiedCallers;

/// Returns the parameters of a notification, or logs an error if they are not an object.
pub(super) fn notification_params(
    notification: &str,
    params: impl Serialize,
) -> Option<Map<String, Value>> {
    match serde_json::to_value(params) {
        Ok(Value::Object(params)) => return Some(params),
        Ok(_) => tracing::error!(
            notification,
            "the parameters of a notification are not an object"
        ),
        Err(error) => {
            tracing::error!(notification, %error, "the parameters of a notification cannot be written as JSON");
        }
    }
    None
}

/// An extension's notification, for the clients that request it.
#[derive(Clone, Debug)]
pub(crate) struct ExtensionNotification {
    /// The name of the notification.
    pub(crate) method: String,
    /// The key that is the subject of the notification, if its filter member has keys.
    pub(crate) key: Option<String>,
    pub(crate) params: Map<String, Value>,
    /// The callers to whom the notification may be sent.
    pub(crate) audience: NotifiedCallers,
}

impl ExtensionNotification {
    /// Returns `true` if a client that may receive both notifications needs only the later one.
    pub(crate) fn is_replaced_by(&self, later: &Self) -> bool {
        self.method == later.method && self.key == later.key
    }
}
