//! Icons: a client never receives one that it must not trust.

use mcp_runtime::dynamic::{DynamicPrompt, DynamicResource, DynamicTemplate, DynamicTool};
use mcp_runtime::prelude::*;
use mcp_runtime::server::{ErrorKind, Selected};
use mcp_runtime::transport::memory;
use mcp_runtime::types::{ContentBlock, Icon, Resource, ResourceLink};
use serde_json::{Value, json};
use tests::Version;

use crate::support::connect;

/// Sources that may be sent to a client.
const GOOD: [&str; 4] = [
    "https://example.com/a.png",
    "HTTPS://example.com/a.png",
    "data:image/png;base64,AAAA",
    "Data:,x",
];

/// Sources that must not be sent to a client.
const BAD: [&str; 9] = [
    "http://example.com/a.png",
    "javascript:alert(1)",
    "file:///etc/passwd",
    "ftp://example.com/a.png",
    "https:a.png",
    "https://",
    "a.png",
    "/https://example.com",
    "",
];

/// Has icons of both kinds.
#[tool(tags("icons"), icons = ["https://example.com/a.png", "data:image/png;base64,AAAA"])]
fn drawn() -> &'static str {
    "drawn"
}

/// Returns a link with good and bad icons.
#[tool(tags("icons"))]
fn link() -> ContentBlock {
    let mut link = ResourceLink::new("test://a", "a");
    link.icons = every_icon();
    link.into()
}

/// Lists resources with good and bad icons.
#[resource_template("drawn:///{id}", tags("icons"), list = drawings)]
fn drawing(id: u32) -> String {
    id.to_string()
}

fn drawings() -> Vec<Resource> {
    let mut resource = Resource::new("drawn:///1", "1");
    resource.icons = every_icon();
    vec![resource]
}

fn every_icon() -> Vec<Icon> {
    BAD.into_iter().chain(GOOD).map(Icon::new).collect()
}

fn server() -> Server {
    Server::new("icons", "1").only(Selected::tag("icons"))
}

fn sources(item: &Value) -> Vec<&str> {
    let icons = item["icons"].as_array().into_iter().flatten();
    icons.filter_map(|icon| icon["src"].as_str()).collect()
}

// Covers: SEC-09
#[tokio::test]
async fn an_icon_that_clients_must_not_trust_is_refused_at_the_start() {
    for (sources, is_fine) in [(&GOOD[..], true), (&BAD[..], false)] {
        for src in sources {
            let icon = || Icon::new(*src);
            let with_tool = server();
            let tool = DynamicTool::new("t", json!({"type": "object"}), |_, _| async { "t" });
            let inserted = with_tool.handle().tools().insert(tool.icon(icon()));
            inserted.expect("before the start a change is only noted");
            for server in [
                server().server_info(|info| info.icons.push(icon())),
                with_tool,
            ] {
                let (transport, stream) = memory();
                drop(stream);
                let served = server.serve(transport).await;
                assert_eq!(served.is_ok(), is_fine, "`{src}`: {served:?}");
                if let Err(error) = served {
                    assert_eq!(error.kind(), ErrorKind::Configuration);
                    let text = error.to_string();
                    assert!(text.contains(&format!("icon `{src}`")), "{text}");
                    assert!(text.contains("`https:`"), "{text}");
                }
            }
        }
    }
}

// Covers: SEC-09
#[tokio::test]
async fn an_icon_of_an_inserted_definition_is_checked() {
    let server = server();
    let handle = server.handle();
    let mut client = connect(server, Version::V2026_07_28).await;
    client.pass().await;
    for (sources, is_fine) in [(&GOOD[..], true), (&BAD[..], false)] {
        for src in sources {
            let icon = || Icon::new(*src);
            let tool = DynamicTool::new("t", json!({"type": "object"}), |_, _| async { "t" });
            let prompt = DynamicPrompt::new("p", |_, _| async { "p" });
            let resource = DynamicResource::new("r:r", "r", |_| async { "r" });
            let template = DynamicTemplate::new("s:{x}", "s", |_, _| async { "s" });
            for inserted in [
                handle.tools().replace(tool.icon(icon())),
                handle.prompts().replace(prompt.icon(icon())),
                handle.resources().replace(resource.icon(icon())),
                handle.resource_templates().replace(template.icon(icon())),
            ] {
                assert_eq!(inserted.is_ok(), is_fine, "`{src}`: {inserted:?}");
            }
        }
    }
}

// Covers: SEC-09
#[tokio::test]
async fn an_icon_that_a_handler_made_up_is_left_out() {
    for version in [Version::V2025_11_25, Version::V2026_07_28] {
        let mut client = connect(server(), version).await;
        let link = client.tool("link", json!({})).await["content"][0].clone();
        assert_eq!(sources(&link), GOOD, "{version:?}");
        let (listed, _) = client.list("resources/list", "resources").await;
        assert_eq!(sources(&listed[0]), GOOD, "{version:?}");
        let (tools, _) = client.list("tools/list", "tools").await;
        let drawn = tools.iter().find(|tool| tool["name"] == "drawn").unwrap();
        assert_eq!(sources(drawn), [GOOD[0], GOOD[2]]);
    }
}
