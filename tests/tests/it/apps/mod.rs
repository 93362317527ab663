//! MCP Apps: pages, the tools that name them, and the clients that show them.

use mcp_runtime::apps::{App, MIME_TYPE};
use mcp_runtime::extension::ToolSearch;
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::{Client, Version, bridge};
use tokio::net::TcpListener;

use crate::support::{connect, raw};

const UI: &str = "io.modelcontextprotocol/ui";
const URI: &str = "ui://tests/tests/it/apps/probe.html";

/// A page with every option.
#[app(
    "tests/it/apps/probe.html",
    csp(
        connect_domains("https://api.example.com", "wss://*.example.com"),
        resource_domains("https://cdn.example.com"),
        frame_domains("https://video.example.com"),
        base_uri_domains("http://localhost:*"),
    ),
    permissions(camera, clipboard_write),
    domain = "abc.example.com",
    prefers_border = false,
    title = "Probe",
    ttl = "1h",
    cache = "public",
    meta = json!({"com.example/a": 1}),
    deprecated_key,
)]
struct Probe;

#[app("tests/it/apps/probe.html", uri = "ui://tests/bare")]
struct Bare;

/// Measures.
#[tool(app = Probe, visibility(model, app), tags("apps"))]
fn measure(ctx: Context) -> String {
    format!("shows apps: {}", ctx.shows_apps())
}

/// Measures without a model.
#[tool(app = Bare, visibility(app), tags("apps"), meta = json!({"ui": {"later": true}}))]
fn measure_again() {}

/// Never shown to a page.
#[tool(visibility(model), tags("apps"))]
fn model_only() {}

struct Bench;

#[server]
impl Bench {
    #[tool(app = Bare, tags("apps"))]
    fn saw(&self) -> &'static str {
        let Self = self;
        "dust"
    }
}

fn server() -> Server {
    new_server!().only(Selected::tag("apps")).handlers(Bench)
}

async fn host(version: Version, mime_types: Value) -> Client {
    let mut client = raw(server(), version);
    client.capabilities = json!({"extensions": {UI: {"mimeTypes": mime_types}}});
    client.connect().await
}

fn probe_ui() -> Value {
    json!({
        "csp": {
            "connectDomains": ["https://api.example.com", "wss://*.example.com"],
            "resourceDomains": ["https://cdn.example.com"],
            "frameDomains": ["https://video.example.com"],
            "baseUriDomains": ["http://localhost:*"],
        },
        "permissions": {"camera": {}, "clipboardWrite": {}},
        "domain": "abc.example.com",
        "prefersBorder": false,
    })
}

fn of<'v>(list: &'v [Value], name: &str) -> &'v Value {
    list.iter().find(|item| item["name"] == name).unwrap()
}

// Covers: EXT-02
#[tokio::test]
async fn tools_name_their_pages_in_every_version() {
    for version in Version::ALL {
        let mut client = connect(server(), version).await;
        let declared = if version.is_modern() {
            client.ok("server/discover", json!({})).await["capabilities"].clone()
        } else {
            client.initialized["capabilities"].clone()
        };
        assert_eq!(declared["extensions"], json!({UI: {}}));
        let (tools, _) = client.list("tools/list", "tools").await;
        let expected = json!({
            "ui": {"resourceUri": URI, "visibility": ["model", "app"]},
            "ui/resourceUri": URI,
        });
        assert_eq!(of(&tools, "measure")["_meta"], expected);
        let expected = json!({
            "ui": {"later": true, "resourceUri": "ui://tests/bare", "visibility": ["app"]}
        });
        assert_eq!(of(&tools, "measure_again")["_meta"], expected);
        let expected = json!({"ui": {"visibility": ["model"]}});
        assert_eq!(of(&tools, "model_only")["_meta"], expected);
        let expected = json!({"ui": {"resourceUri": "ui://tests/bare"}});
        assert_eq!(of(&tools, "saw")["_meta"], expected);
    }
}

/// Can take long, and has large results, so a server with it has the tools for both.
#[tool(tags("apps-built-in"), task, max_output = "256KB", spill)]
fn survey() {}

