//! Commands for servers with many tools: all tools are available, whether listed or not, and tags select some of them.

use serde_json::{Value, json};

use super::run;

#[test]
fn commands_see_all_tools_even_if_clients_search_for_them() {
    let listed = run("many_tools", &["tools"]).good();
    for tool in ["search_tools(", "list_issues(", "delete_repository("] {
        assert!(listed.contains(tool), "{listed}");
    }
    let called = run("many_tools", &["call", "close_issue", "number=3"]);
    assert_eq!(called.good(), "#3 is closed\n");
    let found = run(
        "many_tools",
        &["call", "search_tools", "query=commits", "limit=1"],
    );
    assert!(found.good().contains("merge_pull_request"));
}

#[test]
fn tags_select_what_commands_use() {
    for arguments in [
        &["tools", "--tags", "-issues,-admin", "--json"][..],
        &["--tags=pulls", "tools", "--json"],
    ] {
        let listed = run("many_tools", arguments);
        let tools: Value = serde_json::from_str(&listed.good()).unwrap();
        let names: Vec<_> = tools
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| &tool["name"])
            .collect();
        assert_eq!(
            names,
            // There are too few tools for a search.
            ["merge_pull_request"],
            "{arguments:?}"
        );
    }
    let unknown = run("many_tools", &["tools", "--tags", "pull"]).bad();
    let expected = "no definition has the tag `pull`; the tags are `admin`, `issues`, `pulls`; did you mean `pulls`?";
    assert!(unknown.contains(expected), "{unknown}");
}

#[test]
fn check_counts_tokens_by_tool_and_knows_the_search() {
    let checked = run("many_tools", &["check", "--json"]);
    let report: Value = serde_json::from_str(&checked.good()).unwrap();
    let costs = report["tokensByTool"].as_array().unwrap();
    let tokens: Vec<u64> = costs
        .iter()
        .map(|cost| cost["tokens"].as_u64().unwrap())
        .collect();
    assert!(tokens.is_sorted_by(|one, other| one >= other), "{tokens:?}");
    assert_eq!(report["tokens"], tokens.iter().sum::<u64>());
    // A client sees these three of the six in the list.
    assert_eq!((costs.len(), &report["tools"]), (3, &json!(6)));
    let text = run("many_tools", &["check"]).good();
    assert!(
        text.contains("the 3 tools that models read use about"),
        "{text}"
    );
    let text = run("garden", &["check"]).good();
    assert!(text.contains("\ntokens by tool: "), "{text}");
}
