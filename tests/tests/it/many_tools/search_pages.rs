//! Tool searches alongside apps, whose tools hosts have to find in the list; and pages of selected tools.

use mcp_runtime::extension::{TagInstructions, ToolSearch};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::json;
use tests::Version;
use tests::link::Hub;

use super::search::{anonymous, found, names, through};
use super::{HttpHost, serve};

#[app("tests/it/apps/probe.html", uri = "ui://tests/scales")]
struct Scales;

/// Shows the scales.
#[tool(app = Scales, tags("scales", "shown"))]
fn show_scales() -> &'static str {
    "level"
}

/// Resets the scales, from their page.
#[tool(app = Scales, visibility(app), tags("scales"))]
fn reset_scales() -> &'static str {
    "reset"
}

/// Cleans the scales.
#[tool(tags("scales", "cleaning"))]
fn clean_scales() -> &'static str {
    "clean"
}

#[tokio::test]
async fn tools_with_pages_stay_listed_and_page_only_tools_are_not_found() {
    let scales = || Server::new("scales", "1").only(Selected::tag("scales"));
    let hub = Hub::serve(scales().with(ToolSearch::above(1)).with(TagInstructions));
    for version in Version::ALL {
        let mut client = anonymous(&hub, version).await;
        assert_eq!(
            names(&mut client).await,
            ["search_tools", "call_tool", "show_scales", "reset_scales"]
        );
        assert_eq!(
            found(&mut client, "reset the scales").await,
            ["show_scales", "clean_scales"]
        );
        let refused = client
            .ok("tools/call", through("reset_scales", json!({})))
            .await;
        assert_eq!(refused["isError"], true);
        let text = refused["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("is meant for pages"), "{text}");
        let read = if version.is_modern() {
            client.ok("server/discover", json!({})).await
        } else {
            client.initialized.clone()
        };
        let lines = read["instructions"].as_str().unwrap();
        assert!(
            lines.contains("scales: show_scales, clean_scales\n"),
            "{lines}"
        );
        let by_page = client
            .ok("tools/call", json!({"name": "reset_scales"}))
            .await;
        assert_eq!(by_page["content"][0]["text"], "reset");
    }
    // So does the server's own selection, in which pinned tools may be missing.
    let search = ToolSearch::above(9).pin(["clean_scales"]);
    let hub = Hub::serve(scales().filter_tags("shown").with(search));
    for version in Version::ALL {
        let mut client = anonymous(&hub, version).await;
        assert_eq!(names(&mut client).await, ["show_scales"]);
        let read = json!({"uri": "ui://tests/scales"});
        client.ok("resources/read", read).await;
    }
    // A page without tags belongs to the selected tools that name it.
    let served = serve(scales()).await;
    for version in Version::ALL {
        for (path, pages) in [
            ("/mcp?tags=shown", &["ui://tests/scales"][..]),
            ("/mcp?tags=cleaning", &[]),
        ] {
            let host = HttpHost::connect(&served, version, path, &[])
                .await
                .unwrap();
            assert_eq!(host.list("resources/list").await, pages, "{path}");
            let read = host
                .call("resources/read", json!({"uri": "ui://tests/scales"}))
                .await;
            assert_eq!(read["result"].is_object(), !pages.is_empty(), "{read}");
        }
    }
}
