//! `large_results`, over standard input and output.

use serde_json::{Value, json};
use tests::{Process, Version};

#[tokio::test]
async fn large_results_are_read_in_parts_over_standard_output() {
    for version in Version::ALL {
        let mut process = Process::start("large_results", &[], version).await;
        let client = &mut process.client;
        let large = client.tool("measurements", json!({"days": 30})).await;
        let first = large["content"][0]["text"].as_str().unwrap();
        let first: Vec<Value> = serde_json::from_str(first).unwrap();
        let note = large["content"][1]["text"].as_str().unwrap();
        assert!(note.contains(
            "a JSON list of 4320 objects with the fields `minute`, `celsius`, `station`"
        ));
        let (_, arguments) = note.split_once("Read on with `read_result` ").unwrap();
        let arguments = arguments.strip_suffix(".]").unwrap();
        let mut arguments: Value = serde_json::from_str(arguments).unwrap();
        assert_eq!(arguments["offset"], first.len());
        arguments["fields"] = json!(["minute"]);
        arguments["limit"] = json!(1);
        let part = client.text("read_result", arguments).await;
        let expected = json!([{"minute": first.len() * 10}]);
        assert_eq!(part, expected.to_string());
        let log = client.text("log", json!({"days": 3})).await;
        assert_eq!(log.lines().count(), 3);
    }
}
