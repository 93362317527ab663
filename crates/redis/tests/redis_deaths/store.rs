//! The store under test: a Redis server that all runs share. Each run has a name of its own.

use std::env;
use std::path::Path;
use std::sync::OnceLock;

use mcp_runtime_redis::{Redis, RedisOptions};

use crate::run::Failure;
use crate::support::RedisServer;

pub(crate) type Store = Redis;

/// The command that tries all pairs of deaths.
pub(crate) const ALL_PAIRS: &str = "tests/redis/run --all";

/// The environment variable with the address of the Redis server.
const URL: &str = "REDIS_URL";

/// The address, in the process that has started the Redis server.
static STARTED: OnceLock<String> = OnceLock::new();

/// Starts the Redis server of this process.
pub(crate) fn start() -> RedisServer {
    // The server is not killed, so it has nothing to keep.
    let server = RedisServer::with(&[]);
    STARTED.get_or_init(|| server.url());
    server
}

pub(crate) async fn open(folder: &Path) -> Result<Store, Failure> {
    let name = folder.file_name().and_then(|name| name.to_str());
    let options = RedisOptions::new().name(name.ok_or("the folder has no name")?);
    let url = STARTED.get().cloned().map_or_else(|| env::var(URL), Ok)?;
    Ok(options.connect(&url).await?)
}

/// Returns the variables in the environment of the servers.
pub(crate) fn variables() -> Option<(&'static str, String)> {
    Some((URL, STARTED.get()?.clone()))
}
