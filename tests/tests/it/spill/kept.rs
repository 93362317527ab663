//! The tool that reads kept results, the limits on them, and their expiry.

use std::borrow::Cow;
use std::time::Duration;

use mcp_runtime::backend::{Backend, MemoryResultStore};
use mcp_runtime::dynamic::{Arguments, DynamicTool};
use mcp_runtime::extension::Sanitizer;
use mcp_runtime::middleware::trim_text;
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::{Caller, Limits};
use serde_json::json;
use tests::Version;

use super::{id_of, read, server, text, whole};
use crate::support::connect;

/// A tool that no caller can see.
#[tool(tags("spill-hidden"), max_output = "4KB", spill, visible_if = nobody)]
fn hidden() {}

fn nobody(_: &Caller) -> bool {
    false
}

#[tool(tags("spill-hidden", "spill-plain"))]
fn plain() -> String {
    "x".repeat(100)
}

/// A name that servers without `spill` tools can use.
#[tool(tags("spill-name"), name = "read_result")]
fn own_read_result() -> &'static str {
    "own"
}

// Covers: TOOL-13
#[tokio::test]
async fn read_result_exists_only_with_tools_that_keep_results() {
    for version in Version::ALL {
        let mut client = connect(server(), version).await;
        let (tools, _) = client.list("tools/list", "tools").await;
        let named = |name: &str| tools.iter().find(|tool| tool["name"] == name);
        assert!(named("read_result").is_some());
        assert_eq!(named("report").unwrap().get("outputSchema"), None);
        // The results are resources, but are not listed.
        let (resources, _) = client.list("resources/list", "resources").await;
        assert_eq!(resources.len(), 0);

        for tags in ["spill-hidden", "spill-plain"] {
            let mut client = connect(new_server!().only(Selected::tag(tags)), version).await;
            let (tools, _) = client.list("tools/list", "tools").await;
            assert_eq!(tools.len(), 1, "{tools:?}");
            let call = json!({"name": "read_result", "arguments": {"result_id": "x"}});
            client.fails("tools/call", call, -32602).await;
        }
        let mut client = connect(new_server!().only(Selected::tag("spill-plain")), version).await;
        let uri = json!({"uri": "mcp-result:///x"});
        client.fails("resources/read", uri, -32601).await;
        let mut client = connect(new_server!().only(Selected::tag("spill-name")), version).await;
        assert_eq!(client.text("read_result", json!({})).await, "own");
    }
}

// Limits: results.ttl
#[tokio::test(start_paused = true)]
async fn a_kept_result_expires_after_ten_minutes() {
    for version in Version::ERAS {
        let mut client = connect(server(), version).await;
        let id = id_of(&client.tool("lines", json!({"count": 1_000})).await);
        tokio::time::advance(Duration::from_secs(599)).await;
        whole(&mut client, &id).await;
        read(&mut client, &id, json!({})).await;
        tokio::time::advance(Duration::from_secs(1)).await;
        let mut answers = Vec::new();
        for id in [&*id, &"A".repeat(32), "short", "../../etc/passwd", ""] {
            let refused = client
                .refused("read_result", json!({"result_id": id}))
                .await;
            let uri = format!("mcp-result:///{id}");
            let failure = client.request("resources/read", json!({"uri": uri})).await;
            let failure = failure.unwrap_err();
            let message = failure.message.replace(&uri, "");
            answers.push((refused, failure.code, message));
        }
        answers.dedup();
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert_eq!(
            answers[0].0,
            "there is no result with this id; it may have expired: call its tool again"
        );
    }
}

// Limits: results.max_bytes, results.max_bytes_per_caller
#[tokio::test]
async fn without_room_the_model_gets_the_first_part_only() {
    let of_caller = Limits::default().with(|limits| limits.results.max_bytes_per_caller = 40_000);
    let of_all = Limits::default().with(|limits| limits.results.max_bytes = 40_000);
    for (version, few) in Version::ERAS.into_iter().zip([of_caller, of_all]) {
        let mut client = connect(server().limits(few), version).await;
        let first = client.tool("lines", json!({"count": 1_000})).await;
        let second = client.tool("lines", json!({"count": 1_500})).await;
        assert!(text(&second, 0).starts_with("line 0: "));
        assert!(
            text(&second, 1).ends_with("The rest could not be kept; ask `lines` for less.]"),
            "{second}"
        );
        assert_eq!(second["content"].as_array().unwrap().len(), 2);
        whole(&mut client, &id_of(&first)).await;
    }
}

#[tokio::test]
async fn a_result_that_is_larger_than_any_may_be_is_an_error() {
    let small = Limits::default().with(|limits| limits.calls.max_result_bytes = 10_000);
    for version in Version::ERAS {
        let mut client = connect(server().limits(small.clone()), version).await;
        let refused = client.refused("lines", json!({"count": 1_000})).await;
        assert_eq!(
            refused,
            "the result is larger than 10000 bytes, so ask for less"
        );
        let id = id_of(&client.tool("lines", json!({"count": 300})).await);
        whole(&mut client, &id).await;
    }
}

fn clean(text: &str) -> Cow<'_, str> {
    Cow::Owned(text.replace("line 1", "nil 1"))
}

#[tokio::test]
async fn sanitizers_run_on_the_whole_result_and_trimming_does_not_shorten_it() {
    for version in Version::ERAS {
        let server = server()
            .with(Sanitizer::new(clean))
            .middleware(trim_text(100));
        let mut client = connect(server, version).await;
        let large = client.tool("lines", json!({"count": 1_000})).await;
        assert!(text(&large, 0).len() > 1_000);
        assert!(text(&large, 0).contains("nil 1: "));
        let id = id_of(&large);
        let contents = whole(&mut client, &id).await;
        assert!(!contents["text"].as_str().unwrap().contains("line 1"));
        let part = read(&mut client, &id, json!({"offset": 1})).await;
        assert!(text(&part, 0).starts_with("nil 1: ") && text(&part, 0).len() > 1_000);
    }
}

#[tokio::test]
async fn tools_made_at_run_time_keep_their_results_too() {
    let made = |name: &str| {
        let schema = json!({"type": "object"});
        let long = async |_: Arguments, _: Context| "x\n".repeat(10_000);
        DynamicTool::new(name, schema, long).max_output(3_000)
    };
    for version in Version::ERAS {
        let server = new_server!().only(Selected::tag("spill-plain"));
        let store = MemoryResultStore::default();
        let server = server.backend(Backend::new().results(std::sync::Arc::new(store)));
        server
            .handle()
            .tools()
            .insert(made("long").spill())
            .unwrap();
        let handle = server.handle();
        let mut client = connect(server, version).await;
        let large = client.tool("long", json!({})).await;
        let part = read(&mut client, &id_of(&large), json!({"offset": 9_999})).await;
        assert_eq!(text(&part, 0), "x\n");
        for (wrong, problem) in [
            (
                made("tiny").max_output(1_999).spill().spill(),
                "`spill` needs a `max_output` of at least 2000 bytes",
            ),
            (
                made("described").output_schema(json!({})).spill(),
                "a tool with `spill` has no output schema",
            ),
            (
                made("read_result"),
                "this name is used by a tool that is added to servers with a `spill` tool",
            ),
        ] {
            let refused = handle.tools().insert(wrong).unwrap_err().to_string();
            assert_eq!(refused.matches(problem).count(), 1, "{refused}");
        }
    }
}

#[tokio::test]
async fn kept_results_are_announced_as_resources() {
    let client = connect(server(), Version::V2025_11_25).await;
    let offered = &client.initialized["capabilities"];
    assert!(offered["resources"].is_object(), "{offered}");
}
