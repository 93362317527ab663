//! Reads and changes tasks in the store and notifies their clients.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_core::context::{
    Caller, ClaimId, Context, OnceClaim, OnceStore, OnceWork, ServerHandle, StoreFuture,
};
use mcp_core::error::{BoxError, Error, ErrorKind};
use mcp_core::extension::BackgroundCall;
use mcp_core::handler::handler_error::{HandlerError, Result};
use mcp_core::limits::TaskLimits;
use mcp_core::observe::{Metric, is_metered};
use mcp_core::sync::{CancellationToken, lock};
use mcp_protocol::errors;
use mcp_protocol::jsonrpc::ErrorObject;
use mcp_stores::{
    ExpiryOrder, StoredTask, TaskChange, TaskChanged, TaskId, TaskOutcome, TaskStatus, TaskStore,
};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tracing::Instrument as _;

use crate::leases::Leases;
use crate::run_queue::RunQueue;
use crate::wire;
use crate::wire::CHANGED;

/// The reason why a task cannot be read.
pub(super) const SEALED: &str = "the task was sealed with a key that this server does not have";

/// Maximum time for which a request about a task waits for a store that fails. Clients wait longer for their answers.
const MAX_STORE_WAIT: Duration = Duration::from_secs(5);

/// Time before the first retry when a store fails. The time doubles with each failure.
const FIRST_RETRY: Duration = Duration::from_millis(50);

/// Maximum time between two retries.
const LONGEST_RETRY: Duration = Duration::from_secs(1);

/// A server's tasks.
pub(super) struct TaskService {
    pub(super) store: Arc<dyn TaskStore>,
    pub(super) limits: TaskLimits,
    /// Time within which running tasks must end once the server stops.
    pub(super) drain: Duration,
    /// Permits for running tasks.
    pub(super) queue: RunQueue,
    pub(super) local: LocalTasks,
    pub(super) leases: Arc<Leases>,
    pub(super) watched: WatchedTasks,
    pub(super) metrics: TaskMetrics,
    /// Notified when a task may have become due in a store that outlives the process.
    pub(super) due: Notify,
    /// `true` while due tasks may be waiting in a store that outlives the process, so that new tasks wait behind them.
    pub(super) has_backlog: AtomicBool,
    /// The tools that are running as often as they can. For each of them, a task in the store waits for a permit.
    pub(super) busy_tools: Mutex<HashSet<Arc<str>>>,
    /// `true` if this process's tasks are forgotten when the server ends.
    ends_with_server: AtomicBool,
}

/// Forgets this process's tasks when dropped. Otherwise, the tasks and the server would keep each other alive.
struct ForgetTasks(Arc<TaskService>);

impl Drop for ForgetTasks {
    fn drop(&mut self) {
        self.0.local.end_all();
    }
}

impl TaskService {
    pub(super) fn new(store: Arc<dyn TaskStore>, limits: TaskLimits, drain: Duration) -> Self {
        Self {
            leases: Arc::new(Leases::new(Arc::clone(&store), limits.lease)),
            store,
            queue: RunQueue::new(limits.max_running),
            limits,
            drain,
            local: LocalTasks::default(),
            watched: WatchedTasks::default(),
            metrics: TaskMetrics::default(),
            due: Notify::new(),
            has_backlog: AtomicBool::new(false),
            busy_tools: Mutex::default(),
            ends_with_server: AtomicBool::new(false),
        }
    }

    /// Ensures that this process's tasks are forgotten when the server ends.
    pub(super) fn end_with(self: &Arc<Self>, server: &ServerHandle) {
        if self.ends_with_server.swap(true, Ordering::Relaxed) {
            return;
        }
        server
            .control()
            .keep_until_end(Box::new(ForgetTasks(Arc::clone(self))));
    }

    /// Returns one of this caller's tasks, like [`look_up`](Self::look_up). The error is the same for every id for which
    /// that returns `None`.
    pub(super) async fn find(&self, context: &Context, id: &str) -> Result<StoredTask> {
        let found = self.look_up(context, id).await?;
        found.ok_or_else(no_such_task)
    }

    /// Returns one of this caller's tasks, or `None` if the id is unknown, belongs to another caller or has expired, or
    /// if the caller cannot see the task's tool.
    ///
    /// # Errors
    ///
    /// Fails if the request lacks scopes that the task's tool requires.
    pub(super) async fn look_up(&self, context: &Context, id: &str) -> Result<Option<StoredTask>> {
        let found = match TaskId::parse(id) {
            None => None,
            Some(id) => self.load(&id).await?,
        };
        match found {
            Some(task) if may_reach(&task, context)? => Ok(Some(task)),
            _ => Ok(None),
        }
    }

