//! Runs tasks and records how they end.

use std::future::{Future as _, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use crate::ErrorObject;
use crate::backend::{
    StoredTask, TaskChange, TaskChanged, TaskId, TaskOutcome, TaskStatus, TaskStore,
};
use crate::context::{CallId, OnceClaim, OnceStore, Progress, StoreFuture};
use crate::extension::tasks::local::LocalTask;
use crate::extension::tasks::service::{TaskService, unavailable};
use crate::extension::tasks::state::TaskState;
use crate::extension::{BackgroundOutcome, BackgroundRun};
use crate::handler::handler_error::Result;
use crate::lock::lock;
use crate::panics;

/// Time for which a process that runs a task has it to itself. It is renewed whenever a third of it has passed.
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// Time for which a store that does not work is asked again to record the end of a run.
const RECORDING: Duration = Duration::from_mins(1);
/// Time until a store is asked again for the first time. It doubles with each failure.
const FIRST_RETRY: Duration = Duration::from_millis(50);
/// Shortest time between two status messages of a task.
const MESSAGE_INTERVAL: Duration = Duration::from_millis(250);

/// The end of an attempt.
enum Attempt {
    Ended(BackgroundOutcome),
    /// The server stops, and the time to end has passed.
    Stopped,
    /// The time to live has ended.
    Expired,
    /// The task was cancelled, or its lease was lost: this attempt has nothing to record.
    Lost,
}

impl Attempt {
    fn panicked(panic: &str) -> Self {
        tracing::error!(panic, "a run of a task panicked");
        Self::Ended(BackgroundOutcome::Failed(ErrorObject::internal(
            "internal error",
        )))
    }
}

impl TaskService {
    /// Runs a task of which this process has the lease.
    pub(super) fn start(self: &Arc<Self>, task: StoredTask, local: LocalTask) {
        let (service, server) = (Arc::clone(self), local.server.clone());
        server.spawn(async move {
            let id = task.id.clone();
            let attempt = task.attempt;
            let mut running = Box::pin(service.attempt(&task, &local));
            let ended = poll_fn(|cx| match panics::catch(|| running.as_mut().poll(cx)) {
                Ok(polled) => polled,
                // A store can panic; handlers and middleware are caught inside of the run.
                Err(panic) => Poll::Ready(Attempt::panicked(&panic)),
            });
            let ended = ended.await;
            drop(running);
            if let Err(error) = service.record_for_sure(&id, attempt, ended, &local).await {
                tracing::error!(task = ?id, ?error, "the end of a run of a task cannot be recorded");
                service.local.end(&id);
            }
        });
    }

    /// Runs a task again whose questions have been answered, unless another request does.
    pub(super) async fn resume(self: &Arc<Self>, id: &TaskId) -> Result<()> {
        if let Some(local) = self.local.get(id) {
            let claimed = self.store.claim(id, LEASE).await.map_err(unavailable)?;
            if let Some(task) = claimed {
                self.start(task, local);
            }
        }
        Ok(())
    }

    async fn attempt(&self, task: &StoredTask, local: &LocalTask) -> Attempt {
        let stopped = async {
            local.server.stopping().await;
            sleep(self.drain).await;
        };
        tokio::select! {
            biased;
            () = local.cancel.cancelled() => Attempt::Lost,
            outcome = self.run(task, local) => Attempt::Ended(outcome),
            () = self.keep_lease(task) => Attempt::Lost,
            () = sleep_until(local.expires) => Attempt::Expired,
            () = stopped => Attempt::Stopped,
        }
    }

    async fn run(&self, task: &StoredTask, local: &LocalTask) -> BackgroundOutcome {
        // A task that waits for its own tool must not keep the tasks of other tools waiting.
        let permit = local.call.permit().await;
        // The semaphore is never closed.
        let _running = Arc::clone(&self.permits).acquire_owned().await;
        let Some(mut state) = TaskState::read(&task.state) else {
            let error = ErrorObject::internal("the state of the task cannot be read");
            return BackgroundOutcome::Failed(error);
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
            .steps(Arc::new(steps))
            .permit(permit)
            .on_progress(move |progress| latest.set(progress));
        tokio::select! {
            biased;
            outcome = local.call.run(run) => outcome,
            never = self.write_messages(task, local, &reports) => never,
        }
    }

    /// Writes the latest report of progress into the task whenever there is a new one. Never returns.
    async fn write_messages<T>(
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
                tracing::warn!(?error, "a status message of a task cannot be written");
            }
            sleep(MESSAGE_INTERVAL).await;
        }
    }

    /// Renews the lease of an attempt. Returns when the attempt has lost it, or may have.
    async fn keep_lease(&self, task: &StoredTask) {
        let mut lapses = Instant::now() + LEASE;
        while Instant::now() < lapses {
            sleep(LEASE / 3).await;
            let started = Instant::now();
            let renewed = self.store.renew(&task.id, task.attempt, LEASE);
            match timeout_at(lapses.min(started + LEASE / 6), renewed).await {
                Ok(Ok(true)) => lapses = started + LEASE,
                Ok(Ok(false)) => return,
                // The store may work again before the lease lapses.
                Ok(Err(error)) => tracing::warn!(%error, "the lease of a task cannot be renewed"),
                Err(_) => {}
            }
        }
        tracing::error!(task = ?task.id, "the lease of a task has lapsed; its run is dropped");
    }

    /// Records how an attempt has ended. A store that does not work has some time to work again; meanwhile, the attempt
    /// keeps its lease.
    async fn record_for_sure(
        &self,
        id: &TaskId,
        attempt: u64,
        ended: Attempt,
        local: &LocalTask,
    ) -> Result<()> {
        let end = match ended {
            Attempt::Lost => return Ok(()),
            Attempt::Expired => End::Cancelled("its time to live has ended"),
            Attempt::Stopped => End::Cancelled("the server was stopped before the task had ended"),
            Attempt::Ended(outcome) => End::of(outcome),
        };
        let until = Instant::now() + RECORDING;
        let mut wait = FIRST_RETRY;
        loop {
            let error = match self.record(id, attempt, &end, local).await {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() + wait >= until => return Err(error),
                Err(error) => error,
            };
            tracing::warn!(task = ?id, ?error, "the end of a run of a task is recorded later");
            sleep(wait).await;
            wait = wait.saturating_mul(2).min(LEASE / 6);
            // If this fails as well, the next attempt to record tells.
            let _ = timeout(LEASE / 6, self.store.renew(id, attempt, LEASE)).await;
        }
    }

    async fn record(&self, id: &TaskId, attempt: u64, end: &End, local: &LocalTask) -> Result<()> {
        let change = |task: &StoredTask| {
            (task.attempt == attempt).then(|| end.change(task, self.limits.max_state_bytes))
        };
        let recorded = self.change(id, &local.server, change).await?;
        if !matches!(recorded, TaskChanged::Full) {
            return Ok(());
        }
        // A store without room for the outcome has room for the end itself.
        let full = End::failed(&ErrorObject::internal("the task is too large to keep"));
        let change = |task: &StoredTask| {
            (task.attempt == attempt).then(|| full.change(task, usize::MAX).state(""))
        };
        self.change(id, &local.server, change).await.map(drop)
    }
}

