//! Ctrl-C: ends the operation for which a command is waiting, but not the program.

use tokio::runtime::{Handle, RuntimeFlavor};

/// The message for a call that was ended by Ctrl-C.
pub(super) const CANCELLED: &str = "cancelled";

/// Waits for Ctrl-C. After the first call, Ctrl-C no longer ends the program by default.
///
/// On a single-threaded runtime, this waits forever and Ctrl-C ends the program, because a handler that blocks the
/// thread would prevent Ctrl-C from being detected.
pub(super) async fn interrupted() {
    let has_threads = Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread;
    if !has_threads || tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
