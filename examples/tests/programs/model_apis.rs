//! The tools of the examples, as they are served, comply with the rules of the major model APIs.
//!
//! Hosts pass the schemas on to a model. If its API refuses one of them, the whole server is useless there.

use std::collections::BTreeSet;

use mcp_schema::model_rules::{Severity, breaches};
use tests::{Directory, Version};

use crate::start;

/// Examples whose tools are not checked here.
const LEFT_OUT: [&str; 7] = [
    "call_hello", // is a client
    "protected",  // needs an authorization server
    // These serve the same tools as other examples, by different means.
    "tcp",
    "unix_socket",
    "axum_app",
    "metrics",
    "tls",
];

fn examples() -> BTreeSet<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        path.file_stem().unwrap().to_str().unwrap().to_owned()
    });
    names
        .filter(|name| !LEFT_OUT.contains(&name.as_str()))
        // The other fixtures intentionally contain schemas that some hosts refuse.
        .chain(["everything".to_owned()])
        .collect()
}

#[tokio::test]
async fn the_tools_of_the_examples_are_taken_everywhere() {
    let directory = Directory::new("model-apis", Version::V2026_07_28);
    let tools = r#"[{"name": "greet", "description": "Greets", "arguments": {"name": "Who"}, "answer": "Hello"}]"#;
    std::fs::write(directory.join("tools.json"), tools).unwrap();
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let (tools, database) = (path("tools.json"), path("notes.db"));
    let variables = [
        ("DYNAMIC_TOOLS", tools.as_str()),
        ("NOTES_DB", &database),
        ("FILES_ROOT", &path("")),
    ];
    let mut faults = Vec::new();
    let mut judged = 0;
    for example in examples() {
        for version in Version::ERAS {
            let mut process = start(&example, &variables, version).await;
            if example == "files" {
                break; // has none
            }
            let (tools, _) = process.client.list("tools/list", "tools").await;
            assert!(!tools.is_empty(), "{example}");
            judged += tools.len();
            for tool in &tools {
                let properties = &tool["inputSchema"]["properties"];
                assert!(properties.is_object(), "{example}: {tool}");
                let name = tool["name"].as_str();
                // `call_tool` takes the arguments of any tool, so they are not described.
                let any_tool = name == Some("call_tool");
                let severities = if any_tool {
                    &[Severity::Refused]
                } else {
                    Severity::ALL
                };
                for breach in breaches(name, &tool["inputSchema"], severities) {
                    faults.push(format!("{example}: {}: {tool}", breach.text));
                }
            }
        }
    }
    assert!(judged > 50, "{judged} tools");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
