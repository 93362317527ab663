//! Ranges that exclude an end.

use mcp_runtime::prelude::*;
use serde_json::json;
use tests::Version;

use super::{call, server};
use crate::support::connect;

/// Draws samples.
#[tool(tags("arguments"))]
fn draw(
    #[arg(exclusive_minimum = 0.0, range(..1.0))] part: f64,
    #[arg(exclusive_minimum = 0, range(..10))] count: Option<u32>,
    #[arg(items(exclusive_minimum = -1.5))] weights: Option<Vec<f64>>,
    #[arg(range(..10))] scale: Option<f64>,
) -> String {
    format!("{part} {count:?} {weights:?} {scale:?}")
}

// Covers: TOOL-10
#[tokio::test]
async fn an_exclusive_bound_is_in_the_schema_and_is_enforced() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        let tools = client.ok("tools/list", json!({})).await;
        let tools = tools["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == "draw").unwrap();
        let properties = &tool["inputSchema"]["properties"];
        assert_eq!(
            properties["part"],
            json!({"type": "number", "exclusiveMinimum": 0.0, "exclusiveMaximum": 1.0})
        );
        // All model APIs understand inclusive bounds, so whole numbers have those.
        assert_eq!(properties["count"]["minimum"], 1);
        assert_eq!(properties["count"]["maximum"], 9);
        assert_eq!(properties["weights"]["items"]["exclusiveMinimum"], -1.5);
        for (arguments, expected) in [
            (r#"{"part": 0.5}"#, Ok("0.5 None None None")),
            (
                r#"{"part": 0.5, "count": 9, "weights": [-1.25], "scale": 9.5}"#,
                Ok("0.5 Some(9) Some([-1.25]) Some(9.5)"),
            ),
            (r#"{"part": 0}"#, Err("/part: 0 is not more than 0")),
            (r#"{"part": 1.0}"#, Err("/part: 1.0 is not less than 1")),
            (r#"{"part": "0"}"#, Err("/part: 0 is not more than 0")),
            (
                r#"{"part": 0.5, "count": 10, "weights": [-1.5], "scale": 10}"#,
                Err(
                    "/count: 10 is more than 9\n/weights/0: -1.5 is not more than -1.5\n/scale: 10 is not less than 10",
                ),
            ),
        ] {
            let result = call(&mut client, "draw", arguments).await;
            let result = result.as_deref().map_err(String::as_str);
            assert_eq!(result, expected, "{arguments}");
        }
    }
}
