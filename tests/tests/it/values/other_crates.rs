//! A type of a crate for which there is no feature, with the recipe of docs/types.md.

use mcp_runtime::prelude::*;
use serde_json::json;
use tests::Version;
use time::OffsetDateTime;

use super::server;
use super::types::call;
use crate::support::connect;

/// A point in time, such as `2026-07-28T12:30:00Z`.
#[data]
#[serde(transparent)]
struct Moment(
    #[serde(with = "time::serde::rfc3339")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    OffsetDateTime,
);

/// Returns the moment, and its hour.
#[tool(tags("values"))]
fn time_moment(at: Moment) -> Json<(u8, Moment)> {
    Json((at.0.hour(), at))
}

#[tokio::test]
async fn a_time_of_the_crate_time_is_an_argument_and_a_result() {
    let mut client = connect(server(), Version::V2026_07_28).await;
    let (tools, _) = client.list("tools/list", "tools").await;
    let tool = tools.iter().find(|tool| tool["name"] == "time_moment");
    let schema = &tool.unwrap()["inputSchema"]["properties"]["at"];
    assert_eq!(
        *schema,
        json!({"type": "string", "format": "date-time", "description": "A point in time, such as `2026-07-28T12:30:00Z`."})
    );
    let at = json!("2026-07-28T12:30:00+02:00");
    let called = call(&mut client, "time_moment", json!({"at": at})).await;
    assert_eq!(called.unwrap(), json!([12, at]));
    let refused = call(&mut client, "time_moment", json!({"at": "tomorrow"})).await;
    let refused = refused.unwrap_err();
    assert!(refused.starts_with("/at: "), "{refused}");
    assert!(refused.contains("\"tomorrow\""), "{refused}");
}
