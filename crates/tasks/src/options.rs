//! The `task` option for tools.

use std::any::TypeId;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use mcp_core::context::Context;
use mcp_core::dispatch::{ServerAddOn, ServerParts};
use mcp_core::handler::background::BackgroundCall;
use mcp_core::handler::dynamic::DynamicTool;
use mcp_core::handler::middleware::{Call, Next};
use mcp_core::handler::option::{
    AdaptedTool, AddOn, OptionTools, OptionWrapping, StartingServer, ToolOption, WrappingPlace,
    find_option,
};
use mcp_core::sync::CancellationToken;
use mcp_protocol::jsonrpc::Member;
use mcp_protocol::types::{TaskSupport, ToolExecution};
use mcp_stores::{MemoryTaskStore, TaskStore};

use crate::service::{TaskService, describe_task_metrics};
use crate::wire::ID;
use crate::{creation, jobs};

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
    /// [`Context::start_task`](mcp_core::context::Context::start_task). Until then, it is an ordinary call, which can ask its
    /// client questions and can end without becoming a task.
    #[must_use]
    pub const fn manual(mut self) -> Self {
        self.is_manual = true;
        self
    }

    /// Sets how long a task is kept after its creation. Defaults to [`limits.tasks.ttl`](mcp_core::limits::Limits); the maximum is
    /// [`limits.tasks.max_ttl`](mcp_core::limits::Limits).
    #[must_use]
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Sets how long clients are asked to wait between polls. Defaults to
    /// [`limits.tasks.poll_interval`](mcp_core::limits::Limits).
    #[must_use]
    pub const fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = Some(interval);
        self
    }

    /// Sets how many times a task may be started. If the task's process dies or loses its claim, the task is started
    /// again; after this many starts without completing a step, it fails. Restarts after answers are not counted.
    /// Defaults to [`limits.tasks.max_attempts`](mcp_core::limits::Limits); zero counts as one.
    #[must_use]
    pub const fn attempts(mut self, max: u32) -> Self {
        self.attempts = Some(max);
        self
    }

    /// Sets how long a client that does not support tasks waits for a call. After that, the call continues in the
    /// background, and the client receives a handle for the `job_status` and `job_cancel` tools. Defaults to
    /// [`limits.tasks.patience`](mcp_core::limits::Limits). If this is zero, every such call that does not end immediately
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

/// The `task` option of tools that are defined at run time.
pub trait TaskToolExt: Sized {
    /// Lets calls become tasks. By default, they cannot become tasks.
    ///
    /// If the server has no such tool when it starts, it serves tasks only with [`Tasks`].
    #[must_use]
    fn task(self, options: TaskOptions) -> Self;
}

impl TaskToolExt for DynamicTool {
    fn task(mut self, options: TaskOptions) -> Self {
        self.attach(options);
        self
    }
}

/// The `task` option of the tool that a call is for.
pub trait TaskCallExt {
    /// Returns the tool's `task` option, if calls to the tool can be run as tasks.
    #[must_use]
    fn task_options(&self) -> Option<&TaskOptions>;
}

impl TaskCallExt for Call {
    fn task_options(&self) -> Option<&TaskOptions> {
        self.option()
    }
}

impl TaskCallExt for BackgroundCall {
    fn task_options(&self) -> Option<&TaskOptions> {
        self.option()
    }
}

/// Returns the raw JSON of the request's `task` member, which clients use to request a task in 2025-11-25.
pub(super) fn requested_task(call: &Call) -> Option<&str> {
    call.member(Member::Task)
}

// --- What tasks add to a server that has a tool with the `task` option, or a store for tasks.

/// Offers tasks although no tool has the `task` option when the server starts, for servers whose tools are inserted later:
/// `Server::with(Tasks)`.
#[derive(Clone, Copy, Debug)]
pub struct Tasks;

impl ServerAddOn for Tasks {
    fn add_to(self, parts: &mut ServerParts) {
        parts.add_ons.push(TASKS);
    }
}

