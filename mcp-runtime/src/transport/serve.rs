//! Serves all clients of a transport.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::transport::peer::Peer;
use crate::transport::watchdog::Watchdog;
use crate::transport::{Connection, Transport, duplex, signals};

/// How long to wait when the process is out of descriptors or memory.
const OUT_OF_RESOURCES: Duration = Duration::from_millis(100);

/// Serves clients until the transport has no more, or `shutdown`; then until all of them are served.
///
/// Dropping the future drops all connections and their calls.
///
/// # Errors
///
/// If no client can be accepted any more, or if the last connection of the transport failed.
pub(crate) async fn serve<P: Peer, T: Transport>(
    mut transport: T,
    dispatcher: Arc<P>,
    shutdown: CancellationToken,
) -> Result<(), Error> {
    let watchdog = Watchdog::start(Handle::current())?;
    let most = transport.most_connections().max(1);
    let mut connections = JoinSet::new();
    let mut accepted = 0_u64;
    let mut failure = None;
    let mut accepting = Ok(());
    loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            Some(ended) = connections.join_next() => failure = note(ended).or(failure),
            connection = transport.accept(), if connections.len() < most => match connection {
                None => break,
                Some(Ok(Connection { reader, writer })) => {
                    accepted = accepted.saturating_add(1);
                    let (peer, waking) = (Arc::clone(&dispatcher), Arc::clone(watchdog.waking()));
                    connections.spawn(duplex::serve(peer, (reader, writer), waking, shutdown.clone()));
                }
                Some(Err(error)) if is_passing(&error) => {
                    tracing::warn!(%error, "a client could not be accepted");
                    tokio::time::sleep(OUT_OF_RESOURCES).await;
                }
                Some(Err(error)) => {
                    accepting = Err(error);
                    break;
                }
            },
        }
    }
    drop(transport);
    while let Some(ended) = connections.join_next().await {
        failure = note(ended).or(failure);
    }
    // Among several clients, one whose connection fails is no reason to fail.
    match failure {
        Some(error) if accepting.is_ok() && accepted == 1 => Err(error.into()),
        _ => Ok(accepting?),
    }
}

/// Like [`serve`], and a signal to stop is a shutdown. A second one ends the process at once.
pub(crate) async fn serve_until_signal<P: Peer, T: Transport>(
    transport: T,
    dispatcher: Arc<P>,
    shutdown: CancellationToken,
) -> Result<(), Error> {
    tokio::select! {
        served = serve(transport, dispatcher, shutdown.clone()) => served,
        error = signals::listen(shutdown) => Err(error.into()),
    }
}

/// How a connection ended.
fn note(ended: Result<io::Result<()>, tokio::task::JoinError>) -> Option<io::Error> {
    match ended {
        Ok(Ok(())) => None,
        Ok(Err(error)) => {
            tracing::warn!(%error, "a connection failed");
            Some(error)
        }
        Err(error) => {
            tracing::error!(%error, "the task of a connection failed");
            Some(io::Error::other(error))
        }
    }
}

/// Whether the next client may be luckier.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted, OutOfMemory,
    };
    // Too many open files, in the process or the system; there is no stable `ErrorKind` for them.
    let out_of_descriptors = cfg!(unix) && matches!(error.raw_os_error(), Some(23 | 24));
    let kinds = [
        ConnectionAborted,
        ConnectionRefused,
        ConnectionReset,
        Interrupted,
        OutOfMemory,
    ];
    out_of_descriptors || kinds.contains(&error.kind())
}
