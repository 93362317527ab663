//! The transport of 2024-11-05, and all transports together at one socket address.

use std::time::Duration;

use mcp_runtime::Limits;
use mcp_runtime::http::HttpOptions;
use serde_json::{Value, json};
use tests::Version;
use tests::http::{Request, Response};

use crate::http::support::{Served, call, serve, serve_with, text};

async fn served() -> Served {
    serve_with(HttpOptions::new().legacy_sse(true), Limits::default()).await
}

/// A 2024-11-05 client, which receives all messages on its stream.
pub(crate) struct Old<'s> {
    server: &'s Served,
    pub(crate) stream: Response,
    pub(crate) endpoint: String,
}

impl<'s> Old<'s> {
    pub(crate) async fn open(server: &'s Served, path: &str) -> Self {
        let request = Request::new("GET", Version::V2024_11_05).to(path);
        let mut stream = server.send(&request).await;
        assert!(stream.is_events());
        let event = stream.event().await.unwrap();
        assert_eq!((&*event.name, &event.id), ("endpoint", &None));
        let endpoint = event.data;
        assert!(endpoint.starts_with("/mcp?") && endpoint.len() > 50);
        Self {
            server,
            stream,
            endpoint,
        }
    }

    pub(crate) async fn post(&self, message: &Value) -> u16 {
        let request = Request::bare(message, Version::V2024_11_05).to(&self.endpoint);
        let mut response = self.server.send(&request).await;
        if response.status == 202 {
            assert_eq!(
                response.text().await,
                "",
                "answers come on the stream alone"
            );
        }
        response.status
    }

    pub(crate) async fn next(&mut self) -> Value {
        let event = self.stream.event().await.unwrap();
        assert_eq!((&*event.name, &event.id), ("message", &None));
        serde_json::from_str(&event.data).unwrap()
    }

    pub(crate) async fn shake(&mut self, version: Version) {
        let params = json!({"protocolVersion": version.date(), "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}});
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        assert_eq!(self.post(&message).await, 202);
        assert_eq!(
            self.next().await["result"]["protocolVersion"],
            version.date()
        );
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.post(&ready).await, 202);
    }

    async fn call(&mut self, id: i64, name: &str, arguments: Value) -> u16 {
        let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": id}});
        self.post(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
            .await
    }
}

// Covers: SSE-01, SSE-02, SSE-04, SSE-05, SSE-06
#[tokio::test]
async fn a_2024_11_05_client_gets_all_messages_on_one_stream() {
    let server = served().await;
    for (path, version) in [
        ("/sse", Version::V2024_11_05),
        ("/mcp", Version::V2024_11_05),
        ("/sse", Version::V2025_11_25),
    ] {
        let mut client = Old::open(&server, path).await;
        client.shake(version).await;
        assert_eq!(client.call(1, "echo", json!({"text": "hello"})).await, 202);
        assert_eq!(text(&client.next().await), "hello");
        assert_eq!(
            client.call(2, "report", json!({"values": [1, 2]})).await,
            202
        );
        assert_eq!(client.next().await["method"], "notifications/progress");
        assert_eq!(client.next().await["method"], "notifications/progress");
        assert_eq!(client.next().await["id"], 2);
        server.handle.notify().tools_changed();
        assert_eq!(
            client.next().await["method"],
            "notifications/tools/list_changed"
        );
        // Garbage is refused in the response to the POST.
        let mut garbage = Request::bare(&json!({}), Version::V2024_11_05).to(&client.endpoint);
        garbage.body = b"{".to_vec();
        assert_eq!(server.send(&garbage).await.status, 400);
        // The modern era does not exist here.
        let claim = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}});
        let modern = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": claim});
        assert_eq!(client.post(&modern).await, 202);
        let error = client.next().await;
        assert_eq!(error["error"]["code"], -32022);
        assert!(
            !error["error"]["data"]["supported"]
                .to_string()
                .contains("2026")
        );
        // Without its stream, the session ends, and so do its calls.
        assert_eq!(client.call(4, "wait", json!({})).await, 202);
        server.shared.started(1).await;
        let Old {
            stream, endpoint, ..
        } = client;
        drop(stream);
        server.shared.dropped(1).await;
        server
            .shared
            .0
            .started
            .store(0, std::sync::atomic::Ordering::SeqCst);
        server
            .shared
            .0
            .dropped
            .store(0, std::sync::atomic::Ordering::SeqCst);
        let ping = json!({"jsonrpc": "2.0", "id": 5, "method": "ping"});
        let late = Request::bare(&ping, Version::V2024_11_05).to(&endpoint);
        assert_eq!(server.send(&late).await.status, 404);
    }
}

// Covers: CANC-01
#[tokio::test]
async fn a_spawned_task_of_a_cancelled_call_sends_no_notifications() {
    let server = served().await;
    let mut client = Old::open(&server, "/sse").await;
    client.shake(Version::V2024_11_05).await;
    assert_eq!(client.call(1, "report_from_task", json!({})).await, 202);
    server.shared.started(2).await;
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(client.post(&cancelled).await, 202);
    server.shared.dropped(1).await;
    server.shared.0.go_on.notify_waiters();
    server.shared.started(3).await;
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    assert_eq!(client.post(&ping).await, 202);
    assert_eq!(client.next().await["id"], 2);
}

