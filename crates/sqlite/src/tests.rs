//! Tests that the store follows the rules for stores, with one process and with two, and reports problems with a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use mcp_core::context::{ClaimId, OnceClaim};
use mcp_core::limits::Limits;
use mcp_runtime::prelude::*;
use mcp_stores::{
    Backend, ClaimExceptions, NewTask, StoredTask, TaskChange, TaskChanged, TaskClaim,
    TaskCreation, TaskStatus, TaskStore,
};
use rusqlite::Connection;
use serde_json::json;

use crate::{Sqlite, SqliteOptions};

mod once;
mod opening;
mod results;
#[cfg(feature = "http")]
mod sessions;

/// A folder that is removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("mcp-sqlite-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("state.db")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the rows of the table `usage`.
async fn used(store: &Sqlite) -> Vec<String> {
    let used = store.0.writer.read(|db| {
        let sql = "SELECT scope || ' ' || tasks || ' ' || bytes FROM usage ORDER BY scope";
        let mut select = db.prepare(sql)?;
        let rows = select.query_map([], |row| row.get(0))?;
        rows.collect::<Result<Vec<String>, _>>()
    });
    used.await.unwrap()
}

async fn create(store: &Sqlite, task: NewTask) -> StoredTask {
    match store.create(task).await.unwrap() {
        TaskCreation::Created(task) => task,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_backend_follows_the_rules_of_stores() {
    let folder = Folder::new();
    Backend::from(Sqlite::open(folder.file()).unwrap())
        .check()
        .await;
}

#[tokio::test]
async fn stored_tasks_are_loaded_after_the_file_is_reopened() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).unwrap();
    let mut task = NewTask::new("alice", "tool");
    task.call = "the call".into();
    let task = create(&store, task).await;
    let run = ClaimId::random();
    let begun = store.begin_step(&task.id, 1, "pay", run).await.unwrap();
    assert_eq!(begun, OnceClaim::Granted);
    store.complete_step(&task.id, 1, "pay", "7").await.unwrap();
    drop(store);
    let store = Sqlite::open(folder.file()).unwrap();
    let found = store.load(&task.id).await.unwrap().unwrap();
    assert_eq!((&*found.call, &*found.owner), ("the call", "alice"));
    assert_eq!(found.created_at, task.created_at);
    let done = store.begin_step(&task.id, 1, "pay", run).await.unwrap();
    assert_eq!(done, OnceClaim::Done("7".into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_on_one_file_claim_each_task_once_and_share_its_changes() {
    let folder = Folder::new();
    let one = Sqlite::open(folder.file()).unwrap();
    let other = Sqlite::open(folder.file()).unwrap();
    for _ in 0..100 {
        let mut task = NewTask::new("alice", "tool");
        task.lease = Duration::ZERO;
        create(&one, task).await;
    }
    let claim_all = async |store: &Sqlite| {
        let mut claimed = Vec::new();
        while let TaskClaim::Claimed(task) = store
            .claim_due(Duration::from_mins(1), &ClaimExceptions::default())
            .await
            .unwrap()
        {
            claimed.push(task);
        }
        claimed
    };
    let (mut all, others) = tokio::join!(claim_all(&one), claim_all(&other));
    all.extend(others);
    let ids: std::collections::BTreeSet<_> = all.iter().map(|task| task.id.clone()).collect();
    assert_eq!((all.len(), ids.len()), (100, 100));
    let task = &all[0];
    let (waited, changed) = tokio::join!(
        tokio::time::timeout(Duration::from_secs(10), one.changed(&task.id, task.version)),
        other.change(
            &task.id,
            task.version,
            TaskChange::to(TaskStatus::Cancelled)
        ),
    );
    assert!(matches!(changed.unwrap(), TaskChanged::Changed(_)));
    waited.unwrap().unwrap();
}

#[tokio::test]
async fn the_task_store_counts_and_bounds_its_tasks_and_bytes() {
    let folder = Folder::new();
    let limits = Limits::default().with(|limits| {
        let tasks = &mut limits.tasks;
        (tasks.max_tasks, tasks.max_per_caller, tasks.max_bytes) = (3, 2, 100);
    });
    let store = SqliteOptions::new()
        .limits(limits)
        .open(folder.file())
        .unwrap();
    let new = |owner: &str| {
        let mut task = NewTask::new(owner, "t");
        task.call = "c".repeat(20).into();
        task
    };
    let first = create(&store, new("a")).await;
    create(&store, new("a")).await;
    let refused = store.create(new("a")).await.unwrap();
    assert!(matches!(refused, TaskCreation::CallerFull), "{refused:?}");
    create(&store, new("b")).await;
    let refused = store.create(new("c")).await.unwrap();
    assert!(matches!(refused, TaskCreation::Full), "{refused:?}");
    let state = |bytes: usize| TaskChange::to(TaskStatus::Working).state("x".repeat(bytes));
    let full = store.change(&first.id, 1, state(40)).await.unwrap();
    assert!(matches!(full, TaskChanged::Full));
    assert!(
        store
            .begin_step(&first.id, 1, &"s".repeat(40), ClaimId::random())
            .await
            .is_err()
    );
    let begun = store
        .begin_step(&first.id, 1, &"s".repeat(30), ClaimId::random())
        .await
        .unwrap();
    assert_eq!(begun, OnceClaim::Granted);
    assert!(
        store
            .complete_step(&first.id, 1, &"s".repeat(30), "\"1234567\"")
            .await
            .is_err()
    );
    // A task that has ended needs neither its call nor its steps.
    store
        .change(&first.id, 1, TaskChange::to(TaskStatus::Cancelled))
        .await
        .unwrap();
    assert_eq!(used(&store).await, ["all 3 46", "of a 2 24", "of b 1 22"]);
    assert_eq!(store.delete_all("a").await.unwrap(), 2);
    assert_eq!(used(&store).await, ["all 1 22", "of b 1 22"]);
}

#[tokio::test]
async fn expired_tasks_are_removed() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).unwrap();
    let mut task = NewTask::new("a", "t");
    task.ttl = Duration::ZERO;
    create(&store, task).await;
    let left = store.0.writer.write(|db| {
        crate::statements::sweep(db, crate::writer::now() + 1)?;
        db.query_row("SELECT count(*) FROM tasks", [], |row| row.get::<_, i64>(0))
    });
    assert_eq!(left.await.unwrap(), 0);
}

#[tokio::test]
async fn a_file_that_is_locked_or_full_later_fails_the_operation_and_recovers() {
    let folder = Folder::new();
    let options = SqliteOptions::new().busy_timeout(Duration::from_millis(50));
    let store = options.open(folder.file()).unwrap();
    let task = create(&store, NewTask::new("a", "t")).await;
    let locking = Connection::open(folder.file()).unwrap();
    locking.execute_batch("BEGIN IMMEDIATE").unwrap();
    let started = Instant::now();
    let refused = store.create(NewTask::new("a", "t")).await.unwrap_err();
    assert!(refused.to_string().contains("locked"), "{refused}");
    assert!(started.elapsed() < Duration::from_secs(5));
    assert!(
        store.load(&task.id).await.unwrap().is_some(),
        "reading goes on"
    );
    locking.execute_batch("ROLLBACK").unwrap();
    create(&store, NewTask::new("a", "t")).await;
    let limit = |pages: i64| {
        store.0.writer.read(move |db| {
            let sql = format!("PRAGMA max_page_count = {pages}");
            db.query_row(&sql, [], |row| row.get::<_, i64>(0))
        })
    };
    let pages = limit(1).await.unwrap();
    let mut large = NewTask::new("a", "t");
    large.call = "c".repeat(100_000).into();
    let refused = store.create(large.clone()).await.unwrap_err();
    assert!(refused.to_string().contains("disk is full"), "{refused}");
    assert!(store.load(&task.id).await.unwrap().is_some());
    limit(pages + 1000).await.unwrap();
    create(&store, large).await;
}

/// An operation that blocks the transaction that contains it until this is dropped.
struct Blocker {
    begun: mpsc::Receiver<()>,
    _release: mpsc::Sender<()>,
}

impl Blocker {
    /// Adds the operation to those that are waiting.
    async fn queue(store: &Sqlite) -> Self {
        let (begins, begun) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let released = Mutex::new(released);
        let store = store.clone();
        tokio::spawn(async move {
            let blocked = store.0.writer.record(move |_| {
                let _ = begins.send(());
                let _ = released.lock().unwrap().recv();
                Ok(())
            });
            blocked.await
        });
        tokio::task::yield_now().await;
        Self {
            begun,
            _release: release,
        }
    }
}

#[tokio::test]
async fn a_task_whose_creation_timed_out_is_not_stored() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).unwrap();
    let task = NewTask::new("a", "t");
    let before = Blocker::queue(&store).await;
    before.begun.recv().unwrap();
    let creating = tokio::spawn({
        let (store, task) = (store.clone(), task.clone());
        async move { store.create(task).await.is_ok() }
    });
    tokio::task::yield_now().await;
    // This is in the same transaction as the creation, which thus takes longer than its caller waits.
    let after = Blocker::queue(&store).await;
    drop(before);
    after.begun.recv().unwrap();
    tokio::time::pause();
    tokio::time::advance(Duration::from_mins(1)).await;
    assert!(!creating.await.unwrap());
    tokio::time::resume();
    drop(after);
    let began = Instant::now();
    while store.load(&task.id).await.unwrap().is_some() {
        assert!(began.elapsed() < Duration::from_secs(10), "the task stays");
    }
    create(&store, task).await;
}

#[tokio::test]
async fn a_failed_operation_does_not_fail_others_in_its_transaction() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).unwrap();
    let wrong = store
        .0
        .writer
        .write(|db| db.execute("INSERT INTO nothing VALUES (1)", []));
    let (wrong, right, other) = tokio::join!(
        wrong,
        store.create(NewTask::new("a", "t")),
        store.create(NewTask::new("a", "t")),
    );
    assert!(wrong.is_err());
    assert!(matches!(right.unwrap(), TaskCreation::Created(_)));
    assert!(matches!(other.unwrap(), TaskCreation::Created(_)));
    let page = store.list("a", None, 10).await.unwrap().unwrap();
    assert_eq!(page.tasks.len(), 2);
}

#[cfg(unix)]
#[test]
fn only_its_owner_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let _store = Sqlite::open(folder.file()).unwrap();
    for entry in fs::read_dir(&folder.0).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.file_name());
    }
}
