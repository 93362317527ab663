//! Renews the leases of the attempts that this process runs, even while a handler blocks its thread.
//!
//! One keeper per process does this, so that a task that ends before its lease has to be renewed costs an entry in a
//! table.

use std::future::{Future, pending};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_core::context::ServerHandle;
use mcp_core::fnv::FnvMap;
use mcp_core::sync::lock;
use mcp_stores::{ExpiryOrder, TaskId, TaskStore};
use tokio::sync::{Notify, oneshot};
use tokio::task::{AbortHandle, JoinSet, yield_now};
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// The leases that this process renews.
pub(super) struct Leases {
    store: Arc<dyn TaskStore>,
    /// The duration of a lease.
    duration: Duration,
    table: Mutex<LeaseTable>,
    /// Notified if the keeper has to look at the table before a lease is due.
    attention: Notify,
}

#[derive(Default)]
struct LeaseTable {
    held: FnvMap<u64, HeldLease>,
    /// The times at which leases have to be renewed. A lease that is being renewed has none.
    due: ExpiryOrder<u64>,
    last_key: u64,
    keeper: Keeper,
}

struct HeldLease {
    id: TaskId,
    attempt: u64,
    due: Instant,
    /// The time at which the lease ends unless it is renewed.
    lapses: Instant,
    renewal: Option<AbortHandle>,
    lost: oneshot::Sender<LeaseEnd>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Keeper {
    /// It has not been started, or has ended with the server.
    #[default]
    Absent,
    /// It waits for a lease.
    Idle,
    /// It wakes up before any lease that is added now has to be renewed.
    Awake,
    /// It ends once there are no more leases.
    Ending,
}

/// The reason why a lease is no longer renewed.
#[derive(Clone, Copy, Debug)]
pub(super) enum LeaseEnd {
    /// The task was cancelled or has ended, or another attempt holds its lease.
    Taken,
    /// The lease could not be renewed in time.
    Lapsed,
}

/// The lease of an attempt, which is renewed until this value is dropped.
pub(super) struct Lease {
    leases: Arc<Leases>,
    key: u64,
    lost: oneshot::Receiver<LeaseEnd>,
}

impl Leases {
    pub(super) fn new(store: Arc<dyn TaskStore>, duration: Duration) -> Self {
        Self {
            store,
            duration,
            table: Mutex::default(),
            attention: Notify::new(),
        }
    }

    /// Keeps renewing the lease of an attempt that has just begun. The caller may then block its thread.
    pub(super) async fn hold(
        self: &Arc<Self>,
        id: &TaskId,
        attempt: u64,
        server: &ServerHandle,
    ) -> Lease {
        let (lease, keeper) = self.add(id, attempt);
        match keeper {
            Keeper::Awake | Keeper::Ending => return lease,
            Keeper::Idle => self.attention.notify_one(),
            Keeper::Absent => server.spawn(Arc::clone(self).keep(server.stopping())),
        }
        // A thread of the runtime takes on what it has woken last before others can, so the handler must not block it
        // before the keeper has begun to wait.
        yield_now().await;
        lease
    }

    /// Adds a lease, and returns what the keeper has been doing until now.
    fn add(self: &Arc<Self>, id: &TaskId, attempt: u64) -> (Lease, Keeper) {
        let (sender, lost) = oneshot::channel();
        let now = Instant::now();
        let table = &mut *lock(&self.table);
        let key = table.last_key.wrapping_add(1);
        table.last_key = key;
        let held = HeldLease {
            id: id.clone(),
            attempt,
            due: now + self.duration / 3,
            lapses: now + self.duration,
            renewal: None,
            lost: sender,
        };
        table.due.insert(held.due, key);
        table.held.insert(key, held);
        let keeper = table.keeper;
        if matches!(keeper, Keeper::Absent | Keeper::Idle) {
            table.keeper = Keeper::Awake;
        }
        let leases = Arc::clone(self);
        (Lease { leases, key, lost }, keeper)
    }

