//! Signs of life in plain calls to tools that could have been tasks.

use std::time::Duration;

use mcp_runtime::prelude::*;
use serde_json::json;
use tests::Version;

use crate::support::connect;

/// Takes its time, and reports progress in between if it is told to.
#[tool(tags("heartbeat"), task)]
async fn slow(ctx: &Context, reports: bool) -> &'static str {
    tokio::time::sleep(Duration::from_secs(20)).await;
    if reports {
        ctx.progress((1, 2));
    }
    tokio::time::sleep(Duration::from_secs(40)).await;
    "done"
}

#[tokio::test(start_paused = true)]
async fn a_client_that_wants_progress_hears_something_every_15_seconds() {
    for version in [
        Version::V2025_06_18,
        Version::V2025_11_25,
        Version::V2026_07_28,
    ] {
        for (reports, expected) in [(false, 3), (true, 4)] {
            let server = new_server!().tags(["heartbeat"]);
            let mut client = connect(server, version).await;
            client.meta.insert("progressToken".into(), json!("p"));
            assert_eq!(
                client.text("slow", json!({"reports": reports})).await,
                "done"
            );
            let told = client.drain().await;
            let progress = |told: &serde_json::Value| told["params"]["progress"].as_f64().unwrap();
            let progress: Vec<f64> = told.iter().map(progress).collect();
            assert!(
                progress.is_sorted_by(|one, other| one < other),
                "{progress:?}"
            );
            assert_eq!(progress.len(), expected, "{progress:?}");
        }
    }
}
