//! Tasks whose work has one type.

use std::future::Future;
use std::pin::Pin;

use tokio::task::JoinHandle;

/// Work for a task. A program contains the code that runs a task once for each type of work, so work has this type where
/// one more allocation and one more indirection do not matter. They do for a channel: its connection, leader and calls.
pub(crate) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Starts a task.
pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(boxed(work))
}

/// Returns work for a task that is started in another way.
pub(crate) fn boxed(work: impl Future<Output = ()> + Send + 'static) -> Work {
    Box::pin(work)
}
