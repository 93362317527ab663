//! Runs the tasks that wait in a store that outlives the process: tasks for which their process had no room, tasks
//! whose process has died or stopped, and tasks whose questions have been answered.
//!
//! A process leases only what it runs. It claims a task when it has a permit for another one, so that the store's due
//! tasks are a queue that all processes share. The store decides which caller's turn it is.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use mcp_core::context::ServerHandle;
use mcp_core::sync::{CancellationToken, lock};
use mcp_stores::{ClaimExceptions, NOT_STARTED_AGAIN, StoredTask, TaskClaim};
use tokio::time::{Instant, sleep};

use crate::TaskCallExt as _;
use crate::run_queue::TaskPermit;
use crate::running::{AttemptEnd, AttemptStart};
use crate::service::{LocalTask, SEALED, TaskMetrics, TaskService};

/// Maximum time between two queries to the store, which is limited because not every store tells when another process
/// gives back a task.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// Time before the first retry when a store fails. The time doubles with each failure.
const FIRST_RETRY: Duration = Duration::from_millis(50);
/// The key under which due tasks take turns with calls that become tasks while they run. No caller has this key.
const STORE: &str = "\0due";

impl TaskService {
    /// Claims due tasks until the server stops, each when there is room for it.
    pub(super) async fn claim_tasks(self: Arc<Self>, server: ServerHandle) {
        let store = Arc::from(STORE);
        let mut stopping = pin!(server.stopping());
        let mut retry = FIRST_RETRY;
        let mut last_asked = (Instant::now(), SystemTime::now());
        loop {
            let turn = tokio::select! {
                biased;
                () = &mut stopping => return,
                turn = self.queue.turn(&store) => turn,
            };
            let Some(room) = turn.take() else { continue };
            let passed = last_asked.1.elapsed().unwrap_or_default();
            let was_suspended = passed > last_asked.0.elapsed() + self.limits.lease / 3;
            last_asked = (Instant::now(), SystemTime::now());
            if was_suspended {
                // The machine was asleep or its clock was set forward, so the leases of running tasks have lapsed. The
                // other processes are given time to renew theirs first.
                drop(room);
                tokio::select! {
                    biased;
                    () = &mut stopping => return,
                    () = sleep(self.limits.lease / 2) => {}
                }
                last_asked = (Instant::now(), SystemTime::now());
                continue;
            }
            // This is not dropped when the server stops, because the task might already have been claimed.
            let except = ClaimExceptions::new(
                self.local.acquired(),
                lock(&self.busy_tools).iter().cloned().collect(),
            );
            let wait = match self.store.claim_due(self.limits.lease, &except).await {
                Ok(TaskClaim::Claimed(task)) => {
                    retry = FIRST_RETRY;
                    self.has_backlog.store(true, Ordering::Relaxed);
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
                    self.go_on(task, &server, room);
                    continue;
                }
                Ok(TaskClaim::Wait(wait)) => {
                    retry = FIRST_RETRY;
                    self.has_backlog.store(false, Ordering::Relaxed);
                    wait.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT)
                }
                Err(error) => {
                    tracing::warn!(%error, "due tasks cannot be claimed from the task store");
                    let wait = retry;
                    retry = retry.saturating_mul(2).min(LONGEST_WAIT);
                    wait
                }
            };
            drop(room);
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

    /// Runs a task that this process has claimed, if its tool can run once more.
    fn go_on(self: &Arc<Self>, task: StoredTask, server: &ServerHandle, room: TaskPermit) {
        let local = match self.restore(&task, server) {
            Ok(local) => local,
            Err(reason) => {
                tracing::error!(task = ?task.id, tool = &*task.tool, reason, "a task cannot continue");
                let (service, handle) = (Arc::clone(self), server.clone());
                server.spawn(async move {
                    let end = AttemptEnd::failed(reason);
                    service.record_for_sure(&task, end, &handle).await;
                    drop(room);
                });
                return;
            }
        };
        let start = if !self.pause_before(&task).is_zero() {
            // It waits for its turn after the pause, so that others can run in the meantime.
            AttemptStart::Queued
        } else if let Some(tool) = local.call.try_permit() {
            AttemptStart::Permitted(tool, room)
        } else {
            lock(&self.busy_tools).insert(Arc::clone(&task.tool));
            let service = Arc::clone(self);
            server.spawn(async move { service.wait_for_tool(task, local).await });
            return;
        };
        if self.local.insert(&task.id, local.clone()) {
            self.start(task, local, start);
        } else {
            let service = Arc::clone(self);
            server.spawn(async move { service.give_back(&task).await });
        }
    }

    /// Gives a task back because its tool is running as often as it can, and runs it once a permit is available, unless
    /// another process has been faster. Until then, this process claims no task of the tool.
    async fn wait_for_tool(self: Arc<Self>, task: StoredTask, mut local: LocalTask) {
        self.give_back(&task).await;
        let tool = tokio::select! {
            biased;
            () = local.server.stopping() => return,
            tool = local.call.permit() => tool,
        };
        let room = self.queue.try_acquire();
        let claimed = match &room {
            Some(_) => self.store.claim(&task.id, self.limits.lease).await,
            None => Ok(None),
        };
        lock(&self.busy_tools).remove(&task.tool);
        match (room, claimed) {
            (Some(room), Ok(Some(task))) => {
                local.attempt = task.attempt;
                if self.local.insert(&task.id, local.clone()) {
                    self.start(task, local, AttemptStart::Permitted(tool, room));
                } else {
                    self.give_back(&task).await;
                }
            }
            // Another task of this tool may run.
            (_, claimed) => {
                if let Err(error) = claimed {
                    tracing::warn!(%error, "a task cannot be claimed from the task store");
                }
                drop(tool);
                self.due.notify_one();
            }
        }
    }

    /// Returns a claimed task with its call, or the reason why the task cannot continue.
    fn restore(&self, task: &StoredTask, server: &ServerHandle) -> Result<LocalTask, String> {
        // The process that received the call still has everything that belongs to its request.
        let waiting = self.local.get(&task.id);
        if task.is_sealed {
            return Err(SEALED.to_owned());
        }
        let call = match waiting {
            Some(waiting) => waiting.call,
            None => server.restore_call(&task.call)?,
        };
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
