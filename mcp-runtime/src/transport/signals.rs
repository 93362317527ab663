//! Signals that ask the process to stop.

use std::io;

use tokio_util::sync::CancellationToken;

/// Cancels `shutdown` at the first signal to stop, and ends the process at the second. Returns only if it cannot listen.
///
/// On Unix: SIGTERM and SIGINT. On Windows: Ctrl-C.
pub(crate) async fn listen(shutdown: CancellationToken) -> io::Error {
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        Err(error) => return error,
    };
    match signals.next().await {
        Ok(_) => shutdown.cancel(),
        Err(error) => return error,
    }
    match signals.next().await {
        // What a shell reports for a process that a signal ended.
        Ok(number) => std::process::exit(128_i32.saturating_add(number)),
        Err(error) => error,
    }
}

#[cfg(unix)]
struct Signals(tokio::signal::unix::Signal, tokio::signal::unix::Signal);

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self(
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        ))
    }

    /// The number of the next one.
    async fn next(&mut self) -> io::Result<i32> {
        use tokio::signal::unix::SignalKind;

        let kind = tokio::select! {
            _ = self.0.recv() => SignalKind::terminate(),
            _ = self.1.recv() => SignalKind::interrupt(),
        };
        Ok(kind.as_raw_value())
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[allow(clippy::unnecessary_wraps, reason = "it can fail on Unix")]
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// The number of the next one.
    async fn next(&mut self) -> io::Result<i32> {
        tokio::signal::ctrl_c().await.map(|()| 2)
    }
}
