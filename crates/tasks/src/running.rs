//! Runs tasks and records how they end.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use mcp_core::context::{
    ClaimId, OnceClaim, OnceStore, OnceWork, OwnSteps, Progress, ServerHandle, StoreFuture,
};
use mcp_core::error::BoxError;
use mcp_core::extension::{BackgroundOutcome, BackgroundPermit, BackgroundQuestion, BackgroundRun};
use mcp_core::handler::background::{AttachedEnd, AttachedFuture, WaitingRequest};
use mcp_core::handler::handler_error::{HandlerError, Result};
use mcp_core::spawn;
use mcp_core::sync::lock;
use mcp_protocol::jsonrpc::ErrorObject;
use mcp_stores::{NewTask, StoredTask, TaskChange, TaskChanged, TaskId, TaskOutcome, TaskStatus};
use tokio::sync::{Mutex as AsyncMutex, Notify, oneshot};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::Instrument as _;

use crate::leases::LeaseEnd;
use crate::run_queue::TaskPermit;
use crate::service::{AttemptRecording, LocalTask, TaskService, TaskSteps, unavailable};
use crate::wire::TaskState;

/// Maximum time to keep trying to record the end of a run when the store fails.
const RECORDING: Duration = Duration::from_mins(1);

/// Time before the first retry when a store fails. The time doubles with each failure.
const FIRST_RETRY: Duration = Duration::from_millis(50);

/// Maximum time between two attempts, in addition to the lease.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Minimum time between two status messages of a task.
const MESSAGE_INTERVAL: Duration = Duration::from_millis(250);

/// The status message of a task whose time to live has elapsed.
pub(super) const EXPIRED: &str = "its time to live has elapsed";

/// The end of an attempt.
pub(super) enum AttemptEnd {
    Ended(BackgroundOutcome),
    /// The server is stopping, and the time allowed for tasks to end has passed.
    Stopped,
    /// The time to live has expired.
    Expired,
    /// The lease could not be renewed in time.
    Lapsed,
    /// The task was cancelled or another attempt holds its lease, so this attempt must not record anything.
    Lost,
}

impl AttemptEnd {
    /// Returns the end of an attempt that cannot run, with a reason that the client may read.
    pub(super) fn failed(reason: impl Into<String>) -> Self {
        Self::Ended(BackgroundOutcome::Failed(ErrorObject::internal(
            reason.into(),
        )))
    }

    fn panicked(panic: &str) -> Self {
        tracing::error!(panic, "a run of a task panicked");
        Self::Ended(BackgroundOutcome::Failed(ErrorObject::internal(
            "internal error",
        )))
    }
}

impl From<LeaseEnd> for AttemptEnd {
    fn from(end: LeaseEnd) -> Self {
        match end {
            LeaseEnd::Taken => Self::Lost,
            LeaseEnd::Lapsed => Self::Lapsed,
        }
    }
}

/// How an attempt starts.
pub(super) enum AttemptStart {
    /// It waits for its turn in this process.
    Queued,
    /// It has the permits of its tool and of the process.
    Permitted(BackgroundPermit, TaskPermit),
    /// It continues a run.
    Begun(BegunRun),
}

impl TaskService {
    /// Runs a task whose lease this process holds.
    pub(super) fn start(self: &Arc<Self>, task: StoredTask, local: LocalTask, start: AttemptStart) {
        let (service, server) = (Arc::clone(self), local.server.clone());
        server.spawn(async move { service.run_attempt(&task, &local, start).await });
    }

    /// Runs an attempt to completion and records how it ended.
    async fn run_attempt(
        self: &Arc<Self>,
        task: &StoredTask,
        local: &LocalTask,
        start: AttemptStart,
    ) {
        let recording = self.metrics.enqueue(&task.tool, task.created_at);
        let mut running = Box::pin(self.attempt(task, local, start, recording));
        let ended = poll_fn(|cx| match spawn::catch(|| running.as_mut().poll(cx)) {
            Ok(polled) => polled,
            // A store can panic. Panics in handlers and middleware are caught inside the run.
            Err(panic) => Poll::Ready(AttemptEnd::panicked(&panic)),
        });
        let ended = ended.await;
        drop(running);
        self.record_for_sure(task, ended, &local.server).await;
        if self.store.outlives_process() {
            self.local.end(&task.id, task.attempt);
        }
    }

