//! What an operator sees of Redis.

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_runtime::backend::{NewTask, TaskStore as _};
use mcp_runtime_redis::RedisOptions;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

use crate::support::RedisServer;

/// Returns the number of measurements since the last call, or the value of a gauge, by name and labels.
fn recorded(snapshotter: &Snapshotter) -> BTreeMap<String, f64> {
    let all = snapshotter.snapshot().into_vec().into_iter();
    let all = all.map(|(key, _, _, value)| {
        let labels = key.key().labels();
        let mut labels: Vec<_> = labels
            .map(|label| format!("{}={}", label.key(), label.value()))
            .collect();
        labels.sort();
        let value = match value {
            DebugValue::Counter(count) => f64::from(u32::try_from(count).unwrap()),
            DebugValue::Gauge(value) => value.0,
            DebugValue::Histogram(values) => f64::from(u32::try_from(values.len()).unwrap()),
        };
        (format!("{} {}", key.key().name(), labels.join(" ")), value)
    });
    all.collect()
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn operations_and_outages_are_measured() {
    const CREATE: &str = "db.client.operation.duration db.operation.name=EVALSHA \
                          db.stored_procedure.name=create db.system.name=redis";
    const AVAILABLE: &str = "mcp.server.backend_available db.system.name=redis";
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _local = metrics::set_default_local_recorder(&recorder);
    let mut redis = RedisServer::start();
    let options = RedisOptions::new().operation_timeout(Duration::from_millis(500));
    let store = redis.connect_with(options).await;
    store.create(NewTask::new("a", "t")).await.unwrap();
    let seen = recorded(&snapshotter);
    let of = |name: &str, seen: &BTreeMap<String, f64>| seen.get(name).copied();
    assert_eq!(of(CREATE, &seen), Some(1.0), "{seen:?}");
    assert_eq!(of(AVAILABLE, &seen), Some(1.0), "{seen:?}");
    redis.kill();
    store.create(NewTask::new("a", "t")).await.unwrap_err();
    let seen = recorded(&snapshotter);
    let failed = format!("{CREATE} error.type=unreachable");
    assert_eq!(of(&failed, &seen), Some(1.0), "{seen:?}");
    assert_eq!(of(AVAILABLE, &seen), Some(0.0), "{seen:?}");
    redis.start_again();
    while store.create(NewTask::new("a", "t")).await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(of(AVAILABLE, &recorded(&snapshotter)), Some(1.0));
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn each_partition_has_a_metric_of_its_availability() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _local = metrics::set_default_local_recorder(&recorder);
    let redis = RedisServer::start();
    let options = RedisOptions::new().task_partitions(2);
    redis.connect_with(options).await;
    let seen = recorded(&snapshotter);
    for labels in [
        "db.system.name=redis",
        "db.system.name=redis mcp.task.partition=1",
    ] {
        let gauge = format!("mcp.server.backend_available {labels}");
        assert_eq!(seen.get(&gauge).copied(), Some(1.0), "{seen:?}");
    }
}
