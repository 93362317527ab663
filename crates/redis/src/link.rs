//! A connection to Redis. It carries all operations on the keys with a prefix and, unless the prefix is that of a task
//! partition, all messages from Redis. When it is lost, the next operation connects again: a lost connection says nothing
//! about Redis. Redis counts as failing only once a new connection does not work. From then on, operations fail
//! immediately, except that one operation every 250 ms tries to connect.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mcp_stores::timeout_while_running;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ErrorKind, FromRedisValue, PushInfo, PushKind, ServerErrorKind,
    Value,
};
use tracing::Instrument as _;

use crate::changes::Changes;
use crate::error::RedisError;
use crate::location::RedisLocation;
use crate::options::RedisOptions;
use crate::scripts::{NamedScript, Operation};
use crate::telemetry;

/// Time between two attempts while Redis is not working.
const RETRY_AFTER: Duration = Duration::from_millis(250);

pub(crate) struct Link {
    /// Begins each key. Its hash tag puts these keys into one cluster slot.
    prefix: String,
    /// The partition of tasks whose keys have this prefix, or 0 for all other keys and the first partition.
    partition: usize,
    location: RedisLocation,
    address: String,
    limit: Duration,
    max_at_once: usize,
    channel: String,
    state: Arc<Mutex<LinkState>>,
    /// Held by the operation that is connecting, as long as Redis is not known to be failing.
    connecting: tokio::sync::Mutex<()>,
    changes: Arc<Changes>,
}

/// The state of a connection. Connections are numbered so that events on an old connection do not affect its successor.
struct LinkState {
    /// The number of the latest connection, which may still be being established.
    number: u64,
    /// The number of the latest connection on which an operation has succeeded.
    worked: u64,
    connection: Option<MultiplexedConnection>,
    failure: Option<(Instant, RedisError)>,
}

/// The action to take for an operation whose connection was lost before the result arrived.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnLostConnection {
    /// The operation fails, because it may have been carried out and must not be carried out twice. No other operation
    /// is affected.
    Fail,
    /// The operation is repeated once, because repeating it has no further effect.
    Repeat,
}

