//! Cancelling drops the handler's future, and nothing further is sent about its request.

use serde_json::{Value, json};
use tests::Version;

use crate::support::{client, client_and_state};

// Covers: CANC-01, CANC-06, STDIO-05, BASE-06
#[tokio::test]
async fn a_cancelled_call_is_dropped_and_never_answered() {
    for version in Version::ALL {
        let (mut client, shared) = client_and_state(version).await;
        for call in 1..=3 {
            let id = client.start("tools/call", json!({"name": "wait"})).await;
            shared.started(call).await;
            client.cancel(&id).await;
            shared.dropped(call).await;
            assert_eq!(client.drain().await, Vec::<Value>::new());
            assert!(!client.answered(&id));
        }
    }
}

// Covers: CANC-01, CANC-05, CANC-06
#[tokio::test]
async fn cancelling_an_unknown_request_does_nothing() {
    for version in Version::ALL {
        let (mut client, shared) = client_and_state(version).await;
        let id = client.start("tools/call", json!({"name": "wait"})).await;
        shared.started(1).await;
        // Another type of id, a finished request, and unknown and malformed ids.
        client.cancel(&json!(id.to_string())).await;
        let finished = client.start("tools/call", json!({"name": "nothing"})).await;
        client.response(&finished).await.unwrap();
        client.cancel(&finished).await;
        for params in [
            json!({}),
            json!({"requestId": null}),
            json!({"requestId": 1.5}),
            json!({"requestId": []}),
            json!([]),
        ] {
            client.notify("notifications/cancelled", params).await;
        }
        client
            .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled"}))
            .await;
        client.pass().await;
        shared.0.go_on.notify_waiters();
        client.response(&id).await.unwrap();
    }
}

// Covers: CANC-06
#[tokio::test]
async fn a_cancelled_call_frees_its_id_and_its_slot() {
    for version in Version::ERAS {
        let (mut client, shared) = client_and_state(version).await;
        for call in 1..=5 {
            let params = client.dress(json!({"name": "wait"}));
            client
                .send(&json!({"jsonrpc":"2.0","id":"same","method":"tools/call","params":params}))
                .await;
            shared.started(call).await;
            client.cancel(&json!("same")).await;
            shared.dropped(call).await;
        }
        client.pass().await;
    }
}

// Covers: STDIO-03, BASE-10
#[tokio::test]
async fn a_waiting_call_keeps_no_other_call_waiting() {
    for version in Version::ALL {
        let (mut client, shared) = client_and_state(version).await;
        let ids = [
            client.start("tools/call", json!({"name": "wait"})).await,
            client.start("tools/call", json!({"name": "wait"})).await,
        ];
        shared.started(2).await;
        client.pass().await;
        assert_eq!(client.text("add", json!({"a": 1, "b": 2})).await, "3");
        shared.0.go_on.notify_waiters();
        for id in ids {
            client.response(&id).await.unwrap();
        }
    }
}

// Covers: BASE-06
#[tokio::test]
async fn a_request_with_an_id_in_use_is_refused_and_the_first_goes_on() {
    for version in Version::ERAS {
        let (mut client, shared) = client_and_state(version).await;
        let params = client.dress(json!({"name": "wait"}));
        let message = json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params});
        client.send(&message).await;
        shared.started(1).await;
        client.send(&message).await;
        assert_eq!(client.response(&json!(77)).await.unwrap_err().code, -32600);
        client.remember(&message);
        shared.0.go_on.notify_waiters();
        client.response(&json!(77)).await.unwrap();
    }
}

// Covers: SUBS-07, STDIO-07
#[tokio::test]
async fn the_end_of_a_connection_ends_its_calls() {
    for version in Version::ERAS {
        let (mut client, shared) = client_and_state(version).await;
        client.start("tools/call", json!({"name": "wait"})).await;
        shared.started(1).await;
        drop(client);
        shared.dropped(1).await;
    }
    client(Version::V2025_11_25).await.pass().await;
}