    /// Runs a task again after its questions have been answered, unless another request has already done so.
    pub(super) async fn resume(self: &Arc<Self>, id: &TaskId) {
        if self.store.outlives_process() {
            self.due.notify_one();
        } else if let Some(local) = self.local.get(id) {
            match self.store.claim(id, self.limits.lease).await {
                Ok(Some(task)) => self.start(task, local, AttemptStart::Queued),
                Ok(None) => {}
                Err(error) => self.resume_later(id.clone(), local, &error),
            }
        }
    }

    /// Retries claiming a task until the store works again or has failed for too long.
    fn resume_later(self: &Arc<Self>, id: TaskId, local: LocalTask, error: &BoxError) {
        tracing::warn!(task = ?id, %error, "a task cannot be claimed now; the claim will be retried later");
        let (service, server) = (Arc::clone(self), local.server.clone());
        server.spawn(async move {
            let until = Instant::now() + RECORDING;
            let mut wait = FIRST_RETRY;
            loop {
                sleep(wait).await;
                match service.store.claim(&id, service.limits.lease).await {
                    Ok(Some(task)) => {
                        let start = AttemptStart::Queued;
                        return service.run_attempt(&task, &local, start).await;
                    }
                    Ok(None) => return,
                    Err(error) if Instant::now() >= until => {
                        tracing::error!(task = ?id, %error, "a task cannot be claimed; it will not continue");
                        return service.local.end(&id, u64::MAX);
                    }
                    Err(_) => wait = wait.saturating_mul(2).min(service.limits.lease / 6),
                }
            }
        });
    }

    async fn attempt(
        self: &Arc<Self>,
        task: &StoredTask,
        local: &LocalTask,
        start: AttemptStart,
        mut recording: AttemptRecording,
    ) -> AttemptEnd {
        let run = async {
            let permits = match start {
                AttemptStart::Begun(begun) => {
                    recording.begin();
                    return self.finish(task, local, begun).await;
                }
                AttemptStart::Permitted(tool, process) => Some((tool, process)),
                AttemptStart::Queued => self.wait_for_turn(task, local).await,
            };
            let Some((tool, _process)) = permits else {
                return AttemptEnd::Stopped;
            };
            recording.begin();
            self.run(task, local, tool).await
        };
        let holding = self.leases.hold(&task.id, task.attempt, &local.server);
        let mut lease = holding.await;
        let stopped = async {
            local.server.stopping().await;
            sleep(self.drain).await;
        };
        tokio::select! {
            biased;
            () = local.cancel.cancelled() => AttemptEnd::Lost,
            ended = run => ended,
            ended = lease.lost() => ended.into(),
            () = sleep_until(local.expires) => AttemptEnd::Expired,
            () = stopped => AttemptEnd::Stopped,
        }
    }

    /// Waits for an attempt's permits from its tool and from the process. Returns `None` if the server stops first and
    /// another process can start the task.
    async fn wait_for_turn(
        &self,
        task: &StoredTask,
        local: &LocalTask,
    ) -> Option<(BackgroundPermit, TaskPermit)> {
        let waiting = async {
            sleep(self.pause_before(task)).await;
            self.permits(task, local).await
        };
        let stopped = async {
            if !self.store.outlives_process() {
                return std::future::pending().await;
            }
            local.server.stopping().await;
        };
        tokio::select! {
            biased;
            () = stopped => None,
            permits = waiting => Some(permits),
        }
    }

    async fn run(
        &self,
        task: &StoredTask,
        local: &LocalTask,
        permit: BackgroundPermit,
    ) -> AttemptEnd {
        let Some(mut state) = TaskState::read(&task.state) else {
            return AttemptEnd::failed("the state of the task cannot be read");
        };
        let reports = Arc::new(LatestReport::default());
        let latest = Arc::clone(&reports);
        let steps = TaskSteps {
            store: Arc::clone(&self.store),
            id: task.id.clone(),
            attempt: task.attempt,
        };
        let run = BackgroundRun::new(&*state.journal)
            .answers(state.take_answers())
            .own_steps(OwnSteps {
                store: Arc::new(steps),
                suffice: Arc::new(AtomicBool::new(state.is_first)),
            })
            .permit(permit)
            .keep_results_for(local.expires.saturating_duration_since(Instant::now()))
            .on_progress(move |progress| latest.set(progress));
        tokio::select! {
            biased;
            outcome = local.call.run(run) => AttemptEnd::Ended(outcome),
            never = self.write_status_messages(task, local, &reports) => never,
        }
    }

