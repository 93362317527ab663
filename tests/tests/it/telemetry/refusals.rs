//! Refusals are counted by kind and occasionally logged, without the data that was sent.

use mcp_runtime::http::HttpOptions;
use mcp_runtime::{Limits, Principal};
use serde_json::json;
use tests::Version;
use tests::http::Request;
use tests::link::Hub;

use crate::http::support::{serve_server, serve_with};
use crate::support::{connect, limited};
use crate::telemetry::capture::{Counted, Seen};
use crate::telemetry::server;

#[tokio::test]
async fn refusals_over_http_are_counted_by_kind() {
    let (mut counted, _guard) = Counted::begin();
    let limits = Limits::default().with(|limits| limits.http.max_body_bytes = 1_000);
    let served = serve_with(HttpOptions::new(), limits).await;
    let add = || Request::tool("add", json!({"a": 1, "b": 2}));
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for (request, status) in [
        (add().with("Host", "evil.example"), 403),
        (add().header("Origin", "https://evil.example"), 403),
        (add().with("Content-Type", "text/plain"), 415),
        (
            Request::tool("echo", json!({"text": "x".repeat(1_000)})),
            413,
        ),
        (Request::new("PATCH", Version::V2026_07_28), 405),
        // Some clients ask this first, to see whether they need a token.
        (Request::new("GET", Version::V2024_11_05), 400),
        (Request::new("GET", Version::V2025_11_25), 400),
        (Request::new("HEAD", Version::V2025_11_25), 400),
        // What belongs to a session and does not name it is refused.
        (Request::bare(&ping, Version::V2025_11_25), 400),
        (Request::new("DELETE", Version::V2025_11_25), 400),
        (add(), 200),
    ] {
        assert_eq!(served.send(&request).await.status, status);
    }
    let refused = counted.all("mcp.server.refusals");
    let refused: Vec<_> = refused
        .iter()
        .map(|(key, count)| (&**key, *count))
        .collect();
    assert_eq!(
        refused,
        [
            ("kind=host", 1),
            ("kind=malformed", 3),
            ("kind=origin", 1),
            ("kind=too_large", 1),
        ]
    );
}

#[tokio::test]
async fn refusals_over_a_channel_are_counted_by_kind() {
    for version in Version::ERAS {
        let (mut counted, _guard) = Counted::begin();
        let limits = Limits::default().with(|limits| {
            limits.message.max_line_bytes = 4_000;
            limits.calls.max_running = 1;
            limits.calls.max_queued = 1;
        });
        let mut client = limited(version, limits).await;
        client.line("nonsense").await;
        client.anonymous().await;
        client.line(&format!("\"{}\"", "x".repeat(5_000))).await;
        client.anonymous().await;
        for _ in 0..3 {
            client.start("tools/call", json!({"name": "wait"})).await;
        }
        client.pass().await;
        let refused = counted.all("mcp.server.refusals");
        let refused: Vec<_> = refused
            .iter()
            .map(|(key, count)| (&**key, *count))
            .collect();
        assert_eq!(
            refused,
            [
                ("kind=malformed", 1),
                ("kind=too_large", 1),
                ("kind=too_many", 1)
            ]
        );
    }
}

#[tokio::test]
async fn refusals_for_lack_of_scopes_are_counted_over_a_channel() {
    for version in Version::ERAS {
        let (mut counted, _guard) = Counted::begin();
        let hub = Hub::serve(crate::identity::server());
        let client = hub.client_as(version, |connection| {
            connection.with_principal(Principal::new("nobody"))
        });
        let mut client = client.connect().await;
        let completion = json!({
            "ref": {"type": "ref/prompt", "name": "summary"},
            "argument": {"name": "which", "value": ""},
        });
        let resource = json!({"uri": "identity:notes"});
        for (method, params) in [
            ("completion/complete", completion),
            ("resources/read", resource),
        ] {
            client.fails(method, params, 403).await;
        }
        let refused = counted.all("mcp.server.refusals");
        assert_eq!(refused.get("kind=forbidden"), Some(&2), "{version:?}");
    }
}

#[tokio::test]
async fn refusals_are_logged_now_and_then_with_the_peer_and_without_the_payload() {
    let (seen, _guard) = Seen::begin();
    let served = serve_server(server()).await;
    for _ in 0..40 {
        let request = Request::tool("echo", json!({"text": "hunter2"}));
        let request = request.header("Origin", "https://hunter2.example");
        assert_eq!(served.send(&request).await.status, 403);
    }
    let logged = seen.events("refused");
    // The window is shared by the whole process; other tests cause refusals too, but mostly of other kinds.
    assert!((1..40).contains(&logged.len()), "{}", logged.len());
    for fields in &logged {
        assert_eq!(fields["kind"], "origin");
        assert!(fields["peer"].starts_with("127.0.0.1:"), "{fields:?}");
    }
    assert!(!seen.text().contains("hunter2"));
    let mut client = connect(server(), Version::V2026_07_28).await;
    client.line("hunter2").await;
    client.anonymous().await;
    assert!(!seen.text().contains("hunter2"));
}
