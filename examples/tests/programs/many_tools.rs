//! `many_tools`, over standard input and output.

use serde_json::{Value, json};
use tests::{Process, Version};

async fn names(process: &mut Process) -> Vec<String> {
    let (tools, _) = process.client.list("tools/list", "tools").await;
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    names.map(str::to_owned).collect()
}

#[tokio::test]
async fn many_tools_are_searched_for_and_called() {
    for version in Version::ALL {
        let mut process = Process::start("many_tools", &[], version).await;
        assert_eq!(
            names(&mut process).await,
            ["search_tools", "call_tool", "list_issues"]
        );
        let client = &mut process.client;
        let found = client
            .text(
                "search_tools",
                json!({"query": "squash the commits", "limit": 1}),
            )
            .await;
        let found: Value = serde_json::from_str(&found).unwrap();
        let tool = &found["tools"][0];
        assert_eq!(tool["name"], "merge_pull_request");
        assert_eq!(tool["inputSchema"]["required"], json!(["number"]));
        let call = json!({"name": tool["name"], "arguments": {"number": 7, "squash": true}});
        assert_eq!(client.text("call_tool", call).await, "#7 is squashed");
    }
}

#[tokio::test]
async fn a_process_serves_the_tags_that_it_is_started_with() {
    for version in Version::ERAS {
        for (arguments, expected) in [
            (
                &["--tags", "issues"][..],
                vec!["list_issues", "close_issue"],
            ),
            (
                &["--tags", "issues,pulls", "--tags=-issues"],
                vec!["merge_pull_request"],
            ),
            (&["--tags", "-issues,-admin"], vec!["merge_pull_request"]),
        ] {
            let mut process = Process::start("many_tools", arguments, version).await;
            assert_eq!(names(&mut process).await, expected, "{arguments:?}");
            let refused = json!({"name": "delete_repository", "arguments": {"name": "x"}});
            process.client.fails("tools/call", refused, -32602).await;
            let instructions = if version.is_modern() {
                process.client.ok("server/discover", json!({})).await["instructions"].take()
            } else {
                process.client.initialized["instructions"].take()
            };
            let tag = if expected.len() > 1 {
                "issues (Bugs and wishes)"
            } else {
                "pulls (Changes to the code)"
            };
            let line = format!("Tools by tag:\n- {tag}: {}", expected.join(", "));
            assert_eq!(instructions, line);
        }
    }
}

#[tokio::test]
async fn a_process_with_an_unknown_tag_does_not_start() {
    let mut process = Process::raw("many_tools", &["--tags", "isues"], Version::V2026_07_28);
    assert!(!process.ended().await.success());
}
