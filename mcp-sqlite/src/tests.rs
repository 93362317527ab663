//! The store keeps the rules of stores, in one process and in two, and says what is wrong with a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcp_runtime::Limits;
use mcp_runtime::backend::{
    NewTask, StoredTask, TaskChange, TaskChanged, TaskClaim, TaskCreation, TaskStatus, TaskStore,
    check_task_store,
};
use mcp_runtime::limits::TaskLimits;
use mcp_runtime::once::OnceClaim;
use mcp_runtime::prelude::*;
use mcp_runtime::serde_json::json;
use mcp_runtime::testing::TestClient;
use rusqlite::Connection;

use crate::{Sqlite, SqliteOptions};

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

async fn create(store: &Sqlite, task: NewTask) -> StoredTask {
    match store.create(task).await.unwrap() {
        TaskCreation::Created(task) => task,
        other => panic!("{other:?}"),
    }
}

fn refusal(path: &Path) -> String {
    Sqlite::open(path).unwrap_err().to_string()
}

#[tokio::test]
async fn it_keeps_the_rules_of_stores() {
    let folder = Folder::new();
    check_task_store(&Sqlite::open(folder.file()).unwrap()).await;
}

#[tokio::test]
async fn what_is_written_is_there_when_the_file_is_opened_again() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).unwrap();
    let mut task = NewTask::new("alice", "tool");
    task.call = "the call".into();
    let task = create(&store, task).await;
    let begun = store.begin_step(&task.id, 1, "pay").await.unwrap();
    assert_eq!(begun, OnceClaim::Granted);
    store.complete_step(&task.id, 1, "pay", "7").await.unwrap();
    drop(store);
    let store = Sqlite::open(folder.file()).unwrap();
    let found = store.load(&task.id).await.unwrap().unwrap();
    assert_eq!((&*found.call, &*found.owner), ("the call", "alice"));
    assert_eq!(found.created_at, task.created_at);
    let done = store.begin_step(&task.id, 1, "pay").await.unwrap();
    assert_eq!(done, OnceClaim::Done("7".into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_that_share_a_file_claim_each_task_once_and_see_each_others_changes() {
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
        while let TaskClaim::Claimed(task) = store.claim_due(Duration::from_mins(1)).await.unwrap()
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
async fn it_is_bounded_and_counts_what_it_holds() {
    let folder = Folder::new();
    let mut limits: TaskLimits = Limits::default().tasks;
    (limits.max_tasks, limits.max_per_caller, limits.max_bytes) = (3, 2, 100);
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
            .begin_step(&first.id, 1, &"s".repeat(40))
            .await
            .is_err()
    );
    let begun = store
        .begin_step(&first.id, 1, &"s".repeat(30))
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
    let used = async |store: &Sqlite| {
        let used = store.0.writer.read(|db| {
            let sql = "SELECT scope || ' ' || tasks || ' ' || bytes FROM usage ORDER BY scope";
            let mut select = db.prepare(sql)?;
            let rows = select.query_map([], |row| row.get(0))?;
            rows.collect::<Result<Vec<String>, _>>()
        });
        used.await.unwrap()
    };
    assert_eq!(
        used(&store).await,
        ["all 3 46", "of a 2 24", "of b 1 22", "once 0 0"]
    );
    assert_eq!(store.delete_all("a").await.unwrap(), 2);
    assert_eq!(used(&store).await, ["all 1 22", "of b 1 22", "once 0 0"]);
}

#[tokio::test]
async fn what_has_expired_is_removed() {
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

#[test]
fn a_file_that_is_none_of_its_own_is_refused_and_stays_as_it_is() {
    let folder = Folder::new();
    let file = folder.file();
    let text = "this is not a database, but a text of more than a hundred characters, which SQLite reads as a header";
    fs::write(&file, text.repeat(20)).unwrap();
    let refused = refusal(&file);
    assert!(
        refused.contains("is not an SQLite database") && refused.contains("state.db"),
        "{refused}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), text.repeat(20));
    fs::remove_file(&file).unwrap();
    let foreign = Connection::open(&file).unwrap();
    foreign.execute_batch("CREATE TABLE notes (text)").unwrap();
    drop(foreign);
    let before = fs::read(&file).unwrap();
    assert!(refusal(&file).contains("belongs to another program"));
    assert_eq!(fs::read(&file).unwrap(), before);
    let missing = refusal(&folder.0.join("none").join("state.db"));
    assert!(missing.contains("its folder must exist"), "{missing}");
    let refused = refusal(&folder.0);
    assert!(refused.contains("cannot be opened"), "{refused}");
}

#[test]
fn a_file_of_another_version_is_refused() {
    for (version, expected) in [(2, "a newer version"), (0, "move the file away")] {
        let folder = Folder::new();
        drop(Sqlite::open(folder.file()).unwrap());
        let newer = Connection::open(folder.file()).unwrap();
        newer
            .execute_batch(&format!("PRAGMA user_version = {version}"))
            .unwrap();
        drop(newer);
        let refused = refusal(&folder.file());
        assert!(refused.contains(expected), "{refused}");
    }
}

#[tokio::test]
async fn a_damaged_file_is_refused() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).unwrap();
    create(&store, NewTask::new("a", "t")).await;
    let flushed = store.0.writer.read(|db| {
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
            row.get::<_, i64>(0)
        })
    });
    assert_eq!(flushed.await.unwrap(), 0);
    let mut bytes = fs::read(folder.file()).unwrap();
    let damaged = folder.0.join("damaged.db");
    bytes[4096 * 2..4096 * 5].fill(0xAB);
    fs::write(&damaged, bytes).unwrap();
    let refused = refusal(&damaged);
    assert!(refused.contains("damaged"), "{refused}");
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

#[tokio::test]
async fn the_fault_of_one_operation_is_not_that_of_all() {
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

/// Pays, and says how often that was done.
#[tool]
async fn pay(ctx: &Context, paid: State<AtomicUsize>) -> Result<usize> {
    let pay = ctx.once("pay", async || Ok(paid.fetch_add(1, Ordering::Relaxed) + 1));
    pay.await
}

#[tokio::test]
async fn it_keeps_the_results_of_calls_that_are_no_tasks() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).unwrap();
    let server = new_server!()
        .state(AtomicUsize::new(0))
        .once_store(store.clone());
    let client = TestClient::modern(server).await;
    let paid = client.call("pay", json!({})).await.unwrap();
    assert_eq!(paid.text(), "1");
    let kept = store.0.writer.read(|db| {
        db.query_row("SELECT name || result FROM once", [], |row| {
            row.get::<_, String>(0)
        })
    });
    assert_eq!(kept.await.unwrap(), "pay1");
}

