//! Sessions, their streams and their calls.

use mcp_runtime::Limits;
use mcp_runtime::http::HttpOptions;
use serde_json::json;
use tests::Version;
use tests::http::{Request, connect, write};

use super::{from, ping, serve, serve_behind_proxy};
use crate::http::support::{Served, call, initialize, initialize_at_length, serve_with};

// Covers: LHTTP-19, SEC-02
// Limits: sessions.max_sessions
#[tokio::test]
async fn sessions_are_bounded_and_the_longest_idle_one_ends_first() {
    let server = serve(Limits::default().with(|limits| limits.sessions.max_sessions = 2)).await;
    let first = server.session(Version::V2025_11_25).await;
    let second = server.session(Version::V2025_11_25).await;
    server.message(&ping(&first)).await;
    let third = server.session(Version::V2025_11_25).await;
    assert_eq!(server.message(&ping(&second)).await.0, 404);
    for session in [&first, &third] {
        let mut stream = connect(server.address).await;
        write(
            &mut stream,
            &call(session, 1, "wait", json!({}), Version::V2025_11_25),
        )
        .await;
        std::mem::forget(stream);
    }
    server.shared.started(2).await;
    // None of them is idle at this point.
    let response = server.send(&initialize(Version::V2025_11_25)).await;
    assert_eq!(response.status, 503);
    assert!(response.header("retry-after").is_some());
}

// Covers: LHTTP-19, SEC-05
#[tokio::test]
async fn handshakes_of_other_clients_evict_no_session_in_use() {
    let limits = Limits::default().with(|limits| {
        limits.sessions.max_sessions = 40;
        limits.sessions.max_per_address = 10;
    });
    let server = serve_behind_proxy(limits).await;
    let (client, stranger) = ("192.0.2.1", "192.0.2.2");
    let session = async |address: &str| {
        let shaken = server
            .send(&from(address, initialize(Version::V2025_11_25)))
            .await;
        assert_eq!(shaken.status, 200);
        let session = shaken.header("mcp-session-id").unwrap().to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let ready = Request::legacy(&session, &ready, Version::V2025_11_25);
        assert_eq!(server.send(&from(address, ready)).await.status, 202);
        session
    };
    let status = async |address: &str, session: &str| {
        let mut response = server.send(&from(address, ping(session))).await;
        response.text().await;
        response.status
    };
    let (idle, streaming) = (session(client).await, session(client).await);
    for used in [&idle, &streaming] {
        assert_eq!(status(client, used).await, 200);
    }
    let get = Request::new("GET", Version::V2025_11_25).header("Mcp-Session-Id", &streaming);
    let mut open = server.send(&from(client, get)).await;
    assert_eq!(open.status, 200);
    // The stranger uses every second one of its sessions.
    for number in 0..200 {
        let another = session(stranger).await;
        if number % 2 == 0 {
            assert_eq!(status(stranger, &another).await, 200);
        }
    }
    for used in [&idle, &streaming] {
        assert_eq!(status(client, used).await, 200);
    }
    server.handle.notify().tools_changed();
    let told = crate::http::support::next_in_time(&mut open).await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
}

/// Opens a session from this address, and uses it.
async fn used_session(server: &Served, address: &str, request: Request) -> String {
    let shaken = server.send(&from(address, request)).await;
    let session = shaken.header("mcp-session-id").unwrap().to_owned();
    for _ in 0..2 {
        assert_eq!(is_there(server, address, &session).await, 1);
    }
    session
}

/// Returns 1 if the session still exists.
async fn is_there(server: &Served, address: &str, session: &str) -> usize {
    let mut response = server.send(&from(address, ping(session))).await;
    response.text().await;
    usize::from(response.status == 200)
}

// Covers: LHTTP-19, SEC-05
// Limits: sessions.max_per_address
#[tokio::test]
async fn an_address_that_exceeds_its_share_evicts_its_own_sessions() {
    for (share, expected) in [(1, [3, 1]), (2, [2, 2]), (3, [1, 3]), (4, [0, 4])] {
        let limits = Limits::default().with(|limits| {
            limits.sessions.max_sessions = 4;
            limits.sessions.max_per_address = share;
        });
        let server = serve_behind_proxy(limits).await;
        let [one, other] = ["192.0.2.1", "192.0.2.2"];
        let mut sessions = Vec::new();
        // There is room for more than the share of the first client, but not for that of the other one.
        for address in [one, one, one, other, other, other, other] {
            let session = used_session(&server, address, initialize(Version::V2025_11_25)).await;
            sessions.push((address, session));
        }
        let mut left = [0, 0];
        for (address, session) in &sessions {
            left[usize::from(*address == other)] += is_there(&server, address, session).await;
        }
        assert_eq!(left, expected, "{share}");
    }
}

// Covers: LHTTP-19, SEC-05
// Limits: sessions.max_bytes
#[tokio::test]
async fn sessions_have_a_maximum_size_in_all() {
    let client =
        r#"{"capabilities":{"experimental":{"x":{"y":""}}},"info":{"name":"","version":"1"}}"#;
    let each = 512 + client.len() + 2_000;
    for (limit, kept) in [(2 * each - 1, 1), (2 * each, 2), (2 * each + 1, 2)] {
        let limits = Limits::default().with(|limits| limits.sessions.max_bytes = limit);
        let server = serve(limits).await;
        let address = "192.0.2.1";
        let mut sessions = Vec::new();
        for _ in 0..3 {
            let request = initialize_at_length(1_000, 1_000);
            sessions.push(used_session(&server, address, request).await);
        }
        let mut left = 0;
        for session in &sessions {
            left += is_there(&server, address, session).await;
        }
        assert_eq!(left, kept, "{limit}");
    }
}

