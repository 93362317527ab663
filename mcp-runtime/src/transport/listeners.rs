//! Sockets that carry newline-delimited messages: TCP and, on Unix, local sockets.
//!
//! Clients are not authenticated. A TCP listener should use a loopback address or be placed behind a proxy that
//! authenticates clients.

use std::io;

use tokio::net::TcpListener;

use crate::observe::Origin;
use crate::transport::{Connection, Transport};

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
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;
    use crate::cancellation::CancellationToken;
    use crate::limits::Limits;
    use crate::transport::duplex::tests::server::{ECHO, TestServer, is_echo};
    use crate::transport::serve::serve;

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
    async fn a_web_page_is_not_answered_and_runs_nothing() {
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
    async fn a_line_that_is_not_json_is_the_last_one() {
        let sent = sent_to(&format!("{ECHO}nonsense\n{ECHO}")).await;
        let lines: Vec<_> = sent.lines().collect();
        assert!(lines.first().is_some_and(|line| is_echo(line)));
        assert!(lines.get(1).is_some_and(|line| line.contains("-32700")));
        assert_eq!(sent.matches("\"result\"").count(), 1, "{sent}");
    }
}
