//! Decides which calls become tasks, and creates those tasks.

use std::future::pending;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_core::context::{AskError, Context, ServerHandle};
use mcp_core::extension::{
    BackgroundCall, BackgroundOutcome, BackgroundQuestion, BackgroundRun, ExtensionResult,
    QuestionAnswer,
};
use mcp_core::handler::background::{AttachedEnd, WaitingRequest};
use mcp_core::handler::definition::Kind;
use mcp_core::handler::handler_error::{HandlerError, Result};
use mcp_core::handler::middleware::{BackgroundPermit, Call, Next};
use mcp_core::handler::run::CallOutput;
use mcp_core::sync::CancellationToken;
use mcp_protocol::jsonrpc::{ErrorObject, read_json};
use mcp_protocol::types::CallToolResult;
use mcp_stores::{NewTask, StoredTask, TaskCreation, TaskStatus};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};

use crate::jobs::{PERIOD, with_heartbeat};
use crate::options::{requested_task, until_task_starts};
use crate::run_queue::TaskPermit;
use crate::running::{AttemptStart, BegunRun, CallSteps, Handover, LatestReport};
use crate::service::{LocalTask, TaskMetrics, TaskService, refused, to_the_end, unavailable};
use crate::wire::{ID, TaskQuestion, TaskState};
use crate::{TaskCallExt as _, VERSIONS, jobs, wire};

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
        return match (options, requested_task(&call)) {
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
        let (plain, starts) = until_task_starts(call.clone());
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
    fn new_task(
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
fn local_task(call: BackgroundCall, server: &ServerHandle, ttl: Duration) -> LocalTask {
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

// --- Calls from clients that do not support tasks: plain calls until the client's patience runs out, and tasks after
// that.
//
// Until a client receives a handle, the work belongs to its request and ends with it, so it is not stored. From then
// on, the work is a task that includes the completed steps. `running` creates the task, and `jobs` contains the
// handle and the tools for it.

/// Runs a call that could have been a task, and answers it with a handle if the client's patience runs out. In the
/// meantime, a client that wants progress receives reports even if the handler does not send any.
pub(super) async fn patiently(
    service: Arc<TaskService>,
    call: Call,
    next: Next,
) -> Result<CallOutput> {
    if service.limits.patience == Duration::MAX {
        return with_heartbeat(call, next).await;
    }
    let context = call.context().clone();
    let own = call.task_options().and_then(|options| options.patience);
    let patience = own.unwrap_or(service.limits.patience);
    let version = context.request().protocol_version();
    let is_first = !context.asking().is_continued();
    let patient = PatientCall {
        patience: Instant::now().checked_add(patience),
        // For such a tool, clients reject a successful result without structured content.
        is_handle_an_error: call.has_output_schema() && version.has_structured_content(),
        background: call.clone().into_background(next),
        steps: Arc::new(CallSteps::new(is_first, version.is_modern())),
        context: context.clone(),
        service,
        call,
    };
    tokio::select! {
        biased;
        output = patient.run() => output,
        output = context.keep_alive(PERIOD) => output,
    }
}

struct PatientCall {
    service: Arc<TaskService>,
    context: Context,
    call: Call,
    background: BackgroundCall,
    steps: Arc<CallSteps>,
    /// The time at which the client's patience runs out, or `None` if it never does.
    patience: Option<Instant>,
    is_handle_an_error: bool,
}

impl PatientCall {
    async fn run(self) -> Result<CallOutput> {
        let mut state = TaskState::new(self.background.journal(), self.steps.is_first());
        loop {
            let begun = tokio::select! {
                biased;
                permit = self.call.permit() => Some(self.begin(&state, permit?)),
                () = self.impatient() => None,
            };
            let end = if let Some(mut begun) = begun {
                tokio::select! {
                    biased;
                    end = &mut begun.running => end,
                    room = self.room() => {
                        begun.room = Some(room);
                        match self.leave(&state, Some(begun)).await? {
                            Ok(task) => return Ok(self.handle(&task)),
                            Err(Some(begun)) => begun.running.await,
                            Err(None) => return Err(HandlerError::framework_bug("a run was lost")),
                        }
                    }
                }
            } else {
                if let Ok(task) = self.leave(&state, None).await? {
                    return Ok(self.handle(&task));
                }
                let permit = self.call.permit().await?;
                self.begin(&state, permit).running.await
            };
            match end {
                AttachedEnd::Output(output) => return output,
                AttachedEnd::Panicked(panic) => resume_unwind(Box::new(panic)),
                AttachedEnd::Background(outcome) => return background_output(outcome),
                AttachedEnd::InputRequired { journal, questions } => {
                    if self.context.request().protocol_version().is_modern() {
                        let asking = self.context.asking();
                        let questions = questions.into_iter();
                        let questions =
                            questions.map(|asked| (asked.key, asked.method, asked.params));
                        if asking.end_round_with(&journal, questions.collect()) {
                            // The round ends, and the request ends with it.
                            return pending().await;
                        }
                        return Err(HandlerError::framework_bug(
                            "a call cannot query its client",
                        ));
                    }
                    state.ask(journal, questions);
                    while let Some((key, question)) = state.open.first_key_value() {
                        let (key, answer) = (key.clone(), ask(&self.context, question).await?);
                        state.answer(&key, answer);
                    }
                }
            }
        }
    }

    /// Begins a run with the call's state.
    fn begin(&self, state: &TaskState, permit: BackgroundPermit) -> BegunRun {
        let request = WaitingRequest::new(self.context.clone());
        let reports = Arc::new(LatestReport::default());
        let latest = Arc::clone(&reports);
        let run = BackgroundRun::new(&*state.journal)
            .answers(state.clone().take_answers())
            .own_steps(self.steps.for_run())
            .permit(permit)
            .on_progress(move |progress| latest.set(progress));
        BegunRun {
            running: self.background.run_attached(run, request.clone()),
            request,
            reports,
            room: None,
        }
    }

    /// Waits until the client's patience runs out.
    async fn impatient(&self) {
        match self.patience {
            Some(end) => sleep_until(end).await,
            None => pending().await,
        }
    }

    /// Waits until the client's patience has run out and one more task can run. Returns the permit.
    async fn room(&self) -> TaskPermit {
        self.impatient().await;
        let owner: Arc<str> = self.context.caller().key().into();
        loop {
            if let Some(permit) = self.service.queue.turn(&owner).await.take() {
                return permit;
            }
        }
    }

    /// Turns the call into a task. Returns the run if there is no room for the task.
    async fn leave(
        &self,
        state: &TaskState,
        begun: Option<BegunRun>,
    ) -> Result<std::result::Result<StoredTask, Option<BegunRun>>> {
        let mut task = match self.service.new_task(&self.background, &self.context, None) {
            Ok(task) => task,
            Err(error) => {
                tracing::warn!(?error, "a call cannot continue in the background");
                return Ok(Err(begun));
            }
        };
        task.state = state.to_text();
        let local = local_task(self.background.clone(), self.context.server(), task.ttl);
        let handover = Handover {
            task,
            local,
            steps: Arc::clone(&self.steps),
            begun,
        };
        self.service.hand_over(handover).await
    }

    fn handle(&self, task: &StoredTask) -> CallOutput {
        self.context.continuation().set_continues();
        CallOutput::Tool(jobs::handle(task, self.is_handle_an_error))
    }
}

/// Forwards a run's question to a legacy client. A failure also counts as an answer, which the handler receives.
async fn ask(context: &Context, question: &TaskQuestion) -> Result<QuestionAnswer> {
    let question = BackgroundQuestion::new(
        String::new(),
        question.method.as_str(),
        question.params.clone(),
    );
    match context.forward_question(&question).await {
        Ok(answer) => Ok(Ok(answer)),
        Err(AskError::Failed { code, message }) => {
            let code = i32::try_from(code).unwrap_or(ErrorObject::INTERNAL_ERROR);
            Ok(Err(ErrorObject::new(code, message)))
        }
        Err(AskError::Gone) => Err(AskError::Gone.into()),
        Err(error) => Ok(Err(ErrorObject::internal(error.to_string()))),
    }
}

/// Returns the output of a run that has ended as if no request were waiting for it.
fn background_output(outcome: BackgroundOutcome) -> Result<CallOutput> {
    match outcome {
        BackgroundOutcome::Done { result, .. } => {
            let result: CallToolResult = serde_json::from_str(result.get())?;
            Ok(CallOutput::Tool(result))
        }
        BackgroundOutcome::Failed(error) => Err(HandlerError::protocol(error)),
        BackgroundOutcome::InputRequired { .. } => Err(HandlerError::framework_bug(
            "a call cannot query its client",
        )),
    }
}
