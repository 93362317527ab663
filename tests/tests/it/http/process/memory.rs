//! The memory that clients use in a server in a separate process.
use std::io::Write as _;
use std::time::Duration;

use serde_json::json;
use tests::Version;
use tests::http::{Request, connect, response_on, send, write};
use tokio::io::{AsyncReadExt as _, BufReader};
use tokio::net::TcpStream;

use crate::http::process::subject::Subject;
use crate::http::support::{call, initialize};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Prints what was measured, even if the test passes.
fn report(what: &str, value: usize) {
    let _ = writeln!(std::io::stderr(), "{what}: {value}");
}

/// Opens this many sessions over one connection and abandons them; returns the id of the last one.
async fn open_sessions(subject: &Subject, count: usize) -> String {
    let request = initialize(Version::V2025_11_25);
    let mut stream = BufReader::new(connect(subject.address).await);
    let mut last = String::new();
    for _ in 0..count {
        write(stream.get_mut(), &request).await;
        let mut response = response_on(stream, &request).await.unwrap();
        assert_eq!(response.status, 200);
        last = response.header("mcp-session-id").unwrap().to_owned();
        response.text().await;
        stream = response.into_stream();
    }
    last
}

// Covers: LHTTP-19, SEC-05
#[tokio::test]
async fn idle_sessions_take_little_memory_and_abandoned_ones_do_not_add_up() {
    let subject = Subject::start().await;
    open_sessions(&subject, 100).await;
    let few = subject.resident();
    open_sessions(&subject, 1_000).await;
    let thousand = subject.resident();
    let each = thousand.saturating_sub(few) / 1_000;
    report("an idle session: bytes", each);
    assert!(each < 8 * KIB, "{each} bytes a session");
    // First the maximum number, then the same number again.
    open_sessions(&subject, 10_000).await;
    let first = subject.resident();
    open_sessions(&subject, 10_000).await;
    let last = subject.resident();
    report("10,000 sessions: KiB", first / KIB);
    report("20,000 sessions that were opened: KiB", last / KIB);
    assert!(
        last < first + first / 4 + 4 * MIB,
        "{first} then {last} bytes"
    );
    let answer = send(subject.address, &Request::tool("fill", json!({"bytes": 1}))).await;
    assert_eq!(answer.status, 200);
}

// Covers: SUBS-08, SEC-05
#[tokio::test]
async fn a_listening_client_takes_little_memory() {
    const CLIENTS: usize = 300;
    let subject = Subject::start().await;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let listen = Request::modern(1, "subscriptions/listen", filter);
    let mut requests = vec![listen; CLIENTS];
    for _ in 0..CLIENTS {
        let session = open_sessions(&subject, 1).await;
        requests.push(Request::new("GET", Version::V2025_11_25).header("Mcp-Session-Id", &session));
    }
    let mut open = Vec::new();
    for (kind, requests) in ["2026-07-28", "2025-11-25"]
        .iter()
        .zip(requests.chunks(CLIENTS))
    {
        let before = subject.resident();
        for request in requests {
            let stream = send(subject.address, request).await;
            assert_eq!(stream.status, 200);
            open.push(stream);
        }
        let each = subject.resident().saturating_sub(before) / CLIENTS;
        report(&format!("a client of {kind} that listens: bytes"), each);
        assert!(each < 64 * KIB, "{each} bytes a stream");
    }
}

/// Returns the peak memory usage while no client reads.
async fn most_resident(subject: &Subject) -> usize {
    let mut most = 0;
    for _ in 0..20 {
        most = most.max(subject.resident());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    most
}

/// Sends each request on a separate connection without reading the response.
async fn send_and_stall(subject: &Subject, requests: &[Request]) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for request in requests {
        let mut stream = connect(subject.address).await;
        write(&mut stream, request).await;
        streams.push(stream);
    }
    streams
}

