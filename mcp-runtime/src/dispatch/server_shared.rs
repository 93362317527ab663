//! The state behind a server's handle, which exists even before the server starts.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use crate::cancellation::CancellationToken;
use crate::context::{
    Caller, Capability, ChangeListeners, ChangeLog, ChangeNotification, Edit, EditStep,
    ExtensionNotification, LoggedChange, ServerControl, stopped,
};
use crate::dispatch::notifications::NotificationListeners;
use crate::dispatch::owned_work::OwnedWork;
use crate::error::Error;
use crate::extension::Extensions;
use crate::handler::dynamic::DynamicTool;
use crate::handler::notified_callers::NotifiedCallers;
use crate::jsonrpc::ErrorObject;
use crate::lock::lock;
use crate::protocol::ProtocolVersion;
use crate::registry::Registry;
use crate::types::ClientCapabilities;

/// The state behind a [`ServerHandle`](crate::ServerHandle). It exists even before the server starts.
#[derive(Default)]
pub(crate) struct ServerShared {
    pub(super) notifications: NotificationListeners,
    registry: OnceLock<Arc<Registry>>,
    /// Set when the server starts.
    extensions: OnceLock<Arc<Extensions>>,
    /// Changes requested before the server starts, which are applied when it starts.
    early: Mutex<Vec<Edit>>,
    /// Set when the server starts.
    pub(super) dispatcher: OnceLock<Weak<dyn Any + Send + Sync>>,
    shutdown: CancellationToken,
    pub(super) work: OwnedWork,
    /// Set when the server starts, if other processes serve together with this one.
    change_log: OnceLock<Arc<dyn ChangeLog>>,
}

impl ServerShared {
    /// Returns the token that is cancelled when the server must stop.
    pub(crate) fn shutdown(&self) -> &CancellationToken {
        &self.shutdown
    }

    /// Returns the first value that `find` returns for a tool inserted by a change requested before the server starts.
    pub(crate) fn find_in_inserted_tools<T>(
        &self,
        find: impl FnMut(&DynamicTool) -> Option<T>,
    ) -> Option<T> {
        let early = lock(&self.early);
        let steps = early.iter().flat_map(|edit| &edit.steps);
        steps.filter_map(EditStep::inserted_tool).find_map(find)
    }

    /// Passes on each tool that was inserted before the server started.
    pub(crate) fn each_inserted_tool(&self, mut pass: impl FnMut(&DynamicTool)) {
        self.find_in_inserted_tools(|tool| {
            pass(tool);
            None::<()>
        });
    }

    /// Takes the changes requested before the server started, in order.
    pub(crate) fn take_early(&self) -> Vec<Edit> {
        std::mem::take(&mut *lock(&self.early))
    }

    /// Exchanges changes with other processes, starting once the server accepts requests and ending when it stops.
    pub(crate) fn exchange_changes(self: &Arc<Self>, log: Arc<dyn ChangeLog>) {
        let listeners: Arc<dyn ChangeListeners> = Arc::<Self>::clone(self);
        for work in Arc::clone(&log).exchange(listeners) {
            self.spawn(work);
        }
        // The value cannot have been set yet: starting consumes the server, so this runs only once.
        let _ = self.change_log.set(log);
    }

    /// Returns the log in which changes are announced, if there is one.
    pub(super) fn change_log(&self) -> Option<&Arc<dyn ChangeLog>> {
        self.change_log.get()
    }

    /// Attaches the registry and the extensions. Later changes are applied immediately.
    ///
    /// # Errors
    ///
    /// Fails if a change that was requested while the registry was being built cannot be applied.
    pub(crate) fn attach(
        &self,
        registry: &Arc<Registry>,
        extensions: &Arc<Extensions>,
    ) -> Result<(), Error> {
        let _ = self.extensions.set(Arc::clone(extensions));
        let mut early = lock(&self.early);
        for edit in early.drain(..) {
            registry.edit(edit)?;
        }
        // The registry cannot have been set yet: starting consumes the server, so this runs only once.
        let _ = self.registry.set(Arc::clone(registry));
        Ok(())
    }
}

impl ChangeListeners for ServerShared {
    fn notify_of_logged(&self, LoggedChange { change, audience }: &LoggedChange) {
        match change {
            Some(change) => self.notifications.post(change, audience),
            None => self.notifications.post_everything(),
        }
    }

    fn stopped(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(stopped(ServerControl::stopping(self)))
    }
}

impl ServerControl for ServerShared {
    fn spawn(&self, work: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.work.spawn(work);
    }

    fn dispatcher(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.dispatcher.get()?.upgrade()
    }

    fn keep_until_end(&self, value: Box<dyn Any + Send>) {
        self.work.keep(value);
    }

    fn stopping(&self) -> Vec<CancellationToken> {
        vec![self.shutdown.clone(), self.work.stopping().clone()]
    }

    fn notify(&self, change: ChangeNotification, audience: &NotifiedCallers) {
        // A session that is resumed here is notified of what is not in the log yet. If it does not know of this change by
        // then, it is one of the listeners below.
        if let Some(log) = self.change_log.get() {
            log.announce(&change, audience);
        }
        self.notifications.post(&change, audience);
    }

    fn notify_extension(&self, notification: ExtensionNotification) {
        let extensions = self.extensions.get();
        let name = &*notification.method;
        let Some(extensions) = extensions else {
            tracing::error!(notification = name, "the server has not been started");
            return;
        };
        if let Some(member) = extensions.member_of(name, notification.key.is_some()) {
            self.notifications.post_extension(member, &notification);
        }
    }

    fn has_listeners(&self, notification: &str, key: Option<&str>) -> bool {
        let member = self.extensions.get();
        let member = member.and_then(|all| all.member_of(notification, key.is_some()));
        member.is_some_and(|member| self.notifications.are_followed(member, key))
    }

    fn edit(&self, edit: Edit) -> Result<bool, Error> {
        let list = edit.list.list_kind();
        let registry = {
            let mut early = lock(&self.early);
            let Some(registry) = self.registry.get() else {
                early.push(edit);
                return Ok(true);
            };
            Arc::clone(registry)
        };
        let edited = registry.edit(edit)?;
        if !edited.audience.is_empty() {
            self.notifications.post_list(list, &edited.audience);
        }
        Ok(edited.changed)
    }

    fn names(&self, list: Capability) -> Vec<String> {
        self.registry
            .get()
            .map(|registry| registry.snapshot().names(list))
            .unwrap_or_default()
    }

    fn has_extension(&self, id: &str, version: ProtocolVersion) -> bool {
        let extensions = self.extensions.get();
        extensions.is_some_and(|extensions| extensions.has(id, version))
    }

    fn may_notify(
        &self,
        notification: &str,
        version: ProtocolVersion,
        client: &ClientCapabilities,
    ) -> bool {
        let extensions = self.extensions.get();
        extensions.is_some_and(|extensions| extensions.may_notify(notification, version, client))
    }

    fn may_reach_work_of(&self, tool: &str, caller: &Caller) -> Result<bool, ErrorObject> {
        let Some(registry) = self.registry.get() else {
            return Ok(false);
        };
        registry.snapshot().seen_by(caller).may_reach_work_of(tool)
    }

    fn shut_down(&self) {
        self.shutdown.cancel();
    }
}
