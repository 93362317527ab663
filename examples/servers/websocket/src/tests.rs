//! The server, with a real client of WebSocket in both eras.

use futures_util::{SinkExt as _, StreamExt as _};
use mcp_runtime::prelude::*;
use mcp_runtime::serde_json::{self, Value};
use mcp_runtime::server::ServerHandle;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::http;
use crate::transport::MAX_MESSAGE;

struct Client(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Client {
    async fn connect(url: &str) -> Self {
        Self(connect_async(url).await.unwrap().0)
    }

    async fn send(&mut self, message: impl Into<String>) {
        self.0.send(Message::text(message.into())).await.unwrap();
    }

    /// Returns the next message, or the code with which the server closes the connection.
    async fn receive(&mut self) -> Result<Value, u16> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(close))) => return Err(close.unwrap().code.into()),
                Some(Ok(_)) => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Starts a server. Returns its URL.
async fn start(origins: &[&str]) -> (String, ServerHandle) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/mcp", listener.local_addr().unwrap());
    let (server, origins) = (new_server!(), origins.iter().map(ToString::to_string));
    let (handle, origins) = (server.handle(), origins.collect());
    tokio::spawn(async { http::serve(server, listener, origins).await.unwrap() });
    (url, handle)
}

fn modern(id: u32, name: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "hello", "arguments": {"name": name},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }})
}

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn clients_of_both_eras_are_served() {
    let (url, _handle) = start(&[]).await;
    let mut client = Client::connect(&url).await;
    let handshake = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }});
    client.send(handshake.to_string()).await;
    let response = client.receive().await.unwrap();
    assert_eq!(response["result"]["protocolVersion"], "2025-11-25");
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "hello", "arguments": {"name": "Ada"}}});
    client.send(call.to_string()).await;
    assert_eq!(text(&client.receive().await.unwrap()), "Hello, Ada!");

    let mut client = Client::connect(&url).await;
    // A frame with line breaks is still one message.
    client
        .send(serde_json::to_string_pretty(&modern(7, "Bob\n")).unwrap())
        .await;
    let response = client.receive().await.unwrap();
    assert_eq!(
        (&response["id"], text(&response)),
        (&json!(7), "Hello, Bob\n!")
    );
    let long = "x".repeat(1 << 20);
    client.send(modern(8, &long).to_string()).await;
    assert_eq!(text(&client.receive().await.unwrap()).len(), long.len() + 8);
}

#[tokio::test]
async fn other_frames_and_large_ones_end_the_connection() {
    let (url, _handle) = start(&[]).await;
    let mut client = Client::connect(&url).await;
    client.0.send(Message::binary(vec![1])).await.unwrap();
    assert_eq!(client.receive().await, Err(1003));
    let mut client = Client::connect(&url).await;
    // The server may close the connection while the client still sends.
    let _ = client
        .0
        .send(Message::text(" ".repeat(MAX_MESSAGE + 1)))
        .await;
    while let Some(Ok(message)) = client.0.next().await {
        assert!(!message.is_text(), "{message}");
    }
}

#[tokio::test]
async fn web_pages_of_other_origins_are_refused() {
    let (url, _handle) = start(&["https://app.example.com"]).await;
    let connect = async |origin: &str| {
        let mut request = url.as_str().into_client_request().unwrap();
        request
            .headers_mut()
            .insert("origin", origin.parse().unwrap());
        connect_async(request).await
    };
    assert!(connect("https://app.example.com").await.is_ok());
    for origin in ["https://evil.example.com", "null", "http://app.example.com"] {
        let Err(Error::Http(response)) = connect(origin).await else {
            panic!("{origin} is accepted");
        };
        assert_eq!(response.status(), 403);
    }
}

#[tokio::test]
async fn sockets_are_closed_when_the_server_stops() {
    let (url, handle) = start(&[]).await;
    let mut client = Client::connect(&url).await;
    client.send(modern(1, "Ada").to_string()).await;
    client.receive().await.unwrap();
    handle.shut_down();
    assert_eq!(client.receive().await, Err(1001));
}
