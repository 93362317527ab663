//! One result in five shapes.

use serde_json::{Value, json};
use tests::Version;

use crate::support::client;

fn kinds(contents: &[Value]) -> Vec<&str> {
    contents
        .iter()
        .filter_map(|content| content["type"].as_str())
        .collect()
}

fn expected(version: Version) -> [&'static str; 5] {
    let link = if version >= Version::V2025_06_18 {
        "resource_link"
    } else {
        "text"
    };
    let audio = if version >= Version::V2025_03_26 {
        "audio"
    } else {
        "resource"
    };
    ["text", "image", audio, link, "resource"]
}

// Covers: LIFE-07
#[tokio::test]
async fn a_tool_result_contains_only_content_of_its_protocol_version() {
    for version in Version::ALL {
        let mut client = client(version).await;
        let result = client.tool("contents", json!({})).await;
        let contents = result["content"].as_array().unwrap();
        assert_eq!(kinds(contents), expected(version), "{}", version.date());
        if version < Version::V2025_06_18 {
            assert!(
                contents[3]["text"]
                    .as_str()
                    .unwrap()
                    .contains("test://static")
            );
        }
    }
}

// Covers: PROMPT-05, LIFE-07
#[tokio::test]
async fn a_prompt_holds_only_content_its_version_knows() {
    for version in Version::ALL {
        let mut client = client(version).await;
        let result = client
            .ok("prompts/get", json!({"name": "prompt_contents"}))
            .await;
        let contents: Vec<Value> = result["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["content"].clone())
            .collect();
        let kinds = kinds(&contents);
        assert_eq!(kinds, expected(version));
        let embedded = &contents[4]["resource"];
        assert_eq!(embedded["uri"], "test://static");
        assert_eq!(embedded["mimeType"], "text/plain");
        assert_eq!(embedded["text"], "embedded");
    }
}

// Covers: TOOL-06, TOOL-07, LIFE-07
#[tokio::test]
async fn a_tool_definition_has_only_members_of_its_protocol_version() {
    for version in Version::ALL {
        let mut client = client(version).await;
        let (tools, _) = client.list("tools/list", "tools").await;
        let add = tools.iter().find(|tool| tool["name"] == "add").unwrap();
        assert_eq!(
            add.get("title") == Some(&json!("Add")),
            version >= Version::V2025_06_18
        );
        assert_eq!(
            add.get("annotations").is_some(),
            version >= Version::V2025_03_26
        );
        if version == Version::V2025_03_26 {
            assert_eq!(add["annotations"]["title"], "Add");
        }
        assert!(add.get("execution").is_none());
        let structured = tools
            .iter()
            .find(|tool| tool["name"] == "structured")
            .unwrap();
        assert_eq!(
            structured.get("outputSchema").is_some(),
            version >= Version::V2025_06_18
        );
    }
}

// Covers: LIFE-07
#[tokio::test]
async fn a_resource_definition_has_only_members_of_its_protocol_version() {
    for version in Version::ALL {
        let mut client = client(version).await;
        let (resources, _) = client.list("resources/list", "resources").await;
        let resource = resources
            .iter()
            .find(|resource| resource["uri"] == "test://static")
            .unwrap();
        assert_eq!(
            resource.get("title") == Some(&json!("Static")),
            version >= Version::V2025_06_18
        );
        assert_eq!(resource["mimeType"], "text/plain");
    }
}
