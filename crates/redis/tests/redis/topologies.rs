//! Redis with Sentinel, and as a cluster.

use std::net::TcpListener;
use std::time::Duration;

use mcp_runtime::backend::{
    Backend, ClaimExceptions, NewTask, TaskClaim, TaskCreation, TaskStore as _,
};
use mcp_runtime_redis::{Redis, RedisOptions};
use tokio::time::{Instant, sleep};

use crate::support::{PATIENCE, RedisServer};

/// Returns free ports.
fn ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| TcpListener::bind(("127.0.0.1", 0)).unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

fn server(port: u16, options: &[&str]) -> RedisServer {
    let port = port.to_string();
    let own = ["--port", &*port, "--bind", "127.0.0.1"];
    RedisServer::with(&[&own, options].concat())
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(20)).await;
    }
}

async fn connect(name: &str, url: &str) -> Redis {
    let options = RedisOptions::new().name(name);
    options.connect(url).await.unwrap()
}

async fn check(name: &str, url: &str) {
    Backend::from(connect(name, url).await).check().await;
}

async fn create(store: &Redis) -> NewTask {
    let task = NewTask::new("a", "t");
    let created = store.create(task.clone()).await.unwrap();
    assert!(matches!(created, TaskCreation::Created(_)));
    task
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_sentinel_setup_follows_the_rules_before_and_after_a_failover() {
    let [first, second, port] = ports();
    let mut primary = server(first, &["--repl-diskless-sync-delay", "0"]);
    let of_primary = format!("127.0.0.1 {first}");
    let replica = server(second, &["--replicaof", &of_primary]);
    let synced = async || {
        replica
            .tell(&["INFO", "replication"])
            .contains("master_link_status:up")
    };
    until("the replica does not follow", synced).await;
    let settings = [
        format!("sentinel monitor notes {of_primary} 1"),
        "sentinel down-after-milliseconds notes 500".to_owned(),
        "sentinel failover-timeout notes 3000".to_owned(),
    ];
    let sentinel = RedisServer::sentinel(port, &settings);
    let knows = async || {
        let known = sentinel.tell(&["SENTINEL", "REPLICAS", "notes"]);
        known.contains(&second.to_string())
    };
    until("the sentinel does not know the replica", knows).await;

    // A sentinel that no longer exists is not needed.
    let url = format!("redis-sentinel://127.0.0.1:1,127.0.0.1:{port}#notes");
    check("before", &url).await;
    let store = connect("kept", &url).await;
    let task = create(&store).await;
    assert_eq!(primary.tell(&["WAIT", "1", "10000"]).trim(), "1");
    primary.kill();
    let loaded = async || store.load(&task.id).await.is_ok_and(|task| task.is_some());
    until("the new primary is not found", loaded).await;
    let writes = async || store.create(NewTask::new("a", "t")).await.is_ok();
    until("the new primary is not written to", writes).await;
    check("after", &url).await;

    let unknown = format!("redis-sentinel://127.0.0.1:{port}#others");
    let refused = Redis::connect(&unknown).await.unwrap_err().to_string();
    assert!(
        refused.contains("no primary is known at others"),
        "{refused}"
    );
}

/// Starts a cluster of three nodes, each with a third of the slots. Returns the nodes and their ports.
async fn cluster() -> ([RedisServer; 3], [u16; 3]) {
    let [ports, buses] = [ports::<3>(), ports::<3>()];
    let node = |index: usize| {
        let bus = buses[index].to_string();
        server(
            ports[index],
            &[
                &["--cluster-enabled", "yes", "--cluster-port", &*bus][..],
                // The slots of the other nodes can be used while a node is down.
                &["--cluster-require-full-coverage", "no"],
            ]
            .concat(),
        )
    };
    let nodes = [node(0), node(1), node(2)];
    let slots = [("0", "5460"), ("5461", "10922"), ("10923", "16383")];
    for (node, (from, to)) in nodes.iter().zip(slots) {
        node.tell(&["CLUSTER", "ADDSLOTSRANGE", from, to]);
    }
    for (port, bus) in ports.iter().zip(buses).skip(1) {
        let (port, bus) = (port.to_string(), bus.to_string());
        nodes[0].tell(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]);
    }
    for node in &nodes {
        let joined = async || {
            let info = node.tell(&["CLUSTER", "INFO"]);
            info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
        };
        until("the nodes do not join", joined).await;
    }
    (nodes, ports)
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_cluster_follows_the_rules_and_each_key_is_found_on_its_node() {
    let (nodes, ports) = cluster().await;
    // This works regardless of which node is asked and where the keys are.
    for (index, name) in ["a", "b", "c", "d", "e", "f"].into_iter().enumerate() {
        let url = format!("redis-cluster://127.0.0.1:1,127.0.0.1:{}", ports[index % 3]);
        if index == 0 {
            check("rules", &url).await;
        }
        let store = connect(name, &url).await;
        let task = create(&store).await;
        assert!(store.load(&task.id).await.unwrap().is_some());
    }
    let used = nodes
        .iter()
        .filter(|node| node.tell(&["DBSIZE"]).trim() != "0");
    assert!(used.count() > 1, "the names are in different slots");
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn in_a_cluster_partitions_divide_tasks_among_the_nodes() {
    let (mut nodes, ports) = cluster().await;
    let url = format!(
        "redis-cluster://127.0.0.1:{},127.0.0.1:{}",
        ports[0], ports[1]
    );
    let options = || RedisOptions::new().name("divided").task_partitions(8);
    let rules = options().name("rules").connect(&url).await.unwrap();
    Backend::from(rules).check().await;

    let store = options().connect(&url).await.unwrap();
    for _ in 0..80 {
        let mut task = NewTask::new("a", "t");
        task.lease = Duration::ZERO;
        let created = store.create(task).await.unwrap();
        assert!(matches!(created, TaskCreation::Created(_)));
    }
    let tasks = |node: &RedisServer| {
        let keys = node.tell(&["KEYS", "{divided*}:task:*"]);
        keys.lines().filter(|key| !key.is_empty()).count()
    };
    let held: Vec<_> = nodes.iter().map(tasks).collect();
    assert_eq!(held.iter().sum::<usize>(), 80, "{held:?}");
    assert!(held.iter().all(|&tasks| tasks >= 5), "{held:?}");

    // The tasks of a node that is down cannot be claimed, but those of the others can.
    nodes[2].kill();
    let mut claimed = 0;
    loop {
        match store
            .claim_due(Duration::from_mins(1), &ClaimExceptions::default())
            .await
        {
            Ok(TaskClaim::Claimed(_)) => claimed += 1,
            Ok(other) => panic!("a node is down, but the reply is {other:?}"),
            Err(error) => {
                assert!(error.to_string().contains("(cluster)"), "{error}");
                break;
            }
        }
    }
    assert_eq!(claimed, 80 - held[2]);
}