    /// Continues a run that began while its request was waiting.
    async fn finish(&self, task: &StoredTask, local: &LocalTask, begun: BegunRun) -> AttemptEnd {
        let BegunRun {
            running,
            reports,
            room: _room,
            ..
        } = begun;
        tokio::select! {
            biased;
            end = running => match end {
                AttachedEnd::Background(outcome) => AttemptEnd::Ended(outcome),
                _ => AttemptEnd::failed("internal error"),
            },
            never = self.write_status_messages(task, local, &reports) => never,
        }
    }

    /// Waits until the task can run, and returns the permits from its tool and from the process.
    async fn permits(
        &self,
        task: &StoredTask,
        local: &LocalTask,
    ) -> (BackgroundPermit, TaskPermit) {
        loop {
            let turn = self.queue.turn(&task.owner).await;
            let Some(tool) = local.call.try_permit() else {
                drop(turn);
                let tool = local.call.permit().await;
                match self.queue.try_acquire() {
                    Some(process) => return (tool, process),
                    None => continue,
                }
            };
            if let Some(process) = turn.take() {
                return (tool, process);
            }
        }
    }

    /// Returns the time to wait before an attempt, which grows with the number of lost attempts.
    pub(super) fn pause_before(&self, task: &StoredTask) -> Duration {
        match task.tries.checked_sub(2) {
            None => Duration::ZERO,
            Some(lost) => {
                let pause = self.limits.lease / 30;
                pause.saturating_mul(1 << lost.min(10)).min(LONGEST_PAUSE)
            }
        }
    }

    /// Writes each new progress report to the task. Never returns.
    async fn write_status_messages<T>(
        &self,
        task: &StoredTask,
        local: &LocalTask,
        reports: &LatestReport,
    ) -> T {
        loop {
            let message = reports.next().await;
            let written = self.change(&task.id, &local.server, |latest| {
                let is_own = latest.attempt == task.attempt && latest.status == TaskStatus::Working;
                is_own.then(|| TaskChange::to(TaskStatus::Working).message(&*message))
            });
            if let Err(error) = written.await {
                tracing::warn!(?error, "a task's status message cannot be written");
            }
            sleep(MESSAGE_INTERVAL).await;
        }
    }

    /// Records how an attempt has ended. If the store fails, it is given some time to recover; in the meantime, the
    /// attempt keeps its lease.
    pub(super) async fn record_for_sure(
        &self,
        task: &StoredTask,
        ended: AttemptEnd,
        server: &ServerHandle,
    ) {
        let (id, attempt) = (&task.id, task.attempt);
        let end = match ended {
            AttemptEnd::Lost => return,
            // The task will be claimed by another process, or by this process when the store works again.
            AttemptEnd::Lapsed if self.store.outlives_process() => return,
            AttemptEnd::Lapsed => RunEnd::failed(&ErrorObject::internal(
                "the task store was unreachable for too long",
            )),
            AttemptEnd::Stopped if self.store.outlives_process() => {
                return self.give_back(task).await;
            }
            AttemptEnd::Expired => RunEnd::Cancelled(EXPIRED),
            AttemptEnd::Stopped => {
                RunEnd::Cancelled("the server was stopped before the task ended")
            }
            AttemptEnd::Ended(outcome) => RunEnd::of(outcome),
        };
        let until = Instant::now() + RECORDING;
        let mut wait = FIRST_RETRY;
        loop {
            let error = match self.record(id, attempt, &end, server).await {
                Ok(()) => return,
                Err(error) if Instant::now() + wait >= until => {
                    tracing::error!(task = ?id, ?error, "cannot record how a task's run ended");
                    return self.local.end(id, attempt);
                }
                Err(error) => error,
            };
            tracing::warn!(task = ?id, ?error, "cannot yet record how a task's run ended; retrying later");
            sleep(wait).await;
            wait = wait.saturating_mul(2).min(self.limits.lease / 6);
            // If this also fails, the next attempt to record the end will detect the failure.
            let _ = timeout(
                self.limits.lease / 6,
                self.store.renew(id, attempt, self.limits.lease),
            )
            .await;
        }
    }

