//! Shutdown of the axum program.

use serde_json::json;
use tests::http::{Request, call, initialize, send, text};
use tests::run::free_address;
use tests::{Process, Version};

use super::retry;

fn signed(request: Request) -> Request {
    request.header("Authorization", "Bearer open sesame")
}

#[tokio::test]
async fn a_signal_to_stop_lets_calls_of_an_axum_program_finish() {
    for (signal, version) in [
        ("TERM", Version::V2026_07_28),
        ("TERM", Version::V2025_11_25),
        ("INT", Version::V2026_07_28),
    ] {
        let address = free_address();
        let mut process = Process::raw("axum-app", &[&address.to_string()], Version::V2026_07_28);
        retry(async || tokio::net::TcpStream::connect(address).await).await;
        let request = if version.is_modern() {
            let params = json!({"name": "watch_visits", "arguments": {"seconds": 1}, "_meta": {"progressToken": 1}});
            Request::modern(1, "tools/call", params)
        } else {
            let hello = send(address, &signed(initialize(version))).await;
            let session = hello.header("mcp-session-id").unwrap();
            call(session, 1, "watch_visits", json!({"seconds": 1}), version)
        };
        let mut response = send(address, &signed(request)).await;
        // The call is running.
        let report = response.next().await.unwrap();
        assert_eq!(report["method"], "notifications/progress");
        tests::run::signal(process.child.id().unwrap(), signal);
        let answer = response.next().await.expect("the call is answered");
        assert_eq!(text(&answer), "0");
        assert_eq!(process.ended().await.code(), Some(0), "{signal}");
    }
}