/// The add-on that serves tasks.
pub const TASKS: AddOn = AddOn {
    name: "tasks",
    adds_extension: true,
    start,
};

fn start(server: &mut StartingServer<'_>) {
    describe_task_metrics();
    let option = TypeId::of::<TaskOptions>();
    let mut limits = server.limits.tasks.clone();
    if !server.options.contains(&option) {
        // Calls to tools that are inserted later are plain calls, because the tools for job handles are not added or
        // removed at run time.
        limits.patience = Duration::MAX;
    }
    let has_jobs = limits.patience != Duration::MAX;
    let store: Option<Arc<dyn TaskStore>> = server.stores.get();
    let store = store.unwrap_or_else(|| Arc::new(MemoryTaskStore::new(limits.clone())));
    let drain = server.limits.calls.drain_timeout;
    let service = Arc::new(TaskService::new(store, limits, drain));
    server.added.extensions.push(crate::extension(&service));
    if has_jobs {
        server.added.tools.push(OptionTools {
            name: "jobs",
            is_option: |options| {
                find_option(options).is_some_and(|task: &TaskOptions| !task.is_required)
            },
            // A client that knows tasks gets a task instead of a job.
            is_for: |request, client| {
                !request.protocol_version().is_modern() || !client.extensions.contains_key(ID)
            },
            tools: jobs::tools(&service).into(),
            reason: "this name is used by a tool that is added to servers with a `task` tool; choose another, or set \
                     `limits.tasks.patience` to `Duration::MAX`",
        });
    }
    server.added.wrappings.push(OptionWrapping {
        option,
        is_requested: Some(|member, _| member(Member::Task).is_some()),
        reads: Some(Member::Task),
        place: WrappingPlace::Request,
        link: Box::new(move |next| {
            let service = Arc::clone(&service);
            Next::link(move |call| {
                Box::pin(creation::intercept(
                    Arc::clone(&service),
                    call,
                    next.clone(),
                ))
            })
        }),
    });
}

// --- Lets a handler choose the point at which its call becomes a task.

/// What a handler can do about its task.
pub trait TaskContextExt {
    /// Lets the rest of the call run as a task, if the tool has the `task(manual)` option and the client supports
    /// tasks. In all other calls, this method does nothing, so the same handler serves all clients.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// # #[derive(Elicit)] struct City { city: String }
    /// # async fn survey(_: &str) -> Result<String> { Ok(String::new()) }
    /// /// Surveys a city.
    /// #[tool(task(manual))]
    /// async fn survey_city(ctx: Context) -> Result<String> {
    ///     let City { city } = ctx.elicit("Which city?").await?; // in the call itself
    ///     ctx.start_task().await;
    ///     survey(&city).await // in the task
    /// }
    /// ```
    ///
    /// The handler is dropped at this point and runs again from the beginning in the background. In that run, questions
    /// that have already been answered return immediately, as do [`once`](Context::once) results. Clients that use
    /// 2025-11-25 request tasks themselves, so their tasks always consist of the whole call.
    ///
    /// If work inside `once` is in progress elsewhere in the call, the call becomes a task when that work has ended.
    /// Inside `once` itself, this only logs an error, because the work would otherwise be dropped and run again.
    fn start_task(&self) -> impl Future<Output = ()> + Send;
}

impl TaskContextExt for Context {
    async fn start_task(&self) {
        self.leave_request("start_task").await;
    }
}

/// Returns the call and a future that completes when the handler has called [`start_task`](TaskContextExt::start_task) and no
/// work inside [`Context::once`] is in progress. The handler then waits in `start_task` until it is dropped. The future
/// must be polled in the same tokio task as the call, after the call.
pub(super) fn until_task_starts(mut call: Call) -> (Call, impl Future<Output = ()> + Send + use<>) {
    let start = CancellationToken::default();
    let context = call.context().with_leaving(start.clone());
    call.set_context(context.clone());
    let starts = async move {
        start.cancelled().await;
        // The call's task is woken when such work ends.
        poll_fn(|_| {
            if context.asking().is_once_under_way() {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        })
        .await;
    };
    (call, starts)
}
