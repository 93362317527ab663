//! The handle to a running server, for handlers and background tasks: editors for its lists, and notifications of
//! changes.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::context::capability::Capability;
use crate::context::change_log::ChangeNotification;
use crate::context::{Caller, Principal};
use crate::error::Error;
use crate::handler::access::NotifiedCallers;
use crate::handler::dynamic::{
    DynamicItem, DynamicPrompt, DynamicResource, DynamicTemplate, DynamicTool, ItemKind,
};
use crate::handler::handler_error::{HandlerError, HandlerErrorRepr};
use crate::handler::rules;
use crate::jsonrpc::ErrorObject;
use crate::protocol::ProtocolVersion;
use crate::protocol::encode::ListKind;
use crate::sync::CancellationToken;
use crate::types::ClientCapabilities;

/// A handle to a running server, for sending change notifications, editing its lists and stopping it. Cheap to clone.
#[derive(Clone)]
pub struct ServerHandle(pub(crate) Arc<dyn ServerControl>);

impl ServerHandle {
    /// Returns a handle to the server with this control.
    #[doc(hidden)]
    #[must_use]
    #[doc(hidden)]
    pub fn new(control: Arc<dyn ServerControl>) -> Self {
        Self(control)
    }

    /// Returns the server's control.
    #[doc(hidden)]
    #[must_use]
    pub const fn control(&self) -> &Arc<dyn ServerControl> {
        &self.0
    }

    /// Returns an editor for tools.
    #[must_use]
    pub fn tools(&self) -> Editor<DynamicTool> {
        Editor::new(&self.0)
    }

    /// Returns an editor for prompts.
    #[must_use]
    pub fn prompts(&self) -> Editor<DynamicPrompt> {
        Editor::new(&self.0)
    }

    /// Returns an editor for resources with fixed URIs. The editor identifies each resource by its URI.
    #[must_use]
    pub fn resources(&self) -> Editor<DynamicResource> {
        Editor::new(&self.0)
    }

    /// Returns an editor for resource templates. The editor identifies each resource template by its URI template.
    #[must_use]
    pub fn resource_templates(&self) -> Editor<DynamicTemplate> {
        Editor::new(&self.0)
    }

    /// Returns a notifier for announcing changes to clients.
    #[must_use]
    pub fn notify(&self) -> Notifier {
        Notifier::new(Arc::clone(&self.0))
    }

    /// Runs a future in the background until it completes. The future belongs to the server and starts once the server
    /// accepts requests. When the server stops, the future has up to [`limits.calls.drain_timeout`](crate::limits::Limits) to
    /// finish and is then dropped. Futures do not start after the server has stopped.
    ///
    /// A server that is embedded in another program starts these futures when it
    /// receives its first request.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(Box::pin(work));
    }

    /// Decides whether a caller may reach what a call to a tool has left: its task, its job or its kept result. All
    /// requests about such work ask here, and the tool's access rules and the caller's credentials of this moment decide.
    /// `false` means that the caller must be answered as if there were no such work.
    ///
    /// # Errors
    ///
    /// Returns the error for a caller that lacks scopes, which becomes a challenge over HTTP.
    #[doc(hidden)]
    pub fn may_reach_work_of(&self, tool: &str, caller: &Caller) -> Result<bool, HandlerError> {
        let decision = self.0.may_reach_work_of(tool, caller);
        decision.map_err(|missing| HandlerError(HandlerErrorRepr::Reauthorize(missing)))
    }

    /// Waits until the server begins shutting down or has no clients left to serve.
    pub fn stopping(&self) -> impl Future<Output = ()> + Send + use<> {
        stopped(self.0.stopping())
    }

    /// Stops the server. Running and queued calls have up to [`limits.calls.drain_timeout`](crate::limits::Limits) to finish.
    /// New requests are rejected, but cancellations are still accepted.
    pub fn shut_down(&self) {
        self.0.shut_down();
    }
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerHandle").finish_non_exhaustive()
    }
}

/// Waits until one of the tokens that [`ServerControl::stopping`] returns is cancelled.
pub async fn stopped(tokens: Vec<CancellationToken>) {
    let Some((one, other)) = tokens.first().zip(tokens.last()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        () = one.cancelled() => {}
        () = other.cancelled() => {}
    }
}

