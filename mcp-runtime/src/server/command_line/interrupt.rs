//! Ctrl-C: ends what a command waits for, and not the program.

use tokio::runtime::{Handle, RuntimeFlavor};

/// The message for a call that Ctrl-C ended.
pub(super) const CANCELLED: &str = "cancelled";

/// Waits for Ctrl-C. From the first time on, it does not end the program by itself.
///
/// Waits forever in a runtime with one thread, where a handler that blocks it would keep this from noticing: there,
/// Ctrl-C ends the program.
pub(super) async fn interrupted() {
    let has_threads = Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread;
    if !has_threads || tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
