//! The schemas of functions, as clients get them.

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::Version;

use crate::support::connect;

/// Tells the time.
#[tool(tags("generated"))]
fn now() -> &'static str {
    "noon"
}

/// A tree.
#[data(output)]
struct Node {
    name: String,
    children: Vec<Node>,
}

/// Returns some trees.
#[tool(tags("generated"))]
fn trees() -> Json<Vec<Node>> {
    Json(vec![Node {
        name: "a".to_owned(),
        children: Vec::new(),
    }])
}

/// Returns perhaps a tree.
#[tool(tags("generated"))]
fn perhaps() -> Option<Json<Node>> {
    None
}

/// Sent and received.
#[data]
struct Both {
    id: u64,
}

/// Only sent.
#[data(output)]
struct Sent {
    id: u64,
}

/// Returns what it gets.
#[tool(tags("generated"))]
fn both(it: Both) -> Json<Both> {
    Json(it)
}

/// Returns something.
#[tool(tags("generated"))]
fn sent() -> Json<Sent> {
    Json(Sent { id: 1 })
}

/// Defines types, each of which contains another one twice.
macro_rules! levels {
    ($($name:ident of $inner:ident),*) => { $(
        /// A level.
        #[data(input)]
        struct $name {
            left: Option<Box<$inner>>,
            right: Option<Box<$inner>>,
        }

        impl $name {
            fn sum(&self) -> u32 {
                let sum = |inner: &Option<Box<$inner>>| inner.as_ref().map_or(0, |inner| inner.sum());
                sum(&self.left) + sum(&self.right)
            }
        }
    )* };
}

/// The last level.
#[data(input)]
struct L0 {
    value: u8,
}

impl L0 {
    fn sum(&self) -> u32 {
        u32::from(self.value)
    }
}

levels!(
    L1 of L0, L2 of L1, L3 of L2, L4 of L3, L5 of L4, L6 of L5, L7 of L6, L8 of L7, L9 of L8, L10 of L9, L11 of L10,
    L12 of L11, L13 of L12, L14 of L13, L15 of L14, L16 of L15
);

/// Adds up few levels.
#[tool(tags("generated"))]
fn few_levels(it: L2) -> u32 {
    it.sum()
}

/// Adds up many levels.
#[tool(tags("generated"))]
fn many_levels(it: L16, other: Option<u8>) -> u32 {
    it.sum() + u32::from(other.unwrap_or_default())
}

/// Adds up many levels.
#[tool(tags("generated"))]
fn flat_levels(#[arg(flatten)] it: L16) -> u32 {
    it.sum()
}

/// Returns the tools of the server by name.
async fn listed(version: Version) -> Value {
    let server = Server::new("generated", "1").only(Selected::tag("generated"));
    let (tools, _) = connect(server, version)
        .await
        .list("tools/list", "tools")
        .await;
    let named = |tool: Value| (tool["name"].as_str().unwrap().to_owned(), tool);
    Value::Object(tools.into_iter().map(named).collect())
}

#[tokio::test]
async fn a_tool_without_arguments_has_properties() {
    for version in Version::ALL {
        let tools = listed(version).await;
        assert_eq!(
            tools["now"]["inputSchema"].to_string(),
            r#"{"type":"object","properties":{},"additionalProperties":false}"#
        );
    }
}

/// Collects the references in a schema.
fn references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            found.extend(schema["$ref"].as_str().map(str::to_owned));
            members.values().for_each(|inner| references(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| references(inner, found)),
        _ => {}
    }
}

#[tokio::test]
async fn references_lead_to_definitions_at_the_root() {
    for version in Version::ALL {
        let tools = listed(version).await;
        for (tool, schema, least) in [
            ("trees", "outputSchema", 1),
            ("perhaps", "outputSchema", 1),
            ("many_levels", "inputSchema", 30),
            ("flat_levels", "inputSchema", 30),
        ] {
            if schema == "outputSchema" && !version.protocol_version().has_structured_content() {
                continue;
            }
            let schema = &tools[tool][schema];
            let mut found = Vec::new();
            references(schema, &mut found);
            assert!(found.len() >= least, "{version:?} {tool}: {schema}");
            for reference in found {
                assert!(
                    reference.starts_with("#/$defs/"),
                    "{version:?} {tool}: {schema}"
                );
                assert!(
                    schema.pointer(&reference[1..]).is_some(),
                    "{version:?} {tool}: {schema}"
                );
            }
        }
    }
}

#[tokio::test]
async fn output_schemas_of_all_types_allow_additional_members() {
    for version in Version::ALL {
        if !version.protocol_version().has_structured_content() {
            continue;
        }
        let tools = listed(version).await;
        let expected = json!({"type": "object", "properties": {"id": {"type": "integer", "minimum": 0}}, "required": ["id"]});
        for tool in ["both", "sent"] {
            let mut schema = tools[tool]["outputSchema"].clone();
            schema.as_object_mut().unwrap().remove("description");
            assert_eq!(schema, expected, "{version:?} {tool}");
        }
        let input = &tools["both"]["inputSchema"]["properties"]["it"];
        assert_eq!(input["additionalProperties"], false, "{version:?}");
    }
}

#[tokio::test]
async fn a_schema_that_would_double_with_each_level_keeps_references() {
    for version in Version::ERAS {
        let tools = listed(version).await;
        let few = tools["few_levels"]["inputSchema"].to_string();
        assert!(!few.contains("$ref"), "{few}");
        for tool in ["many_levels", "flat_levels"] {
            let schema = tools[tool]["inputSchema"].to_string();
            assert!(schema.len() < 5_000, "{tool}: {schema}");
        }
        // Arguments are read and explained through references as well.
        let server = Server::new("generated", "1").only(Selected::tag("generated"));
        let mut client = connect(server, version).await;
        let mut value = json!({"value": 7});
        let mut wrong = json!({"valeu": 7});
        for _ in 0..16 {
            value = json!({"left": value, "right": null});
            wrong = json!({"left": wrong, "right": null});
        }
        assert_eq!(client.text("many_levels", json!({"it": value})).await, "7");
        assert_eq!(client.text("flat_levels", value).await, "7");
        let path = "/left".repeat(16);
        let refused = client.refused("flat_levels", wrong.clone()).await;
        assert!(
            refused.starts_with(&format!("{path}: ")) && refused.contains("did you mean `value`?"),
            "{refused}"
        );
        let refused = client
            .refused("many_levels", json!({"it": wrong, "other": 300}))
            .await;
        assert!(refused.contains(&format!("/it{path}: ")), "{refused}");
        assert!(
            refused.contains("/other: 300 is more than 255"),
            "{refused}"
        );
    }
}
