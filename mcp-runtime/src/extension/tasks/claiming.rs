//! Continues tasks that no process is running: tasks whose process has died or stopped, and tasks whose questions have
//! been answered.
//!
//! Tasks are claimed only from a store whose tasks outlive the process.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

use crate::cancellation::CancellationToken;
use crate::context::ServerHandle;
use crate::extension::tasks::local::LocalTask;
use crate::extension::tasks::running::AttemptEnd;
use crate::extension::tasks::service::TaskService;
use crate::stores::{StoredTask, TaskClaim};
use crate::telemetry::TaskMetrics;

/// Maximum time between two queries to the store, which is limited because not every store tells when another process
/// gives back a task.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// The end of the error message for a task that was started too many times.
pub(crate) const NOT_STARTED_AGAIN: &str = "it is not started again";
/// Time before the first retry when a store fails. The time doubles with each failure.
const FIRST_RETRY: Duration = Duration::from_millis(50);

impl TaskService {
    /// Claims due tasks until the server stops, but only slightly more of them than can run at the same time.
    pub(super) async fn claim_tasks(self: Arc<Self>, server: ServerHandle) {
        // This is more than can run, because some tasks wait for their tool or their caller's turn and must not hold up
        // other tasks.
        let max = self.limits.max_running;
        let max = max.saturating_add(self.limits.max_per_caller);
        let max = max.clamp(1, Semaphore::MAX_PERMITS);
        let room = Arc::new(Semaphore::new(max));
        let mut stopping = pin!(server.stopping());
        let mut retry = FIRST_RETRY;
        let mut last_asked = (Instant::now(), SystemTime::now());
        loop {
            let permit = tokio::select! {
                biased;
                () = &mut stopping => return,
                permit = Arc::clone(&room).acquire_owned() => permit,
            };
            // The semaphore is never closed.
            let Ok(permit) = permit else { return };
            let passed = last_asked.1.elapsed().unwrap_or_default();
            let was_suspended = passed > last_asked.0.elapsed() + self.limits.lease / 3;
            last_asked = (Instant::now(), SystemTime::now());
            if was_suspended {
                // The machine was asleep or its clock was set forward, so the leases of running tasks have lapsed,
                // including those held by this process. The processes are given time to renew their leases first.
                drop(permit);
                tokio::select! {
                    biased;
                    () = &mut stopping => return,
                    () = sleep(self.limits.lease / 2) => {}
                }
                last_asked = (Instant::now(), SystemTime::now());
                continue;
            }
            // This is not dropped when the server stops, because the task might already have been claimed.
            let wait = match self.store.claim_due(self.limits.lease).await {
                Ok(TaskClaim::Claimed(task)) => {
                    retry = FIRST_RETRY;
                    let stopped = tokio::select! {
                        biased;
                        () = &mut stopping => true,
                        () = std::future::ready(()) => false,
                    };
                    if stopped {
                        return self.give_back(&task).await;
                    }
                    // Tries are not counted if the task was given back, parked or retried afterward.
                    if task.tries > 1 {
                        TaskMetrics::count_lapsed(&task.tool);
                    }
                    self.go_on(task, &server, permit);
                    continue;
                }
                Ok(TaskClaim::Wait(wait)) => {
                    retry = FIRST_RETRY;
                    wait.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT)
                }
                Err(error) => {
                    tracing::warn!(%error, "due tasks cannot be claimed from the task store");
                    let wait = retry;
                    retry = retry.saturating_mul(2).min(LONGEST_WAIT);
                    wait
                }
            };
            drop(permit);
            tokio::select! {
                biased;
                () = &mut stopping => return,
                () = self.due.notified() => {}
                () = self.released() => {}
                () = sleep(wait) => {}
            }
        }
    }

    /// Waits until another process has given back a task, if the store can tell.
    async fn released(&self) {
        if let Err(error) = self.store.released().await {
            tracing::debug!(%error, "the task store does not tell of tasks that are given back");
            std::future::pending::<()>().await;
        }
    }

    /// Runs a task that this process has claimed.
    fn go_on(
        self: &Arc<Self>,
        task: StoredTask,
        server: &ServerHandle,
        room: OwnedSemaphorePermit,
    ) {
        let (service, handle) = (Arc::clone(self), server.clone());
        server.spawn(async move {
            let _room = room;
            match service.restore(&task, &handle) {
                Ok(local) => {
                    if service.local.insert(&task.id, local.clone()) {
                        service.run_attempt(&task, &local, None).await;
                    } else {
                        service.give_back(&task).await;
                    }
                }
                Err(reason) => {
                    tracing::error!(task = ?task.id, tool = &*task.tool, reason, "a task cannot continue");
                    let end = AttemptEnd::failed(reason);
                    service.record_for_sure(&task, end, &handle).await;
                }
            }
        });
    }

    /// Returns a task's call, or the reason why the task cannot continue.
    fn restore(&self, task: &StoredTask, server: &ServerHandle) -> Result<LocalTask, String> {
        let call = server.restore_call(&task.call)?;
        let options = call.task_options();
        let max = options.and_then(|options| options.attempts);
        let max = max.unwrap_or(self.limits.max_attempts).max(1);
        if task.tries > max {
            let times = match max {
                1 => "once, and its process".to_owned(),
                max => format!("{max} times without getting further, and each time its process"),
            };
            return Err(format!(
                "the task was started {times} died or lost it; {NOT_STARTED_AGAIN}"
            ));
        }
        let age = SystemTime::now()
            .duration_since(task.created_at)
            .unwrap_or_default();
        let now = Instant::now();
        let left = task.ttl.saturating_sub(age);
        Ok(LocalTask {
            call,
            server: server.clone(),
            attempt: task.attempt,
            expires: now.checked_add(left).unwrap_or(now),
            cancel: CancellationToken::default(),
        })
    }
}
