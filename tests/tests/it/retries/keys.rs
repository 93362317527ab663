//! Keys that clients send.

use mcp_runtime::Principal;
use mcp_runtime::prelude::*;
use serde_json::{Value, json};
use tests::http::Request;
use tests::link::Hub;
use tests::{Client, Version};

use super::{Shop, server, text};
use crate::http::support::{Served, call as legacy_call, serve_server};
use crate::support::connect;

const KEY: &str = "mcp-runtime/idempotencyKey";

fn with_keys(shop: &Shop) -> Server {
    server(shop).with(mcp_runtime::extension::IdempotencyKeys)
}

fn pay(amount: u64, key: impl Into<Value>) -> Value {
    json!({"name": "pay", "arguments": {"amount": amount}, "_meta": {KEY: key.into()}})
}

/// Sends a call with these headers to a server that accepts anonymous callers of both eras.
async fn over_http(
    served: &Served,
    session: Option<&str>,
    headers: &[(&str, &str)],
) -> (u16, Value) {
    let arguments = json!({"amount": 5});
    let mut request = match session {
        Some(session) => legacy_call(session, 1, "pay", arguments, Version::V2025_11_25),
        None => Request::tool("pay", arguments),
    };
    for (name, value) in headers {
        request = request.header(name, value);
    }
    served.message(&request).await
}

#[tokio::test]
async fn a_call_with_the_same_key_runs_once_if_the_server_accepts_keys() {
    for version in Version::ALL {
        for accepts in [false, true] {
            let shop = Shop::new();
            let server = if accepts {
                with_keys(&shop)
            } else {
                server(&shop)
            };
            let mut client = connect(server, version).await;
            let first = client.ok("tools/call", pay(5, "a")).await;
            let again = client.ok("tools/call", pay(5, "a")).await;
            assert_eq!(again == first, accepts);
            client.ok("tools/call", pay(5, "b")).await;
            client.text("pay", json!({"amount": 5})).await;
            assert_eq!(shop.orders(), if accepts { 3 } else { 4 });
        }
    }
}

#[tokio::test]
async fn other_arguments_under_the_same_sent_key_are_an_error() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let mut client = connect(with_keys(&shop), version).await;
        client.ok("tools/call", pay(5, "a")).await;
        let refused = client.ok("tools/call", pay(6, "a")).await;
        assert_eq!(refused["isError"], true);
        assert!(text(&refused).contains("same idempotency key had different arguments"));
        assert_eq!(shop.orders(), 1);
    }
}

#[tokio::test]
async fn argument_keys_override_keys_sent_by_the_client() {
    let shop = Shop::new();
    let mut client = connect(with_keys(&shop), Version::V2026_07_28).await;
    for key in ["a", "b"] {
        let params = json!({"name": "place", "arguments": {"order_id": 7}, "_meta": {KEY: key}});
        client.ok("tools/call", params).await;
    }
    assert_eq!(shop.orders(), 1);
}

// Limits: idempotency.max_key_bytes
#[tokio::test]
async fn malformed_idempotency_keys_are_refused() {
    for version in Version::ERAS {
        let shop = Shop::new();
        let mut client = connect(with_keys(&shop), version).await;
        client.ok("tools/call", pay(5, "k".repeat(255))).await;
        for key in [
            json!(""),
            json!("k".repeat(256)),
            json!("k".repeat(1 << 20)),
            json!("ä"),
            json!("a\nb"),
            json!("a b"),
            json!(7),
            json!(null),
            json!({"key": "a"}),
        ] {
            let failure = client.fails("tools/call", pay(5, key), -32602).await;
            assert!(failure.message.contains("key") || failure.message.contains("Key"));
        }
        assert_eq!(shop.orders(), 1);
    }
}

#[tokio::test]
async fn an_idempotency_key_member_with_escapes_is_recognized() {
    let shop = Shop::new();
    let mut client = connect(with_keys(&shop), Version::V2025_11_25).await;
    for id in [901, 902] {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"pay","arguments":{{"amount":5}},"_meta":{{"mcp-runtime\/idempotency\u004bey":"a"}}}}}}"#
        );
        client.remember(&serde_json::from_str(&line).unwrap());
        client.line(&line).await;
        let result = client.response(&json!(id)).await.unwrap();
        assert_eq!(text(&result), "payment 1 of 5");
    }
}

