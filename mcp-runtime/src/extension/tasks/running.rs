//! Runs tasks and records how they end.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::ErrorObject;
use crate::context::ServerHandle;
use crate::extension::tasks::handover::BegunRun;
use crate::extension::tasks::latest_report::LatestReport;
use crate::extension::tasks::leases::LeaseEnd;
use crate::extension::tasks::local::LocalTask;
use crate::extension::tasks::metrics::AttemptRecording;
use crate::extension::tasks::run_end::RunEnd;
use crate::extension::tasks::run_queue::TaskPermit;
use crate::extension::tasks::service::{StoreError, TaskService};
use crate::extension::tasks::state::TaskState;
use crate::extension::tasks::task_steps::TaskSteps;
use crate::extension::{BackgroundOutcome, BackgroundPermit, BackgroundRun};
use crate::handler::background::{AttachedEnd, OwnSteps};
use crate::handler::handler_error::Result;
use crate::panics;
use crate::stores::{StoredTask, TaskChange, TaskChanged, TaskId, TaskStatus};

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
        let ended = poll_fn(|cx| match panics::catch(|| running.as_mut().poll(cx)) {
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
    fn resume_later(self: &Arc<Self>, id: TaskId, local: LocalTask, error: &StoreError) {
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
                AttachedEnd::Detached(outcome) => AttemptEnd::Ended(outcome),
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
