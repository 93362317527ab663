//! Tools that are defined in a file.

use std::fs;

use serde_json::{Value, json};
use tests::{Client, Directory, Version};

use super::{follow, start};

/// Returns the names in the order of the list, which sorts tools inserted at run time by name.
async fn names(client: &mut Client) -> Vec<Value> {
    let (tools, _) = client.list("tools/list", "tools").await;
    tools.iter().map(|tool| tool["name"].clone()).collect()
}

#[tokio::test]
async fn tools_come_and_go_with_the_file() {
    for version in Version::ERAS {
        let directory = Directory::new("dynamic", version);
        let file = directory.join("tools.json");
        // Writes as editors do: a reader sees either the old file or the new one.
        let write = |definitions: &Value| {
            fs::write(directory.join("new"), definitions.to_string()).unwrap();
            fs::rename(directory.join("new"), &file).unwrap();
        };
        let greet = json!({
            "name": "greet", "description": "Greets a user",
            "arguments": {"name": "Who"}, "answer": "Hello, {name}!",
        });
        let bye = json!({"name": "bye", "description": "Takes leave", "answer": "Bye."});
        write(&json!([greet]));
        let variables = [("DYNAMIC_TOOLS", file.to_str().unwrap())];
        let mut process = start("dynamic", &variables, version).await;
        let client = &mut process.client;
        assert_eq!(names(client).await, ["greet"]);
        let text = client.text("greet", json!({"name": "Ada"})).await;
        assert_eq!(text, "Hello, Ada!");
        client.refused("greet", json!({"nam": "Ada"})).await;

        if version.is_modern() {
            follow(client, "none:").await;
        }
        for (definitions, expected) in [
            (json!([greet, bye]), vec!["bye", "greet"]),
            (json!([]), vec![]),
            (json!([bye]), vec!["bye"]),
        ] {
            write(&definitions);
            client
                .notification("notifications/tools/list_changed")
                .await;
            assert_eq!(names(client).await, expected);
        }
        assert_eq!(client.text("bye", json!({})).await, "Bye.");

        // A file that cannot be read or used changes nothing.
        write(&json!("not a list"));
        write(&json!([greet, greet]));
        write(&json!([bye, greet]));
        client
            .notification("notifications/tools/list_changed")
            .await;
        assert_eq!(names(client).await, ["bye", "greet"]);
    }
}