#[tokio::test]
async fn callers_do_not_share_keys() {
    let shop = Shop::new();
    let hub = Hub::serve(with_keys(&shop));
    for version in Version::ERAS {
        let before = shop.orders();
        for who in ["ada", "bob"] {
            let mut results = Vec::new();
            // Over two connections.
            for _ in 0..2 {
                let principal = Principal::new(format!("{who} {}", version.date()));
                let client = hub.client_as(version, |it| it.with_principal(principal));
                let mut client: Client = client.connect().await;
                results.push(client.ok("tools/call", pay(5, "a")).await);
                results.push(client.tool("place", json!({"order_id": 7})).await);
            }
            assert_eq!(results[..2], results[2..]);
        }
        assert_eq!(shop.orders(), before + 4);
    }
}

#[tokio::test]
async fn anonymous_callers_do_not_share_keys() {
    let shop = Shop::new();
    let served = serve_server(with_keys(&shop)).await;
    let key = [("Idempotency-Key", "a")];
    // A session can be distinguished from others.
    let mut paid = Vec::new();
    for session in [
        served.session(Version::V2025_11_25).await,
        served.session(Version::V2025_11_25).await,
    ] {
        for _ in 0..2 {
            let (status, message) = over_http(&served, Some(&session), &key).await;
            assert_eq!(status, 200);
            paid.push(text(&message["result"]).to_owned());
        }
    }
    assert_eq!(
        paid,
        [
            "payment 1 of 5",
            "payment 1 of 5",
            "payment 2 of 5",
            "payment 2 of 5"
        ]
    );
    // A request without one cannot.
    let (_, message) = over_http(&served, None, &key).await;
    assert_eq!(message["error"]["code"], -32602, "{message}");
    assert_eq!(shop.orders(), 2);
    // For such a caller, a tool's declared arguments guarantee nothing.
    for number in [3, 4] {
        let request = Request::tool("place", json!({"order_id": 7}));
        let (_, message) = served.message(&request).await;
        let placed = format!("order 7 of 1 is number {number}");
        assert_eq!(text(&message["result"]), placed);
    }
}

#[tokio::test]
async fn a_header_is_a_key_with_and_without_quotation_marks() {
    let shop = Shop::new();
    let served = serve_server(with_keys(&shop)).await;
    let session = served.session(Version::V2025_11_25).await;
    for key in ["a", "\"a\"", " a "] {
        let (_, message) = over_http(&served, Some(&session), &[("idempotency-key", key)]).await;
        assert_eq!(text(&message["result"]), "payment 1 of 5");
    }
    let huge = "k".repeat(256);
    for headers in [
        &[("Idempotency-Key", "a"), ("Idempotency-Key", "a")][..],
        &[("Idempotency-Key", "")],
        &[("Idempotency-Key", "\"\"")],
        &[("Idempotency-Key", "ä")],
        &[("Idempotency-Key", &huge)],
    ] {
        let (_, message) = over_http(&served, Some(&session), headers).await;
        assert_eq!(message["error"]["code"], -32602, "{headers:?}: {message}");
    }
    assert_eq!(shop.orders(), 1);
}

#[tokio::test]
async fn a_header_that_differs_from_the_key_in_the_message_is_refused() {
    let shop = Shop::new();
    let served = serve_server(with_keys(&shop)).await;
    let session = served.session(Version::V2025_11_25).await;
    let message = |key: &str| {
        let params = pay(5, key);
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    };
    let request = |key: &str| {
        Request::legacy(&session, &message(key), Version::V2025_11_25)
            .header("Idempotency-Key", "a")
    };
    let (_, same) = served.message(&request("a")).await;
    assert_eq!(text(&same["result"]), "payment 1 of 5");
    let (_, other) = served.message(&request("b")).await;
    assert_eq!(other["error"]["code"], -32602, "{other}");
}
