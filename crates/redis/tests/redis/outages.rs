//! Redis is down, slow, restarted or emptied.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcp_runtime::backend::{
    ClaimExceptions, ClaimId, NewTask, RateStore as _, RateToken, StoredTask, TaskChange,
    TaskChanged, TaskClaim, TaskCreation, TaskStatus, TaskStore as _,
};
use mcp_runtime::prelude::*;
use mcp_runtime::serde_json::json;
use mcp_runtime::server::Selected;
use mcp_runtime::testing::TestClient;
use mcp_runtime_redis::{Redis, RedisOptions};
use rustix::process::Signal;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::lossy::{LossyProxy, Lost};
use crate::support::{PATIENCE, RedisServer};

const LIMIT: Duration = Duration::from_millis(500);

async fn connect(redis: &RedisServer) -> Redis {
    let options = RedisOptions::new().operation_timeout(LIMIT);
    redis.connect_with(options).await
}

/// Waits until the store works again on its own.
async fn until_it_works(store: &Redis) {
    let began = Instant::now();
    while store.create(NewTask::new("a", "t")).await.is_err() {
        assert!(began.elapsed() < PATIENCE, "the store does not recover");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Requests a task and returns the error.
async fn error(store: &Redis) -> String {
    let id = NewTask::new("a", "t").id;
    store.load(&id).await.unwrap_err().to_string()
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn the_store_reconnects_after_a_restart_and_keeps_its_data() {
    let mut redis = RedisServer::start();
    let store = connect(&redis).await;
    let TaskCreation::Created(task) = store.create(NewTask::new("a", "t")).await.unwrap() else {
        panic!("there is room");
    };
    redis.kill();
    let told = error(&store).await;
    assert!(told.contains("cannot be reached"), "{told}");
    redis.start_again();
    until_it_works(&store).await;
    assert!(store.load(&task.id).await.unwrap().is_some());
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_hanging_redis_delays_only_the_first_operations() {
    let redis = RedisServer::start();
    let store = connect(&redis).await;
    redis.signal(Signal::STOP);
    let told = error(&store).await;
    assert!(told.contains("did not answer within 500ms"), "{told}");
    // One operation at a time tries again; the others fail at once. In a queue, the last would wait for 100 seconds.
    let all = (0..200).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { error(&store).await })
    });
    let all = all.collect::<Vec<_>>();
    let refused = async {
        for one in all {
            one.await.unwrap();
        }
    };
    timeout(PATIENCE, refused)
        .await
        .expect("nothing waits for others");
    redis.signal(Signal::CONT);
    until_it_works(&store).await;
    // Redis accepts connections but does not run scripts.
    redis.tell(&["CLIENT", "PAUSE", "60000", "WRITE"]);
    let told = error(&store).await;
    assert!(told.contains("did not answer"), "{told}");
    redis.tell(&["CLIENT", "UNPAUSE"]);
    until_it_works(&store).await;
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn an_emptied_redis_is_used_again_without_invented_data() {
    let redis = RedisServer::start();
    let store = connect(&redis).await;
    let TaskCreation::Created(task) = store.create(NewTask::new("a", "t")).await.unwrap() else {
        panic!("there is room");
    };
    redis.tell(&["FLUSHALL"]);
    redis.tell(&["SCRIPT", "FLUSH"]);
    assert!(store.load(&task.id).await.unwrap().is_none());
    assert!(!store.renew(&task.id, 1, PATIENCE).await.unwrap());
    assert!(
        store
            .begin_step(&task.id, 1, "pay", ClaimId::random())
            .await
            .is_err()
    );
    until_it_works(&store).await;
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_full_or_read_only_redis_is_reported_until_it_works_again() {
    let redis = RedisServer::start();
    let store = connect(&redis).await;
    redis.tell(&["CONFIG", "SET", "maxmemory", "1"]);
    let refused = store.create(NewTask::new("a", "t")).await.unwrap_err();
    assert!(refused.to_string().contains("is full"), "{refused}");
    redis.tell(&["CONFIG", "SET", "maxmemory", "0"]);
    until_it_works(&store).await;
    redis.tell(&["REPLICAOF", "127.0.0.1", "1"]);
    let refused = store.create(NewTask::new("a", "t")).await.unwrap_err();
    assert!(refused.to_string().contains("read-only"), "{refused}");
    redis.tell(&["REPLICAOF", "NO", "ONE"]);
    until_it_works(&store).await;
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn credentials_are_in_no_error() {
    let redis = RedisServer::with(&["--requirepass", "correct-horse"]);
    let url = format!("{}?pass=wrong-battery", redis.url());
    let refused = Redis::connect(&url).await.unwrap_err().to_string();
    assert!(
        refused.contains("rejects the user name or password"),
        "{refused}"
    );
    let url = "redis://user:secret@127.0.0.1:1/0";
    let unreachable = Redis::connect(url).await.unwrap_err().to_string();
    assert!(unreachable.contains("127.0.0.1:1"), "{unreachable}");
    let invalid = Redis::connect("redis:secret@")
        .await
        .unwrap_err()
        .to_string();
    for told in [refused, unreachable, invalid] {
        assert!(
            !told.contains("battery") && !told.contains("secret"),
            "{told}"
        );
    }
    let url = format!("{}?pass=correct-horse", redis.url());
    let store = Redis::connect(&url).await.unwrap();
    assert!(!format!("{store:?}").contains("horse"));
}

/// Connects through a proxy that loses messages.
async fn connect_through(proxy: &LossyProxy) -> Redis {
    let options = RedisOptions::new().operation_timeout(LIMIT);
    options.connect(&proxy.url()).await.unwrap()
}

async fn create(store: &Redis, task: NewTask) -> StoredTask {
    match store.create(task).await.unwrap() {
        TaskCreation::Created(task) => task,
        other => panic!("{other:?}"),
    }
}

fn due() -> NewTask {
    let mut task = NewTask::new("a", "t");
    task.lease = Duration::ZERO;
    task
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_task_operation_whose_request_or_reply_is_lost_runs_once() {
    for lost in [Lost::Request, Lost::Reply] {
        let redis = RedisServer::start();
        let proxy = LossyProxy::start(&redis);
        let store = connect_through(&proxy).await;
        let lose = || proxy.lose(lost, 1);

        lose();
        let task = create(&store, due()).await;
        assert_eq!(redis.tell(&["ZCARD", "{mcp}:expiry"]).trim(), "1");
        lose();
        let claim = store
            .claim_due(PATIENCE, &ClaimExceptions::default())
            .await
            .unwrap();
        assert!(
            matches!(&claim, TaskClaim::Claimed(claimed) if (&claimed.id, claimed.attempt) == (&task.id, 2)),
            "{claim:?}"
        );
        lose();
        store.release(&task.id, 2, Duration::ZERO).await.unwrap();
        let tries = store.load(&task.id).await.unwrap().unwrap().tries;
        assert_eq!(tries, 1, "the attempt is given back once");
        lose();
        let claimed = store.claim(&task.id, PATIENCE).await.unwrap().unwrap();
        assert_eq!((claimed.attempt, claimed.tries), (3, 2));
        // The script is preceded by a read, which can be repeated as well.
        for message in ["one", "two"] {
            let before = store.load(&task.id).await.unwrap().unwrap();
            lose();
            let change = TaskChange::to(TaskStatus::Working).message(message);
            let changed = store.change(&task.id, before.version, change).await;
            assert!(
                matches!(changed, Ok(TaskChanged::Changed(_))),
                "{changed:?}"
            );
        }
        let run = ClaimId::random();
        store.begin_step(&task.id, 3, "pay", run).await.unwrap();
        lose();
        store.abandon_step(&task.id, 3, "pay", run).await.unwrap();
        assert!(proxy.has_lost_all(), "{lost:?}");
    }
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_lost_connection_fails_only_operations_that_cannot_be_repeated() {
    let redis = RedisServer::start();
    let proxy = LossyProxy::start(&redis);
    let store = connect_through(&proxy).await;
    let task = create(&store, NewTask::new("a", "t")).await;
    for lost in [Lost::Request, Lost::Reply] {
        proxy.lose(lost, 1);
        // Taking tokens is not repeated.
        let token = RateToken::new("bucket", 10, Duration::from_secs(1));
        assert!(store.take(&[token]).await.is_err());
        assert!(store.load(&task.id).await.unwrap().is_some());
        store
            .begin_step(&task.id, 1, &format!("{lost:?}"), ClaimId::random())
            .await
            .unwrap();
    }
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_task_whose_creation_failed_does_not_exist() {
    let redis = RedisServer::start();
    let proxy = LossyProxy::start(&redis);
    let store = connect_through(&proxy).await;
    let tasks = || redis.tell(&["KEYS", "{mcp}:task:*"]).trim().to_owned();
    let withdrawn = |task: &NewTask| {
        let key = format!("{{mcp}}:withdrawn:{}", task.id);
        redis.tell(&["EXISTS", &key]).trim() == "1"
    };
    let until_withdrawn = async |task: &NewTask| {
        let began = Instant::now();
        while !withdrawn(task) {
            assert!(began.elapsed() < PATIENCE, "the task is not withdrawn");
            sleep(Duration::from_millis(20)).await;
        }
    };
    // Redis creates the task, but neither reply arrives.
    let task = NewTask::new("a", "t");
    proxy.lose(Lost::Reply, 2);
    store.create(task.clone()).await.unwrap_err();
    until_withdrawn(&task).await;
    assert_eq!(tasks(), "");
    // A creation that is carried out only later is refused.
    assert!(store.create(task).await.is_err());
    // Redis has the request, but works on it only after the store has given up.
    until_it_works(&store).await;
    let others = tasks();
    let task = NewTask::new("a", "t");
    redis.signal(Signal::STOP);
    store.create(task.clone()).await.unwrap_err();
    redis.signal(Signal::CONT);
    until_withdrawn(&task).await;
    assert_eq!(tasks(), others);
}

/// Pays, and lets the test hurt Redis meanwhile.
#[tool(task, tags("outages"))]
async fn pay_in_task(ctx: &Context, bench: State<Arc<Bench>>) -> Result<usize> {
    bench.reached.add_permits(1);
    bench.go_on.acquire().await.expose()?.forget();
    let step = ctx.once("pay", async || {
        bench.reached.add_permits(1);
        bench.go_on.acquire().await.expose()?.forget();
        Ok(bench.paid.fetch_add(1, Ordering::SeqCst) + 1)
    });
    step.await
}

/// Pays in a call with a key, and lets the test hurt Redis meanwhile.
#[tool(idempotent_by = "order", tags("outages"))]
async fn pay_order(bench: State<Arc<Bench>>, order: u32) -> Result<String> {
    bench.reached.add_permits(1);
    bench.go_on.acquire().await.expose()?.forget();
    let paid = bench.paid.fetch_add(1, Ordering::SeqCst) + 1;
    Ok(format!("{order} {paid}"))
}

/// Counts payments, and lets a test decide when they go on.
struct Bench {
    paid: AtomicUsize,
    /// Has a permit for each point at which a tool waits for the test.
    reached: Semaphore,
    go_on: Semaphore,
}

#[derive(Clone, Copy, Debug)]
enum Hurt {
    Killed,
    Stopped,
}

/// Lets the tool go on while Redis is away, for a second.
async fn hurt(redis: &mut RedisServer, how: Hurt, bench: &Bench) {
    let reached = timeout(PATIENCE, bench.reached.acquire()).await;
    reached.expect("the tool goes on").unwrap().forget();
    match how {
        Hurt::Killed => redis.kill(),
        Hurt::Stopped => redis.signal(Signal::STOP),
    }
    bench.go_on.add_permits(1);
    sleep(Duration::from_secs(1)).await;
    match how {
        Hurt::Killed => redis.start_again(),
        Hurt::Stopped => redis.signal(Signal::CONT),
    }
}

/// Waits until Redis works, and then for as long as another connection may take to notice: until its present attempt is
/// over, and the 250 ms until the next one.
async fn until_redis_works(redis: &RedisServer) {
    until_it_works(&connect(redis).await).await;
    sleep(LIMIT * 2).await;
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn tasks_and_idempotent_calls_survive_outages_at_their_start_and_end() {
    for how in [Hurt::Killed, Hurt::Stopped] {
        let mut redis = RedisServer::start();
        let bench = Arc::new(Bench {
            paid: AtomicUsize::new(0),
            reached: Semaphore::new(0),
            go_on: Semaphore::new(0),
        });
        let store = connect(&redis).await;
        let server = new_server!()
            .only(Selected::tag("outages"))
            .state(Arc::clone(&bench))
            .backend(store);
        let client = TestClient::modern(server).await;
        let task = client.start_task("pay_in_task", json!({})).await.unwrap();
        for _ in 0..2 {
            hurt(&mut redis, how, &bench).await;
        }
        until_redis_works(&redis).await;
        assert_eq!(task.result().await.unwrap().text(), "1", "{how:?}");
        let call = async || client.call("pay_order", json!({"order": 7})).await.unwrap();
        let (paid, ()) = tokio::join!(call(), hurt(&mut redis, how, &bench));
        assert_eq!(paid.text(), "7 2", "{how:?}");
        until_redis_works(&redis).await;
        assert_eq!(call().await.text(), "7 2", "{how:?}");
        assert_eq!(bench.paid.load(Ordering::SeqCst), 2, "{how:?}");
    }
}
