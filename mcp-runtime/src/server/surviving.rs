//! Stores in memory that survive simulated processes, for tests that let processes die.

use std::sync::Arc;

use crate::context::OnceStore;
use crate::server::Server;
use crate::stores::TaskStore;

/// The stores that all processes of one test share.
pub(crate) struct SurvivingStores {
    pub(crate) tasks: Arc<dyn TaskStore>,
    pub(crate) once: Arc<dyn OnceStore>,
}

/// Number of times that a task is started at least: more than there are deaths in a test.
const MIN_ATTEMPTS: u32 = 10;

impl Server {
    /// Replaces the stores for tasks and steps, and makes processes that are started with the same stores able to go on with each
    /// other's calls.
    pub(crate) fn surviving(mut self, stores: &SurvivingStores) -> Self {
        self.task_store = None;
        self.backend.tasks = Some(Arc::clone(&stores.tasks));
        self.once_store = Some(Arc::clone(&stores.once));
        self.limits.tasks.max_attempts = self.limits.tasks.max_attempts.max(MIN_ATTEMPTS);
        #[cfg(feature = "sealing")]
        if self.sealing_keys.is_empty() {
            let key = crate::dispatch::seal::SealingKey::from_bytes([7; 32]);
            self.sealing_keys.push(key);
        }
        self
    }
}
