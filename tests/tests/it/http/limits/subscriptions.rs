//! The size of subscriptions: of a session, of a client, and of all clients.

use mcp_runtime::Limits;
use serde_json::json;
use tests::Version;
use tests::http::{Request, Response};

use super::{from, serve, serve_behind_proxy};
use crate::http::support::Served;

/// The bytes that count for each of the URIs below.
const EACH: usize = 96 + 100;

/// Returns a URI of 100 bytes.
fn uri(number: usize) -> String {
    format!("item:///{number:092}")
}

/// Subscribes to a resource, or ends the subscription; returns the error code.
async fn change(
    server: &Served,
    (address, session): (&str, &str),
    verb: &str,
    number: usize,
) -> i64 {
    let method = format!("resources/{verb}");
    let message =
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"uri": uri(number)}});
    let request = Request::legacy(session, &message, Version::V2025_11_25);
    let (status, message) = server.message(&from(address, request)).await;
    assert_eq!(status, 200);
    message["error"]["code"].as_i64().unwrap_or_default()
}

/// Opens a stream with subscriptions to this many resources.
async fn listen(server: &Served, address: &str, count: usize) -> Result<Response, i64> {
    let uris: Vec<_> = (0..count).map(uri).collect();
    let filter = json!({"notifications": {"resourceSubscriptions": uris}});
    let request = Request::modern(1, "subscriptions/listen", filter);
    let mut response = server.send(&from(address, request)).await;
    if response.is_events() {
        let acknowledged = response.next().await.unwrap();
        let followed = &acknowledged["params"]["notifications"]["resourceSubscriptions"];
        assert_eq!(followed.as_array().unwrap().len(), count);
        return Ok(response);
    }
    Err(response.message().await["error"]["code"].as_i64().unwrap())
}

// Covers: SEC-05
// Limits: streams.max_subscription_bytes_per_session
#[tokio::test]
async fn the_subscriptions_of_a_session_or_stream_have_a_maximum_size() {
    for (limit, most) in [(3 * EACH - 1, 2), (3 * EACH, 3), (3 * EACH + 1, 3)] {
        let limits = Limits::default()
            .with(|limits| limits.streams.max_subscription_bytes_per_session = limit);
        let server = serve(limits).await;
        let session = server.session(Version::V2025_11_25).await;
        let here = ("192.0.2.1", &*session);
        for number in 0..most {
            assert_eq!(change(&server, here, "subscribe", number).await, 0);
        }
        assert_eq!(change(&server, here, "subscribe", most).await, -32602);
        assert_eq!(
            change(&server, here, "subscribe", 0).await,
            0,
            "it is there already"
        );
        assert_eq!(change(&server, here, "unsubscribe", 0).await, 0);
        assert_eq!(change(&server, here, "subscribe", most).await, 0);
        assert!(listen(&server, here.0, most).await.is_ok());
        assert_eq!(listen(&server, here.0, most + 1).await.err(), Some(-32602));
    }
}

// Covers: SEC-05
// Limits: streams.max_subscription_bytes
#[tokio::test]
async fn subscriptions_are_limited_to_the_remaining_byte_budget() {
    for (limit, most) in [(4 * EACH - 1, 1), (4 * EACH, 2), (4 * EACH + 1, 2)] {
        let limits = Limits::default().with(|limits| limits.streams.max_subscription_bytes = limit);
        let server = serve_behind_proxy(limits).await;
        let [one, other] = ["192.0.2.1", "192.0.2.2"];
        // Sessions and streams of one client count together, and end the subscriptions with themselves.
        let session = server.session(Version::V2025_11_25).await;
        let first = (one, &*session);
        assert_eq!(change(&server, first, "subscribe", 0).await, 0);
        let more = listen(&server, one, 1).await;
        assert_eq!(more.is_ok(), most == 2);
        assert_eq!(listen(&server, one, 1).await.err(), Some(-32602));
        assert_eq!(change(&server, first, "subscribe", 1).await, -32602);
        // Another client still has a share.
        let session = server.session(Version::V2025_11_25).await;
        let second = (other, &*session);
        assert_eq!(change(&server, second, "subscribe", 0).await, 0);
        assert_eq!(change(&server, second, "subscribe", 1).await, -32602);
        let delete = Request::new("DELETE", Version::V2025_11_25).header("Mcp-Session-Id", first.1);
        assert_eq!(server.send(&from(one, delete)).await.status, 204);
        drop(more);
        let expected = if most == 2 { 0 } else { -32602 };
        tests::wait::until(async || change(&server, second, "subscribe", 1).await == expected)
            .await;
    }
}
