#![doc = include_str!("../README.md")]

mod changes;
mod definitions;
mod error;
#[cfg(feature = "http")]
mod events;
mod fields;
#[cfg(feature = "http")]
mod instances;
mod link;
mod listing;
mod location;
mod once;
mod operators;
mod options;
mod partitions;
mod rates;
#[cfg(feature = "http")]
mod records;
mod relay;
mod results;
mod scripts;
mod sealing;
#[cfg(feature = "http")]
mod session_loads;
#[cfg(feature = "http")]
mod sessions;
mod shared_keys;
mod tasks;
mod telemetry;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use mcp_stores::Backend;
use redis::FromRedisValue;

use crate::changes::Changes;
pub use crate::error::RedisError;
use crate::link::OnLostConnection;
pub use crate::options::RedisOptions;
use crate::partitions::Partitions;
#[cfg(feature = "http")]
use crate::records::KnownRecords;
use crate::scripts::{NamedScript, Operation};
#[cfg(feature = "http")]
use crate::session_loads::WaitingLoads;
use crate::shared_keys::SharedKeys;

/// Stores all data that outlives a request in Redis 6.2 or later: tasks, the results of `once`, large results, legacy
/// sessions (with the `http` feature) and the events on their streams. Also counts calls against their rates, passes
/// change notifications between instances, and clients' messages to the instance that runs the call. Cheap to clone.
///
/// ```no_run
/// use mcp_runtime::prelude::*;
/// use mcp_runtime_redis::Redis;
///
/// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
/// let server = new_server!().backend(Redis::from_env().await?); // REDIS_URL
/// # Ok(()) }
/// ```
///
/// All instances of a server that use the same Redis server and the same [name](RedisOptions::name) share this data,
/// and each instance continues the tasks of other instances that have died.
///
/// The data survives the failure of any instance. Redis's own settings determine which data survives a failure of Redis
/// itself.
#[derive(Clone)]
pub struct Redis(Arc<Shared>);

struct Shared {
    partitions: Partitions,
    options: RedisOptions,
    changes: Arc<Changes>,
    #[cfg(feature = "http")]
    records: KnownRecords,
    #[cfg(feature = "http")]
    loads: WaitingLoads,
    sealing: Option<Arc<SharedKeys>>,
}

impl Redis {
    /// Connects to Redis with the default [options](RedisOptions). The address is one of:
    ///
    /// - `redis://[user:password@]host[:port][/database]`
    /// - `unix://path[?db=…&user=…&pass=…]`
    /// - `redis-sentinel://[user:password@]host[:port],…[/database]#name`, with the Sentinels' hosts, and the primary's
    ///   name and credentials. For each new connection, the Sentinels are queried for the current primary, without
    ///   credentials.
    /// - `redis-cluster://[user:password@]host[:port],…`, with some of a cluster's nodes, which are queried for the
    ///   node that holds this server's keys. All of these keys are in one slot, unless there are several
    ///   [task partitions](RedisOptions::task_partitions).
    ///
    /// With the `tls` feature, also `rediss://…`, `rediss-sentinel://…` and `rediss-cluster://…`, in which case the
    /// system must trust the certificates.
    ///
    /// # Errors
    ///
    /// Fails if the address is invalid, or if Redis cannot be reached, refuses the credentials, or is too old. Errors
    /// do not contain credentials.
    pub async fn connect(url: &str) -> Result<Self, RedisError> {
        RedisOptions::new().connect(url).await
    }

