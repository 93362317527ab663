//! Paging, order and cursors.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_runtime::handler::{ListCursor, Page};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::types::Resource;
use serde_json::{Value, json};
use tests::Version;

use crate::fixture;
use crate::support::{client, connect};

const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

// Covers: PAGE-01, PAGE-02, TOOL-02, CACHE-01
// Limits: message.max_page_items
#[tokio::test]
async fn pages_add_up_to_the_whole_list_whatever_their_size() {
    for version in Version::ALL {
        let mut whole = client(version).await;
        for (method, member) in LISTS {
            let (all, pages) = whole.list(method, member).await;
            assert_eq!(pages, 1);
            for size in [0, 1, 2, 3, 7] {
                let mut client =
                    connect(fixture::server().limits(tests::pages_of(size)), version).await;
                let (items, pages) = client.list(method, member).await;
                assert_eq!(items, all, "{method} in pages of {size}");
                // The items that a template lists have separate pages.
                let own = all.iter().filter(|item| {
                    item["uri"]
                        .as_str()
                        .is_none_or(|uri| !uri.starts_with("item:"))
                });
                assert!(
                    pages >= own.count().div_ceil(size.max(1)),
                    "{method}: {pages} pages of {size}"
                );
            }
        }
    }
}

// Covers: TOOL-02, TOOL-03
#[tokio::test]
async fn list_order_is_the_same_on_every_start_and_connection() {
    let mut names = Vec::new();
    for version in [
        Version::V2026_07_28,
        Version::V2026_07_28,
        Version::V2025_11_25,
    ] {
        let mut client = client(version).await;
        client.text("add", json!({"a": 1, "b": 2})).await;
        let (tools, _) = client.list("tools/list", "tools").await;
        names.push(
            tools
                .iter()
                .map(|tool| tool["name"].clone())
                .collect::<Vec<Value>>(),
        );
    }
    assert_eq!(names[0], names[1]);
    assert_eq!(names[0], names[2]);
    assert_eq!(
        names[0][..3],
        [json!("add"), json!("echo"), json!("nothing")],
        "declaration order"
    );
}

// Covers: PAGE-03
#[tokio::test]
async fn a_cursor_that_was_not_given_out_is_invalid_params() {
    for version in Version::ALL {
        let mut client = connect(fixture::server().limits(tests::pages_of(2)), version).await;
        let mut foreign = json!("x");
        for (method, _) in LISTS {
            let first = client.ok(method, json!({})).await;
            for cursor in [
                json!(""),
                json!("nonsense"),
                json!("AAAA"),
                json!("é"),
                json!("x".repeat(5_000)),
                json!(1),
                json!([]),
            ] {
                client
                    .fails(method, json!({"cursor": cursor}), -32602)
                    .await;
            }
            client
                .fails(method, json!({"cursor": foreign}), -32602)
                .await;
            if let Some(next) = first.get("nextCursor").and_then(Value::as_str) {
                client
                    .fails(method, json!({"cursor": format!("{next}A")}), -32602)
                    .await;
                client
                    .fails(method, json!({"cursor": &next[1..]}), -32602)
                    .await;
                foreign = json!(next);
            }
        }
    }
}

// Covers: PAGE-04
#[tokio::test]
async fn cursors_stay_valid_after_changes_and_on_other_connections() {
    for version in Version::ALL {
        let server = fixture::server().limits(tests::pages_of(2));
        let mut client = connect(server, version).await;
        let first = client.ok("tools/list", json!({})).await;
        client
            .text("switch", json!({"name": "nothing", "on": false}))
            .await;
        client
            .text("switch", json!({"name": "add", "on": false}))
            .await;
        let second = client
            .ok("tools/list", json!({"cursor": first["nextCursor"]}))
            .await;
        assert_eq!(first["tools"][1]["name"], "echo");
        assert_eq!(
            second["tools"][0]["name"], "arguments",
            "neither skipped nor repeated"
        );
        let mut other = connect(fixture::server().limits(tests::pages_of(2)), version).await;
        other
            .ok("tools/list", json!({"cursor": first["nextCursor"]}))
            .await;
    }
}