    /// Reads a task. If the store fails, waits for a while.
    pub(super) async fn load(&self, id: &TaskId) -> Result<Option<StoredTask>> {
        let until = Instant::now() + MAX_STORE_WAIT;
        let mut wait = FIRST_RETRY;
        loop {
            match self.store.load(id).await {
                Ok(task) => return Ok(task),
                Err(error) if Instant::now() + wait >= until => return Err(ask_again(error)),
                Err(_) => sleep(wait).await,
            }
            wait = wait.saturating_mul(2).min(LONGEST_RETRY);
        }
    }

    /// Waits until a task may have changed. If the store fails, waits a moment; the next look at the task finds out.
    pub(super) async fn changed(&self, task: &StoredTask) {
        if let Err(error) = self.store.changed(&task.id, task.version).await {
            tracing::debug!(%error, "changes of a task cannot be waited for");
            sleep(LONGEST_RETRY).await;
        }
    }

    /// Changes a task as decided by `change`, which receives the task's latest version; `None` leaves the task
    /// unchanged.
    pub(super) async fn change(
        &self,
        id: &TaskId,
        server: &ServerHandle,
        mut change: impl FnMut(&StoredTask) -> Option<TaskChange> + Send,
    ) -> Result<TaskChanged> {
        loop {
            let Some(task) = self.store.load(id).await.map_err(ask_again)? else {
                return Ok(TaskChanged::Unchanged);
            };
            let Some(change) = change(&task).filter(|_| !task.status.is_final()) else {
                return Ok(TaskChanged::Unchanged);
            };
            let changed = self.store.change(id, task.version, change);
            match changed.await.map_err(ask_again)? {
                TaskChanged::Changed(changed) => {
                    // A parked task does not use any memory if the store contains its call.
                    let is_parked = changed.status == TaskStatus::InputRequired
                        && self.store.outlives_process();
                    if is_parked || changed.status.is_final() {
                        self.local.end(id, changed.attempt);
                    }
                    if let Some(outcome) = outcome_label(&changed) {
                        TaskMetrics::count_ended(&changed.tool, outcome);
                    }
                    announce(&self.watched, &changed, server);
                    return Ok(TaskChanged::Changed(changed));
                }
                // The task now has a new version, or a new status that `change` will see.
                TaskChanged::Unchanged => {}
                TaskChanged::Full => return Ok(TaskChanged::Full),
            }
        }
    }
}

/// Returns the label that metrics use for how a task has ended.
const fn outcome_label(task: &StoredTask) -> Option<&'static str> {
    match (task.status, &task.outcome) {
        (TaskStatus::Completed, Some(TaskOutcome::Result { is_error: true, .. })) => {
            Some("tool_error")
        }
        (TaskStatus::Completed, _) => Some("ok"),
        (TaskStatus::Failed, _) => Some("error"),
        (TaskStatus::Cancelled, _) => Some("cancelled"),
        _ => None,
    }
}

/// Decides whether a request may reach a task: it is its caller's, and the caller may use its tool. Returns `false` if the
/// request must be answered as if there were no such task.
///
/// # Errors
///
/// Fails if the request lacks scopes that the task's tool requires.
pub(super) fn may_reach(task: &StoredTask, context: &Context) -> Result<bool> {
    let caller = context.caller();
    if *task.owner != *caller.key() {
        return Ok(false);
    }
    context.server().may_reach_work_of(&task.tool, caller)
}

/// Notifies the clients that use 2026-07-28, are listening to a task and may still reach it.
pub(super) fn announce(watched: &WatchedTasks, task: &StoredTask, server: &ServerHandle) {
    let notify = server.notify();
    if !notify.has_listeners(CHANGED, Some(task.id.as_str())) || !watched.is_news(task) {
        return;
    }
    let (owner, tool, control) = (
        Arc::clone(&task.owner),
        Arc::clone(&task.tool),
        server.clone(),
    );
    let notify = notify.for_callers(move |caller| {
        *caller.key() == *owner && matches!(control.may_reach_work_of(&tool, caller), Ok(true))
    });
    notify.extension_key(CHANGED, task.id.as_str(), wire::detailed_task(task));
}

/// Returns the error for an id with which the caller can reach no task.
pub(super) fn no_such_task() -> HandlerError {
    refused("no task has this id")
}

/// Returns the error for parameters that do not match the caller's tasks.
pub(super) fn refused(text: impl Into<String>) -> HandlerError {
    HandlerError::protocol(ErrorObject::invalid_params(text))
}

