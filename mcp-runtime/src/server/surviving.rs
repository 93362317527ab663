//! What only tests ask of a server: its dispatcher, and in-memory stores that survive simulated processes.

use std::sync::Arc;

use mcp_stores::TaskStore;

use crate::context::OnceStore;
use crate::dispatch::Dispatcher;
use crate::error::Error;
use crate::server::Server;

/// The stores shared by all processes in a test.
pub(crate) struct SurvivingStores {
    pub(crate) tasks: Arc<dyn TaskStore>,
    pub(crate) once: Arc<dyn OnceStore>,
}

/// Lower bound for the number of times a task may be started, which is higher than the number of deaths in a test.
const MIN_ATTEMPTS: u32 = 10;

impl Server {
    /// Returns the dispatcher, for use in tests of the layers above it, which are crates of their own.
    #[doc(hidden)]
    pub fn into_dispatcher(self) -> Result<Arc<Dispatcher>, Error> {
        self.start().map(|(dispatcher, _)| dispatcher)
    }

    /// Replaces the stores for tasks and steps, and enables processes that share these stores to continue each other's
    /// calls.
    pub(crate) fn surviving(mut self, stores: &SurvivingStores) -> Self {
        self.stores.set(Arc::clone(&stores.tasks));
        self.once_store = Some(Arc::clone(&stores.once));
        self.limits.tasks.max_attempts = self.limits.tasks.max_attempts.max(MIN_ATTEMPTS);
        #[cfg(feature = "sealing")]
        if self.sealing_keys.is_empty() {
            let key = crate::seal::SealingKey::from_bytes([7; 32]);
            self.sealing_keys.push(key);
        }
        self
    }
}
