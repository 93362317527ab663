//! Notifies the clients that listen to tasks of changes that other processes make to them.
//!
//! A task is watched as long as a client of this process listens to it. All of its notifications pass through its entry
//! here, so that a change is reported once even if this process has made it.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tokio::time::timeout;

use crate::context::{Caller, ServerHandle};
use crate::extension::tasks::names::CHANGED;
use crate::extension::tasks::service::{TaskService, announce};
use crate::lock::lock;
use crate::stores::{StoredTask, TaskId, TaskStatus};

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
    pub(super) fn is_news(&self, task: &StoredTask) -> bool {
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
