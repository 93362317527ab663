//! Ctrl-C: ends the operation for which a command is waiting, but not the program.

use tokio::runtime::{Handle, RuntimeFlavor};

/// The message for a call that was ended by Ctrl-C.
pub(super) const CANCELLED: &str = "cancelled";

/// Begins to wait for Ctrl-C, which from now on no longer ends the program by default, even if the returned future has not
/// been polled. If the program was started with Ctrl-C ignored, Ctrl-C counts nevertheless.
///
/// On a single-threaded runtime, this waits forever and Ctrl-C ends the program, because a handler that blocks the
/// thread would prevent Ctrl-C from being detected.
pub(super) fn interrupted() -> impl Future<Output = ()> {
    let has_threads = Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread;
    let signal = has_threads.then(listen).flatten();
    async move {
        match signal {
            Some(mut signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        }
    }
}

#[cfg(unix)]
fn listen() -> Option<tokio::signal::unix::Signal> {
    use tokio::signal::unix::{SignalKind, signal};
    signal(SignalKind::interrupt()).ok()
}

#[cfg(windows)]
fn listen() -> Option<tokio::signal::windows::CtrlC> {
    tokio::signal::windows::ctrl_c().ok()
}
