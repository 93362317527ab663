//! Tests for tasks: the rules for stores, several processes, and limits.

use std::collections::BTreeSet;
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::backend::{
    Backend, ClaimExceptions, ClaimId, NewTask, OnceClaim, StoredTask, TaskChange, TaskChanged,
    TaskClaim, TaskCreation, TaskId, TaskStatus, TaskStore,
};
use mcp_runtime_redis::{Redis, RedisOptions};
use tokio::time::timeout;

use crate::support::{PATIENCE, RedisServer};

async fn create(store: &Redis, task: NewTask) -> StoredTask {
    match store.create(task).await.unwrap() {
        TaskCreation::Created(task) => task,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn the_backend_follows_the_rules_of_stores() {
    let server = RedisServer::start();
    let store = server.connect().await;
    Backend::from(store.clone()).check().await;
    // The count matches the stored data.
    store.delete_all("stepper").await.unwrap();
    assert_eq!(server.tell(&["HGET", "{mcp}:bytes", "of stepper"]), "\n");
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn servers_with_different_names_share_nothing() {
    let server = RedisServer::start();
    let store = server.connect().await;
    let other = RedisOptions::new().name("other");
    let other = server.connect_with(other).await;
    let mut task = NewTask::new("alice", "tool");
    task.lease = Duration::ZERO;
    let task = create(&store, task).await;
    assert!(other.load(&task.id).await.unwrap().is_none());
    let claim = other
        .claim_due(Duration::from_mins(1), &ClaimExceptions::default())
        .await
        .unwrap();
    assert!(matches!(claim, TaskClaim::Wait(None)), "{claim:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn two_processes_claim_each_task_once_and_see_each_others_changes() {
    let server = RedisServer::start();
    let (one, other) = (server.connect().await, server.connect().await);
    for _ in 0..100 {
        let mut task = NewTask::new("alice", "tool");
        task.lease = Duration::ZERO;
        create(&one, task).await;
    }
    let claim_all = async |store: &Redis| {
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
    let ids: BTreeSet<_> = all.iter().map(|task| task.id.clone()).collect();
    assert_eq!((all.len(), ids.len()), (100, 100));
    let task = &all[0];
    let (waited, changed) = tokio::join!(
        timeout(PATIENCE, one.changed(&task.id, task.version)),
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
#[ignore = "needs a redis-server: tests/redis/run"]
async fn other_processes_are_notified_at_once_when_a_task_is_released() {
    let server = RedisServer::start();
    let (one, other) = (server.connect().await, server.connect().await);
    let mut task = NewTask::new("alice", "tool");
    task.lease = Duration::from_mins(1);
    let task = create(&one, task).await;
    // Connecting counts as well, because something may have been missed before.
    let _ = timeout(Duration::from_millis(500), other.released()).await;
    let quiet = timeout(Duration::from_millis(500), other.released()).await;
    assert!(quiet.is_err(), "nothing has been given back");
    // The process is told even if it begins to wait only later.
    for is_waiting in [true, false] {
        let task = store_claim(&one, &task, is_waiting).await;
        let release = async || one.release(&task.0, task.1, Duration::ZERO).await.unwrap();
        if is_waiting {
            let waiting = timeout(PATIENCE, other.released());
            let (told, ()) = tokio::join!(waiting, release());
            told.unwrap().unwrap();
        } else {
            release().await;
            timeout(PATIENCE, other.released()).await.unwrap().unwrap();
        }
    }
}

/// Returns the id and the attempt of a task whose lease this process holds: the first one, or a new one.
async fn store_claim(store: &Redis, task: &StoredTask, is_first: bool) -> (TaskId, u64) {
    if is_first {
        return (task.id.clone(), 1);
    }
    let claimed = store.claim(&task.id, PATIENCE).await.unwrap().unwrap();
    (claimed.id, claimed.attempt)
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn the_task_store_counts_and_bounds_its_tasks_and_bytes() {
    let server = RedisServer::start();
    let limits = Limits::default().with(|limits| {
        let tasks = &mut limits.tasks;
        (tasks.max_tasks, tasks.max_per_caller, tasks.max_bytes) = (3, 2, 100);
    });
    let store = server
        .connect_with(RedisOptions::new().limits(limits))
        .await;
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
    let state = TaskChange::to(TaskStatus::Working).state("x".repeat(40));
    let full = store.change(&first.id, 1, state).await.unwrap();
    assert!(matches!(full, TaskChanged::Full));
    let run = ClaimId::random();
    let (large, small) = ("s".repeat(40), "s".repeat(30));
    assert!(store.begin_step(&first.id, 1, &large, run).await.is_err());
    let begun = store.begin_step(&first.id, 1, &small, run).await.unwrap();
    assert_eq!(begun, OnceClaim::Granted);
    let refused = store
        .complete_step(&first.id, 1, &small, "\"1234567\"")
        .await;
    assert!(refused.is_err());
    let bytes = |of: &str| {
        let bytes = server.tell(&["HGET", "{mcp}:bytes", of]);
        bytes.trim().to_owned()
    };
    assert_eq!((&*bytes("all"), &*bytes("of a")), ("96", "74"));
    // A task that has ended needs neither its call nor its steps.
    let ended = TaskChange::to(TaskStatus::Cancelled);
    store.change(&first.id, 1, ended).await.unwrap();
    assert_eq!((&*bytes("all"), &*bytes("of a")), ("46", "24"));
    assert_eq!(store.delete_all("a").await.unwrap(), 2);
    assert_eq!((&*bytes("all"), &*bytes("of a")), ("22", ""));
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn expired_and_missing_tasks_are_no_longer_counted() {
    let server = RedisServer::start();
    let store = server.connect().await;
    let mut brief = NewTask::new("a", "t");
    brief.ttl = Duration::ZERO;
    create(&store, brief.clone()).await;
    brief.id = NewTask::new("a", "t").id;
    let lost = create(&store, brief).await;
    let kept = create(&store, NewTask::new("a", "t")).await;
    server.tell(&["DEL", &format!("{{mcp}}:task:{}", lost.id)]);
    let claim = store
        .claim_due(Duration::from_mins(1), &ClaimExceptions::default())
        .await
        .unwrap();
    assert!(matches!(claim, TaskClaim::Wait(Some(_))), "{claim:?}");
    assert_eq!(server.tell(&["HGET", "{mcp}:bytes", "all"]).trim(), "2");
    assert_eq!(server.tell(&["ZCARD", "{mcp}:expiry"]).trim(), "1");
    assert!(store.load(&kept.id).await.unwrap().is_some());
    // The remaining data of a server that never returns disappears on its own.
    for key in server.tell(&["KEYS", "*"]).lines() {
        assert_ne!(server.tell(&["PTTL", key]).trim(), "-1", "{key}");
    }
}
