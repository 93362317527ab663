//! Decides which calls become tasks, and creates those tasks.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::ErrorObject;
use crate::cancellation::CancellationToken;
use crate::context::{Context, ServerHandle};
use crate::extension::tasks::heartbeat::with_heartbeat;
use crate::extension::tasks::local::LocalTask;
use crate::extension::tasks::metrics::TaskMetrics;
use crate::extension::tasks::names::ID;
use crate::extension::tasks::patience::patiently;
use crate::extension::tasks::running::AttemptStart;
use crate::extension::tasks::service::{TaskService, refused, to_the_end, unavailable};
use crate::extension::tasks::state::TaskState;
use crate::extension::tasks::{VERSIONS, wire};
use crate::extension::{BackgroundCall, ExtensionResult};
use crate::handler::call::CallOutput;
use crate::handler::definition::Kind;
use crate::handler::handler_error::{HandlerError, Result};
use crate::handler::middleware::{Call, Next};
use crate::jsonrpc::read_json;
use crate::stores::{NewTask, StoredTask, TaskCreation, TaskStatus};

/// Minimum time for which a task is kept, regardless of the client's request.
const MIN_TTL: Duration = Duration::from_secs(1);

/// Answers a call with a task if the tool, the client and the request require this.
///
/// In 2026-07-28, the client declares the extension and the server decides. In 2025-11-25, the client requests a task.
/// For all other clients, the call is a plain call until the client's patience runs out.
pub(super) async fn intercept(
    service: Arc<TaskService>,
    call: Call,
    next: Next,
) -> Result<CallOutput> {
    if call.kind() != Kind::Tool {
        return next.run(call).await;
    }
    let version = call.context().request().protocol_version();
    let options = call.task_options();
    let is_required = options.is_some_and(|options| options.is_required);
    if version.has_tasks() {
        return match (options, call.requested_task()) {
            (None, Some(_)) => Err(unsupported(
                "forbidden",
                "calls to this tool cannot be tasks",
            )),
            (Some(_), None) if is_required => {
                Err(unsupported("required", "calls to this tool must be tasks"))
            }
            (Some(_), Some(requested)) => {
                let ttl = requested_ttl(requested)?;
                let created = service.create(call, next, ttl).await;
                // A tool result is not a valid response to a request for a task.
                let task = created.map_err(HandlerError::into_protocol)?;
                created_task(CreatedLegacyTask {
                    task: wire::LegacyTask::new(&task),
                })
            }
            (Some(_), None) => patiently(service, call, next).await,
            (None, None) => next.run(call).await,
        };
    }
    let Some(options) = options else {
        // Other versions ignore `params.task`.
        return next.run(call).await;
    };
    if call.context().extension(ID).is_none() {
        if !is_required {
            return patiently(service, call, next).await;
        }
        return Err(if version.is_modern() {
            undeclared()
        } else {
            HandlerError::exposed(
                "this tool runs only as a task, which this client does not support",
            )
        });
    }
    if options.is_manual {
        let (plain, starts) = call.clone().until_task_starts();
        tokio::select! {
            biased;
            output = with_heartbeat(plain, next.clone()) => return output,
            () = starts => {}
        }
    }
    let task = service.create(call, next, None).await?;
    created_task(wire::Task::new(&task))
}

/// The answer to a call that has become a task, in 2025-11-25.
#[derive(Serialize)]
struct CreatedLegacyTask<'t> {
    task: wire::LegacyTask<'t>,
}

/// Returns the answer to a call that has become a task.
fn created_task(task: impl Serialize) -> Result<CallOutput> {
    let mut created = ExtensionResult::new(task)?.result_type("task");
    created.admit(VERSIONS);
    Ok(CallOutput::Extension(created))
}

impl TaskService {
    /// Creates a task from this call and starts running it. When this function returns, the task is in the store.
    async fn create(
        self: &Arc<Self>,
        call: Call,
        next: Next,
        ttl: Option<Duration>,
    ) -> Result<StoredTask> {
        let context = call.context().clone();
        let is_first = !context.asking().is_continued();
        let call = call.into_background(next);
        let mut task = self.new_task(&call, &context, ttl)?;
        task.state = TaskState::new(call.journal(), is_first).to_text();
        let local = local_task(call, context.server(), task.ttl);
        let service = Arc::clone(self);
        to_the_end(async move {
            let start = service.start_of_new(&local.call);
            let task = service.add(task, &local).await?;
            match start {
                Some(start) => service.start(task.clone(), local, start),
                None => service.leave_waiting(task.clone(), local),
            }
            Ok(task)
        })
        .await
    }

    /// Returns how a new task starts in this process, or `None` if it must wait for a process that has room.
    fn start_of_new(&self, call: &BackgroundCall) -> Option<AttemptStart> {
        if !self.store.outlives_process() {
            return Some(AttemptStart::Queued);
        }
        if self.has_backlog.load(Ordering::Relaxed) {
            return None;
        }
        let room = self.queue.try_turn()?;
        Some(AttemptStart::Permitted(call.try_permit()?, room))
    }

