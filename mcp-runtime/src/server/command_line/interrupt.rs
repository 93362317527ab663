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

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::process::{Command, id};
    use std::time::Duration;

    use super::*;

    /// Set in the process that is interrupted.
    const IS_INTERRUPTED: &str = "MCP_TEST_IS_INTERRUPTED";

    /// Otherwise a script that interrupts a program as soon as it has read something could end it.
    #[test]
    fn ctrl_c_counts_before_anybody_waits_for_it() {
        if std::env::var_os(IS_INTERRUPTED).is_some() {
            interrupt_this_process();
            return;
        }
        let (_, module) = module_path!().split_once("::").unwrap();
        let test = format!("{module}::ctrl_c_counts_before_anybody_waits_for_it");
        let ran = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &test])
            .env(IS_INTERRUPTED, "1")
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "{}: {shown}", ran.status);
        assert!(shown.contains("1 passed"), "{shown}");
    }

    #[tokio::main(flavor = "multi_thread", worker_threads = 1)]
    async fn interrupt_this_process() {
        let interrupted = interrupted();
        let interrupt = Command::new("kill")
            .args(["-INT", &id().to_string()])
            .status();
        assert!(interrupt.unwrap().success());
        let noticed = tokio::time::timeout(Duration::from_mins(1), interrupted).await;
        noticed.expect("it is noticed");
    }
}
