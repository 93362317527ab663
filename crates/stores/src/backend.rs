//! All stores of a server in one value.

use std::fmt;
use std::sync::Arc;

use mcp_core::context::OnceStore;
use mcp_core::handler::option::AddOn;
use mcp_core::seal::SealingKeys;

use crate::instances::{SHARED_CHANGES, SHARED_RATES};
#[cfg(feature = "http")]
use crate::{EventStore, InstanceRelay, ReadyCheck, SessionStore};
use crate::{NotificationRelay, RateFallback, RateStore, ResultStore, TaskStore};

/// Stores for data that outlives a request, for `Server::backend`: tasks, the results of
/// [`once`](mcp_core::context::Context::once), legacy sessions, the events on their streams, and large results. Data without a
/// store is kept in the process's memory. A backend can also send change notifications to the server's other instances,
/// and count calls against rate limits for all instances together.
///
/// A database crate provides a type that converts into a backend, such as `Sqlite` in `mcp-runtime-sqlite`. Each store
/// can be replaced:
///
/// ```
/// # use std::sync::Arc;
/// use mcp_runtime::backend::{Backend, MemoryTaskStore};
/// use mcp_runtime::backend::MemoryOnceStore;
/// # use mcp_runtime::prelude::*;
///
/// let backend = Backend::new()
///     .tasks(Arc::new(MemoryTaskStore::default()))
///     .once(Arc::new(MemoryOnceStore::new()));
/// let server = new_server!().backend(backend);
/// ```
///
/// To write your own backend, implement these traits. With the `testing` feature, `Backend::check` tests whether your
/// stores follow the rules.
#[derive(Clone, Default)]
#[must_use]
pub struct Backend {
    #[doc(hidden)]
    pub tasks: Option<Arc<dyn TaskStore>>,
    #[doc(hidden)]
    pub once: Option<Arc<dyn OnceStore>>,
    #[doc(hidden)]
    pub results: Option<Arc<dyn ResultStore>>,
    #[doc(hidden)]
    pub notifications: Option<Arc<dyn NotificationRelay>>,
    #[doc(hidden)]
    pub rates: Option<Arc<dyn RateStore>>,
    #[doc(hidden)]
    pub rate_fallback: RateFallback,
    /// The add-ons that use the stores. Those for tasks and large results come with options and settings of the server.
    #[doc(hidden)]
    pub add_ons: Vec<AddOn>,
    #[doc(hidden)]
    pub sealing_keys: Option<SealingKeys>,
    #[cfg(feature = "http")]
    #[doc(hidden)]
    pub sessions: Option<Arc<dyn SessionStore>>,
    #[cfg(feature = "http")]
    #[doc(hidden)]
    pub events: Option<Arc<dyn EventStore>>,
    #[cfg(feature = "http")]
    #[doc(hidden)]
    pub instances: Option<Arc<dyn InstanceRelay>>,
    #[cfg(feature = "http")]
    #[doc(hidden)]
    pub ready_checks: Vec<ReadyCheck>,
}

impl Backend {
    /// Creates a backend that keeps all data in the process's memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the store for tasks, which is used if a tool has the `task` option.
    pub fn tasks(mut self, store: Arc<dyn TaskStore>) -> Self {
        self.tasks = Some(store);
        self
    }

    /// Sets the store for the results of [`Context::once`](mcp_core::context::Context::once) in calls that are not tasks.
    pub fn once(mut self, store: Arc<dyn OnceStore>) -> Self {
        self.once = Some(store);
        self
    }

    /// Sets the store for results that are too large to be sent in one piece, from tools with the `spill` option.
    pub fn results(mut self, store: Arc<dyn ResultStore>) -> Self {
        self.results = Some(store);
        self
    }

    /// Sets the relay for change notifications to other instances. Without a relay, a change is announced only to
    /// clients of the instance on which it occurs.
    pub fn notifications(mut self, relay: Arc<dyn NotificationRelay>) -> Self {
        self.notifications = Some(relay);
        self.add_ons.push(SHARED_CHANGES);
        self
    }

