//! Change notifications that a program sends to all or some clients.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::context::extension::{ExtensionNotification, notification_params};
use crate::context::{Caller, ChangeNotification, Principal, ServerControl};
use crate::handler::notified_callers::NotifiedCallers;
use crate::handler::rules;
use crate::protocol::encode::ListKind;

/// Notifies clients of changes. Edits made through [`ServerHandle::tools`](crate::ServerHandle::tools) and similar
/// methods notify clients automatically.
#[derive(Clone)]
pub struct Notifier {
    control: Arc<dyn ServerControl>,
    audience: NotifiedCallers,
}

impl Notifier {
    /// Creates a notifier for all callers.
    pub(super) fn new(control: Arc<dyn ServerControl>) -> Self {
        Self {
            control,
            audience: NotifiedCallers::All,
        }
    }

    /// Returns a notifier for a single principal's clients. The principal is identified by its issuer, subject and
    /// client.
    ///
    /// ```
    /// # use mcp_runtime::Context;
    /// # fn paid(ctx: &Context) {
    /// if let Some(who) = ctx.principal() {
    ///     ctx.server().notify().for_principal(who).resource_updated("invoices:///open");
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn for_principal(&self, principal: &Principal) -> Self {
        Self {
            control: Arc::clone(&self.control),
            audience: NotifiedCallers::principal(principal),
        }
    }

    /// Returns a notifier for the callers with this [key](Caller::key). Use it for data that belongs to a caller who
    /// may be anonymous, such as a task.
    #[must_use]
    pub fn for_key(&self, key: impl Into<Arc<str>>) -> Self {
        Self {
            control: Arc::clone(&self.control),
            audience: NotifiedCallers::with_key(key.into()),
        }
    }

    /// Returns a notifier for the callers for whom `includes` returns `true`, for example all callers from one tenant.
    /// Replaces any previous choice of callers.
    ///
    /// ```
    /// # use mcp_runtime::{Notifier, serde_json::json};
    /// fn for_tenant(notify: &Notifier, tenant: &'static str) -> Notifier {
    ///     notify.for_callers(move |caller| {
    ///         let claims = caller.principal().map(|who| who.claims());
    ///         claims.is_some_and(|claims| claims.get("tenant") == Some(&json!(tenant)))
    ///     })
    /// }
    /// ```
    ///
    /// The function may be called several times, on any thread, and must not block; if it panics, the caller is not
    /// included. Changes to the same list that are announced through the same notifier or its clones are merged, so
    /// keep the notifier. If changes to a list for more than 16 different groups are waiting for a client, the client
    /// is notified even if it does not belong to any of them; the notification says only that the list has changed.
    #[must_use]
    pub fn for_callers(&self, includes: impl Fn(&Caller) -> bool + Send + Sync + 'static) -> Self {
        Self {
            control: Arc::clone(&self.control),
            audience: NotifiedCallers::those(includes),
        }
    }

    fn send(&self, change: ChangeNotification) {
        self.control.notify(change, &self.audience);
    }

    /// Announces that the list of tools has changed.
    pub fn tools_changed(&self) {
        self.send(ChangeNotification::List(ListKind::Tools));
    }

    /// Announces that the list of prompts has changed.
    pub fn prompts_changed(&self) {
        self.send(ChangeNotification::List(ListKind::Prompts));
    }

    /// Announces that the list of resources or resource templates has changed.
    pub fn resources_changed(&self) {
        self.send(ChangeNotification::List(ListKind::Resources));
    }

    /// Announces that the resource at this URI has changed. Notifies the clients subscribed to exactly this URI.
    ///
    /// If the URI is invalid, for example because it is not [percent-encoded](crate::text::percent_encode), clients are
    /// not notified and an error is logged.
    pub fn resource_updated(&self, uri: impl Into<String>) {
        let uri = uri.into();
        match rules::uri(&uri).into_result() {
            Ok(()) => self.send(ChangeNotification::Resource(uri)),
            Err(problem) => tracing::error!(problem, "changed resource has an invalid URI"),
        }
    }

    /// Sends an extension's notification to the clients that request it with a flag. `params` must serialize to a JSON
    /// object.
    ///
    /// Only the latest notification is kept for a client that reads slowly, so `params` should describe the current
    /// state rather than a single change. If none of the server's extensions defines the notification with a flag, or
    /// if `params` is not an object, clients are not notified and an error is logged.
    ///
    /// See [`Extension::notification`](crate::extension::Extension::notification).
    pub fn extension(&self, notification: impl Into<String>, params: impl Serialize) {
        self.send_extension(notification.into(), None, params);
    }

    /// Sends an extension's notification to the clients that request it with this key, such as a task's id. The filter
    /// member must have keys. Otherwise, this works like [`extension`](Self::extension), except that the latest
    /// notification is kept for each key.
    pub fn extension_key(
        &self,
        notification: impl Into<String>,
        key: impl Into<String>,
        params: impl Serialize,
    ) {
        self.send_extension(notification.into(), Some(key.into()), params);
    }

    /// Returns `true` if a client is listening for an extension's notification and, if the notification's filter member
    /// has keys, for this key. Use this to create expensive parameters only when they are needed. The clients may
    /// belong to callers other than this notifier's.
    #[must_use]
    pub fn has_listeners(&self, notification: &str, key: Option<&str>) -> bool {
        self.control.has_listeners(notification, key)
    }

    fn send_extension(&self, method: String, key: Option<String>, params: impl Serialize) {
        if let Some(params) = notification_params(&method, params) {
            self.control.notify_extension(ExtensionNotification {
                method,
                key,
                params,
                audience: self.audience.clone(),
            });
        }
    }
}

impl fmt::Debug for Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifier").finish_non_exhaustive()
    }
}
