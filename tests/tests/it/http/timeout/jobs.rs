//! Calls that take longer than their clients wait, over HTTP.

use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::Version;
use tests::http::Request;
use tokio::time::{Instant, sleep};

use super::{Served, serve_server};
use crate::http::support::{initialize, text};

/// Takes three minutes.
#[tool(tags("http-jobs"), task)]
async fn drowse() -> &'static str {
    sleep(Duration::from_mins(3)).await;
    "awake"
}

/// Calls a tool with a progress token. Returns its result and the progress that was reported to the client.
async fn call(
    server: &Served,
    version: Version,
    name: &str,
    arguments: Value,
) -> (Value, Vec<f64>) {
    let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": "p"}});
    let request = if version.is_modern() {
        Request::modern(1, "tools/call", params)
    } else {
        let hello = server.send(&initialize(version)).await;
        let session = hello.header("mcp-session-id").unwrap();
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        Request::legacy(session, &message, version)
    };
    let mut response = server.send(&request).await;
    if !response.is_events() {
        return (response.message().await, Vec::new());
    }
    let mut heard = Vec::new();
    while let Some(message) = response.next().await {
        match message["params"]["progress"].as_f64() {
            Some(progress) => heard.push(progress),
            None => return (message, heard),
        }
    }
    panic!("no answer to {name}")
}

#[tokio::test(start_paused = true)]
async fn a_client_gets_increasing_progress_and_the_result_of_its_job() {
    for version in [
        Version::V2025_03_26,
        Version::V2025_06_18,
        Version::V2025_11_25,
        Version::V2026_07_28,
    ] {
        let server = serve_server(
            new_server!().only(Selected::tag("http-jobs")),
            Duration::ZERO,
        );
        let began = Instant::now();
        let (handle, heard) = call(&server, version, "drowse", json!({})).await;
        assert!(
            heard.len() >= 2 && heard.is_sorted_by(|one, other| one < other),
            "{heard:?}"
        );
        assert_eq!(began.elapsed().as_secs(), 45);
        let (_, id) = text(&handle).split_once("job `").unwrap();
        let id = json!({"job_id": id.split_once('`').unwrap().0});
        let mut asked = 0;
        // Each call is in a new session, if there are sessions: the job belongs to its caller.
        let ended = loop {
            let (state, heard) = call(&server, version, "job_status", id.clone()).await;
            assert!(heard.is_sorted_by(|one, other| one < other), "{heard:?}");
            asked += 1;
            if !text(&state).contains("is still running") {
                break state;
            }
        };
        assert_eq!((text(&ended), asked), ("awake", 3), "{version:?}");
        assert_eq!(began.elapsed().as_secs(), 180);
    }
}