    /// Sets the store that counts calls against the `rate` of their handler and of the server, for all instances
    /// together. Without such a store, each instance counts its own calls.
    pub fn rates(mut self, store: Arc<dyn RateStore>) -> Self {
        self.rates = Some(store);
        self.add_ons.push(SHARED_RATES);
        self
    }

    /// Sets how calls that have a rate are admitted while the store for [`rates`](Self::rates) fails. By default, each
    /// instance then counts its own calls.
    pub fn rate_fallback(mut self, fallback: RateFallback) -> Self {
        self.rate_fallback = fallback;
        self
    }

    /// Sets the keys that seal the state of calls between their rounds, and sealed
    /// sessions (`HttpSessions::Sealed`), unless `Server::sealing_keys` sets
    /// others. They can be replaced while the server runs. They do not seal tasks.
    pub fn sealing_keys(mut self, keys: SealingKeys) -> Self {
        self.sealing_keys = Some(keys);
        self
    }

    /// Sets the store for legacy sessions. `HttpOptions::sessions` takes precedence.
    #[cfg(feature = "http")]
    pub fn sessions(mut self, store: Arc<dyn SessionStore>) -> Self {
        self.sessions = Some(store);
        self
    }

    /// Sets the store for events on sessions' streams, which requires a store for [`sessions`](Self::sessions).
    /// `HttpOptions::event_store` takes precedence.
    #[cfg(feature = "http")]
    pub fn events(mut self, store: Arc<dyn EventStore>) -> Self {
        self.events = Some(store);
        self
    }

    /// Sets the relay that carries clients' messages in legacy sessions to the instance where the call runs. Requires a
    /// store for [`sessions`](Self::sessions). Without a relay, a message is handled by the instance that receives it.
    #[cfg(feature = "http")]
    pub fn instances(mut self, relay: Arc<dyn InstanceRelay>) -> Self {
        self.instances = Some(relay);
        self
    }

    /// Adds a readiness check to the server, as `Server::ready_check` does. While the
    /// check fails, `/readyz` returns 503.
    #[cfg(feature = "http")]
    pub fn ready_check<F, E>(
        mut self,
        name: impl Into<String>,
        check: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.ready_checks.push(ReadyCheck::new(name, check));
        self
    }

    /// Checks that each of the backend's stores follows the rules of its trait. The stores must be empty. Takes a few
    /// seconds, or no time if tokio's clock is paused and the stores use that clock.
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
    /// Panics if a store breaks a rule. The panic message states the rule.
    #[cfg(feature = "testing")]
    pub async fn check(&self) {
        if let Some(store) = &self.tasks {
            crate::task_contract::check_task_store(&**store).await;
        }
        if let Some(store) = &self.once {
            crate::check_once_store(&**store).await;
        }
        if let Some(store) = &self.results {
            crate::contracts::check_result_store(&**store).await;
        }
        if let Some(relay) = &self.notifications {
            crate::contracts::check_notification_relay(&**relay).await;
        }
        if let Some(store) = &self.rates {
            crate::contracts::check_rate_store(&**store).await;
        }
        #[cfg(feature = "http")]
        {
            if let Some(store) = &self.sessions {
                crate::check_session_store(&**store).await;
            }
            if let Some(store) = &self.events {
                crate::check_event_store(&**store).await;
            }
            if let Some(relay) = &self.instances {
                crate::session_contract::check_instance_relay(&**relay).await;
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
            .field("results", &self.results.is_some())
            .field("notifications", &self.notifications.is_some())
            .field("rates", &self.rates.is_some())
            .field("rate_fallback", &self.rate_fallback);
        debug.field("sealing_keys", &self.sealing_keys);
        #[cfg(feature = "http")]
        debug
            .field("sessions", &self.sessions.is_some())
            .field("events", &self.events.is_some())
            .field("instances", &self.instances.is_some())
            .field("ready_checks", &self.ready_checks.len());
        debug.finish_non_exhaustive()
    }
}