    /// Gives back an attempt's lease, so that another process can start the task immediately.
    pub(super) async fn give_back(&self, task: &StoredTask) {
        let released = self.store.release(&task.id, task.attempt, Duration::ZERO);
        match timeout(self.limits.lease / 3, released).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(task = ?task.id, %error, "a task's lease cannot be released; it will lapse");
            }
            Err(_) => {
                tracing::warn!(task = ?task.id, "the task store is slow; a task's lease will lapse");
            }
        }
    }

    async fn record(
        &self,
        id: &TaskId,
        attempt: u64,
        end: &RunEnd,
        server: &ServerHandle,
    ) -> Result<()> {
        let change = |task: &StoredTask| {
            (task.attempt == attempt).then(|| end.change(task, self.limits.max_state_bytes))
        };
        let recorded = self.change(id, server, change).await?;
        if !matches!(recorded, TaskChanged::Full) {
            return Ok(());
        }
        // A store that has no room for the outcome still has room to record the end itself.
        let full = RunEnd::failed(&ErrorObject::internal("the task is too large to keep"));
        let change = |task: &StoredTask| {
            (task.attempt == attempt).then(|| full.change(task, usize::MAX).state(""))
        };
        self.change(id, server, change).await.map(drop)
    }
}

// --- The change that records the end of a task's run.

/// A change that ends a run.
enum RunEnd {
    Cancelled(&'static str),
    Completed(TaskOutcome),
    /// The run failed, with this message and error.
    Failed(Arc<str>, TaskOutcome),
    Asks {
        journal: String,
        questions: Vec<BackgroundQuestion>,
    },
}

impl RunEnd {
    pub(super) fn of(outcome: BackgroundOutcome) -> Self {
        match outcome {
            BackgroundOutcome::Done { result, is_error } => {
                let json = Arc::from(Box::<str>::from(result));
                Self::Completed(TaskOutcome::Result { json, is_error })
            }
            BackgroundOutcome::Failed(error) => Self::failed(&error),
            BackgroundOutcome::InputRequired { journal, questions } => {
                Self::Asks { journal, questions }
            }
        }
    }

    pub(super) fn failed(error: &ErrorObject) -> Self {
        let json = serde_json::to_string(error).unwrap_or_default().into();
        Self::Failed((&*error.message).into(), TaskOutcome::Error { json })
    }