// Covers: LHTTP-19, SEC-05
#[tokio::test]
async fn a_session_with_an_open_stream_is_evicted_last() {
    let server = serve(Limits::default().with(|limits| limits.sessions.max_sessions = 2)).await;
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let session = server.session(Version::V2025_11_25).await;
        assert_eq!(server.message(&ping(&session)).await.0, 200);
        sessions.push(session);
    }
    let get =
        |session: &str| Request::new("GET", Version::V2025_11_25).header("Mcp-Session-Id", session);
    let first = server.send(&get(&sessions[0])).await;
    assert_eq!(first.status, 200);
    // The other one was used later, but has no stream.
    assert_eq!(server.message(&ping(&sessions[1])).await.0, 200);
    let third = server.session(Version::V2025_11_25).await;
    assert_eq!(server.message(&ping(&sessions[1])).await.0, 404);
    assert_eq!(server.message(&ping(&sessions[0])).await.0, 200);
    // If all have streams, one of them ends.
    let second = server.send(&get(&third)).await;
    assert_eq!(second.status, 200);
    server.session(Version::V2025_11_25).await;
    let mut left = 0;
    for session in [&sessions[0], &third] {
        left += usize::from(server.message(&ping(session)).await.0 == 200);
    }
    assert_eq!(left, 1);
}

// Covers: SEC-05
// Limits: streams.max_open
#[tokio::test]
async fn streams_of_all_clients_together_are_bounded() {
    let options = HttpOptions::new().legacy_sse(true);
    let limits = Limits::default().with(|limits| limits.streams.max_open = 3);
    let server = serve_with(options, limits).await;
    let session = server.session(Version::V2025_11_25).await;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let listen = Request::modern(1, "subscriptions/listen", filter);
    let get = Request::new("GET", Version::V2025_11_25).header("Mcp-Session-Id", &session);
    let old = Request::new("GET", Version::V2024_11_05);
    // One below, and at the limit.
    let mut open = Vec::new();
    for request in [&listen, &get, &old] {
        let response = server.send(request).await;
        assert_eq!(response.status, 200);
        open.push(response);
    }
    // Above the limit, no client gets another stream, and everything else continues.
    for request in [&listen, &get, &old] {
        let mut response = server.send(request).await;
        assert_eq!(response.status, 503);
        assert!(response.header("retry-after").is_some());
        assert!(response.text().await.contains("too many event streams"));
    }
    let report =
        json!({"name": "report", "arguments": {"values": [1]}, "_meta": {"progressToken": 1}});
    let mut called = server.send(&Request::modern(1, "tools/call", report)).await;
    assert_eq!(called.all().await.len(), 2);
    // One that ends makes room for another.
    open.pop();
    tests::wait::until(async || server.send(&listen).await.status == 200).await;
}

// Covers: LHTTP-19
#[tokio::test]
async fn calls_of_a_session_are_bounded_and_a_refused_one_is_answered() {
    let server = serve(Limits::default().with(|limits| limits.calls.max_running = 2)).await;
    let session = server.session(Version::V2025_11_25).await;
    let mut streams = Vec::new();
    for id in 1..=2 {
        let mut stream = connect(server.address).await;
        write(
            &mut stream,
            &call(&session, id, "wait", json!({}), Version::V2025_11_25),
        )
        .await;
        streams.push(stream);
    }
    server.shared.started(2).await;
    let (status, message) = server
        .message(&call(
            &session,
            3,
            "pause",
            json!({"ms": 1}),
            Version::V2025_11_25,
        ))
        .await;
    assert_eq!((status, &message["error"]["code"]), (200, &json!(429)));
    assert_eq!(server.message(&ping(&session)).await.0, 200);
}

// Covers: LHTTP-08, LHTTP-19
#[tokio::test]
async fn a_stream_cannot_be_resumed_from_events_that_were_dropped() {
    let limits = Limits::default().with(|limits| {
        limits.streams.max_replay_events = 2;
        limits.calls.max_progress_per_second = 1_000;
    });
    let server = serve(limits).await;
    let session = server.session(Version::V2025_11_25).await;
    let values: Vec<i32> = (0..20).collect();
    let request = call(
        &session,
        1,
        "report",
        json!({"values": values}),
        Version::V2025_11_25,
    );
    let mut stream = server.send(&request).await;
    let mut ids = Vec::new();
    while let Some(event) = stream.event().await {
        ids.extend(event.id);
    }
    let get = |id: &str| {
        Request::new("GET", Version::V2025_11_25)
            .header("Mcp-Session-Id", &session)
            .header("Last-Event-ID", id)
            .answering("tools/call")
    };
    server.refused(&get(&ids[1]), 400, -32600).await;
    let mut rest = server.send(&get(&ids[ids.len() - 2])).await;
    assert_eq!(rest.all().await.len(), 1);
}
