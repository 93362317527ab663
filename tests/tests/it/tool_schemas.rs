//! Hand-written schemas.

use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::Version;

use crate::support::connect;

/// Returns a schema with keywords that authors write but no macro generates.
fn written() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"address": {"$anchor": "address", "type": "object", "properties": {"street": {"type": "string"}}}},
        "type": "object",
        "properties": {
            "b": {"$ref": "#address"},
            "a": {"$ref": "#/$defs/address", "x-mine": [1.50, null]},
            "kind": {"oneOf": [{"const": "x"}, {"const": "y", "title": "Why"}]},
        },
        "if": {"properties": {"kind": {"const": "x"}}, "required": ["kind"]},
        "then": {"required": ["a"]},
        "else": {"not": {"required": ["b"]}},
        "allOf": [{"anyOf": [{"required": ["a"]}, {"required": ["kind"]}]}],
        "dependentRequired": {"b": ["a"]},
        "additionalProperties": false,
    })
}

/// Takes the arguments of its schema.
#[mcp_runtime::tool(tags("written"), schema = written())]
fn takes_written(kind: Option<Value>, a: Option<Value>, b: Option<Value>) -> String {
    format!("{} {} {}", kind.is_some(), a.is_some(), b.is_some())
}

// Covers: TOOL-08
#[tokio::test]
async fn a_schema_that_an_author_wrote_is_served_as_it_is() {
    for version in Version::ALL {
        let server = mcp_runtime::Server::new("written", "1").only(Selected::tag("written"));
        let made =
            mcp_runtime::dynamic::DynamicTool::new("made", written(), |_, _| async { "made" });
        server.handle().tools().insert(made).unwrap();
        let mut client = connect(server, version).await;
        let (tools, _) = client.list("tools/list", "tools").await;
        for name in ["takes_written", "made"] {
            let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
            // Not only is the value the same but also the text: its members keep their order.
            assert_eq!(tool["inputSchema"].to_string(), written().to_string());
            let address = json!({"street": "Long"});
            client.tool(name, json!({"kind": "x", "a": address})).await;
            for wrong in [
                json!({"kind": "x"}),
                json!({"kind": "z", "a": address}),
                json!({"kind": "y", "b": address}),
                json!({"a": {"street": 5}}),
                json!({"a": address, "c": 1}),
            ] {
                client.refused(name, wrong).await;
            }
        }
    }
}
