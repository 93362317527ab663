//! Sockets that carry lines: TCP and, on Unix, local sockets.
//!
//! Nobody is asked who they are. A TCP listener belongs on a loopback address, or behind something that asks.

use std::io;

use tokio::net::TcpListener;

use crate::telemetry::Origin;
use crate::transport::{Connection, Transport};

/// Each TCP connection is a client. Lines in the clear and without authentication: listen on a loopback address.
///
/// A web page can reach loopback addresses, too, but only speaks HTTP: a connection that begins with anything but `{` or
/// `[` is closed without an answer, and one that later sends a line that is not JSON takes no more input.
impl Transport for TcpListener {
    async fn accept(&mut self) -> Option<io::Result<Connection>> {
        let accepted = TcpListener::accept(self).await;
        Some(accepted.map(|(stream, peer)| {
            // Answers are written whole; waiting for more would only delay them. Not essential.
            let _ = stream.set_nodelay(true);
            let (reader, writer) = stream.into_split();
            Connection::new(reader, writer).with_origin(Origin::tcp(Some(peer)))
        }))
    }
}

/// Each connection to a local socket is a client. Who may connect is decided by the permissions of the socket's file.
///
/// As on TCP, what is not JSON ends the connection.
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
    use std::sync::Arc;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;
    use crate::cancellation::CancellationToken;
    use crate::limits::Limits;
    use crate::transport::duplex::tests::fake::Fake;
    use crate::transport::serve::serve;

    const CALL: &str = "{\"id\":1,\"method\":\"echo\"}\n";

    /// Everything the server sends to a client that sends `text` and then only listens.
    async fn sent_to(text: &str) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::default();
        let fake = Fake::new(Limits::default());
        let server = tokio::spawn(serve(listener, Arc::clone(&fake), shutdown.clone()));
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(text.as_bytes()).await.unwrap();
        let mut sent = Vec::new();
        let reading = client.read_to_end(&mut sent);
        // Input that nobody read may reset the connection; what came before counts.
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
        let sent = sent_to(&format!("{head}{CALL}")).await;
        assert!(
            !sent.contains("error") && !sent.contains("result"),
            "{sent}"
        );
        // Nor is the end of its first line waited for.
        let sent = sent_to("\n \r\nP").await;
        assert!(!sent.contains("error"), "{sent}");
    }

    #[tokio::test]
    async fn a_line_that_is_not_json_is_the_last_one() {
        let sent = sent_to(&format!("{CALL}nonsense\n{CALL}")).await;
        let lines: Vec<_> = sent.lines().collect();
        assert_eq!(lines.first(), Some(&"{\"id\":1,\"result\":\"echo\"}"));
        assert!(lines.get(1).is_some_and(|line| line.contains("-32700")));
        assert_eq!(sent.matches("result").count(), 1, "{sent}");
    }
}