    /// Gives back a new task, which the process that has room first then claims. Until then, this process keeps the call,
    /// which has more data than the store, and counts the task as queued.
    pub(super) fn leave_waiting(self: &Arc<Self>, task: StoredTask, mut local: LocalTask) {
        self.has_backlog.store(true, Ordering::Relaxed);
        (local.attempt, local.cancel) = (0, CancellationToken::default());
        if !self.local.insert(&task.id, local.clone()) {
            return;
        }
        let (service, server) = (Arc::clone(self), local.server.clone());
        server.spawn(async move {
            let _queued = service.metrics.enqueue(&task.tool, task.created_at);
            service.give_back(&task).await;
            service.due.notify_one();
            tokio::select! {
                () = local.cancel.cancelled() => {}
                () = local.server.stopping() => {}
                () = service.is_taken(&task, &local) => {}
            }
            service.local.end(&task.id, 0);
        });
    }

    /// Waits until another process has taken a waiting task.
    async fn is_taken(&self, task: &StoredTask, local: &LocalTask) {
        while Instant::now() < local.expires {
            sleep(self.limits.lease).await;
            let found = self.store.load(&task.id).await;
            // An attempt that was given back does not count.
            let is_waiting =
                |task: StoredTask| task.status == TaskStatus::Working && task.tries == 0;
            if found.is_ok_and(|found| !found.is_some_and(is_waiting)) {
                return;
            }
        }
    }

    /// Describes a task for a call, without its state.
    pub(super) fn new_task(
        &self,
        call: &BackgroundCall,
        context: &Context,
        ttl: Option<Duration>,
    ) -> Result<NewTask> {
        let options = call.task_options().cloned().unwrap_or_default();
        let mut task = NewTask::new(context.caller().key(), call.name());
        let usual = options.ttl.unwrap_or(self.limits.ttl);
        let longest = if context.caller().is_identified() {
            self.limits.max_ttl
        } else {
            // Anonymous callers share one limit on the number of tasks.
            self.limits.max_ttl.min(usual)
        };
        task.ttl = ttl.unwrap_or(usual).max(MIN_TTL).min(longest);
        task.poll_interval = options.poll_interval.unwrap_or(self.limits.poll_interval);
        task.lease = self.limits.lease;
        if self.store.outlives_process() {
            let text = call.to_text();
            task.call = text
                .ok_or_else(|| refused("the call cannot be stored"))?
                .into();
        } else {
            task.call_bytes = call.size();
        }
        Ok(task)
    }

    /// Stores a task so that this process can run it.
    pub(super) async fn add(
        self: &Arc<Self>,
        task: NewTask,
        local: &LocalTask,
    ) -> Result<StoredTask> {
        let id = task.id.clone();
        self.end_with(&local.server);
        // A cancellation can arrive as soon as the store contains the task.
        if !self.local.insert(&id, local.clone()) {
            return Err(HandlerError::exposed(
                "the server is stopping; try again later",
            ));
        }
        let created = self.store.create(task).await;
        if !matches!(created, Ok(TaskCreation::Created(_))) {
            self.local.end(&id, 1);
        }
        match created.map_err(unavailable)? {
            TaskCreation::Created(task) => {
                TaskMetrics::count_created(&task.tool);
                Ok(task)
            }
            TaskCreation::CallerFull => Err(HandlerError::exposed(
                "this caller has too many tasks; wait until some of them have expired",
            )),
            TaskCreation::Full => Err(HandlerError::exposed(
                "the server has too many tasks; try again later",
            )),
        }
    }
}

/// Creates the local record of a new task, for the process that runs it.
pub(super) fn local_task(call: BackgroundCall, server: &ServerHandle, ttl: Duration) -> LocalTask {
    let now = Instant::now();
    LocalTask {
        call,
        server: server.clone(),
        attempt: 1,
        expires: now.checked_add(ttl).unwrap_or(now),
        cancel: CancellationToken::default(),
    }
}

/// Reads `params.task`.
fn requested_ttl(requested: &str) -> Result<Option<Duration>> {
    let Ok(Value::Object(requested)) = read_json(requested) else {
        return Err(refused("`task` must be an object"));
    };
    let ttl = match requested.get("ttl") {
        None | Some(Value::Null) => return Ok(None),
        Some(ttl) => ttl,
    };
    let milliseconds = ttl.as_u64().or_else(|| {
        // A number that does not fit in 64 bits is treated as the maximum time.
        ttl.as_f64()
            .filter(|ttl| *ttl >= 2_f64.powi(64))
            .map(|_| u64::MAX)
    });
    let milliseconds =
        milliseconds.ok_or_else(|| refused("`task.ttl` must be a number of milliseconds"))?;
    Ok(Some(Duration::from_millis(milliseconds)))
}

/// Returns the error for a call that requests something that the tool does not support. The error's data names the
/// tool's task support.
fn unsupported(support: &str, text: &str) -> HandlerError {
    let error = ErrorObject::new(ErrorObject::METHOD_NOT_FOUND, text);
    HandlerError::protocol(error.with_data(json!({"taskSupport": support})))
}

/// Returns the error for a client that must declare the extension to call a tool.
fn undeclared() -> HandlerError {
    const MISSING_CAPABILITY: i32 = -32021;
    let text = "this tool runs only as a task; declare the tasks extension";
    let error = ErrorObject::new(MISSING_CAPABILITY, text);
    HandlerError::protocol(error.with_data(json!({
        "requiredCapabilities": {"extensions": {ID: {}}},
    })))
}
