//! Answers that clients do not read.

use std::time::{Duration, Instant};

use mcp_runtime::Limits;
use serde_json::json;
use tests::Version;
use tests::http::{Request, connect, write};

use super::{from, serve_behind_proxy};
use crate::http::support::call;

/// More than the buffers of the system hold.
const LARGE: usize = 7_000_000;

// Covers: SEC-05
#[tokio::test]
async fn a_client_that_reads_nothing_delays_no_other_client() {
    let limits = Limits::default().with(|limits| limits.http.max_unsent_bytes = 2 * LARGE);
    let server = serve_behind_proxy(limits).await;
    let [one, other] = ["192.0.2.1", "192.0.2.2"];
    let session = server.session(Version::V2025_11_25).await;
    let fill = || json!({"bytes": LARGE});
    let mut unread = Vec::new();
    for request in [
        Request::tool("fill", fill()),
        call(&session, 1, "fill", fill(), Version::V2025_11_25),
    ] {
        let mut stream = connect(server.address).await;
        write(&mut stream, &from(one, request)).await;
        unread.push(stream);
    }
    // The second call of the client waits, and others do not.
    let began = Instant::now();
    for _ in 0..10 {
        let nothing = from(other, Request::tool("nothing", json!({})));
        assert_eq!(server.message(&nothing).await.0, 200);
    }
    assert!(began.elapsed() < Duration::from_secs(4));
    drop(unread);
    let large = from(one, Request::tool("fill", fill()));
    let mut answer = server.send(&large).await;
    assert_eq!(answer.status, 200);
    assert!(answer.text().await.len() > LARGE);
}
