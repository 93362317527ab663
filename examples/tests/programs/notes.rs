//! Notes in a database.

use serde_json::{Value, json};
use tests::{Directory, Process, Version};

use super::{completed, follow};

async fn start(directory: &Directory, version: Version) -> Process {
    let database = directory.join("notes.db");
    let variables = [("NOTES_DB", database.to_str().unwrap())];
    super::start("notes", &variables, version).await
}

/// Returns the structured result; older protocol versions have it only as text.
fn structured(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().unwrap();
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{result}"))
}

#[tokio::test]
async fn notes_are_kept_and_found_and_subscribed() {
    for version in Version::ERAS {
        let directory = Directory::new("notes", version);
        let mut process = start(&directory, version).await;
        let client = &mut process.client;
        for (topic, text) in [("Milk", "buy"), ("tea", "drink it"), ("tea", "100% green")] {
            client
                .tool("add", json!({"topic": topic, "text": text}))
                .await;
        }
        client
            .refused("add", json!({"topic": "", "text": "x"}))
            .await;

        let found = client.tool("search", json!({"words": "% g"})).await;
        let notes = json!({"notes": [{"id": 3, "topic": "tea", "text": "100% green"}]});
        assert_eq!(structured(&found), notes);
        assert_eq!(found["structuredContent"], notes);
        let all = client
            .tool("search", json!({"words": "", "limit": 2}))
            .await;
        assert_eq!(structured(&all)["notes"].as_array().unwrap().len(), 2);

        follow(client, "notes:///1").await;
        let edited = client
            .tool("edit", json!({"id": 1, "text": "'buy'; DROP TABLE notes"}))
            .await;
        assert_eq!(structured(&edited)["topic"], "Milk");
        let updated = client.notification("notifications/resources/updated").await;
        assert_eq!(updated["uri"], "notes:///1");
        let note = client
            .ok("resources/read", json!({"uri": "notes:///1"}))
            .await;
        assert_eq!(note["contents"][0]["text"], "'buy'; DROP TABLE notes");

        client.tool("delete", json!({"id": 1})).await;
        client.notification("notifications/resources/updated").await;
        client
            .notification("notifications/resources/list_changed")
            .await;
        for tool in ["edit", "delete"] {
            let fault = client.refused(tool, json!({"id": 1})).await;
            assert!(fault.contains("there is no note 1"), "{fault}");
        }

        let reference = json!({"type": "ref/resource", "uri": "notes:///{id}"});
        let ids = completed(client, reference, "id", "").await;
        assert_eq!(ids, json!(["3", "2"]));
        let reference = json!({"type": "ref/prompt", "name": "discuss"});
        let topics = completed(client, reference, "topic", "T").await;
        assert_eq!(topics, json!(["tea"]));
        let arguments = json!({"name": "discuss", "arguments": {"topic": "tea"}});
        let prompt = client.ok("prompts/get", arguments).await;
        assert_eq!(prompt["messages"].as_array().unwrap().len(), 3);

        // Another process finds the notes again, and no new note gets the number of a deleted one.
        client.close().await;
        assert!(process.ended().await.success());
        let mut process = start(&directory, version).await;
        let client = &mut process.client;
        client
            .tool("add", json!({"topic": "more", "text": "more"}))
            .await;
        let (resources, _) = client.list("resources/list", "resources").await;
        let uris: Vec<_> = resources.iter().map(|resource| &resource["uri"]).collect();
        assert_eq!(uris, ["notes:///2", "notes:///3", "notes:///4"]);
    }
}

#[tokio::test]
async fn many_notes_are_listed_in_pages() {
    let directory = Directory::new("many-notes", Version::V2026_07_28);
    let mut process = start(&directory, Version::V2026_07_28).await;
    let client = &mut process.client;
    for number in 0..120 {
        let note = json!({"topic": "numbers", "text": number.to_string()});
        client.tool("add", note).await;
    }
    let (resources, pages) = client.list("resources/list", "resources").await;
    assert_eq!((resources.len(), pages > 1), (120, true), "{pages} pages");
}
