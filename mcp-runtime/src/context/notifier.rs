//! Notifies clients of changes that only the program knows about.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::context::extension::{ExtensionNotification, notification_params};
use crate::context::handle::{ChangeNotification, Control};
use crate::handler::rules;
use crate::protocol::encode::ListKind;

/// Notifies clients of changes. Edits made through [`ServerHandle::tools`] and similar methods notify clients
/// automatically.
#[derive(Clone)]
pub struct Notifier(Arc<dyn Control>);

impl Notifier {
    pub(super) fn new(control: &Arc<dyn Control>) -> Self {
        Self(Arc::clone(control))
    }

    /// Announces that the list of tools has changed.
    pub fn tools_changed(&self) {
        self.0.notify(ChangeNotification::List(ListKind::Tools));
    }

    /// Announces that the list of prompts has changed.
    pub fn prompts_changed(&self) {
        self.0.notify(ChangeNotification::List(ListKind::Prompts));
    }

    /// Announces that the list of resources or resource templates has changed.
    pub fn resources_changed(&self) {
        self.0.notify(ChangeNotification::List(ListKind::Resources));
    }

    /// Announces that the resource at this URI has changed. Notifies the clients subscribed to exactly this URI.
    ///
    /// If the URI is invalid, for example because it is not [percent-encoded](crate::text::percent_encode), no client
    /// is notified and an error is logged.
    pub fn resource_updated(&self, uri: impl Into<String>) {
        let uri = uri.into();
        match rules::uri(&uri).into_result() {
            Ok(()) => self.0.notify(ChangeNotification::Resource(uri)),
            Err(problem) => tracing::error!(problem, "changed resource has an invalid URI"),
        }
    }

    /// Sends a notification of an extension to the clients that ask for it with a flag. `params` must be an object in
    /// JSON.
    ///
    /// Only the latest notification is kept for a client that reads slowly, so `params` should describe the current
    /// state rather than one change. If no extension of this server has the notification, or `params` is not an object,
    /// no client is notified and an error is logged.
    ///
    /// See [`Extension::notification`](crate::extension::Extension::notification).
    pub fn extension(&self, notification: impl Into<String>, params: impl Serialize) {
        self.send_extension(notification.into(), None, params);
    }

    /// Sends a notification of an extension to the clients that ask for it with this key, such as the id of a task.
    /// Otherwise works like [`extension`](Self::extension); the latest notification is kept for each key.
    pub fn extension_key(
        &self,
        notification: impl Into<String>,
        key: impl Into<String>,
        params: impl Serialize,
    ) {
        self.send_extension(notification.into(), Some(key.into()), params);
    }

    fn send_extension(&self, method: String, key: Option<String>, params: impl Serialize) {
        if let Some(params) = notification_params(&method, params) {
            self.0.notify_extension(ExtensionNotification {
                method,
                key,
                params,
            });
        }
    }
}

impl fmt::Debug for Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifier").finish_non_exhaustive()
    }
}