/// A change that ends a run.
enum End {
    Cancelled(&'static str),
    Completed(TaskOutcome),
    /// The message and the error.
    Failed(Arc<str>, TaskOutcome),
    Asks {
        journal: String,
        questions: Vec<crate::extension::BackgroundQuestion>,
    },
}

impl End {
    fn of(outcome: BackgroundOutcome) -> Self {
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

    fn failed(error: &ErrorObject) -> Self {
        let json = serde_json::to_string(error).unwrap_or_default().into();
        Self::Failed((&*error.message).into(), TaskOutcome::Error { json })
    }

    fn change(&self, task: &StoredTask, max_state_bytes: usize) -> TaskChange {
        match self {
            Self::Cancelled(why) => TaskChange::to(TaskStatus::Cancelled).message(*why),
            Self::Completed(outcome) => {
                TaskChange::to(TaskStatus::Completed).outcome(outcome.clone())
            }
            Self::Failed(message, outcome) => TaskChange::to(TaskStatus::Failed)
                .message(Arc::clone(message))
                .outcome(outcome.clone()),
            Self::Asks { journal, questions } => {
                let mut state = TaskState::read(&task.state).unwrap_or_default();
                state.ask(journal.clone(), questions.clone());
                let state = state.to_text();
                if state.len() > max_state_bytes {
                    let text = format!(
                        "the state of this task between two runs takes {} bytes; the maximum is {max_state_bytes}",
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

/// The latest report of progress, as a status message.
#[derive(Default)]
struct LatestReport {
    message: Mutex<Option<String>>,
    set: Notify,
}

impl LatestReport {
    fn set(&self, progress: &Progress) {
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

    async fn next(&self) -> String {
        loop {
            if let Some(message) = lock(&self.message).take() {
                return message;
            }
            self.set.notified().await;
        }
    }
}

/// The steps of one attempt, in the task's own journal.
struct TaskSteps {
    store: Arc<dyn TaskStore>,
    id: TaskId,
    attempt: u64,
}

impl OnceStore for TaskSteps {
    fn begin<'a>(&'a self, _: CallId, name: &'a str) -> StoreFuture<'a, OnceClaim> {
        self.store.begin_step(&self.id, self.attempt, name)
    }

    fn complete<'a>(&'a self, _: CallId, name: &'a str, result: &'a str) -> StoreFuture<'a, ()> {
        self.store
            .complete_step(&self.id, self.attempt, name, result)
    }

    fn abandon<'a>(&'a self, _: CallId, name: &'a str) -> StoreFuture<'a, ()> {
        self.store.abandon_step(&self.id, self.attempt, name)
    }
}
