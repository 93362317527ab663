//! Signs of life during plain calls to tools that could have been tasks.

use std::time::Duration;

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::json;
use tests::Version;

use super::TASKS;
use crate::support::{connect, raw};

/// Asks for patience before it begins to count, and may never become a task.
#[tool(tags("heartbeat"), task(manual))]
async fn late(ctx: &Context) -> &'static str {
    tokio::time::sleep(Duration::from_secs(20)).await;
    ctx.progress((0, 2, "none yet"));
    ctx.progress((1, 2, "one"));
    "done"
}

/// Takes its time, and reports progress in between if it is told to.
#[tool(tags("heartbeat"), task(patience = "2m"))]
async fn slow(ctx: &Context, reports: bool) -> &'static str {
    tokio::time::sleep(Duration::from_secs(20)).await;
    if reports {
        ctx.progress((1, 2));
    }
    tokio::time::sleep(Duration::from_secs(40)).await;
    "done"
}

#[tokio::test(start_paused = true)]
async fn a_silent_call_sends_progress_every_15_seconds() {
    for version in [
        Version::V2025_06_18,
        Version::V2025_11_25,
        Version::V2026_07_28,
    ] {
        for (reports, expected) in [
            (false, &[0.0001, 0.0002, 0.0003][..]),
            (true, &[0.0001, 1.0, 1.0001, 1.0002]),
        ] {
            let server = new_server!().only(Selected::tag("heartbeat"));
            let mut client = connect(server, version).await;
            client.meta.insert("progressToken".into(), json!("p"));
            assert_eq!(
                client.text("slow", json!({"reports": reports})).await,
                "done"
            );
            let told = client.drain().await;
            let progress = |told: &serde_json::Value| told["params"]["progress"].as_f64().unwrap();
            let progress: Vec<f64> = told.iter().map(progress).collect();
            assert_eq!(progress, expected);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn progress_from_zero_after_a_heartbeat_is_sent() {
    for version in Version::ERAS {
        // Clients that support tasks also hear from a call that is not yet a task.
        for knows_tasks in [false, true] {
            let mut client = raw(new_server!().only(Selected::tag("heartbeat")), version);
            if knows_tasks {
                client.capabilities = json!({"extensions": {TASKS: {}}});
            }
            let mut client = client.connect().await;
            client.meta.insert("progressToken".into(), json!("p"));
            assert_eq!(client.text("late", json!({})).await, "done");
            let told = client.drain().await;
            let messages: Vec<_> = told.iter().map(|told| &told["params"]["message"]).collect();
            assert_eq!(
                messages,
                [&json!(null), &json!("none yet"), &json!("one")],
                "{told:?}"
            );
            let progress = told.iter().map(|told| told["params"]["progress"].as_f64());
            assert!(progress.is_sorted_by(|one, other| one < other), "{told:?}");
        }
    }
}