#[tokio::test]
async fn the_results_of_calls_that_are_no_tasks_are_bounded() {
    let folder = Folder::new();
    let mut limits = Limits::default().tasks;
    limits.max_tasks = 2;
    let store = SqliteOptions::new().limits(limits).open(folder.file());
    let store = store.unwrap();
    let server = new_server!()
        .state(AtomicUsize::new(0))
        .once_store(store.clone());
    let client = TestClient::modern(server).await;
    for expected in ["1", "2"] {
        let paid = client.call("pay", json!({})).await.unwrap();
        assert_eq!(paid.text(), expected);
    }
    let refused = client.call("pay", json!({})).await.unwrap();
    assert!(!refused.error_text().is_empty());
    let used = async || {
        let sql = "SELECT tasks || ' ' || bytes FROM usage WHERE scope = 'once'";
        let used = store
            .0
            .writer
            .read(move |db| db.query_row(sql, [], |row| row.get(0)));
        let used: String = used.await.unwrap();
        used
    };
    // Two names of three bytes and two results of one.
    assert_eq!(used().await, "2 8");
    let removed = store
        .0
        .writer
        .write(|db| db.execute("DELETE FROM once", []));
    assert_eq!(removed.await.unwrap(), 2);
    assert_eq!(used().await, "0 0");
    assert_eq!(client.call("pay", json!({})).await.unwrap().text(), "3");
}

#[test]
fn a_place_without_a_write_ahead_log_is_refused() {
    let refused = refusal(Path::new(":memory:"));
    let _ = fs::remove_file(":memory:");
    assert!(
        refused.contains("choose a file on a local disk"),
        "{refused}"
    );
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