// Covers: SEC-05
#[tokio::test]
async fn a_client_that_does_not_read_fills_no_more_than_a_queue() {
    const CLIENTS: usize = 8;
    let subject = Subject::start().await;
    // These would amount to 64 MiB each if they were kept.
    let arguments = json!({"count": 65_536, "bytes": 1_024});
    let level = "io.modelcontextprotocol/logLevel";
    let params = json!({"name": "log", "arguments": arguments, "_meta": {level: "debug"}});
    let modern = Request::modern(1, "tools/call", params);
    let before = most_resident(&subject).await;
    let modern = send_and_stall(&subject, &vec![modern; CLIENTS]).await;
    let after = most_resident(&subject).await;
    let each = after.saturating_sub(before) / CLIENTS;
    report("a modern client that does not read: KiB", each / KIB);
    assert!(
        after < before + CLIENTS * 4 * MIB,
        "{before} then {after} bytes"
    );
    drop(modern);

    let mut calls = Vec::new();
    for id in 0..CLIENTS {
        let session = open_sessions(&subject, 1).await;
        let id = i64::try_from(id).unwrap();
        calls.push(call(
            &session,
            id,
            "log",
            arguments.clone(),
            Version::V2025_11_25,
        ));
    }
    let before = subject.resident();
    let legacy = send_and_stall(&subject, &calls).await;
    let after = most_resident(&subject).await;
    let each = after.saturating_sub(before) / CLIENTS;
    report("a client of 2025 that does not read: KiB", each / KIB);
    assert!(
        after < before + CLIENTS * 4 * MIB,
        "{before} then {after} bytes"
    );
    drop(legacy);

    // Answers are kept whole, and each call may have one.
    let fill = Request::tool("fill", json!({"bytes": 7 * MIB}));
    let before = subject.resident();
    let large = send_and_stall(&subject, &vec![fill; CLIENTS]).await;
    let after = most_resident(&subject).await;
    let each = after.saturating_sub(before) / CLIENTS;
    report("a large answer that is not read: KiB", each / KIB);
    assert!(
        after < before + CLIENTS * 4 * 7 * MIB,
        "{before} then {after} bytes"
    );
    drop(large);
    let answer = send(subject.address, &Request::tool("fill", json!({"bytes": 1}))).await;
    assert_eq!(answer.status, 200);
}

// Covers: SEC-05
#[tokio::test]
async fn subscriptions_of_a_client_have_a_maximum_size() {
    const SESSIONS: usize = 40;
    let subject = Subject::start().await;
    let last = open_sessions(&subject, SESSIONS).await;
    let subscribe = |session: &str, number: usize| {
        let uri = format!("item:///{number}{}", "u".repeat(7_000));
        let params = json!({"uri": uri});
        let message =
            json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": params});
        Request::legacy(session, &message, Version::V2025_11_25)
    };
    send(subject.address, &subscribe(&last, 0))
        .await
        .text()
        .await;
    let before = subject.resident();
    for _ in 0..SESSIONS {
        let session = open_sessions(&subject, 1).await;
        let mut accepted = 0;
        for number in 0..50 {
            let answer = send(subject.address, &subscribe(&session, number))
                .await
                .message()
                .await;
            accepted += usize::from(answer.get("result").is_some());
        }
        assert!((30..40).contains(&accepted), "{accepted}");
    }
    let each = subject.resident().saturating_sub(before) / SESSIONS;
    report("a session with subscriptions: KiB", each / KIB);
    assert!(each < 400 * KIB, "{each} bytes a session");
}

// Covers: SEC-05
#[tokio::test]
async fn unread_responses_have_a_maximum_total_size() {
    const CONNECTIONS: usize = 100;
    let subject = Subject::start().await;
    let large = Request::tool("fill", json!({"bytes": 7_900_000}));
    let mut unread = Vec::new();
    for _ in 0..CONNECTIONS {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        let mut stream = socket.connect(subject.address).await.unwrap();
        write(&mut stream, &large).await;
        unread.push(stream);
    }
    // The first byte of each answer arrives when its call has run or has been refused.
    let mut resident = 0;
    for stream in &mut unread {
        let mut first = [0];
        let begins = stream.read_exact(&mut first);
        let begins = tokio::time::timeout(tests::client::PATIENCE, begins);
        begins.await.expect("the answer begins in time").unwrap();
        resident = resident.max(subject.resident());
    }
    report("100 answers that nobody reads: MiB", resident / MIB);
    assert!(resident < 256 * MIB, "{resident} bytes");
}