#[tokio::test]
async fn built_in_tools_are_for_models_only() {
    for version in Version::ALL {
        let server = new_server!().only(Selected::tag("apps-built-in"));
        let server = server.with(ToolSearch::above(0));
        let mut client = connect(server, version).await;
        let (tools, _) = client.list("tools/list", "tools").await;
        for name in [
            "search_tools",
            "call_tool",
            "read_result",
            "job_status",
            "job_cancel",
        ] {
            let expected = json!({"ui": {"visibility": ["model"]}});
            assert_eq!(of(&tools, name)["_meta"], expected, "{name}");
        }
    }
}

#[tokio::test]
async fn a_page_is_served_over_http() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(server().serve_http_listener(listener));
    for version in Version::ERAS {
        let (reader, writer) = tokio::io::split(bridge::streamable(address, version));
        let mut client = Client::new(reader, writer, version);
        client.capabilities = json!({"extensions": {UI: {"mimeTypes": [MIME_TYPE]}}});
        let mut client = client.connect().await;
        let read = client.ok("resources/read", json!({ "uri": URI })).await;
        assert_eq!(read["contents"][0]["_meta"]["ui"], probe_ui());
        assert_eq!(client.text("measure", json!({})).await, "shows apps: true");
    }
}

// Covers: EXT-06
#[tokio::test]
async fn a_page_is_a_resource_with_the_bridge_and_its_rules() {
    assert_eq!((Probe::URI, Bare::URI), (URI, "ui://tests/bare"));
    for version in Version::ALL {
        let mut client = connect(server(), version).await;
        let (listed, _) = client.list("resources/list", "resources").await;
        let probe = of(&listed, "Probe");
        assert_eq!(
            (&probe["uri"], &probe["mimeType"], &probe["description"]),
            (
                &json!(URI),
                &json!(MIME_TYPE),
                &json!("A page with every option.")
            )
        );
        assert_eq!(probe["_meta"]["ui"], probe_ui());
        let has_meta = version >= Version::V2025_06_18;
        assert_eq!(probe["_meta"].get("com.example/a").is_some(), has_meta);
        assert_eq!(of(&listed, "Bare").get("_meta").is_some(), has_meta);

        let read = client.ok("resources/read", json!({"uri": URI})).await;
        let contents = &read["contents"][0];
        assert_eq!(contents["uri"], URI);
        assert_eq!(contents["mimeType"], MIME_TYPE);
        assert_eq!(contents["_meta"], json!({"ui": probe_ui()}));
        let text = contents["text"].as_str().unwrap();
        assert!(text.starts_with("<!doctype html>") && text.contains("const mcpApp = "));
        assert!(!text.contains("mcp-app.js"));
        if version.is_modern() {
            assert_eq!(
                (&read["ttlMs"], &read["cacheScope"]),
                (&json!(3_600_000), &json!("public"))
            );
        }
        let read = client.ok("resources/read", json!({"uri": Bare::URI})).await;
        assert_eq!(read["contents"][0].get("_meta"), None);
    }
}

#[tokio::test]
async fn a_tool_can_tell_whether_its_client_shows_pages() {
    for version in Version::ALL {
        let text = async |mut client: Client| client.text("measure", json!({})).await;
        let shown = host(version, json!(["text/plain", MIME_TYPE])).await;
        assert_eq!(text(shown).await, "shows apps: true");
        for strange in [json!([]), json!("text/html"), json!(["text/html"])] {
            let client = host(version, strange).await;
            assert_eq!(text(client).await, "shows apps: false");
        }
        let client = connect(server(), version).await;
        assert_eq!(text(client).await, "shows apps: false");
    }
}

#[tokio::test]
async fn a_page_is_served_if_a_tool_needs_it_or_it_is_selected() {
    let version = Version::V2026_07_28;
    for (server, uris) in [
        (new_server!().only([tool(measure)]), vec![URI]),
        (new_server!().only([resource(Bare)]), vec![Bare::URI]),
        (new_server!().only([tool(model_only)]), vec![]),
    ] {
        let mut client = connect(server, version).await;
        let declared = client.ok("server/discover", json!({})).await["capabilities"].clone();
        let has_apps = declared["extensions"].get(UI).is_some();
        assert_eq!(has_apps, !uris.is_empty());
        let listed = if has_apps {
            client.list("resources/list", "resources").await.0
        } else {
            Vec::new()
        };
        let listed: Vec<_> = listed.iter().map(|item| &item["uri"]).collect();
        assert_eq!(listed, uris);
    }
}
