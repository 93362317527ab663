//! The stores that add-ons get when a server starts.

use std::sync::Arc;

use mcp_core::handler::option::StoresByType;
use mcp_stores::TaskStore;
use mcp_tasks as tasks;

use crate::server::Server;

impl Server {
    /// Returns the stores for add-ons: those that were set individually and, for the others, those of the backend.
    pub(super) fn stores_for_add_ons(&self) -> StoresByType {
        let mut stores = StoresByType::default();
        if let Some(results) = &self.backend.results {
            stores.set(Arc::clone(results));
        }
        if let Some(relay) = &self.backend.notifications {
            stores.set(Arc::clone(relay));
        }
        if let Some(rates) = &self.backend.rates {
            stores.set(Arc::clone(rates));
            stores.set(self.backend.rate_fallback);
        }
        if let Some(tasks) = self.kept_tasks() {
            let tasks = self.seal_tasks(tasks);
            stores.set(tasks);
        }
        stores
    }

    /// Returns the store for tasks that the author has set.
    pub(super) fn kept_tasks(&self) -> Option<Arc<dyn TaskStore>> {
        self.stores.get().or_else(|| self.backend.tasks.clone())
    }

    /// Returns a store that seals the contents of tasks, if there are keys and the tasks outlive the process.
    fn seal_tasks(&self, store: Arc<dyn TaskStore>) -> Arc<dyn TaskStore> {
        if self.sealing_keys.is_empty() || !store.outlives_process() {
            return store;
        }
        Arc::new(mcp_stores::SealedTaskStore::new(store, &self.sealing_keys))
    }

    /// Returns `true` if tasks are offered.
    #[cfg(feature = "cli")]
    pub(super) fn has_tasks(&self) -> bool {
        let (add_ons, _) = self.add_ons();
        add_ons
            .iter()
            .any(|add_on| add_on.name == tasks::TASKS.name)
    }
}