    /// Connects to the address in the `REDIS_URL` environment variable, with the default [options](RedisOptions).
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`Redis::connect`], or if the variable is not set.
    pub async fn from_env() -> Result<Self, RedisError> {
        RedisOptions::new().connect_from_env().await
    }

    async fn with(options: RedisOptions, url: &str) -> Result<Self, RedisError> {
        telemetry::describe();
        let changes = Arc::new(Changes::new());
        let partitions = Partitions::new(&options, url, &changes)?;
        let sealing = options.sealing_keys.then(|| Arc::new(SharedKeys::new()));
        let store = Self(Arc::new(Shared {
            partitions,
            options,
            changes,
            #[cfg(feature = "http")]
            records: KnownRecords::default(),
            #[cfg(feature = "http")]
            loads: WaitingLoads::default(),
            sealing,
        }));
        store.check().await?;
        if let Some(keys) = &store.0.sealing {
            store.load_sealing_keys(keys).await?;
            store.follow_sealing_keys(keys);
        }
        Ok(store)
    }

    /// Connects and warns if Redis is configured to drop data when its memory is full.
    async fn check(&self) -> Result<(), RedisError> {
        for link in self.0.partitions.all() {
            let info = link.operation(&scripts::INFO);
            warn_of_eviction(
                &link
                    .script::<String>(&info, OnLostConnection::Repeat)
                    .await?,
            );
        }
        self.check_partitions().await
    }

    /// Fails if the tasks are in another number of partitions than this instance is set to.
    async fn check_partitions(&self) -> Result<(), RedisError> {
        let own = self.0.partitions.count();
        let mut agree = self.script(&scripts::PARTITIONS);
        let known: usize = self.run(agree.arg(own), OnLostConnection::Repeat).await?;
        if known == own {
            return Ok(());
        }
        let name = &self.0.options.name;
        Err(RedisError::text(format!(
            "`task_partitions` is {own}, but the tasks of `{name}` are in {known}; all instances must have the same number. \
             To change it, stop all instances once there are no tasks, and delete the key `{{{name}}}:partitions`"
        )))
    }

    /// Fails unless Redis is working and accepts writes.
    #[cfg(feature = "http")]
    async fn probe(&self) -> Result<(), RedisError> {
        for link in self.0.partitions.all() {
            let probe = link.operation(&scripts::PROBE);
            let _: u64 = link.script(&probe, OnLostConnection::Repeat).await?;
        }
        Ok(())
    }

    /// Begins a call to a script that is not about tasks.
    fn script(&self, script: &'static NamedScript) -> Operation {
        self.0.partitions.first().operation(script)
    }

    /// Runs a script that is not about tasks.
    fn run<'a, T: FromRedisValue + 'a>(
        &'a self,
        operation: &'a Operation,
        after_loss: OnLostConnection,
    ) -> impl Future<Output = Result<T, RedisError>> + 'a {
        self.0.partitions.first().script(operation, after_loss)
    }

    /// Runs a script that records an event in this partition. Once the future has been polled, the script runs even if
    /// the future is dropped.
    fn record<T: FromRedisValue + Send + 'static>(
        &self,
        partition: usize,
        script: Operation,
    ) -> impl Future<Output = Result<T, RedisError>> + Send + use<T> {
        let shared = Arc::clone(&self.0);
        async move {
            let work = async move {
                let link = shared.partitions.at(partition);
                link.script(&script, OnLostConnection::Repeat).await
            };
            let ended = |_| RedisError::text("the process is ending");
            tokio::spawn(work).await.map_err(ended)?
        }
    }
}

impl RedisOptions {
    /// Connects to Redis.
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`Redis::connect`], if the name or the number of task partitions is invalid, or if the
    /// tasks are in another number of partitions.
    pub async fn connect(self, url: &str) -> Result<Redis, RedisError> {
        self.check()?;
        Redis::with(self, url).await
    }

    /// Connects to the address in the `REDIS_URL` environment variable.
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`Redis::connect`], or if the variable is not set.
    pub async fn connect_from_env(self) -> Result<Redis, RedisError> {
        let unset =
            "the environment variable REDIS_URL is not set; an example is redis://127.0.0.1:6379";
        let url = std::env::var("REDIS_URL").map_err(|_| RedisError::text(unset))?;
        self.connect(&url).await
    }
}

/// Warns if Redis is configured to drop data when its memory is full, according to its report.
fn warn_of_eviction(info: &str) {
    let policy = info
        .lines()
        .find_map(|line| line.strip_prefix("maxmemory_policy:"));
    if let Some(policy) = policy
        .map(str::trim)
        .filter(|policy| *policy != "noeviction")
    {
        tracing::warn!(
            policy,
            "Redis may drop tasks and `once` results when its memory is full; set `maxmemory-policy noeviction`"
        );
    }
}

impl From<Redis> for Backend {
    fn from(store: Redis) -> Self {
        let store = Arc::new(store);
        let backend = Self::new()
            .tasks(Arc::<Redis>::clone(&store))
            .once(Arc::<Redis>::clone(&store))
            .results(Arc::<Redis>::clone(&store))
            .notifications(Arc::<Redis>::clone(&store));
        let backend = if store.0.options.shared_rates {
            backend.rates(Arc::<Redis>::clone(&store))
        } else {
            backend
        };
        let backend = match &store.0.sealing {
            Some(shared) => backend.sealing_keys(shared.keys.clone()),
            None => backend,
        };
        #[cfg(feature = "http")]
        let backend = backend
            .sessions(Arc::<Redis>::clone(&store))
            .events(Arc::<Redis>::clone(&store))
            .instances(Arc::<Redis>::clone(&store));
        #[cfg(feature = "http")]
        let backend = if store.0.options.ready_check {
            backend.ready_check("Redis", move || {
                let store = Arc::clone(&store);
                async move { store.probe().await }
            })
        } else {
            backend
        };
        backend
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis")
            .field("address", &self.0.partitions.first().address())
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}
