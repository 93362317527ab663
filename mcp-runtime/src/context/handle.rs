//! The handle to a running server, for handlers and background tasks.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use crate::cancellation::CancellationToken;
use crate::context::capability::Capability;
use crate::context::extension::ExtensionNotification;
use crate::context::notifier::{ChangeNotification, Notifier};
use crate::error::Error;
use crate::handler::background::BackgroundCall;
use crate::handler::dynamic::{
    DynamicPrompt, DynamicResource, DynamicTemplate, DynamicTool, Item, ItemKind,
};
use crate::handler::notified_callers::NotifiedCallers;
use crate::protocol::ProtocolVersion;
use crate::types::ClientCapabilities;

/// A handle to a running server, for sending change notifications, editing its lists and stopping it. Cheap to clone.
#[derive(Clone)]
pub struct ServerHandle(pub(crate) Arc<dyn Control>);

impl ServerHandle {
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

    /// Runs a future in the background until it ends. It belongs to the server: it is run once the server serves, and when
    /// the server stops, it may end within [`limits.calls.drain_timeout`](crate::Limits) and is dropped after that. Nothing
    /// is run once the server has stopped serving.
    ///
    /// A server that is [embedded](crate::Server::into_http_service) in another program serves from its first request.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(Box::pin(work));
    }

    /// Creates a call again from its [text](BackgroundCall::to_text), for as many runs as it takes. Its tool must still exist,
    /// and the caller must be allowed to use it.
    ///
    /// # Errors
    ///
    /// Returns the reason why the call cannot be run, as a sentence for its client.
    pub fn restore_call(&self, text: &str) -> Result<BackgroundCall, String> {
        self.0.restore_call(text)
    }

    /// Waits until the server has been told to stop, or has no clients left to serve.
    pub fn stopping(&self) -> impl Future<Output = ()> + Send + use<> {
        let tokens = self.0.stopping();
        async move {
            let Some((one, other)) = tokens.first().zip(tokens.last()) else {
                return std::future::pending().await;
            };
            tokio::select! {
                () = one.cancelled() => {}
                () = other.cancelled() => {}
            }
        }
    }

    /// Stops the server. Running and queued calls have up to [`limits.calls.drain_timeout`](crate::Limits) to finish. New
    /// requests are rejected, but cancellations are still accepted.
    pub fn shut_down(&self) {
        self.0.shut_down();
    }
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerHandle").finish_non_exhaustive()
    }
}

/// Edits one of a running server's lists. Clients subscribed to the list are notified automatically, but only if the
/// list has actually changed.
///
/// Running calls are not affected: they finish with the definition they started with.
///
/// Edits made before the server starts are only recorded. They are checked and applied when it starts; until then,
/// [`names`](Self::names) returns an empty list.
#[derive(Clone)]
pub struct Editor<D> {
    control: Arc<dyn Control>,
    kind: PhantomData<fn(D)>,
}

impl<D: ItemKind> Editor<D> {
    fn new(control: &Arc<dyn Control>) -> Self {
        Self {
            control: Arc::clone(control),
            kind: PhantomData,
        }
    }

    /// Adds a definition.
    ///
    /// # Errors
    ///
    /// Returns [`Duplicate`](crate::ErrorKind::Duplicate) if the name is taken, even by a disabled definition, or
    /// [`Configuration`](crate::ErrorKind::Configuration) with a list of all mistakes if the definition is invalid.
    pub fn insert(&self, definition: D) -> Result<(), Error> {
        self.apply(EditStep::Insert(definition.into_item()))
            .map(drop)
    }

    /// Replaces the definition with the same name or, if there is none, adds a new one. The new definition is enabled.
    ///
    /// # Errors
    ///
    /// Returns [`Configuration`](crate::ErrorKind::Configuration) with a list of all mistakes if the definition is
    /// invalid.
    pub fn replace(&self, definition: D) -> Result<(), Error> {
        self.apply(EditStep::Replace(definition.into_item()))
            .map(drop)
    }

    /// Removes a definition, whether it was added dynamically or by a macro. Returns `true` if it existed.
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

    /// Disables a definition so that clients can neither see nor use it. Returns `true` if this changed the list.
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

    /// Replaces the definition with the same name or, if there is none, adds a new one.
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
        f.debug_struct("Batch")
            .field("list", &D::LIST)
            .field("steps", &self.steps.len())
            .finish_non_exhaustive()
    }
}

/// Changes to one list, applied together or not at all.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) list: Capability,
    pub(crate) steps: Vec<EditStep>,
}

impl Edit {
    /// Returns the tags of the definitions that the edit inserts.
    pub(crate) fn tags(&self) -> impl Iterator<Item = &str> {
        let items = self.steps.iter().filter_map(|step| match step {
            EditStep::Insert(item) | EditStep::Replace(item) => Some(item),
            EditStep::Remove(_) | EditStep::Enable(_) | EditStep::Disable(_) => None,
        });
        items.flat_map(Item::tags)
    }
}

/// One change to a list.
#[derive(Debug)]
pub(crate) enum EditStep {
    Insert(Item),
    Replace(Item),
    Remove(String),
    Enable(String),
    Disable(String),
}

impl EditStep {
    /// Returns `true` if the step inserts a tool with the option `task`.
    pub(crate) fn inserts_tasks(&self) -> bool {
        match self {
            Self::Insert(Item::Tool(tool)) | Self::Replace(Item::Tool(tool)) => tool.task.is_some(),
            _ => false,
        }
    }
}

/// The actions that a handle can perform on its server. Implemented by `dispatch`.
pub(crate) trait Control: Send + Sync {
    /// Notifies these callers of a change.
    fn notify(&self, change: ChangeNotification, audience: &NotifiedCallers);
    /// Sends a notification of an extension to those of these callers who ask for it.
    fn notify_extension(&self, _notification: ExtensionNotification) {}
    /// Returns `true` if a client listens to a notification of an extension.
    fn has_listeners(&self, _notification: &str, _key: Option<&str>) -> bool {
        false
    }
    /// Edits a list. Returns `true` if it changed, in which case clients have already been notified.
    fn edit(&self, edit: Edit) -> Result<bool, Error>;
    /// Returns the names of the enabled definitions, in order.
    fn names(&self, list: Capability) -> Vec<String>;
    /// Returns `true` if the server has this extension in this protocol version.
    fn has_extension(&self, _id: &str, _version: ProtocolVersion) -> bool {
        false
    }
    /// Returns `true` if a call of this client may send a notification of an extension.
    fn may_notify(
        &self,
        _notification: &str,
        _version: ProtocolVersion,
        _client: &ClientCapabilities,
    ) -> bool {
        false
    }
    fn shut_down(&self);
    /// Creates a call again from its text.
    fn restore_call(&self, _text: &str) -> Result<BackgroundCall, String> {
        Err("the server has not been started".into())
    }
    /// Keeps a value until the server ends.
    fn keep_until_end(&self, _value: Box<dyn Any + Send>) {}
    /// Runs work in the background.
    fn spawn(&self, _work: Pin<Box<dyn Future<Output = ()> + Send>>) {}
    /// Returns the tokens of which one is cancelled when the server stops.
    fn stopping(&self) -> Vec<CancellationToken> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