// Covers: SSE-05
#[tokio::test]
async fn batches_on_2024_11_05_streams_need_a_version_that_has_batches() {
    let server = served().await;
    let ping = |id: i64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    for version in Version::LEGACY {
        let mut client = Old::open(&server, "/sse").await;
        client.shake(version).await;
        let status = client.post(&json!([ping(1), ping(2)])).await;
        if version == Version::V2025_03_26 {
            assert_eq!(status, 202);
            // They are answered one by one, which the protocol allows.
            let (first, second) = (client.next().await, client.next().await);
            assert_eq!((&first["id"], &second["id"]), (&json!(1), &json!(2)));
        } else {
            assert_eq!(status, 400, "{version:?}");
        }
        assert_eq!(client.post(&ping(3)).await, 202);
        assert_eq!(client.next().await["id"], 3, "{version:?}");
    }
}

// Covers: SSE-05, SSE-06
#[tokio::test]
async fn the_2024_11_05_transport_exists_only_if_enabled() {
    let server = serve().await;
    assert_eq!(
        server
            .send(&Request::new("GET", Version::V2024_11_05).to("/sse"))
            .await
            .status,
        404
    );
    assert_eq!(
        server
            .send(&Request::new("GET", Version::V2024_11_05))
            .await
            .status,
        400
    );

    let server = served().await;
    let client = Old::open(&server, "/sse").await;
    let id = client.endpoint.split_once('=').unwrap().1;
    let ping = json!({"jsonrpc": "2.0", "id": 5, "method": "ping"});
    // The id of a stream is not the id of a session, or vice versa.
    server
        .refused(
            &Request::legacy(id, &ping, Version::V2025_11_25),
            404,
            -32600,
        )
        .await;
    let session = server.session(Version::V2025_11_25).await;
    let crossed =
        Request::bare(&ping, Version::V2024_11_05).to(&format!("/mcp?connection={session}"));
    server.refused(&crossed, 404, -32600).await;
}

// Covers: HTTP-11, LHTTP-01, SSE-06, HDR-10
#[tokio::test]
async fn three_transports_are_served_at_the_same_time_on_one_socket_address() {
    let server = served().await;
    let session = server.session(Version::V2025_11_25).await;
    let batches = server.session(Version::V2025_03_26).await;
    let mut old = Old::open(&server, "/sse").await;
    old.shake(Version::V2024_11_05).await;
    let listen = Request::modern(
        "l",
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true}}),
    );
    let mut listening = server.send(&listen).await;
    listening.next().await.unwrap();
    let get = Request::new("GET", Version::V2025_11_25).header("Mcp-Session-Id", &session);
    let mut following = server.send(&get).await;
    for round in 0..10 {
        // All use the same ids, and each receives only its own messages.
        let modern = Request::tool("echo", json!({"text": format!("modern {round}")}));
        let legacy = call(
            &session,
            1,
            "echo",
            json!({"text": format!("legacy {round}")}),
            Version::V2025_11_25,
        );
        let batch = call(
            &batches,
            1,
            "echo",
            json!({"text": format!("batch {round}")}),
            Version::V2025_03_26,
        );
        let (modern, legacy, batch, status) = tokio::join!(
            server.message(&modern),
            server.message(&legacy),
            server.message(&batch),
            old.call(1, "echo", json!({"text": format!("old {round}")})),
        );
        assert_eq!(text(&modern.1), format!("modern {round}"));
        assert_eq!(text(&legacy.1), format!("legacy {round}"));
        assert_eq!(text(&batch.1), format!("batch {round}"));
        assert_eq!(status, 202);
        assert_eq!(text(&old.next().await), format!("old {round}"));
        assert!(modern.1["result"]["resultType"].is_string());
        assert_eq!(legacy.1["result"].get("resultType"), None);
        server.handle.notify().tools_changed();
        for message in [
            listening.next().await.unwrap(),
            following.next().await.unwrap(),
            old.next().await,
        ] {
            assert_eq!(message["method"], "notifications/tools/list_changed");
        }
    }
}

// Covers: HTTP-08, SSE-04
#[tokio::test]
async fn silent_streams_are_kept_alive_by_comments() {
    let limits = Limits::default()
        .with(|limits| limits.streams.keep_alive_interval = Duration::from_millis(20));
    let server = serve_with(HttpOptions::new().legacy_sse(true), limits).await;
    let session = server.session(Version::V2025_11_25).await;
    let streams = [
        Request::modern(1, "subscriptions/listen", json!({"notifications": {}})),
        Request::new("GET", Version::V2025_11_25).header("Mcp-Session-Id", &session),
        Request::new("GET", Version::V2024_11_05).to("/sse"),
    ];
    for request in streams {
        let stream = server.send(&request).await;
        assert_eq!(stream.status, 200);
        let mut lines = stream.into_stream();
        let mut comments = 0;
        while comments < 2 {
            let mut line = String::new();
            let read = tokio::io::AsyncBufReadExt::read_line(&mut lines, &mut line);
            let read = tokio::time::timeout(tests::client::PATIENCE, read).await;
            assert_ne!(read.unwrap().unwrap(), 0);
            comments += usize::from(line.starts_with(':'));
        }
    }
}
