//! The built-in listener on connections other than plain TCP: behind a TLS handshake and on local sockets.

use std::sync::Arc;
use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::server::{Selected, ServerHandle};
use serde_json::json;
use tests::Version;
use tests::client::PATIENCE;
use tests::http::{Request, Response, connect, response, write};
use tests::tls::{certificate, shake};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::fixture::{self, Shared};
use crate::http::support::{call, initialize, text, until_reset};

struct Served {
    address: std::net::SocketAddr,
    certificate: String,
    shared: Shared,
    handle: ServerHandle,
    task: JoinHandle<Result<(), mcp_runtime::Error>>,
}

impl Served {
    async fn new(limits: Limits) -> Self {
        let (certificate, key) = certificate();
        let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let tls = TlsAcceptor::from(Arc::new(config));
        let shared = Shared::default();
        let server = fixture::server()
            .only(Selected::tag("http"))
            .state(shared.clone())
            .limits(limits);
        let handle = server.handle();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = server.serve_http_with(listener, move |stream| tls.accept(stream));
        Self {
            address,
            certificate,
            shared,
            handle,
            task: tokio::spawn(serving),
        }
    }

    async fn connect(&self) -> TlsStream<TcpStream> {
        shake(connect(self.address).await, &self.certificate).await
    }

    async fn send(&self, request: &Request) -> Response<TlsStream<TcpStream>> {
        let mut stream = self.connect().await;
        write(&mut stream, request).await;
        response(stream, request).await.expect("the server answers")
    }
}

/// Waits until the server closes the connection and returns the data received before.
async fn closed(stream: &mut (impl AsyncReadExt + Unpin)) -> Vec<u8> {
    let mut rest = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
    // A reset also counts as an end.
    let _ = read.expect("the connection ends in time");
    rest
}

#[tokio::test]
async fn both_eras_and_their_streams_work_over_tls_and_end_in_order() {
    let server = Served::new(Limits::default()).await;
    let request = Request::tool("echo", json!({"text": "secret"}));
    assert_eq!(text(&server.send(&request).await.message().await), "secret");
    let hello = server.send(&initialize(Version::V2025_11_25)).await;
    let session = hello.header("mcp-session-id").unwrap().to_owned();
    let get = Request::new("GET", Version::V2025_11_25).header("Mcp-Session-Id", &session);
    let mut open = server.send(&get).await;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let listen = Request::modern(3, "subscriptions/listen", filter);
    let mut listening = server.send(&listen).await;
    let first = listening.next().await.unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    server.handle.notify().tools_changed();
    let change = listening.next().await.unwrap();
    assert_eq!(change["method"], "notifications/tools/list_changed");

    let waiting = call(&session, 1, "wait", json!({}), Version::V2025_11_25);
    let mut stream = server.connect().await;
    write(&mut stream, &waiting).await;
    server.shared.started(1).await;
    server.handle.shut_down();
    assert_eq!(listening.next().await.unwrap()["id"], 3);
    while open.next().await.is_some() {}
    server.shared.0.go_on.notify_waiters();
    let mut answer = response(stream, &waiting).await.unwrap();
    assert_eq!(text(&answer.message().await), "waited");
    let ended = tokio::time::timeout(PATIENCE, server.task).await;
    ended.expect("the server ends in time").unwrap().unwrap();
}

// Covers: SEC-05
#[tokio::test]
async fn a_tls_handshake_times_out_and_delays_no_other_client() {
    let limits = Limits::default().with(|limits| {
        limits.http.handshake_timeout = Duration::from_secs(1);
        // With these limits, only the handshake timeout can end these connections.
        limits.http.header_timeout = Duration::from_mins(5);
    });
    let server = Served::new(limits).await;
    let mut silent = connect(server.address).await;
    let mut slow = connect(server.address).await;
    slow.write_all(&[22, 3, 1]).await.unwrap();
    // Plain HTTP on a TLS port is not a handshake.
    let mut plain = connect(server.address).await;
    plain
        .write_all(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    let request = Request::tool("nothing", json!({}));
    assert_eq!(server.send(&request).await.status, 200);
    assert!(!closed(&mut plain).await.starts_with(b"HTTP"));
    assert!(closed(&mut silent).await.is_empty());
    assert!(closed(&mut slow).await.is_empty());
}

// Covers: SEC-05
#[tokio::test]
async fn connection_limits_and_timeouts_also_apply_over_tls() {
    let limits = Limits::default().with(|limits| {
        limits.http.header_timeout = Duration::from_secs(1);
        limits.streams.stall_timeout = Duration::from_millis(300);
        limits.http.max_connections = 4;
    });
    let server = Served::new(limits).await;
    // A request head that trickles in.
    let mut slow = server.connect().await;
    slow.write_all(b"POST /mcp HTTP/1.1\r\n").await.unwrap();
    assert!(closed(&mut slow).await.is_empty());
    // An answer that is not read and is larger than the system's buffers.
    let mut stalled = server.connect().await;
    write(
        &mut stalled,
        &Request::tool("fill", json!({"bytes": 7_000_000})),
    )
    .await;
    // Meanwhile, others fill up the server: the oldest idle connection makes room, the busy one does not.
    let mut others = Vec::new();
    for _ in 0..4 {
        others.push(connect(server.address).await);
    }
    let request = Request::tool("nothing", json!({}));
    assert_eq!(server.send(&request).await.status, 200);
    until_reset(&mut stalled).await;
    assert!(closed(&mut stalled).await.len() < 7_000_000);
}

#[cfg(unix)]
#[tokio::test]
async fn a_unix_socket_is_served_with_the_same_guards() {
    let name = format!("mcp-http-{}.sock", std::process::id());
    let path = std::env::temp_dir().join(name);
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let server = fixture::server();
    let handle = server.handle();
    let task = tokio::spawn(server.serve_http_listener(listener));
    let send = async |request: &Request| {
        let mut stream = tokio::net::UnixStream::connect(&path).await.unwrap();
        write(&mut stream, request).await;
        response(stream, request).await.unwrap()
    };
    let request = Request::tool("echo", json!({"text": "near"}));
    assert_eq!(text(&send(&request).await.message().await), "near");
    assert_eq!(send(&initialize(Version::V2025_11_25)).await.status, 200);
    let evil = request.with("Host", "evil.example.com");
    assert_eq!(send(&evil).await.status, 403);
    handle.shut_down();
    let ended = tokio::time::timeout(PATIENCE, task).await;
    ended.expect("the server ends in time").unwrap().unwrap();
    std::fs::remove_file(&path).unwrap();
}