/// The actions that a handle can perform on its server. Implemented by `dispatch`.
pub trait ServerControl: Send + Sync {
    /// Notifies these callers of a change.
    fn notify(&self, change: ChangeNotification, audience: &NotifiedCallers);
    /// Sends an extension's notification to the callers in its audience who request it.
    fn notify_extension(&self, _notification: ExtensionNotification) {}
    /// Returns `true` if a client is listening for an extension's notification.
    fn has_listeners(&self, _notification: &str, _key: Option<&str>) -> bool {
        false
    }
    /// Returns `true` if a client is subscribed to the resource at this URI, or if that is not known.
    fn has_subscribers(&self, _uri: &str) -> bool {
        true
    }
    /// Edits a list. Returns `true` if the list changed, in which case clients have already been notified.
    fn edit(&self, edit: Edit) -> Result<bool, Error>;
    /// Returns the names of the enabled definitions, in order.
    fn names(&self, list: Capability) -> Vec<String>;
    /// Returns `true` if the server has this extension in this protocol version.
    fn has_extension(&self, _id: &str, _version: ProtocolVersion) -> bool {
        false
    }
    /// Returns `true` if a call from this client may send an extension's notification.
    fn may_notify(
        &self,
        _notification: &str,
        _version: ProtocolVersion,
        _client: &ClientCapabilities,
    ) -> bool {
        false
    }
    /// Decides whether a caller may reach what a call to this tool has left. See [`ServerHandle::may_reach_work_of`].
    fn may_reach_work_of(&self, _tool: &str, _caller: &Caller) -> Result<bool, ErrorObject> {
        Ok(false)
    }
    /// Stops the server, as [`ServerHandle::shut_down`] describes.
    fn shut_down(&self);
    /// Returns the dispatcher once the server is serving requests, for the handle's methods that are defined in
    /// `dispatch`.
    fn dispatcher(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }
    /// Keeps a value until the server shuts down.
    fn keep_until_end(&self, _value: Box<dyn Any + Send>) {}
    /// Runs work in the background.
    fn spawn(&self, _work: Pin<Box<dyn Future<Output = ()> + Send>>) {}
    /// Returns tokens, at least one of which is cancelled when the server stops.
    fn stopping(&self) -> Vec<CancellationToken> {
        Vec::new()
    }
}

/// Edits one of a running server's lists. Clients that are subscribed to the list are notified automatically, but only
/// if the list has actually changed.
///
/// Running calls are not affected: they finish with the definition they started with.
///
/// Edits made before the server starts are only recorded. They are checked and applied when the server starts; until
/// then, [`names`](Self::names) returns an empty list.
#[derive(Clone)]
pub struct Editor<D> {
    control: Arc<dyn ServerControl>,
    kind: PhantomData<fn(D)>,
}

impl<D: ItemKind> Editor<D> {
    #[doc(hidden)]
    pub fn new(control: &Arc<dyn ServerControl>) -> Self {
        Self {
            control: Arc::clone(control),
            kind: PhantomData,
        }
    }

    /// Adds a definition.
    ///
    /// # Errors
    ///
    /// Returns [`Duplicate`](crate::error::ErrorKind::Duplicate) if the name is taken, even by a disabled definition, or
    /// [`Configuration`](crate::error::ErrorKind::Configuration) with a list of all mistakes if the definition is invalid.
    pub fn insert(&self, definition: D) -> Result<(), Error> {
        self.apply(EditStep::Insert(definition.into_item()))
            .map(drop)
    }

    /// Replaces the definition with the same name or, if no such definition exists, adds a new one. The new definition
    /// is enabled.
    ///
    /// # Errors
    ///
    /// Returns [`Configuration`](crate::error::ErrorKind::Configuration) with a list of all mistakes if the definition is
    /// invalid.
    pub fn replace(&self, definition: D) -> Result<(), Error> {
        self.apply(EditStep::Replace(definition.into_item()))
            .map(drop)
    }

    /// Removes a definition, whether it was added dynamically or by a macro. Returns `true` if the definition existed.
    ///
    /// Before the server starts, this always returns `true`, and an unknown name causes an error at start-up.
    #[allow(clippy::must_use_candidate, reason = "callers need not use the result")]
    pub fn remove(&self, name: &str) -> bool {
        self.apply(EditStep::Remove(name.into())).unwrap_or(false)
    }

    /// Enables a disabled definition. Returns `true` if this changed the list.
    ///
    /// Before the server starts, this always returns `true`, and an unknown name causes an error at start-up.
    #[allow(clippy::must_use_candidate, reason = "callers need not use the result")]
    pub fn enable(&self, name: &str) -> bool {
        self.apply(EditStep::Enable(name.into())).unwrap_or(false)
    }

    /// Disables a definition so that clients cannot see or use it. Returns `true` if this changed the list.
    ///
    /// Before the server starts, this always returns `true`, and an unknown name causes an error at start-up, because
    /// otherwise a misspelled name would leave a definition enabled.
    #[allow(clippy::must_use_candidate, reason = "callers need not use the result")]
    pub fn disable(&self, name: &str) -> bool {
        self.apply(EditStep::Disable(name.into())).unwrap_or(false)
    }