// Covers: TOOL-17, PROMPT-06, RES-09
#[tokio::test]
async fn repeated_changes_of_a_list_notify_a_session_once() {
    for version in Version::LEGACY {
        let mut client = client(version).await;
        client.tool("change_lists", json!({})).await;
        for list in ["tools", "prompts", "resources"] {
            client
                .notification(&format!("notifications/{list}/list_changed"))
                .await;
        }
        assert_eq!(client.drain().await, Vec::<Value>::new());
    }
}

// Covers: TOOL-17, TOOL-09
#[tokio::test]
async fn a_disabled_tool_is_unknown_and_clients_are_notified() {
    for version in Version::LEGACY {
        let mut client = client(version).await;
        assert_eq!(client.text("extra", json!({})).await, "here");
        client
            .text("switch", json!({"name": "extra", "on": false}))
            .await;
        client
            .notification("notifications/tools/list_changed")
            .await;
        client
            .fails("tools/call", json!({"name": "extra"}), -32602)
            .await;
        let (tools, _) = client.list("tools/list", "tools").await;
        assert!(tools.iter().all(|tool| tool["name"] != "extra"));
        client
            .text("switch", json!({"name": "extra", "on": true}))
            .await;
        client
            .notification("notifications/tools/list_changed")
            .await;
        assert_eq!(client.text("extra", json!({})).await, "here");
        client
            .text("switch", json!({"name": "extra", "on": true}))
            .await;
        assert_eq!(client.drain().await, Vec::<Value>::new(), "nothing changed");
    }
}

// Covers: CACHE-01, CACHE-02, CACHE-03, CACHE-07, META-04, BASE-09, PAGE-02
#[tokio::test]
async fn only_modern_results_have_a_result_type_server_info_and_cache_hints() {
    for version in Version::ALL {
        let mut client = client(version).await;
        for (method, cached) in [
            ("tools/list", true),
            ("prompts/list", true),
            ("resources/list", true),
            ("resources/templates/list", true),
            ("resources/read", true),
            ("tools/call", false),
            ("prompts/get", false),
            ("completion/complete", false),
        ] {
            let params = match method {
                "tools/call" => json!({"name": "nothing"}),
                "prompts/get" => json!({"name": "greet"}),
                "resources/read" => json!({"uri": "test://static"}),
                "completion/complete" => json!({
                    "ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "language", "value": ""},
                }),
                _ => json!({}),
            };
            let result = client.ok(method, params).await;
            let modern = version.is_modern();
            assert_eq!(
                result.get("resultType") == Some(&json!("complete")),
                modern,
                "{method}"
            );
            assert_eq!(
                result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "fixture",
                modern,
                "{method}"
            );
            assert_eq!(
                result.get("ttlMs") == Some(&json!(0)),
                modern && cached,
                "{method}"
            );
            assert_eq!(
                result.get("cacheScope") == Some(&json!("private")),
                modern && cached,
                "{method}"
            );
            assert!(result.get("nextCursor").is_none(), "{method}");
        }
    }
}

/// Counts the pages that a lister has returned.
#[derive(Clone, Default)]
struct Pages(Arc<AtomicUsize>);

/// A note that is never found.
#[resource_template("same:///{id}", tags("lists-same"), list = same_page)]
fn same(id: u32) -> String {
    id.to_string()
}

async fn same_page(pages: State<Pages>, _: &ListCursor) -> Page<Resource> {
    pages.0.fetch_add(1, Ordering::SeqCst);
    Page::new(Vec::new()).with_next("same")
}

/// A note that is never found.
#[resource_template("next:///{id}", tags("lists-next"), list = next_page)]
fn next(id: u32) -> String {
    id.to_string()
}

async fn next_page(pages: State<Pages>, _: &ListCursor) -> Page<Resource> {
    let page = pages.0.fetch_add(1, Ordering::SeqCst);
    Page::new(Vec::new()).with_next(page.to_string())
}

// Covers: PAGE-01
#[tokio::test]
async fn a_lister_with_endless_pages_is_an_internal_error() {
    for version in Version::ERAS {
        for (tag, most) in [("lists-same", 2), ("lists-next", 65)] {
            let pages = Pages::default();
            let server = new_server!().only(Selected::tag(tag)).state(pages.clone());
            let mut client = connect(server, version).await;
            let (log, _guard) = crate::results::Log::begin();
            client.fails("resources/list", json!({}), -32603).await;
            assert_eq!(pages.0.load(Ordering::SeqCst), most, "{tag}");
            let log = log.take();
            assert!(log.contains("the list never ends"), "{log}");
        }
    }
}
