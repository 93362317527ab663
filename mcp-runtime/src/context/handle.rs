//! The handle to a running server, for handlers and background tasks.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::cancellation::CancellationToken;
use crate::context::Caller;
use crate::context::capability::Capability;
use crate::context::change_log::ChangeNotification;
use crate::context::editor::{Edit, Editor};
use crate::context::extension::ExtensionNotification;
use crate::context::notifier::Notifier;
use crate::error::Error;
use crate::handler::dynamic::{DynamicPrompt, DynamicResource, DynamicTemplate, DynamicTool};
use crate::handler::handler_error::{HandlerError, HandlerErrorRepr};
use crate::handler::notified_callers::NotifiedCallers;
use crate::jsonrpc::ErrorObject;
use crate::protocol::ProtocolVersion;
use crate::types::ClientCapabilities;

/// A handle to a running server, for sending change notifications, editing its lists and stopping it. Cheap to clone.
#[derive(Clone)]
pub struct ServerHandle(pub(crate) Arc<dyn ServerControl>);

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

    /// Runs a future in the background until it completes. The future belongs to the server and starts once the server
    /// accepts requests. When the server stops, the future has up to [`limits.calls.drain_timeout`](crate::Limits) to
    /// finish and is then dropped. Futures do not start after the server has stopped.
    ///
    /// A server that is [embedded](crate::Server::into_http_service) in another program starts these futures when it
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
    pub(crate) fn may_reach_work_of(
        &self,
        tool: &str,
        caller: &Caller,
    ) -> Result<bool, HandlerError> {
        let decision = self.0.may_reach_work_of(tool, caller);
        decision.map_err(|missing| HandlerError(HandlerErrorRepr::Reauthorize(missing)))
    }

    /// Waits until the server begins shutting down or has no clients left to serve.
    pub fn stopping(&self) -> impl Future<Output = ()> + Send + use<> {
        stopped(self.0.stopping())
    }

    /// Stops the server. Running and queued calls have up to [`limits.calls.drain_timeout`](crate::Limits) to finish.
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
pub(crate) async fn stopped(tokens: Vec<CancellationToken>) {
    let Some((one, other)) = tokens.first().zip(tokens.last()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        () = one.cancelled() => {}
        () = other.cancelled() => {}
    }
}

/// The actions that a handle can perform on its server. Implemented by `dispatch`.
pub(crate) trait ServerControl: Send + Sync {
    /// Notifies these callers of a change.
    fn notify(&self, change: ChangeNotification, audience: &NotifiedCallers);
    /// Sends an extension's notification to the callers in its audience who request it.
    fn notify_extension(&self, _notification: ExtensionNotification) {}
    /// Returns `true` if a client is listening for an extension's notification.
    fn has_listeners(&self, _notification: &str, _key: Option<&str>) -> bool {
        false
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

#[cfg(test)]
mod tests;
