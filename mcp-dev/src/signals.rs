//! The signals that end the program, which are sent by Ctrl-C, by `kill`, and when a terminal is closed.

/// Waits for one of these signals.
#[cfg(unix)]
pub(crate) async fn wanted_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let listen = |kind| async move {
        match signal(kind) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            // In that case, the signal's default action ends the process.
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = listen(SignalKind::interrupt()) => {}
        () = listen(SignalKind::terminate()) => {}
        () = listen(SignalKind::hangup()) => {}
    }
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
pub(crate) async fn wanted_to_end() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
