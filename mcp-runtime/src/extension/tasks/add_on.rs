//! The code that serves tasks, for the parts that refer to it: tools with the `task` option and stores for tasks.
//!
//! A program includes only the code that is referenced somewhere in it. A server must not refer to the extension
//! itself; it obtains the extension from a tool or a setting.

use std::sync::Arc;
use std::time::Duration;

use crate::extension::{Extension, tasks};
use crate::handler::dynamic::DynamicTool;
use crate::handler::task_options::{LinkedTasks, TaskOptions};
use crate::limits::TaskLimits;
use crate::stores::TaskStore;

/// Creates the extension and the tools for clients that do not support tasks.
type CreateExtension =
    fn(Option<Arc<dyn TaskStore>>, TaskLimits, Duration) -> (Extension, [DynamicTool; 2]);

/// The code that serves tasks.
pub const LINKED_TASKS: LinkedTasks = LinkedTasks(&(tasks::extension as CreateExtension));

impl LinkedTasks {
    /// Creates the extension on top of a store, and the tools for clients that do not support tasks. Without a store,
    /// tasks are kept in memory. Once the server stops, running tasks must end within `drain`.
    pub(crate) fn extension(
        self,
        store: Option<Arc<dyn TaskStore>>,
        limits: TaskLimits,
        drain: Duration,
    ) -> (Extension, [DynamicTool; 2]) {
        let create = self.0.downcast_ref::<CreateExtension>();
        let create = create.expect("`LINKED_TASKS` is the only value of the type");
        create(store, limits, drain)
    }
}

impl DynamicTool {
    /// Lets calls become tasks. By default, they cannot become tasks.
    ///
    /// If the server has no such tool when it starts, it serves tasks only if it has a
    /// [`task_store`](crate::Server::task_store).
    #[must_use]
    pub fn task(mut self, options: TaskOptions) -> Self {
        self.task = Some(options);
        self.linked_tasks = Some(LINKED_TASKS);
        self
    }
}
