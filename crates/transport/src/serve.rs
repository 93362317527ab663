//! Serves all clients of a transport.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mcp_core::dispatch::Dispatcher;
use mcp_core::error::Error;
use mcp_core::observe::Origin;
use mcp_core::sync::CancellationToken;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tracing::Instrument as _;

use crate::signals::{ProcessGuard, StopSequence, are_handlers_stuck};
use crate::watchdog::Watchdog;
use crate::{Connection, Transport, duplex};

/// Time to wait if the process has run out of descriptors or memory.
pub const OUT_OF_RESOURCES: Duration = Duration::from_millis(100);

/// Serves clients until the transport yields no more clients or `shutdown` is cancelled, and then waits until all
/// current clients have been served.
///
/// Dropping the future drops all connections and their calls.
///
/// # Errors
///
/// Fails if no further clients can be accepted or if a transport's only connection fails.
pub async fn serve<T: Transport>(
    transport: T,
    dispatcher: Arc<Dispatcher>,
    shutdown: CancellationToken,
) -> Result<(), Error> {
    let watchdog = Watchdog::start(Handle::current(), None)?;
    serve_watched(transport, dispatcher, shutdown, &watchdog).await
}

async fn serve_watched<T: Transport>(
    mut transport: T,
    dispatcher: Arc<Dispatcher>,
    shutdown: CancellationToken,
    watchdog: &Watchdog,
) -> Result<(), Error> {
    let _work = WorkGuard(Arc::clone(&dispatcher));
    dispatcher.begin_work();
    let max = transport.max_connections().max(1);
    let mut connections = JoinSet::new();
    let mut accepted = 0_u64;
    let mut failure = None;
    let mut ended_by_itself = false;
    let mut accepting = Ok(());
    loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            Some(ended) = connections.join_next() => failure = log_failure(ended).or(failure),
            connection = transport.accept(), if connections.len() < max => match connection {
                None => {
                    ended_by_itself = true;
                    break;
                }
                Some(Ok(connection)) => {
                    accepted = accepted.saturating_add(1);
                    let (dispatcher, waking) = (Arc::clone(&dispatcher), Arc::clone(watchdog.waker()));
                    let serving = duplex::serve(dispatcher, connection, waking, shutdown.clone());
                    connections.spawn(serving.in_current_span());
                }
                Some(Err(error)) if is_temporary_accept_error(&error) => {
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
        failure = log_failure(ended).or(failure);
    }
    dispatcher.drain_work().await;
    // A failed connection fails the server only if the transport had no other client.
    match failure {
        Some(error) if ended_by_itself && accepted == 1 => Err(error.into()),
        _ => Ok(accepting?),
    }
}

/// Abandons the server's background work when dropped.
struct WorkGuard(Arc<Dispatcher>);

impl Drop for WorkGuard {
    fn drop(&mut self) {
        self.0.abandon_work();
    }
}

/// Like [`serve`], but for a server that owns its process. The first stop signal starts the shutdown, and a second
/// signal ends the process immediately. The process also ends if draining takes too long because handlers block all of
/// the runtime's workers.
///
/// The second returned value is `true` if handlers are still blocking threads. Dropping the runtime would wait for
/// them.
pub async fn serve_process<T: Transport>(
    transport: T,
    dispatcher: Arc<Dispatcher>,
    shutdown: CancellationToken,
    hung_up: Box<dyn Fn() -> bool + Send + Sync>,
) -> (Result<(), Error>, bool) {
    let stop = StopSequence::without_delay(shutdown.clone());
    let process = match ProcessGuard::take_control_of_process(dispatcher.limits(), stop, hung_up) {
        Ok(process) => process,
        Err(error) => return (Err(error.into()), false),
    };
    let serving = serve_watched(
        transport,
        Arc::clone(&dispatcher),
        shutdown,
        &process.watchdog,
    );
    let served = serving.await;
    let is_handler_running = || process.watchdog.is_handler_running() || dispatcher.is_blocking();
    (served, are_handlers_stuck(is_handler_running).await)
}

/// Logs a failed connection and returns its error.
fn log_failure(ended: Result<io::Result<()>, tokio::task::JoinError>) -> Option<io::Error> {
    match ended {
        Ok(Ok(())) => None,
        Ok(Err(error)) => {
            tracing::warn!(%error, "a connection failed");
            Some(error)
        }
        Err(error) => {
            tracing::error!(%error, "a connection's task failed");
            Some(io::Error::other(error))
        }
    }
}

/// Returns `true` if further clients can be accepted despite this error.
#[must_use]
pub fn is_temporary_accept_error(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted, OutOfMemory,
    };
    // Too many files are open in the process or the system. Neither error has a stable `ErrorKind`.
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

// --- Sockets that carry newline-delimited messages: TCP and, on Unix, local sockets.
//
// Clients are not authenticated. A TCP listener should use a loopback address or be placed behind a proxy that
// authenticates clients.

/// Serves each TCP connection as a separate client. Connections are neither encrypted nor authenticated, so listen on a
/// loopback address.
///
/// A web page can also reach loopback addresses, but it can send only HTTP. For this reason, a connection that starts
/// with anything other than `{` or `[` is closed without a response, and a connection that later sends a line that is
/// not JSON does not accept any more input.
impl Transport for TcpListener {
    async fn accept(&mut self) -> Option<io::Result<Connection>> {
        let accepted = TcpListener::accept(self).await;
        Some(accepted.map(|(stream, peer)| {
            // Messages are written in one piece, so waiting for more bytes would only delay them. Failures are
            // harmless.
            let _ = stream.set_nodelay(true);
            let (reader, writer) = stream.into_split();
            Connection::new(reader, writer).with_origin(Origin::tcp(Some(peer)))
        }))
    }
}

/// Serves each connection to a local socket as a separate client. Access is controlled by the permissions of the
/// socket's file.
///
/// As with TCP, input that is not JSON ends the connection.
#[cfg(unix)]
impl Transport for tokio::net::UnixListener {
    async fn accept(&mut self) -> Option<io::Result<Connection>> {
        let accepted = tokio::net::UnixListener::accept(self).await;
        Some(accepted.map(|(stream, _)| {
            let (reader, writer) = stream.into_split();
            Connection::new(reader, writer).with_origin(Origin::unix())
        }))
    }
}

#[cfg(test)]
mod tests {
    mod serve {
        use std::sync::atomic::AtomicBool;
        use std::sync::atomic::Ordering::SeqCst;

        use mcp_core::limits::Limits;
        use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
        use tokio::net::{TcpListener, TcpStream};
        use tokio::sync::mpsc;

        use crate::Connection;
        use crate::duplex::tests::server::{ECHO, TestServer, is_echo};
        use crate::serve::*;

        fn dispatcher() -> Arc<Dispatcher> {
            TestServer::new(Limits::default()).dispatcher
        }

        async fn line(stream: impl tokio::io::AsyncRead + Unpin) -> String {
            let mut line = String::new();
            let mut reader = BufReader::new(stream);
            reader.read_line(&mut line).await.unwrap();
            line
        }

        #[tokio::test]
        async fn a_client_in_memory_is_served_until_it_goes() {
            let (transport, mut client) = crate::memory();
            let server = tokio::spawn(serve(transport, dispatcher(), CancellationToken::default()));
            client.write_all(ECHO.as_bytes()).await.unwrap();
            assert!(is_echo(&line(&mut client).await));
            drop(client);
            server.await.unwrap().unwrap();
        }

        #[tokio::test]
        async fn clients_of_a_socket_can_use_equal_ids_and_end_with_the_server() {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let address = listener.local_addr().unwrap();
            let shutdown = CancellationToken::default();
            let server = tokio::spawn(serve(listener, dispatcher(), shutdown.clone()));
            let mut clients = Vec::new();
            for _ in 0..3 {
                let mut client = TcpStream::connect(address).await.unwrap();
                client.write_all(ECHO.as_bytes()).await.unwrap();
                clients.push(client);
            }
            for client in &mut clients {
                assert!(is_echo(&line(client).await));
            }
            drop(clients.pop());
            shutdown.cancel();
            for mut client in clients {
                let mut rest = String::new();
                client.read_to_string(&mut rest).await.unwrap();
                assert_eq!(rest, "");
            }
            server.await.unwrap().unwrap();
        }

        /// Yields the clients sent to it and allows at most two at a time. Records calls to `accept`.
        struct Two(mpsc::Receiver<io::Result<DuplexStream>>, Arc<AtomicBool>);

        impl Transport for Two {
            async fn accept(&mut self) -> Option<io::Result<Connection>> {
                self.1.store(true, SeqCst);
                let stream = self.0.recv().await?;
                Some(stream.map(Connection::from_stream))
            }

            fn max_connections(&self) -> usize {
                2
            }
        }

        #[tokio::test(start_paused = true)]
        async fn no_client_is_accepted_while_the_maximum_is_connected() {
            let (sender, receiver) = mpsc::channel(8);
            let asked = Arc::new(AtomicBool::new(false));
            let transport = Two(receiver, Arc::clone(&asked));
            let server = tokio::spawn(serve(transport, dispatcher(), CancellationToken::default()));
            // An error from a single client does not end the server.
            sender
                .send(Err(io::ErrorKind::ConnectionAborted.into()))
                .await
                .unwrap();
            let mut clients = Vec::new();
            for _ in 0..3 {
                let (server, mut client) = tokio::io::duplex(1_024);
                sender.send(Ok(server)).await.unwrap();
                client.write_all(ECHO.as_bytes()).await.unwrap();
                clients.push(client);
            }
            line(&mut clients[0]).await;
            line(&mut clients[1]).await;
            asked.store(false, SeqCst);
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert!(!asked.load(SeqCst));
            drop(clients.remove(0));
            line(&mut clients[1]).await;
            drop((sender, clients));
            server.await.unwrap().unwrap();
        }

        #[tokio::test]
        async fn a_transport_that_fails_fails_the_server() {
            let (sender, receiver) = mpsc::channel(8);
            sender
                .send(Err(io::ErrorKind::PermissionDenied.into()))
                .await
                .unwrap();
            let transport = Two(receiver, Arc::default());
            let error = serve(transport, dispatcher(), CancellationToken::default())
                .await
                .unwrap_err();
            assert_eq!(error.kind(), mcp_core::error::ErrorKind::Io);
        }
    }

    mod listeners {
        use mcp_core::limits::Limits;
        use mcp_core::sync::CancellationToken;
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        use tokio::net::TcpStream;

        use crate::duplex::tests::server::{ECHO, TestServer, is_echo};
        use crate::serve::{serve, *};

        /// Returns everything the server sends to a client that sends `text` and then only reads.
        async fn sent_to(text: &str) -> String {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let address = listener.local_addr().unwrap();
            let shutdown = CancellationToken::default();
            let dispatcher = TestServer::new(Limits::default()).dispatcher;
            let server = tokio::spawn(serve(listener, dispatcher, shutdown.clone()));
            let mut client = TcpStream::connect(address).await.unwrap();
            client.write_all(text.as_bytes()).await.unwrap();
            let mut sent = Vec::new();
            let reading = client.read_to_end(&mut sent);
            // Leaving input unread may cause the connection to be reset. Only the bytes received before that matter.
            let _ = tokio::time::timeout(std::time::Duration::from_secs(5), reading)
                .await
                .expect("the connection stays open");
            shutdown.cancel();
            server.await.unwrap().unwrap();
            String::from_utf8(sent).unwrap()
        }

        #[tokio::test]
        async fn an_http_request_from_a_web_page_to_a_socket_is_ignored() {
            let head = "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n\r\n";
            let sent = sent_to(&format!("{head}{ECHO}")).await;
            assert!(
                !sent.contains("error") && !sent.contains("result"),
                "{sent}"
            );
            // The server does not wait for the end of the first line either.
            let sent = sent_to("\n \r\nP").await;
            assert!(!sent.contains("error"), "{sent}");
        }

        #[tokio::test]
        async fn a_line_that_is_not_json_ends_the_connection() {
            let sent = sent_to(&format!("{ECHO}nonsense\n{ECHO}")).await;
            let lines: Vec<_> = sent.lines().collect();
            assert!(lines.first().is_some_and(|line| is_echo(line)));
            assert!(lines.get(1).is_some_and(|line| line.contains("-32700")));
            assert_eq!(sent.matches("\"result\"").count(), 1, "{sent}");
        }
    }
}
