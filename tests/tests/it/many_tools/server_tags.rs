//! Servers that select definitions by their tags, describe tags, or require scopes for them.

use std::time::Duration;

use mcp_runtime::Principal;
use mcp_runtime::dynamic::DynamicTool;
use mcp_runtime::prelude::*;
use mcp_runtime::server::Cacheable;
use mcp_runtime::types::CacheScope;
use serde_json::json;
use tests::Version;
use tests::link::Hub;

use super::{HttpHost, serve, server};

const TOOLS: &str = "tools/list";

fn task(name: &str) -> DynamicTool {
    DynamicTool::new(name, json!({"type": "object"}), async |_, _| "done")
}

#[tokio::test]
async fn a_server_tag_selection_is_narrowed_by_requests() {
    let narrow = server()
        .filter_tags("issues,later")
        .describe_tag("later", "Comes later");
    let handle = narrow.handle();
    let served = serve(narrow).await;
    for version in Version::ALL {
        for (path, expected) in [
            ("/mcp", &["list_issues", "close_issue"][..]),
            ("/mcp?tags=-admin", &["list_issues"]),
            ("/mcp?tags=later", &[]),
        ] {
            let host = HttpHost::connect(&served, version, path, &[])
                .await
                .unwrap();
            assert_eq!(host.list(TOOLS).await, expected, "{path}");
        }
        // A tag that the server does not serve is treated like one that does not exist.
        let refused = HttpHost::connect(&served, version, "/mcp?tags=docs", &[]).await;
        let refused = refused.err().expect("`docs` is not served");
        let message = refused["error"]["message"].as_str().unwrap();
        let expected =
            "no definition has the tag `docs`; the tags are `admin`, `issues`, `later`, `many`";
        assert!(message.contains(expected), "{message}");
    }
    handle.tools().insert(task("come").tags(["later"])).unwrap();
    handle.tools().insert(task("other").tags(["more"])).unwrap();
    let host = HttpHost::connect(&served, Version::V2025_11_25, "/mcp?tags=later", &[])
        .await
        .unwrap();
    assert_eq!(host.list(TOOLS).await, ["come"]);
    let refused = host.call("tools/call", json!({"name": "other"})).await;
    assert_eq!(refused["error"]["code"], -32602);
}

#[tokio::test]
async fn lists_of_a_server_tag_selection_are_the_same_for_all_callers() {
    let day = Duration::from_hours(24);
    // The remaining definitions have no access rules.
    let public = server().filter_tags("issues").limits(tests::pages_of(1));
    let hub = Hub::serve(public.cache_hints(Cacheable::Everything, day, CacheScope::Public));
    let mut client = hub.client(Version::V2026_07_28).connect().await;
    let first = client.ok(TOOLS, json!({})).await;
    assert_eq!(first["cacheScope"], "public");
    assert_eq!(first["tools"][0]["name"], "list_issues");
    let other = hub.client_as(Version::V2026_07_28, |connection| {
        connection.with_principal(Principal::new("alice"))
    });
    let params = json!({"cursor": first["nextCursor"]});
    let second = other.connect().await.ok(TOOLS, params).await;
    assert_eq!(second["tools"][0]["name"], "close_issue");
    assert!(second.get("nextCursor").is_none(), "{second}");
}

#[tokio::test]
async fn a_tag_with_a_description_is_known_to_all_callers() {
    let served = serve(server().describe_tag("secret", "Not for all")).await;
    for version in Version::ALL {
        let host = HttpHost::connect(&served, version, "/mcp?tags=secret", &[])
            .await
            .unwrap();
        assert!(host.list(TOOLS).await.is_empty());
    }
}

#[tokio::test]
async fn scopes_of_a_tag_apply_to_dynamic_tools() {
    let guarded = server()
        .require_scopes("later", ["late"])
        .describe_tag("later", "Comes later");
    guarded
        .handle()
        .tools()
        .insert(task("early").tags(["later"]))
        .unwrap();
    let handle = guarded.handle();
    let hub = Hub::serve(guarded);
    handle.tools().insert(task("come").tags(["later"])).unwrap();
    for version in Version::ALL {
        let mut anonymous = hub.client(version).connect().await;
        for name in ["early", "come"] {
            let failed = anonymous
                .request("tools/call", json!({"name": name}))
                .await
                .unwrap_err();
            assert!(failed.message.contains("late"), "{failed:?}");
        }
    }
}

#[test]
fn mistakes_in_tags_keep_a_server_from_starting() {
    let start = |server: Server| server.into_http_service().unwrap_err().to_string();
    for (server, expected) in [
        (
            server().filter_tags("issues,-amdin"),
            "no definition has the tag `amdin`; the tags are `admin`",
        ),
        (
            server().filter_tags("issues,"),
            "tags `issues,`: a tag is empty",
        ),
        (
            server().describe_tag("-admin", "Not this"),
            "the tag `-admin` begins with `-`",
        ),
        (
            server().describe_tag("docs", "a").describe_tag("docs", "b"),
            "the tag `docs` is described twice",
        ),
        (
            server().require_scopes("pulls", ["a"]),
            "no definition has the tag `pulls`",
        ),
    ] {
        let error = start(server);
        assert!(error.contains(expected), "{error}");
    }
    let broken = server();
    broken
        .handle()
        .tools()
        .insert(task("t").tags(["a,b", "-c"]))
        .unwrap();
    let error = start(broken);
    assert!(
        error.contains("contains `,`") && error.contains("begins with `-`"),
        "{error}"
    );
}