/// Returns the error for a request about a task if the store fails. Clients cannot take it for the task's outcome.
#[allow(
    clippy::needless_pass_by_value,
    reason = "this is the argument of `map_err`"
)]
pub(super) fn ask_again(cause: BoxError) -> HandlerError {
    tracing::warn!(%cause, "the task store failed");
    let text = "the task store does not work, so nothing is known about the task at the moment";
    let error = errors::unknown_for_now(text, LONGEST_RETRY);
    HandlerError::busy(error)
}

/// Returns the error for a request that needs what is sealed with a key that this server does not have. Another instance
/// may have the key, or the operator may add it again.
pub(super) fn unreadable(task: &StoredTask) -> HandlerError {
    tracing::error!(task = ?task.id, "{SEALED}");
    let error = errors::unknown_for_now(SEALED, LONGEST_RETRY);
    HandlerError::busy(error)
}

/// Returns `true` if a request failed only because the store did.
pub(super) const fn is_unknown(error: &HandlerError) -> bool {
    error.is_busy()
}

/// Returns the error for a failed store operation.
#[allow(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
pub(super) fn unavailable(cause: BoxError) -> HandlerError {
    let cause = Error::new(ErrorKind::Io, format!("the task store failed: {cause}"));
    HandlerError::opaque(cause)
}

/// Runs work to completion, even if the request that is waiting for it is dropped.
pub(super) async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let ended = tokio::spawn(work.in_current_span()).await;
    ended.unwrap_or_else(|error| Err(HandlerError::opaque(error)))
}

// --- Notifies the clients that listen to tasks of changes that other processes make to them.
//
// A task is watched as long as a client of this process listens to it. All of its notifications pass through its entry
// here, so that a change is reported once even if this process has made it.

/// Maximum time for which a task is watched after its last listener has left.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// The tasks that are watched.
#[derive(Default)]
pub(super) struct WatchedTasks(Mutex<WatchedTable>);

#[derive(Default)]
struct WatchedTable {
    /// The ids to which callers listen, with the callers' keys. A task may belong to none of them.
    watched: HashSet<(TaskId, Arc<str>)>,
    /// The tasks that were found, each as it was last reported.
    reported: HashMap<TaskId, ReportedTask>,
}

/// What clients know of a task.
#[derive(PartialEq, Eq)]
struct ReportedTask {
    status: TaskStatus,
    updated_at: SystemTime,
    message: Option<Arc<str>>,
    /// The hash of the state, which contains the questions.
    state: u64,
}

impl WatchedTasks {
    /// Begins to watch a task for a caller. Returns `false` if it is already watched.
    fn begin(&self, watched: (TaskId, Arc<str>)) -> bool {
        lock(&self.0).watched.insert(watched)
    }

    fn end(&self, watched: &(TaskId, Arc<str>)) {
        let table = &mut *lock(&self.0);
        table.watched.remove(watched);
        if !table.watched.iter().any(|(id, _)| *id == watched.0) {
            table.reported.remove(&watched.0);
        }
    }

    /// Returns `true` if listeners have yet to be notified of this version of a task. A claim changes only the version,
    /// of which clients know nothing.
    fn is_news(&self, task: &StoredTask) -> bool {
        let key = (task.id.clone(), Arc::clone(&task.owner));
        let table = &mut *lock(&self.0);
        if !table.watched.contains(&key) {
            return true;
        }
        let mut hasher = DefaultHasher::new();
        task.state.hash(&mut hasher);
        let latest = ReportedTask {
            status: task.status,
            updated_at: task.updated_at,
            message: task.message.clone(),
            state: hasher.finish(),
        };
        if let Some(known) = table.reported.get(&task.id)
            && (known.updated_at > latest.updated_at || *known == latest)
        {
            return false;
        }
        table.reported.insert(key.0, latest);
        true
    }
}

impl TaskService {
    /// Watches a task to which a caller has begun to listen, if it is the caller's and other processes can change it.
    pub(super) fn watch(self: &Arc<Self>, server: &ServerHandle, caller: &Caller, id: &str) {
        let id = TaskId::parse(id).filter(|_| self.store.outlives_process());
        let Some(watched) = id.map(|id| (id, Arc::from(caller.key()))) else {
            return;
        };
        if !self.watched.begin(watched.clone()) {
            return;
        }
        let (service, handle) = (Arc::clone(self), server.clone());
        server.spawn(async move {
            tokio::select! {
                () = handle.stopping() => {}
                () = service.report_changes(&watched.0, &watched.1, &handle) => {}
            }
            service.watched.end(&watched);
        });
    }

