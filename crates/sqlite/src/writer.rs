//! The thread that owns the connection. Operations that are waiting at the same time share a transaction.

use std::io;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mcp_core::context::StoreFuture;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::error::SqliteError;
use crate::statements;

/// Maximum number of waiting operations.
const MAX_WAITING: usize = 1024;
/// Maximum number of operations in a transaction.
const MAX_BATCH: usize = 256;
/// Time after which an operation fails, even if the disk has not responded.
const PATIENCE: Duration = Duration::from_secs(15);
/// Minimum time between two sweeps for expired rows.
const SWEEP: Duration = Duration::from_secs(1);

/// Sends operations to the thread, which ends once the last of its senders is dropped.
pub(crate) struct Writer(mpsc::Sender<Box<dyn Operation>>);

/// An operation on the database, which may be run again if its transaction was rolled back.
trait Operation: Send {
    /// Returns `true` if the operation needs a transaction.
    fn writes(&self) -> bool;
    /// Returns `true` if no caller is waiting for the result any longer.
    fn is_abandoned(&self) -> bool;
    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()>;
    /// Passes on the result after the transaction.
    fn finish(self: Box<Self>, outcome: Result<(), SqliteError>);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OperationKind {
    Read,
    Write,
    /// A write that is run even if no caller is waiting for its result any longer.
    Record,
}

struct Pending<W, T> {
    work: W,
    kind: OperationKind,
    result: Option<T>,
    reply: oneshot::Sender<Result<T, SqliteError>>,
}

impl<W, T> Operation for Pending<W, T>
where
    W: FnMut(&Connection) -> rusqlite::Result<T> + Send,
    T: Send,
{
    fn writes(&self) -> bool {
        self.kind != OperationKind::Read
    }

    fn is_abandoned(&self) -> bool {
        self.kind != OperationKind::Record && self.reply.is_closed()
    }

    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.result = Some((self.work)(connection)?);
        Ok(())
    }

    fn finish(self: Box<Self>, outcome: Result<(), SqliteError>) {
        let Self { result, reply, .. } = *self;
        let none = || SqliteError::text("the operation was not run");
        let result = outcome.and_then(|()| result.ok_or_else(none));
        // Sending fails if the caller is no longer waiting, in which case the result is not needed.
        let _ = reply.send(result);
    }
}

impl Writer {
    pub(crate) fn start(connection: Connection) -> io::Result<Self> {
        let (sender, queue) = mpsc::channel(MAX_WAITING);
        let thread = thread::Builder::new().name("mcp-sqlite".into());
        thread.spawn(move || serve(&connection, queue))?;
        Ok(Self(sender))
    }

    /// Runs an operation that only reads.
    pub(crate) fn read<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        self.run(OperationKind::Read, work)
    }

    /// Runs an operation in a transaction.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        self.run(OperationKind::Write, work)
    }

    /// Runs an operation that records an event in a transaction. Once the future has been polled, the operation runs
    /// even if the future is dropped.
    pub(crate) fn record<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        self.run(OperationKind::Record, work)
    }

    fn run<T: Send + 'static>(
        &self,
        kind: OperationKind,
        work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let (reply, result) = oneshot::channel();
        let pending = Pending {
            work,
            kind,
            result: None,
            reply,
        };
        let ended = || SqliteError::text("the database thread has ended");
        Box::pin(async move {
            let done = async {
                let sent = self.0.send(Box::new(pending)).await;
                sent.map_err(|_| ended())?;
                result.await.map_err(|_| ended())?
            };
            let done = timeout(PATIENCE, done).await;
            Ok(done.map_err(|_| SqliteError::not_responding())??)
        })
    }
}

fn serve(connection: &Connection, mut queue: mpsc::Receiver<Box<dyn Operation>>) {
    let mut swept = None::<Instant>;
    let mut batch = Vec::new();
    while queue.blocking_recv_many(&mut batch, MAX_BATCH) > 0 {
        batch.retain(|operation| !operation.is_abandoned());
        // Reads are run first because they do not need the lock or the disk, for which writes may have to wait.
        for mut operation in batch.extract_if(.., |operation| !operation.writes()) {
            let outcome = operation.run(connection);
            operation.finish(outcome.map_err(|error| SqliteError::in_operation(&error)));
        }
        if batch.is_empty() {
            continue;
        }
        let sweeps = swept.is_none_or(|swept| swept.elapsed() >= SWEEP);
        let done = in_transaction(connection, &mut batch, sweeps);
        if sweeps {
            swept = Some(Instant::now());
        }
        match done {
            Ok(()) => {
                for operation in batch.drain(..) {
                    operation.finish(Ok(()));
                }
            }
            Err(error) => one_by_one(connection, &mut batch, &error, sweeps),
        }
    }
}

/// Runs operations in a single transaction.
fn in_transaction(
    connection: &Connection,
    batch: &mut [Box<dyn Operation>],
    sweeps: bool,
) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let mut done = Ok(());
    if sweeps {
        done = statements::sweep(connection, now());
    }
    for operation in batch {
        if done.is_err() {
            break;
        }
        // The operation may have been abandoned while the transaction waited for the lock.
        if !operation.is_abandoned() {
            done = operation.run(connection);
        }
    }
    let done = done.and_then(|()| connection.execute_batch("COMMIT"));
    if done.is_err() && !connection.is_autocommit() {
        // If this fails, the next transaction cannot begin and reports the error.
        let _ = connection.execute_batch("ROLLBACK");
    }
    done
}

/// Runs each operation of a failed shared transaction in its own transaction, so that a failure does not affect the
/// other operations.
fn one_by_one(
    connection: &Connection,
    batch: &mut Vec<Box<dyn Operation>>,
    failure: &rusqlite::Error,
    swept: bool,
) {
    let is_locked = matches!(
        failure.sqlite_error_code(),
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked)
    );
    // Otherwise, the sweep may have failed instead of the operation.
    let is_alone = batch.len() == 1 && !swept;
    for mut operation in batch.drain(..) {
        let outcome = if is_locked || is_alone {
            // The operations have already waited for the lock together.
            Err(SqliteError::in_operation(failure))
        } else {
            let outcome = in_transaction(connection, std::slice::from_mut(&mut operation), false);
            outcome.map_err(|error| SqliteError::in_operation(&error))
        };
        operation.finish(outcome);
    }
}

/// Returns the milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    milliseconds(since)
}

/// Returns a duration in milliseconds.
pub(crate) fn milliseconds(time: Duration) -> i64 {
    // The maximum is a quarter of the range (73 million years) so that sums do not overflow.
    i64::try_from(time.as_millis())
        .unwrap_or(i64::MAX)
        .min(i64::MAX / 4)
}
