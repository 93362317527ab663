//! Lets the raw client use HTTP as a stream of lines. Each line that the client writes is sent in a separate request,
//! and each message received becomes a line.

use std::collections::HashMap;
use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, JoinSet};

use crate::Version;
use crate::http::{Request, Response, send};

/// Returns the client's side of a bridge to a server over HTTP.
///
/// Dropping it closes all connections and deletes the session, if there is one.
#[must_use]
pub fn streamable(address: SocketAddr, version: Version) -> DuplexStream {
    let (client, own) = tokio::io::duplex(64 << 10);
    tokio::spawn(async move {
        let (lines, said) = split(own);
        let mut bridge = Bridge {
            address,
            version,
            session: None,
            said,
            exchanges: JoinSet::new(),
            requests: HashMap::new(),
        };
        bridge.carry(lines).await;
    });
    client
}

/// Returns the client's side of a bridge to a server over the HTTP transport of protocol version 2024-11-05.
#[must_use]
pub fn legacy_sse(address: SocketAddr, version: Version) -> DuplexStream {
    let (client, own) = tokio::io::duplex(64 << 10);
    tokio::spawn(async move {
        let (mut lines, said) = split(own);
        let mut stream = send(address, &Request::new("GET", version).to("/sse")).await;
        let endpoint = stream.event().await.expect("the first event").data;
        let mut following = JoinSet::new();
        following.spawn(async move {
            while let Some(event) = stream.event().await {
                let _ = said.send(event.data);
            }
        });
        while let Ok(Some(line)) = lines.next_line().await {
            let message = serde_json::from_str(&line).expect("a client sends JSON");
            let request = Request::bare(&message, version).to(&endpoint);
            assert_eq!(send(address, &request).await.status, 202, "{line}");
        }
    });
    client
}

type Lines = tokio::io::Lines<BufReader<tokio::io::ReadHalf<DuplexStream>>>;

/// Returns the lines that the client writes, and a sender for the lines that it reads.
fn split(own: DuplexStream) -> (Lines, UnboundedSender<String>) {
    let (reader, mut writer) = tokio::io::split(own);
    let (said, mut saying) = unbounded_channel::<String>();
    tokio::spawn(async move {
        while let Some(line) = saying.recv().await {
            if writer
                .write_all(format!("{line}\n").as_bytes())
                .await
                .is_err()
            {
                break;
            }
        }
    });
    (BufReader::new(reader).lines(), said)
}

struct Bridge {
    address: SocketAddr,
    version: Version,
    session: Option<String>,
    said: UnboundedSender<String>,
    exchanges: JoinSet<()>,
    /// The HTTP exchange for each request, by request id as JSON.
    requests: HashMap<String, AbortHandle>,
}

impl Bridge {
    async fn carry(&mut self, mut lines: Lines) {
        while let Ok(Some(line)) = lines.next_line().await {
            let message = serde_json::from_str(&line).expect("a client sends JSON");
            self.take(message).await;
        }
        if let Some(session) = &self.session {
            let end = Request::new("DELETE", self.version).header("Mcp-Session-Id", session);
            send(self.address, &end).await;
        }
    }

    async fn take(&mut self, message: Value) {
        let method = message["method"].as_str().unwrap_or_default();
        if method == "initialize" {
            let response = send(self.address, &Request::bare(&message, self.version)).await;
            self.session = response.header("mcp-session-id").map(str::to_owned);
            return forward(response, self.said.clone()).await;
        }
        if method == "notifications/cancelled" && self.session.is_none() {
            // In the modern era, closing the connection cancels a request.
            let id = message["params"]["requestId"].to_string();
            if let Some(exchange) = self.requests.remove(&id) {
                exchange.abort();
            }
            return;
        }
        let request = match &self.session {
            Some(session) => Request::legacy(session, &message, self.version),
            None => Request::modern(message["id"].clone(), method, message["params"].clone()),
        };
        if message.get("id").is_some() && !method.is_empty() {
            let (address, said) = (self.address, self.said.clone());
            let exchange = async move { forward(send(address, &request).await, said).await };
            let exchange = self.exchanges.spawn(exchange);
            self.requests.insert(message["id"].to_string(), exchange);
            return;
        }
        assert_eq!(send(self.address, &request).await.status, 202, "{message}");
        if let (Some(session), "notifications/initialized") = (&self.session, method) {
            let open = Request::new("GET", self.version)
                .header("Mcp-Session-Id", session)
                .header("MCP-Protocol-Version", self.version.date());
            let (stream, said) = (send(self.address, &open).await, self.said.clone());
            self.exchanges.spawn(forward(stream, said));
        }
    }
}

/// Forwards all messages in a response.
async fn forward(mut response: Response, said: UnboundedSender<String>) {
    if response.is_events() {
        while let Some(message) = response.next().await {
            let _ = said.send(message.to_string());
        }
    } else {
        let _ = said.send(response.message().await.to_string());
    }
}