    /// Reports a task as it is and each change to it, until it has ended or no client listens.
    async fn report_changes(&self, id: &TaskId, caller: &str, server: &ServerHandle) {
        loop {
            match self.load(id).await {
                Ok(Some(task)) if *task.owner == *caller => {
                    announce(&self.watched, &task, server);
                    if task.status.is_final() {
                        return;
                    }
                    let _ = timeout(LOOK_AGAIN, self.changed(&task)).await;
                }
                Ok(_) => return,
                // The store does not work, and has been waited for.
                Err(_) => {}
            }
            if !server.notify().has_listeners(CHANGED, Some(id.as_str())) {
                return;
            }
        }
    }
}

// --- The tasks whose calls this process has.

/// A task whose call this process has.
#[derive(Clone, Debug)]
pub(super) struct LocalTask {
    pub(super) call: BackgroundCall,
    pub(super) server: ServerHandle,
    /// The attempt with which this process acquired the task, or zero while the task waits in the store for a process
    /// that has room.
    pub(super) attempt: u64,
    /// The end of the task's time to live.
    pub(super) expires: Instant,
    pub(super) cancel: CancellationToken,
}

/// The tasks whose calls this process has, except those whose time to live has expired.
#[derive(Debug, Default)]
pub(super) struct LocalTasks(Mutex<LocalTable>);

#[derive(Debug, Default)]
struct LocalTable {
    tasks: HashMap<TaskId, LocalTask>,
    by_expiry: ExpiryOrder<TaskId>,
    /// `true` once the server has ended.
    is_closed: bool,
}

impl LocalTasks {
    /// Adds a task and forgets those whose time to live has expired. Returns `false` once the server has ended.
    pub(super) fn insert(&self, id: &TaskId, task: LocalTask) -> bool {
        let table = &mut *lock(&self.0);
        if table.is_closed {
            return false;
        }
        let now = Instant::now();
        while let Some(id) = table.by_expiry.pop_expired(now) {
            table.tasks.remove(&id);
        }
        // The entry is from an earlier attempt by this process, which another process has interrupted, or is that of a
        // waiting task.
        if let Some(earlier) = table.tasks.remove(id) {
            table.by_expiry.remove(earlier.expires, id);
            earlier.cancel.cancel();
        }
        table.by_expiry.insert(task.expires, id.clone());
        table.tasks.insert(id.clone(), task);
        true
    }

    pub(super) fn get(&self, id: &TaskId) -> Option<LocalTask> {
        lock(&self.0).tasks.get(id).cloned()
    }

    /// Returns the tasks that this process has acquired.
    pub(super) fn acquired(&self) -> Vec<TaskId> {
        let table = lock(&self.0);
        let tasks = table.tasks.iter().filter(|(_, task)| task.attempt > 0);
        tasks.map(|(id, _)| id.clone()).collect()
    }

    /// Forgets all tasks, cancels their runs, and does not accept any further tasks.
    fn end_all(&self) {
        let closed = LocalTable {
            is_closed: true,
            ..LocalTable::default()
        };
        let table = std::mem::replace(&mut *lock(&self.0), closed);
        for task in table.tasks.values() {
            task.cancel.cancel();
        }
    }

    /// Forgets a task that has ended or that this process no longer holds, and cancels its run. Does nothing if the
    /// process has acquired the task again in a later attempt.
    pub(super) fn end(&self, id: &TaskId, attempt: u64) {
        let table = &mut *lock(&self.0);
        if table
            .tasks
            .get(id)
            .is_some_and(|task| task.attempt <= attempt)
            && let Some(task) = table.tasks.remove(id)
        {
            table.by_expiry.remove(task.expires, id);
            task.cancel.cancel();
        }
    }
}

// --- The `once` results in a task, which are stored with the task.

/// The steps of a single attempt, in the task's own journal.
pub(super) struct TaskSteps {
    pub(super) store: Arc<dyn TaskStore>,
    pub(super) id: TaskId,
    pub(super) attempt: u64,
}

impl TaskSteps {
    /// Claims a step that began before the task existed.
    pub(super) async fn claim(&self, name: &str, claim: ClaimId) -> Result<(), BoxError> {
        let claim = self.store.begin_step(&self.id, self.attempt, name, claim);
        claim.await.map(drop)
    }

    /// Records the result of a step that was completed before the task existed.
    pub(super) async fn record(&self, name: &str, result: &str) -> Result<(), BoxError> {
        let complete = self
            .store
            .complete_step(&self.id, self.attempt, name, result);
        complete.await
    }
}