    /// Returns the names of all enabled definitions, in the order of the list.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.control.names(D::LIST)
    }

    /// Makes several changes atomically, with a single notification.
    ///
    /// Returns `true` if the list changed.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`insert`](Self::insert), for the first definition that is rejected.
    pub fn edit(&self, changes: impl FnOnce(&mut ListEdit<D>)) -> Result<bool, Error> {
        let mut batch = ListEdit {
            steps: Vec::new(),
            kind: PhantomData,
        };
        changes(&mut batch);
        self.control.edit(Edit {
            list: D::LIST,
            steps: batch.steps,
        })
    }

    fn apply(&self, step: EditStep) -> Result<bool, Error> {
        self.control.edit(Edit {
            list: D::LIST,
            steps: vec![step],
        })
    }
}

impl<D: ItemKind> fmt::Debug for Editor<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Editor")
            .field("list", &D::LIST)
            .finish_non_exhaustive()
    }
}

/// Changes collected by [`Editor::edit`] and applied together, in order.
pub struct ListEdit<D> {
    steps: Vec<EditStep>,
    kind: PhantomData<fn(D)>,
}

impl<D: ItemKind> ListEdit<D> {
    /// Adds a definition. If the name is taken, the whole edit fails.
    pub fn insert(&mut self, definition: D) -> &mut Self {
        self.step(EditStep::Insert(definition.into_item()))
    }

    /// Replaces the definition with the same name or, if no such definition exists, adds a new one.
    pub fn replace(&mut self, definition: D) -> &mut Self {
        self.step(EditStep::Replace(definition.into_item()))
    }

    /// Removes a definition, if it exists.
    pub fn remove(&mut self, name: impl Into<String>) -> &mut Self {
        self.step(EditStep::Remove(name.into()))
    }

    /// Enables a disabled definition.
    pub fn enable(&mut self, name: impl Into<String>) -> &mut Self {
        self.step(EditStep::Enable(name.into()))
    }

    /// Disables a definition.
    pub fn disable(&mut self, name: impl Into<String>) -> &mut Self {
        self.step(EditStep::Disable(name.into()))
    }

    fn step(&mut self, step: EditStep) -> &mut Self {
        self.steps.push(step);
        self
    }
}

impl<D: ItemKind> fmt::Debug for ListEdit<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListEdit")
            .field("list", &D::LIST)
            .field("steps", &self.steps.len())
            .finish_non_exhaustive()
    }
}

/// Changes to a single list, which are applied together or not at all.
#[derive(Debug)]
pub struct Edit {
    pub(crate) list: Capability,
    pub(crate) steps: Vec<EditStep>,
}

impl Edit {
    /// Returns the tags on the definitions that the edit inserts.
    pub(crate) fn tags(&self) -> impl Iterator<Item = &str> {
        let items = self.steps.iter().filter_map(|step| match step {
            EditStep::Insert(item) | EditStep::Replace(item) => Some(item),
            EditStep::Remove(_) | EditStep::Enable(_) | EditStep::Disable(_) => None,
        });
        items.flat_map(DynamicItem::tags)
    }
}

/// One change to a list.
#[derive(Debug)]
pub enum EditStep {
    /// Adds a definition whose name is new.
    Insert(DynamicItem),
    /// Adds a definition, or takes the place of the one with its name.
    Replace(DynamicItem),
    /// Removes the definition with this name.
    Remove(String),
    /// Lists the definition with this name again.
    Enable(String),
    /// Keeps the definition with this name, but neither lists nor runs it.
    Disable(String),
}

impl EditStep {
    /// Returns the tool that the step inserts, if it inserts one.
    pub(crate) fn inserted_tool(&self) -> Option<&DynamicTool> {
        match self {
            Self::Insert(DynamicItem::Tool(tool)) | Self::Replace(DynamicItem::Tool(tool)) => {
                Some(tool)
            }
            _ => None,
        }
    }
}

/// Notifies clients of changes. Edits made through [`ServerHandle::tools`](crate::context::ServerHandle::tools) and similar
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
    /// # use mcp_runtime::serde_json::json;
    /// # use mcp_runtime::server::Notifier;
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
    /// If the URI is invalid, for example because it is not percent-encoded, clients are
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

    /// Returns `true` if a client is subscribed to the resource at this URI. Use this to find out what has changed only when
    /// someone wants to know. Also returns `true` if several instances share their notifications, because clients of other
    /// instances may be subscribed. The clients may belong to callers other than this notifier's.
    #[must_use]
    pub fn has_subscribers(&self, uri: &str) -> bool {
        self.control.has_subscribers(uri)
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
pub struct ExtensionNotification {
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