    /// Renews leases when they are due, until the server stops and there are no more leases.
    async fn keep(self: Arc<Self>, stopping: impl Future<Output = ()> + Send) {
        let mut renewals = JoinSet::new();
        let mut stopping = std::pin::pin!(stopping);
        let mut is_stopping = false;
        loop {
            while renewals.try_join_next().is_some() {}
            let next = {
                let table = &mut *lock(&self.table);
                self.begin_renewals(table, &mut renewals);
                table.keeper = match (is_stopping, table.held.is_empty()) {
                    (true, true) => Keeper::Absent,
                    (true, false) => Keeper::Ending,
                    (false, true) => Keeper::Idle,
                    (false, false) => Keeper::Awake,
                };
                if table.keeper == Keeper::Absent {
                    return;
                }
                table.due.first()
            };
            let due = async {
                match next {
                    Some(due) => sleep_until(due).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                () = &mut stopping, if !is_stopping => is_stopping = true,
                () = self.attention.notified() => {}
                () = due => {}
            }
        }
    }

    /// Begins to renew the leases that are due. Renewals do not wait for each other.
    fn begin_renewals(self: &Arc<Self>, table: &mut LeaseTable, renewals: &mut JoinSet<()>) {
        let now = Instant::now();
        while let Some(key) = table.due.pop_expired(now) {
            if let Some(held) = table.held.get_mut(&key) {
                let renewal =
                    Arc::clone(self).renew(key, (held.id.clone(), held.attempt), held.lapses);
                held.renewal = Some(renewals.spawn(renewal));
            }
        }
    }

    /// Renews a lease, or ends its attempt if the store replies that another attempt has begun or that the task has
    /// ended, or does not reply for too long.
    ///
    /// Only the store knows whether another process has claimed the task. If this process was paused, its clock says
    /// that the lease has lapsed, but the lease can be renewed nevertheless if no process has claimed the task.
    async fn renew(self: Arc<Self>, key: u64, (id, attempt): (TaskId, u64), lapses: Instant) {
        let mut failing_since = None;
        let ended = loop {
            let asked = Instant::now();
            let renewed = self.store.renew(&id, attempt, self.duration);
            match timeout(self.duration / 6, renewed).await {
                Ok(Ok(true)) => return self.mark_renewed(key, asked),
                Ok(Ok(false)) => break LeaseEnd::Taken,
                Ok(Err(error)) => tracing::warn!(%error, "a task's lease cannot be renewed"),
                Err(_) => {
                    tracing::warn!("the task store is slow; a task's lease cannot be renewed");
                }
            }
            let since = *failing_since.get_or_insert(asked);
            if Instant::now() >= lapses.max(since + self.duration / 3) {
                tracing::error!(task = ?id, "a task's lease has lapsed; its run is dropped");
                break LeaseEnd::Lapsed;
            }
            sleep(self.duration / 6).await;
        };
        let held = lock(&self.table).held.remove(&key);
        if let Some(held) = held {
            let _ = held.lost.send(ended);
        }
        // The keeper may be waiting for the last lease to end.
        self.attention.notify_one();
    }

    fn mark_renewed(&self, key: u64, asked: Instant) {
        let table = &mut *lock(&self.table);
        if let Some(held) = table.held.get_mut(&key) {
            held.renewal = None;
            held.lapses = asked + self.duration;
            held.due = Instant::now() + self.duration / 3;
            table.due.insert(held.due, key);
            // The keeper may have no other lease that is due.
            self.attention.notify_one();
        }
    }
}

impl Lease {
    /// Waits until the attempt has lost, or may have lost, the lease.
    pub(super) async fn lost(&mut self) -> LeaseEnd {
        match (&mut self.lost).await {
            Ok(ended) => ended,
            // The server has stopped, and the attempt ends for this reason.
            Err(_) => pending().await,
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let table = &mut *lock(&self.leases.table);
        let Some(held) = table.held.remove(&self.key) else {
            return;
        };
        match &held.renewal {
            // A renewal must not arrive after the lease has been given back.
            Some(renewal) => renewal.abort(),
            None => table.due.remove(held.due, &self.key),
        }
        if table.keeper == Keeper::Ending && table.held.is_empty() {
            self.leases.attention.notify_one();
        }
    }
}
