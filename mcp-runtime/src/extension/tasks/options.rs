//! The `task` option for tools.

use std::time::Duration;

use crate::extension::tasks::add_on::TASKS;
use crate::handler::background::BackgroundCall;
use crate::handler::dynamic::DynamicTool;
use crate::handler::middleware::Call;
use crate::handler::option::{AdaptedTool, AddOn, AttachedOption, ToolOption};
use crate::jsonrpc::Member;
use crate::types::{TaskSupport, ToolExecution};

/// Options that determine how calls to a tool become tasks, for the `task` option.
///
/// ```
/// use std::time::Duration;
/// use mcp_runtime::tasks::TaskOptions;
///
/// let options = TaskOptions::new().required().ttl(Duration::from_hours(2));
/// ```
#[derive(Clone, Debug)]
pub struct TaskOptions {
    #[doc(hidden)]
    pub is_required: bool,
    #[doc(hidden)]
    pub is_manual: bool,
    #[doc(hidden)]
    pub ttl: Option<Duration>,
    #[doc(hidden)]
    pub poll_interval: Option<Duration>,
    #[doc(hidden)]
    pub attempts: Option<u32>,
    #[doc(hidden)]
    pub patience: Option<Duration>,
}

impl TaskOptions {
    #[doc(hidden)]
    pub const NONE: Self = Self {
        is_required: false,
        is_manual: false,
        ttl: None,
        poll_interval: None,
        attempts: None,
        patience: None,
    };

    /// Creates the default options: calls from clients that support tasks become tasks immediately, and calls from all
    /// other clients are ordinary calls.
    #[must_use]
    pub const fn new() -> Self {
        Self::NONE
    }

    /// Refuses calls from clients that do not support tasks.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    /// Lets the handler decide when the call becomes a task, by calling
    /// [`Context::start_task`](crate::Context::start_task). Until then, it is an ordinary call, which can ask its
    /// client questions and can end without becoming a task.
    #[must_use]
    pub const fn manual(mut self) -> Self {
        self.is_manual = true;
        self
    }

    /// Sets how long a task is kept after its creation. Defaults to [`limits.tasks.ttl`](crate::Limits); the maximum is
    /// [`limits.tasks.max_ttl`](crate::Limits).
    #[must_use]
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Sets how long clients are asked to wait between polls. Defaults to
    /// [`limits.tasks.poll_interval`](crate::Limits).
    #[must_use]
    pub const fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = Some(interval);
        self
    }

    /// Sets how many times a task may be started. If the task's process dies or loses its claim, the task is started
    /// again; after this many starts without completing a step, it fails. Restarts after answers are not counted.
    /// Defaults to [`limits.tasks.max_attempts`](crate::Limits); zero counts as one.
    #[must_use]
    pub const fn attempts(mut self, max: u32) -> Self {
        self.attempts = Some(max);
        self
    }

    /// Sets how long a client that does not support tasks waits for a call. After that, the call continues in the
    /// background, and the client receives a handle for the `job_status` and `job_cancel` tools. Defaults to
    /// [`limits.tasks.patience`](crate::Limits). If this is zero, every such call that does not end immediately
    /// continues in the background.
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }
}

impl Default for TaskOptions {
    fn default() -> Self {
        Self::NONE
    }
}

impl ToolOption for TaskOptions {
    fn name(&self) -> &'static str {
        "task"
    }

    fn adapt(&self, tool: &mut AdaptedTool) {
        tool.execution = Some(ToolExecution::new(if self.is_required {
            TaskSupport::Required
        } else {
            TaskSupport::Optional
        }));
    }

    fn add_on(&self) -> AddOn {
        TASKS
    }
}

impl DynamicTool {
    /// Lets calls become tasks. By default, they cannot become tasks.
    ///
    /// If the server has no such tool when it starts, it serves tasks only if it has a
    /// [`task_store`](crate::Server::task_store).
    #[must_use]
    pub fn task(mut self, options: TaskOptions) -> Self {
        AttachedOption::insert(&mut self.attached, options);
        self
    }
}

impl Call {
    /// Returns the tool's `task` option, if calls to the tool can be run as tasks.
    #[must_use]
    pub fn task_options(&self) -> Option<&TaskOptions> {
        self.option()
    }

    /// Returns the raw JSON of the request's `task` member, which clients use to request a task in 2025-11-25.
    pub(super) fn requested_task(&self) -> Option<&str> {
        self.member(Member::Task)
    }
}

impl BackgroundCall {
    /// Returns the tool's `task` option, if calls to the tool can be run as tasks.
    #[must_use]
    pub fn task_options(&self) -> Option<&TaskOptions> {
        self.option()
    }
}