impl Link {
    pub(crate) fn new(
        options: &RedisOptions,
        partition: usize,
        url: &str,
        changes: Arc<Changes>,
    ) -> Result<Self, RedisError> {
        let wrong = || {
            let text = "the address of Redis is invalid; examples are redis://127.0.0.1:6379, redis://user:password@host/0, \
                        unix:///run/redis.sock, redis-sentinel://host1,host2#primary and redis-cluster://host1,host2, \
                        with the feature `tls` also rediss://host, rediss-sentinel://host#primary and rediss-cluster://host";
            RedisError::text(text)
        };
        // Names contain no slash.
        let prefix = match partition {
            0 => format!("{{{}}}:", options.name),
            partition => format!("{{{}/{partition}}}:", options.name),
        };
        let location = RedisLocation::parse(url, &prefix);
        let location = location.ok_or_else(wrong)?;
        #[cfg(feature = "tls")]
        if location.uses_tls() {
            // The client uses the process's default provider, and panics if there are several providers but no default.
            // An existing default is kept.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        Ok(Self {
            prefix,
            partition,
            address: location.address(),
            location,
            limit: options.operation_timeout,
            max_at_once: options.max_at_once,
            channel: format!("{{{}}}:changes", options.name),
            state: Arc::new(Mutex::new(LinkState {
                number: 0,
                worked: 0,
                connection: None,
                failure: None,
            })),
            connecting: tokio::sync::Mutex::default(),
            changes,
        })
    }

    /// Returns the address, without credentials.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Begins a call to a script, for the keys of this connection.
    pub(crate) fn operation(&self, script: &'static NamedScript) -> Operation {
        script.with_prefix(&self.prefix)
    }

    /// Runs a script, and fails if it exceeds the time limit.
    pub(crate) async fn script<T: FromRedisValue>(
        &self,
        operation: &Operation,
        after_loss: OnLostConnection,
    ) -> Result<T, RedisError> {
        let began = Instant::now();
        let span = telemetry::span(operation.name, &self.address);
        // Pinned here, because a future that is passed on is copied, and takes its size twice.
        let done = pin!(self.run(operation, after_loss));
        let done = done.instrument(span.clone()).await;
        telemetry::record(&span, operation.name, began.elapsed(), done.as_ref().err());
        done
    }

    async fn run<T: FromRedisValue>(
        &self,
        operation: &Operation,
        after_loss: OnLostConnection,
    ) -> Result<T, RedisError> {
        let mut number = lock(&self.state).number;
        // Whether Redis may have received the operation without this instance learning the result.
        let (mut is_sent, mut is_lost) = (false, false);
        let done = {
            let work = pin!(async {
                let mut is_repeated = false;
                loop {
                    let mut connection = self.connection(&mut number).await?;
                    is_sent = true;
                    let error = match operation.run(&mut connection).await {
                        Ok(done) => {
                            self.works(number);
                            return Ok(done);
                        }
                        Err(error) => error,
                    };
                    is_sent = false;
                    let is_refused = is_about_server(&error);
                    let loses_connection = error.is_unrecoverable_error() || error.is_io_error();
                    is_lost |= loses_connection;
                    // A server that refuses an operation has not carried it out.
                    let can_repeat =
                        is_refused || loses_connection && after_loss == OnLostConnection::Repeat;
                    if can_repeat && !is_repeated {
                        is_repeated = true;
                        self.lose(number);
                        continue;
                    }
                    let told = RedisError::of(&self.address, &error);
                    if is_refused {
                        self.fail(number, &told);
                    } else if is_repeated && loses_connection {
                        self.fail_unless_worked(number, &told);
                    } else if loses_connection {
                        self.lose(number);
                    }
                    return Err(told);
                }
            });
            timeout_while_running(self.limit, work).await
        };
        let done = done.unwrap_or_else(|| {
            let error = RedisError::no_answer(&self.address, self.limit);
            // The machine at the other end of the connection may no longer exist.
            self.fail_unless_worked(number, &error);
            Err(error)
        });
        done.map_err(|error| error.with_unknown_outcome(is_sent || is_lost))
    }

    /// Returns the existing connection, or establishes a new one.
    async fn connection(&self, number: &mut u64) -> Result<MultiplexedConnection, RedisError> {
        if let Some(known) = self.known(number) {
            return known;
        }
        let is_first = lock(&self.state).failure.is_none();
        // While Redis is failing, attempts are independent, so an attempt that hangs does not delay other attempts.
        let _turn = if is_first {
            let turn = self.connecting.lock().await;
            if let Some(known) = self.known(number) {
                return known;
            }
            Some(turn)
        } else {
            None
        };
        // Boxed, because it is large and seldom needed.
        let made = Box::pin(self.connect(number)).await;
        made.inspect_err(|error| self.fail(*number, error))
    }

    /// Returns the existing connection or failure, or `None` if the caller may try to connect.
    fn known(&self, number: &mut u64) -> Option<Result<MultiplexedConnection, RedisError>> {
        let mut state = lock(&self.state);
        *number = state.number;
        if let Some((at, error)) = &mut state.failure {
            if at.elapsed() < RETRY_AFTER {
                return Some(Err(error.clone()));
            }
            *at = Instant::now();
        }
        state.connection.clone().map(Ok)
    }

    /// Establishes a connection, whose number is known from the start.
    async fn connect(&self, made: &mut u64) -> Result<MultiplexedConnection, RedisError> {
        let number = {
            let mut state = lock(&self.state);
            state.number += 1;
            state.number
        };
        *made = number;
        let (state, changes) = (Arc::downgrade(&self.state), Arc::clone(&self.changes));
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.limit))
            .set_response_timeout(None)
            .set_concurrency_limit(self.max_at_once)
            .set_push_sender(move |told: PushInfo| {
                match told.kind {
                    PushKind::Message => {
                        if let Some(Value::BulkString(id)) = told.data.get(1) {
                            changes.wake(id);
                        }
                    }
                    PushKind::Disconnection => {
                        if let Some(state) = state.upgrade() {
                            forget(&state, number);
                        }
                        changes.wake_all();
                    }
                    _ => {}
                }
                Ok::<_, std::convert::Infallible>(())
            });
        let of = |error: redis::RedisError| RedisError::of(&self.address, &error);
        // Several Sentinels or nodes may have to be queried within the operation's time limit.
        let info = self.location.find(self.limit / 4).await?;
        let client = Client::open(info).map_err(of)?;
        let connecting = client.get_multiplexed_async_connection_with_config(&config);
        let mut connection = connecting.await.map_err(of)?;
        if !self.location.is_primary(&mut connection).await {
            let replaced = "is being replaced by another primary";
            return Err(RedisError::text(format!("{} {replaced}", self.address)));
        }
        // Messages reach all nodes of a cluster.
        if self.partition == 0 {
            connection.subscribe(&self.channel).await.map_err(of)?;
        }
        let mut state = lock(&self.state);
        // If several connections are being established at the same time, the most recently started connection is used.
        if state.number == number || state.connection.is_none() {
            state.number = state.number.max(number);
            if state.failure.is_none() {
                telemetry::record_available(self.partition, true);
            }
            state.connection = Some(connection.clone());
        }
        drop(state);
        self.changes.wake_all();
        Ok(connection)
    }

    fn works(&self, number: u64) {
        let mut state = lock(&self.state);
        state.worked = state.worked.max(number);
        if state.number == number && state.failure.take().is_some() {
            tracing::info!(address = self.address, "Redis is available again");
            telemetry::record_available(self.partition, true);
        }
    }

    fn lose(&self, number: u64) {
        forget(&self.state, number);
    }

    /// Replaces a connection that does not work. If it never has, Redis is failing.
    fn fail_unless_worked(&self, number: u64, error: &RedisError) {
        if (1..=lock(&self.state).worked).contains(&number) {
            self.lose(number);
        } else {
            self.fail(number, error);
        }
    }

    /// Records that Redis is not working, unless another connection has been established in the meantime.
    fn fail(&self, number: u64, error: &RedisError) {
        let mut state = lock(&self.state);
        if state.number != number && state.connection.is_some() {
            return;
        }
        state.connection = None;
        if state.failure.is_none() {
            tracing::error!(%error, "Redis is unavailable; retrying every 250 ms while it is needed");
            telemetry::record_available(self.partition, false);
        }
        state.failure = Some((Instant::now(), error.clone()));
    }
}

fn forget(state: &Mutex<LinkState>, number: u64) {
    let mut state = lock(state);
    if state.number == number {
        state.connection = None;
    }
}

/// Returns `true` if the next operation would also fail but a new connection may help.
fn is_about_server(error: &redis::RedisError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::AuthenticationFailed
            | ErrorKind::Server(
                ServerErrorKind::ReadOnly
                    | ServerErrorKind::BusyLoading
                    | ServerErrorKind::ClusterDown
                    | ServerErrorKind::MasterDown
                    | ServerErrorKind::Moved
                    | ServerErrorKind::Ask
            )
    )
}

fn lock(state: &Mutex<LinkState>) -> MutexGuard<'_, LinkState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripts;

    #[test]
    fn an_operation_takes_little_memory() {
        let (options, changes) = (RedisOptions::new(), Arc::new(Changes::new()));
        let link = Link::new(&options, 0, "redis://127.0.0.1", changes).unwrap();
        let load = link.operation(&scripts::LOAD);
        let done = link.script::<Option<String>>(&load, OnLostConnection::Repeat);
        // Each request in a session allocates it. What is seldom needed, such as connecting, is in boxes of its own.
        assert!(size_of_val(&done) < 1024, "{}", size_of_val(&done));
    }
}
