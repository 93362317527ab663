//! A single value that holds all of a server's stores.

use std::fmt;
use std::sync::Arc;

use crate::context::OnceStore;
#[cfg(feature = "http")]
use crate::http::{EventStore, SessionStore};
use crate::stores::{NotificationRelay, TaskStore};

/// Stores for data that outlives a request, for [`Server::backend`](crate::Server::backend): tasks, the results of
/// [`once`](crate::Context::once), legacy sessions, and the events of their streams. Data for which no store is set
/// stays in the process's memory. A backend can also carry change notifications to the server's other instances.
///
/// A database crate provides a type that converts into a backend, such as `Sqlite` in `mcp-runtime-sqlite`. Each store
/// can be replaced:
///
/// ```
/// # use std::sync::Arc;
/// use mcp_runtime::backend::{Backend, MemoryTaskStore};
/// use mcp_runtime::once::MemoryOnceStore;
/// # use mcp_runtime::prelude::*;
///
/// let backend = Backend::new()
///     .tasks(Arc::new(MemoryTaskStore::default()))
///     .once(Arc::new(MemoryOnceStore::new()));
/// let server = new_server!().backend(backend);
/// ```
///
/// To write your own, implement these traits. With the feature `testing`, `Backend::check` tests whether your stores
/// follow the rules.
#[derive(Clone, Default)]
#[must_use]
pub struct Backend {
    pub(super) tasks: Option<Arc<dyn TaskStore>>,
    pub(super) once: Option<Arc<dyn OnceStore>>,
    pub(super) notifications: Option<Arc<dyn NotificationRelay>>,
    #[cfg(feature = "http")]
    pub(super) sessions: Option<Arc<dyn SessionStore>>,
    #[cfg(feature = "http")]
    pub(super) events: Option<Arc<dyn EventStore>>,
}

impl Backend {
    /// Creates a backend that keeps everything in the process's memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the store for [tasks](crate::tasks).
    pub fn tasks(mut self, store: Arc<dyn TaskStore>) -> Self {
        self.tasks = Some(store);
        self
    }

    /// Sets the store for the results of [`Context::once`](crate::Context::once) in calls that are not tasks.
    pub fn once(mut self, store: Arc<dyn OnceStore>) -> Self {
        self.once = Some(store);
        self
    }

    /// Sets the relay for change notifications to other instances. Without one, a change reaches the clients of the instance that
    /// announces it.
    pub fn notifications(mut self, relay: Arc<dyn NotificationRelay>) -> Self {
        self.notifications = Some(relay);
        self
    }

    /// Sets the store for legacy sessions.
    #[cfg(feature = "http")]
    pub fn sessions(mut self, store: Arc<dyn SessionStore>) -> Self {
        self.sessions = Some(store);
        self
    }

    /// Sets the store for the events of sessions' streams. It requires a store for [`sessions`](Self::sessions).
    #[cfg(feature = "http")]
    pub fn events(mut self, store: Arc<dyn EventStore>) -> Self {
        self.events = Some(store);
        self
    }

    /// Checks that each of the backend's stores follows the rules of its trait. The stores must be empty. Takes a few
    /// seconds, or no time if tokio's clock is paused and the stores use it.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use mcp_runtime::backend::{Backend, MemoryTaskStore};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let backend = Backend::new().tasks(Arc::new(MemoryTaskStore::default()));
    /// backend.check().await;
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// Panics with the rule that a store breaks.
    #[cfg(feature = "testing")]
    pub async fn check(&self) {
        if let Some(store) = &self.tasks {
            crate::stores::check_task_store(&**store).await;
        }
        if let Some(store) = &self.once {
            crate::context::check_once_store(&**store).await;
        }
        if let Some(relay) = &self.notifications {
            crate::stores::check_notification_relay(&**relay).await;
        }
        #[cfg(feature = "http")]
        {
            if let Some(store) = &self.sessions {
                crate::http::check_session_store(&**store).await;
            }
            if let Some(store) = &self.events {
                crate::http::check_event_store(&**store).await;
            }
        }
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Backend");
        debug
            .field("tasks", &self.tasks.is_some())
            .field("once", &self.once.is_some())
            .field("notifications", &self.notifications.is_some());
        #[cfg(feature = "http")]
        debug
            .field("sessions", &self.sessions.is_some())
            .field("events", &self.events.is_some());
        debug.finish()
    }
}