impl OnceStore for TaskSteps {
    fn begin<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, OnceClaim> {
        let OnceWork { name, claim, .. } = work;
        self.store.begin_step(&self.id, self.attempt, name, claim)
    }

    fn complete<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        self.store
            .complete_step(&self.id, self.attempt, work.name, result)
    }

    fn abandon<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, ()> {
        let OnceWork { name, claim, .. } = work;
        self.store.abandon_step(&self.id, self.attempt, name, claim)
    }
}

// --- Metrics for tasks, by tool. They cover only the tasks of this process, because each process reports its own.

static CREATED: Metric = Metric::counter("mcp.server.created_tasks", "Tasks that were created");

static ENDED: Metric = Metric::counter("mcp.server.tasks", "Tasks that have ended");

static ATTEMPTS: Metric =
    Metric::counter("mcp.server.task_attempts", "Task attempts that were begun");

static LAPSES: Metric = Metric::counter("mcp.server.task_lapses", "Task leases that have lapsed");

static QUEUED: Metric = Metric::gauge(
    "mcp.server.queued_tasks",
    "Tasks that are waiting for their turn",
);

static ACTIVE: Metric = Metric::gauge("mcp.server.active_tasks", "Tasks that are running");

static OLDEST: Metric = Metric::time(
    "mcp.server.oldest_task",
    "Time since 1970 at which the oldest queued or running task was created; 0 if there is none",
);

const TOOL: &str = "gen_ai.tool.name";

/// Describes each metric when a server starts.
pub(super) fn describe_task_metrics() {
    for metric in [
        &CREATED, &ENDED, &ATTEMPTS, &LAPSES, &QUEUED, &ACTIVE, &OLDEST,
    ] {
        metric.describe();
    }
}

/// Metrics for a server's tasks.
#[derive(Clone, Default)]
pub(super) struct TaskMetrics(Arc<Mutex<HashMap<Arc<str>, CreationTimes>>>);

/// The numbers of a tool's queued and running tasks by creation time.
type CreationTimes = BTreeMap<SystemTime, usize>;

impl TaskMetrics {
    pub(super) fn count_created(tool: &str) {
        CREATED.count(&[(TOOL, tool)]);
    }

    /// Counts a task that was claimed after its process had lost it.
    pub(super) fn count_lapsed(tool: &str) {
        LAPSES.count(&[(TOOL, tool)]);
    }

    fn count_ended(tool: &str, outcome: &'static str) {
        ENDED.count(&[(TOOL, tool), ("outcome", outcome)]);
    }

    /// Starts recording an attempt at a task that is waiting for its turn.
    pub(super) fn enqueue(&self, tool: &Arc<str>, created_at: SystemTime) -> AttemptRecording {
        QUEUED.add(&[(TOOL, tool)], 1);
        let recording = AttemptRecording {
            metrics: self.clone(),
            tool: Arc::clone(tool),
            created_at,
            is_running: false,
        };
        recording.change_number(|number| number.saturating_add(1));
        recording
    }
}

/// An attempt in progress, queued or running until it is dropped.
pub(super) struct AttemptRecording {
    metrics: TaskMetrics,
    tool: Arc<str>,
    created_at: SystemTime,
    is_running: bool,
}

impl AttemptRecording {
    /// Records that it is the attempt's turn.
    pub(super) fn begin(&mut self) {
        if std::mem::replace(&mut self.is_running, true) {
            return;
        }
        ATTEMPTS.count(&[(TOOL, &self.tool)]);
        QUEUED.add(&[(TOOL, &self.tool)], -1);
        ACTIVE.add(&[(TOOL, &self.tool)], 1);
    }

    /// Changes the number of tasks that were created at the same time as this one.
    fn change_number(&self, change: impl FnOnce(usize) -> usize) {
        if !is_metered() {
            return;
        }
        let mut tools = lock(&self.metrics.0);
        let times = tools.entry(Arc::clone(&self.tool)).or_default();
        let before = times.remove(&self.created_at).unwrap_or_default();
        let number = change(before);
        if number > 0 {
            times.insert(self.created_at, number);
        }
        let oldest = times.first_key_value();
        let oldest = oldest.and_then(|(time, _)| time.duration_since(UNIX_EPOCH).ok());
        let oldest = oldest.unwrap_or_default().as_secs_f64();
        OLDEST.set(&[(TOOL, &self.tool)], oldest);
    }
}

impl Drop for AttemptRecording {
    fn drop(&mut self) {
        let what = if self.is_running { &ACTIVE } else { &QUEUED };
        what.add(&[(TOOL, &self.tool)], -1);
        self.change_number(|number| number.saturating_sub(1));
    }
}
