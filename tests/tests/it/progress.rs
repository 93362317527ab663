//! Progress notifications.

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::Version;

use crate::support::{client, connect};

/// Reports numbers that JSON does not have, and one that it has.
#[tool(tags("progress"))]
async fn report_nonsense(ctx: &Context) {
    for nonsense in [f64::NAN, f64::INFINITY] {
        ctx.progress(nonsense);
        ctx.progress((1, nonsense));
    }
    ctx.progress(2);
}

async fn report(version: Version, token: Value, values: Value) -> Vec<Value> {
    let mut client = client(version).await;
    let mut params = json!({"name": "report", "arguments": {"values": values, "total": 10}});
    if !token.is_null() {
        params["_meta"] = json!({"progressToken": token});
    }
    client.ok("tools/call", params).await;
    let seen = client.drain().await;
    assert!(
        seen.iter()
            .all(|message| message["method"] == "notifications/progress")
    );
    assert!(
        seen.iter()
            .all(|message| message["params"]["progressToken"] == token)
    );
    seen.into_iter()
        .map(|message| message["params"].clone())
        .collect()
}

// Covers: PROG-01, PROG-03, STDIO-04
#[tokio::test]
async fn progress_arrives_in_order_before_the_answer() {
    for version in Version::ALL {
        for token in [json!("token"), json!(7), json!(""), json!(0)] {
            let seen = report(version, token, json!([1, 2.5, 10])).await;
            let values: Vec<f64> = seen
                .iter()
                .filter_map(|params| params["progress"].as_f64())
                .collect();
            assert_eq!(values, [1.0, 2.5, 10.0]);
            assert!(seen.iter().all(|params| params["total"] == 10.0));
            let messages = seen.iter().all(|params| params.get("message").is_some());
            assert_eq!(
                messages,
                version > Version::V2024_11_05,
                "the message came with 2025-03-26"
            );
        }
    }
}

// Covers: PROG-02
#[tokio::test]
async fn progress_values_that_do_not_increase_are_not_sent() {
    for version in Version::ERAS {
        let seen = report(version, json!(1), json!([5, 5, 3, -1, 6, 6])).await;
        let values: Vec<f64> = seen
            .iter()
            .filter_map(|params| params["progress"].as_f64())
            .collect();
        assert_eq!(values, [5.0, 6.0]);
    }
}

// Covers: PROG-03, SEC-06
#[tokio::test]
async fn a_burst_of_progress_is_merged_and_its_last_value_is_sent() {
    for version in Version::ERAS {
        let many: Vec<u32> = (1..=2_000).collect();
        let seen = report(version, json!(1), json!(many)).await;
        assert!(seen.len() < 200, "{} notifications", seen.len());
        assert_eq!(seen.last().unwrap()["progress"], 2_000.0);
    }
}

// Covers: PROG-04
#[tokio::test]
async fn without_a_token_there_is_no_progress() {
    for version in Version::ALL {
        assert_eq!(
            report(version, Value::Null, json!([1, 2])).await,
            Vec::<Value>::new()
        );
    }
}

// Covers: PROG-01
#[tokio::test]
async fn numbers_that_json_does_not_have_are_not_reported() {
    for version in Version::ERAS {
        let mut client = connect(new_server!().only(Selected::tag("progress")), version).await;
        let params = json!({"name": "report_nonsense", "_meta": {"progressToken": 1}});
        client.ok("tools/call", params).await;
        let seen = client.drain().await;
        assert_eq!(seen.len(), 1, "{seen:?}");
        assert_eq!(seen[0]["params"]["progress"].as_f64(), Some(2.0));
    }
}