    pub(super) fn change(&self, task: &StoredTask, max_state_bytes: usize) -> TaskChange {
        match self {
            Self::Cancelled(why) => {
                without_state(TaskChange::to(TaskStatus::Cancelled)).message(*why)
            }
            Self::Completed(outcome) => {
                let completed = TaskChange::to(TaskStatus::Completed).outcome(outcome.clone());
                match outcome {
                    TaskOutcome::Result { is_error: true, .. } => for_retries(completed, task),
                    _ => without_state(completed),
                }
            }
            Self::Failed(message, outcome) => {
                let failed = TaskChange::to(TaskStatus::Failed)
                    .message(Arc::clone(message))
                    .outcome(outcome.clone());
                for_retries(failed, task)
            }
            Self::Asks { journal, questions } => {
                let mut state = TaskState::read(&task.state).unwrap_or_default();
                state.ask(journal.clone(), questions.clone());
                let state = state.to_text();
                if state.len() > max_state_bytes {
                    let text = format!(
                        "the state that this task keeps between two runs is {} bytes, but the maximum is {max_state_bytes}",
                        state.len()
                    );
                    let error = ErrorObject::internal(text);
                    return Self::failed(&error).change(task, max_state_bytes);
                }
                TaskChange::to(TaskStatus::InputRequired).state(state)
            }
        }
    }
}

/// Lets a failed task keep its journal and its answers, so that operators can retry it, if the store has its call.
fn for_retries(change: TaskChange, task: &StoredTask) -> TaskChange {
    if task.call.is_empty() {
        without_state(change)
    } else {
        change
    }
}

/// Drops the journal and the answers, which are never read again.
fn without_state(change: TaskChange) -> TaskChange {
    change.state("")
}

// --- Turns a call into a task when its request has waited long enough. The call may already be running.

/// A run that was started while its request was waiting.
pub(super) struct BegunRun {
    pub(super) running: AttachedFuture,
    pub(super) request: WaitingRequest,
    pub(super) reports: Arc<LatestReport>,
    /// The process's permit, once the run has obtained it.
    pub(super) room: Option<TaskPermit>,
}

/// The parts of a call that become part of the task.
pub(super) struct Handover {
    pub(super) task: NewTask,
    pub(super) local: LocalTask,
    pub(super) steps: Arc<CallSteps>,
    /// `None` if the call is still waiting for its tool's permit.
    pub(super) begun: Option<BegunRun>,
}

impl TaskService {
    /// Turns a call into a task and continues its run. Returns the run if there is no room for the task.
    ///
    /// Once started, this function runs to completion even if the request is dropped. At the end, either the request
    /// knows about the task or no task exists.
    pub(super) async fn hand_over(
        self: &Arc<Self>,
        handover: Handover,
    ) -> Result<std::result::Result<StoredTask, Option<BegunRun>>> {
        let (sender, receiver) = oneshot::channel();
        let service = Arc::clone(self);
        let work = async move {
            let Handover {
                task,
                local,
                steps,
                begun,
            } = handover;
            match service.keep(task, &local, &steps).await {
                Ok(task) => {
                    if let Some(begun) = &begun {
                        begun.request.leave();
                    }
                    if sender.send(Ok(task.clone())).is_ok() {
                        service.go_on_apart(task, local, begun);
                    } else {
                        // The run is cancelled like any call whose request has been dropped.
                        drop(begun);
                        service.discard(&task, &local).await;
                    }
                }
                Err(error) => {
                    tracing::warn!(
                        ?error,
                        "a call cannot continue in the background; its client has to wait longer"
                    );
                    drop(sender.send(Err(begun)));
                }
            }
        };
        tokio::spawn(work.in_current_span());
        receiver.await.map_err(HandlerError::opaque)
    }

    /// Continues a call whose request has been answered.
    fn go_on_apart(self: &Arc<Self>, task: StoredTask, local: LocalTask, begun: Option<BegunRun>) {
        match begun {
            Some(begun) => self.start(task, local, AttemptStart::Begun(begun)),
            // The call has waited for its tool, and does not hold a lease while it goes on waiting.
            None if self.store.outlives_process() => self.leave_waiting(task, local),
            None => self.start(task, local, AttemptStart::Queued),
        }
    }

    /// Stores a task with the steps that its call has completed.
    async fn keep(
        self: &Arc<Self>,
        mut task: NewTask,
        local: &LocalTask,
        steps: &CallSteps,
    ) -> Result<StoredTask> {
        // Until the store contains the steps, other processes must not run the task, even if this process dies.
        task.lease = task.ttl;
        let task = self.add(task, local).await?;
        let own = TaskSteps {
            store: Arc::clone(&self.store),
            id: task.id.clone(),
            attempt: task.attempt,
        };
        let kept = async {
            steps.move_to(own).await?;
            self.store
                .renew(&task.id, task.attempt, self.limits.lease)
                .await
        };
        match kept.await {
            Ok(true) => Ok(task),
            Ok(false) => Err(HandlerError::opaque("a new task has lost its lease")),
            Err(error) => {
                self.discard(&task, local).await;
                Err(unavailable(error))
            }
        }
    }

    /// Ends a task that the client does not know about.
    async fn discard(&self, task: &StoredTask, local: &LocalTask) {
        let discarded = self.change(&task.id, &local.server, |_| {
            Some(TaskChange::to(TaskStatus::Cancelled).state(""))
        });
        if let Err(error) = discarded.await {
            tracing::warn!(
                ?error,
                "a task that was never reported to its client cannot be cancelled"
            );
        }
        self.local.end(&task.id, u64::MAX);
    }
}

// --- A handler's latest progress report.

/// The latest progress report, as a status message.
#[derive(Default)]
pub(super) struct LatestReport {
    message: Mutex<Option<String>>,
    set: Notify,
}

impl LatestReport {
    pub(super) fn set(&self, progress: &Progress) {
        let Progress {
            progress,
            total,
            message,
            ..
        } = progress;
        let message = match (message, total) {
            (Some(message), Some(total)) => format!("{message} ({progress} of {total})"),
            (Some(message), None) => message.clone(),
            (None, Some(total)) => format!("{progress} of {total}"),
            (None, None) => progress.to_string(),
        };
        *lock(&self.message) = Some(message);
        self.set.notify_one();
    }

