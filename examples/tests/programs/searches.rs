//! `searches`, over standard input and output.

use serde_json::{Value, json};
use tests::{Process, Version};

#[tokio::test]
async fn the_rows_of_a_table_are_tools() {
    for version in Version::ALL {
        let mut process = Process::start("searches", &[], version).await;
        let client = &mut process.client;
        let (tools, _) = client.list("tools/list", "tools").await;
        let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["search_open", "search_mine", "search_late"]);
        let text = client.text("search_mine", json!({})).await;
        assert_eq!(text, "nothing for `assignee:ada`");
        let unknown = json!({"name": "search_other"});
        client.fails("tools/call", unknown, -32602).await;
    }
}
