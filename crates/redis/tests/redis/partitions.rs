//! Tests for tasks in several partitions.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::backend::{
    Backend, ClaimExceptions, NewTask, TaskChange, TaskChanged, TaskClaim, TaskCreation, TaskId,
    TaskPage, TaskStatus, TaskStore,
};
use mcp_runtime_redis::{Redis, RedisOptions};
use tokio::time::timeout;

use crate::support::RedisServer;

fn options() -> RedisOptions {
    RedisOptions::new().task_partitions(4)
}

async fn create(store: &Redis, task: NewTask) -> TaskId {
    let created = store.create(task.clone()).await.unwrap();
    assert!(matches!(created, TaskCreation::Created(_)), "{created:?}");
    task.id
}

/// A task that can be claimed at once.
fn due(owner: &str) -> NewTask {
    let mut task = NewTask::new(owner, "t");
    task.lease = Duration::ZERO;
    task
}

async fn ids(mut page: impl AsyncFnMut(Option<String>) -> TaskPage) -> Vec<TaskId> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = page(cursor).await;
        all.extend(page.tasks.into_iter().map(|task| task.id));
        assert!(all.len() <= 1_000, "the pages do not end");
        cursor = page.next;
        if cursor.is_none() {
            return all;
        }
    }
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn partitions_follow_the_rules_of_stores() {
    // Without a log, because the rules include leases of a few milliseconds.
    let server = RedisServer::with(&[]);
    let store = server.connect_with(options()).await;
    Backend::from(store).check().await;
    let keys = server.tell(&["KEYS", "*"]);
    for partition in ["{mcp}", "{mcp/1}", "{mcp/2}", "{mcp/3}"] {
        let key = format!("{partition}:number");
        assert!(keys.lines().any(|known| known == key), "{partition}");
    }
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn lists_have_each_task_once_and_the_oldest_first() {
    let server = RedisServer::start();
    let store = server.connect_with(options()).await;
    let mut of_a = Vec::new();
    let mut all = BTreeSet::new();
    for _ in 0..40 {
        of_a.push(create(&store, due("a")).await);
        all.insert(create(&store, due("b")).await);
    }
    all.extend(of_a.iter().cloned());
    let list = async |max: usize| {
        ids(async |cursor| {
            let page = store.list("a", cursor.as_deref(), max).await.unwrap();
            let page = page.unwrap();
            assert!(page.tasks.len() <= max);
            page
        })
        .await
    };
    let list_all = async |max: usize| {
        ids(async |cursor| {
            let page = store.list_all(cursor.as_deref(), max).await.unwrap();
            page.unwrap()
        })
        .await
    };
    for max in [1, 3, 7, 100] {
        assert_eq!(list(max).await, of_a, "{max}");
    }
    // The tasks of one partition get the same numbers and expiry times as those of the others, as if they had been created
    // at the same time.
    let mut numbers = BTreeMap::new();
    for partition in ["{mcp}", "{mcp/1}", "{mcp/2}", "{mcp/3}"] {
        let key = format!("{partition}:owner:a");
        for (number, id) in server
            .tell(&["ZRANGE", &key, "0", "-1"])
            .lines()
            .enumerate()
        {
            server.tell(&["ZADD", &key, &number.to_string(), id]);
            numbers.insert(TaskId::parse(id).unwrap(), number);
        }
        let expiry = format!("{partition}:expiry");
        for id in server.tell(&["ZRANGE", &expiry, "0", "-1"]).lines() {
            let task = format!("{partition}:task:{id}");
            let day = server
                .tell(&["HGET", &task, "created"])
                .trim()
                .parse::<u64>()
                .unwrap()
                / 1_000_000;
            let (created, ttl) = ((day * 1_000_000).to_string(), "2000000");
            server.tell(&["HSET", &task, "created", &created, "ttl", ttl]);
            server.tell(&["ZADD", &expiry, &((day + 2) * 1_000_000).to_string(), id]);
        }
    }
    for max in [1, 3, 7, 100] {
        let listed = list(max).await;
        assert!(listed.is_sorted_by_key(|id| numbers[id]), "{max}");
        assert_eq!(listed.len(), 40, "{max}");
        assert_eq!(
            listed.into_iter().collect::<BTreeSet<_>>().len(),
            40,
            "{max}"
        );
        let listed = list_all(max).await;
        assert_eq!(listed.len(), all.len(), "{max}");
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), all, "{max}");
    }
    let of_b = all.iter().find(|id| !of_a.contains(id)).unwrap();
    let others = store.list("a", Some(of_b.as_str()), 7).await.unwrap();
    assert!(others.is_none(), "the cursor is another caller's task");
    assert_eq!(store.delete_all("a").await.unwrap(), 40);
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_callers_tasks_are_counted_across_all_partitions() {
    let server = RedisServer::start();
    let limits = Limits::default().with(|limits| {
        let tasks = &mut limits.tasks;
        (tasks.max_tasks, tasks.max_per_caller) = (80, 6);
    });
    let store = server.connect_with(options().limits(limits.clone())).await;
    let first = create(&store, due("a")).await;
    for _ in 1..6 {
        create(&store, due("a")).await;
    }
    for _ in 0..8 {
        let refused = store.create(due("a")).await.unwrap();
        assert!(matches!(refused, TaskCreation::CallerFull), "{refused:?}");
    }
    create(&store, due("b")).await;
    assert_eq!(store.delete_all("a").await.unwrap(), 6);
    assert!(store.load(&first).await.unwrap().is_none());
    create(&store, due("a")).await;

    // Bytes as well.
    let limits = limits.with(|limits| limits.tasks.max_bytes_per_caller = 1_000);
    let store = server.connect_with(options().limits(limits)).await;
    let large = || {
        let mut task = due("c");
        task.call = "x".repeat(400).into();
        task
    };
    create(&store, large()).await;
    create(&store, large()).await;
    for _ in 0..8 {
        let refused = store.create(large()).await.unwrap();
        assert!(matches!(refused, TaskCreation::CallerFull), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn each_task_is_claimed_once_and_its_changes_reach_other_instances() {
    let server = RedisServer::start();
    let one = server.connect_with(options()).await;
    let other = server.connect_with(options()).await;
    for _ in 0..60 {
        create(&one, due("a")).await;
    }
    let claim_all = async |store: &Redis| {
        let mut claimed = Vec::new();
        loop {
            match store
                .claim_due(Duration::from_mins(1), &ClaimExceptions::default())
                .await
                .unwrap()
            {
                TaskClaim::Claimed(task) => claimed.push(task),
                TaskClaim::Wait(wait) => return (claimed, wait),
            }
        }
    };
    let ((mut all, wait), (others, _)) = tokio::join!(claim_all(&one), claim_all(&other));
    assert!(wait.unwrap() > Duration::from_secs(30), "{wait:?}");
    all.extend(others);
    let ids: BTreeSet<_> = all.iter().map(|task| task.id.clone()).collect();
    assert_eq!((all.len(), ids.len()), (60, 60));
    for task in all.iter().take(12) {
        // Without the message, the change would be seen after five seconds.
        let (waited, changed) = tokio::join!(
            timeout(Duration::from_secs(4), one.changed(&task.id, task.version)),
            other.change(
                &task.id,
                task.version,
                TaskChange::to(TaskStatus::Cancelled)
            ),
        );
        assert!(matches!(changed.unwrap(), TaskChanged::Changed(_)));
        waited.unwrap().unwrap();
    }
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn an_instance_with_another_number_does_not_start() {
    let server = RedisServer::start();
    let refusal = async |partitions: usize| {
        let options = RedisOptions::new().task_partitions(partitions);
        options
            .connect(&server.url())
            .await
            .map(drop)
            .map_err(|error| error.to_string())
    };
    refusal(4).await.unwrap();
    refusal(4).await.unwrap();
    for other in [1, 2] {
        let refused = refusal(other).await.unwrap_err();
        let says = format!("`task_partitions` is {other}, but the tasks of `mcp` are in 4");
        assert!(refused.contains(&says), "{refused}");
    }
    for wrong in [0, 65] {
        let refused = refusal(wrong).await.unwrap_err();
        assert!(refused.contains("allowed: 1 to 64"), "{refused}");
    }
    // A single partition is not recorded.
    server.tell(&["DEL", "{mcp}:partitions"]);
    let store = server.connect().await;
    create(&store, due("a")).await;
    server.tell(&["DEL", "{mcp}:partitions"]);
    let refused = refusal(2).await.unwrap_err();
    assert!(refused.contains("are in 1;"), "{refused}");
    refusal(1).await.unwrap();
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_user_needs_no_more_than_the_permissions_in_the_guide() {
    let server = RedisServer::start();
    let rules = "on >secret ~{notes}:* ~{notes/*}:* &{notes}:* +@read +@write +@connection +@pubsub +@scripting -@dangerous +info +time";
    let words: Vec<_> = ["ACL", "SETUSER", "notes"]
        .into_iter()
        .chain(rules.split(' '))
        .collect();
    server.tell(&words);
    let url = format!("{}?user=notes&pass=secret", server.url());
    let store = options().name("notes").connect(&url).await.unwrap();
    for _ in 0..20 {
        let id = create(&store, due("a")).await;
        let ended = TaskChange::to(TaskStatus::Cancelled);
        let changed = store.change(&id, 1, ended).await.unwrap();
        assert!(matches!(changed, TaskChanged::Changed(_)), "{changed:?}");
    }
    assert_eq!(store.delete_all("a").await.unwrap(), 20);
}
