//! Tasks whose work has one type.

use std::future::Future;
use std::pin::Pin;

use tokio::task::JoinHandle;

/// Work for a task. A program contains the code that runs a task anew for each type of work. So work has this type where
/// another allocation does not count, which it does for plain calls and their channel's leader.
pub(crate) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Starts a task.
pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(boxed(work))
}

/// Returns work for a task that is started in another way.
pub(crate) fn boxed(work: impl Future<Output = ()> + Send + 'static) -> Work {
    Box::pin(work)
}