    /// Waits for a report that has not been returned yet.
    pub(super) async fn next(&self) -> String {
        loop {
            if let Some(message) = lock(&self.message).take() {
                return message;
            }
            self.set.notified().await;
        }
    }
}

// --- The results of `once` in a call that may outlive its request.

/// A call's steps, which are kept in memory while its request is waiting and in its task from then on.
pub(super) struct CallSteps {
    place: AsyncMutex<StepPlace>,
    is_first: bool,
    suffice: Arc<AtomicBool>,
}

enum StepPlace {
    /// The steps, keyed by name.
    Call(BTreeMap<String, CallStep>),
    Task(Arc<TaskSteps>),
}

/// A step. Without a result, it has begun but has not been completed.
struct CallStep {
    claim: ClaimId,
    result: Option<String>,
}

impl CallSteps {
    /// Creates the steps for a call in its first request or in a later round. While the request is waiting, its client
    /// may receive a state if it `can_receive_state`; the server's store must then contain the steps as well.
    pub(super) fn new(is_first: bool, can_receive_state: bool) -> Self {
        Self {
            place: AsyncMutex::new(StepPlace::Call(BTreeMap::new())),
            is_first,
            suffice: Arc::new(AtomicBool::new(is_first && !can_receive_state)),
        }
    }

    /// Returns `true` if the call is in its first request.
    pub(super) const fn is_first(&self) -> bool {
        self.is_first
    }

    /// Returns these steps as the store for a run.
    pub(super) fn for_run(self: &Arc<Self>) -> OwnSteps {
        OwnSteps {
            store: Arc::<Self>::clone(self),
            suffice: Arc::clone(&self.suffice),
        }
    }

    /// Moves all steps to a task, which keeps them from then on. No step begins or ends during the move. If the store
    /// fails, the steps remain here.
    async fn move_to(&self, task: TaskSteps) -> Result<(), BoxError> {
        let place = &mut *self.place.lock().await;
        let StepPlace::Call(steps) = place else {
            return Err("the steps have already been moved".into());
        };
        for (name, step) in steps {
            task.claim(name, step.claim).await?;
            if let Some(result) = &step.result {
                task.record(name, result).await?;
            }
        }
        *place = StepPlace::Task(Arc::new(task));
        // The request no longer waits, so its client will not receive a state.
        self.suffice.store(self.is_first, Ordering::Release);
        Ok(())
    }
}

impl OnceStore for CallSteps {
    fn begin<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, OnceClaim> {
        Box::pin(async move {
            let task = match &mut *self.place.lock().await {
                StepPlace::Call(steps) => {
                    let known = steps.get(work.name);
                    return Ok(match known.map(|step| (&step.result, step.claim)) {
                        Some((Some(result), _)) => OnceClaim::Done(result.clone()),
                        Some((None, claim)) if claim != work.claim => {
                            OnceClaim::Taken(String::new())
                        }
                        Some((None, _)) => OnceClaim::Granted,
                        None => {
                            let (claim, result) = (work.claim, None);
                            steps.insert(work.name.to_owned(), CallStep { claim, result });
                            OnceClaim::Granted
                        }
                    });
                }
                StepPlace::Task(task) => Arc::clone(task),
            };
            task.begin(work).await
        })
    }

    fn complete<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let task = match &mut *self.place.lock().await {
                StepPlace::Call(steps) => {
                    let (claim, result) = (work.claim, Some(result.to_owned()));
                    steps.insert(work.name.to_owned(), CallStep { claim, result });
                    return Ok(());
                }
                StepPlace::Task(task) => Arc::clone(task),
            };
            task.complete(work, result).await
        })
    }

    fn abandon<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let task = match &mut *self.place.lock().await {
                StepPlace::Call(steps) => {
                    let known = steps.get(work.name);
                    if known.is_some_and(|step| step.claim == work.claim) {
                        steps.remove(work.name);
                    }
                    return Ok(());
                }
                StepPlace::Task(task) => Arc::clone(task),
            };
            task.abandon(work).await
        })
    }
}
