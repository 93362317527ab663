//! The server from the guide.

use serde_json::json;
use tests::{Process, Version};

use super::{completed, source};

/// Counts the lines that an author has to write: all lines except blank ones and comments.
#[test]
fn it_takes_25_lines() {
    let source = source("guide");
    let code = source
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"));
    assert_eq!(code.count(), 25);
}

/// The pages for people who come from other libraries show this server and no other.
#[test]
fn it_is_the_server_of_the_pages_that_compare() {
    let source = source("guide");
    for page in ["from-rmcp", "from-fastmcp"] {
        let path = format!("{}/../docs/{page}.md", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let blocks: Vec<_> = text
            .split("```rust")
            .skip(1)
            .filter(|block| !block.starts_with(",ignore"))
            .map(|block| block.split_once('\n').unwrap().1)
            .collect();
        assert_eq!(blocks.len(), 4, "{page}");
        for block in blocks {
            let code = block.split("```").next().unwrap();
            let shown: String = code
                .split_inclusive('\n')
                .filter(|line| !line.starts_with("# "))
                .collect();
            assert!(source.contains(&shown), "{page}: {shown}");
        }
    }
}

#[tokio::test]
async fn it_has_everything() {
    for version in Version::ALL {
        let mut process = Process::start("guide", &[], version).await;
        let client = &mut process.client;

        let (tools, _) = client.list("tools/list", "tools").await;
        let schema = &tools[0]["inputSchema"];
        assert_eq!(schema["required"], json!(["text"]));
        let properties = schema["properties"].as_object().unwrap();
        assert_eq!(properties.len(), 3);
        let mut arguments = properties.values();
        assert!(arguments.all(|argument| argument["description"].is_string()));
        assert_eq!(properties["urgency"]["maximum"], 5);
        assert_eq!(properties["urgency"]["default"], 3);
        client
            .tool("add", json!({"text": "buy milk", "urgency": null}))
            .await;
        let fault = client
            .refused("add", json!({"text": "x", "urgency": 9}))
            .await;
        assert!(fault.contains("/urgency"), "{fault}");

        let read = |uri: &str| json!({"uri": uri});
        let note = client.ok("resources/read", read("notes:///0")).await;
        assert_eq!(note["contents"][0]["text"], r#"["buy milk",3,null]"#);
        for missing in ["notes:///7", "notes:///x"] {
            let refused = client.request("resources/read", read(missing)).await;
            refused.unwrap_err();
        }

        let reference = json!({"type": "ref/prompt", "name": "summary"});
        let styles = completed(client, reference, "style", "fr").await;
        assert_eq!(styles[0], "friendly");
        // Completions are suggestions, not all possible values.
        let arguments = json!({"name": "summary", "arguments": {"style": "few"}});
        let prompt = client.ok("prompts/get", arguments).await;
        let text = &prompt["messages"][0]["content"]["text"];
        assert_eq!(text, "Summarise the notes in few words.");
    }
}
