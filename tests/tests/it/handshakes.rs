//! The client's description of itself in a handshake: unreadable members are ignored, unless they are required.

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::{Client, Version};

use crate::http::support::{call, initialize, serve_server, text};
use crate::support::raw;

/// Describes the client and its capabilities.
#[tool(tags("handshakes"))]
fn introduced(ctx: &Context) -> String {
    let client = ctx.client().map(|client| {
        let icons: Vec<_> = client.icons.iter().map(|icon| &*icon.src).collect();
        let title = client.title.as_deref().unwrap_or("-");
        format!(
            "{} {} {title} {}",
            client.name,
            client.version,
            icons.join(",")
        )
    });
    let can = [
        ("form", ctx.can_elicit()),
        ("url", ctx.can_elicit_url()),
        ("sampling", ctx.can_sample()),
        ("roots", ctx.can_list_roots()),
    ];
    let can: Vec<_> = can
        .iter()
        .filter(|(_, can)| *can)
        .map(|can| can.0)
        .collect();
    let experimental = &ctx.client_capabilities().experimental;
    let experimental: Vec<_> = experimental.keys().map(String::as_str).collect();
    format!(
        "{} | {} | {}",
        client.unwrap_or_default().trim_end(),
        can.join(","),
        experimental.join(",")
    )
}

fn server() -> Server {
    crate::fixture::server().only(Selected::tag("handshakes"))
}

fn hello(version: Version, capabilities: &Value, info: &Value) -> Value {
    let params = json!({
        "protocolVersion": version.date(),
        "capabilities": capabilities,
        "clientInfo": info,
    });
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

async fn shaken(version: Version, capabilities: &Value, info: &Value) -> Client {
    let mut client = raw(server(), version);
    client.send(&hello(version, capabilities, info)).await;
    client.response(&json!(0)).await.unwrap();
    client.notify("notifications/initialized", json!({})).await;
    client
}

/// Returns malformed descriptions in which no required member is malformed.
fn cases() -> Vec<(Value, Value, &'static str)> {
    let name = json!({"name": "c", "version": "1"});
    let with = |member: &str, value: Value| {
        let mut info = name.clone();
        info[member] = value;
        info
    };
    let none = json!({});
    vec![
        (none.clone(), name.clone(), "c 1 - |  | "),
        (none.clone(), with("title", json!("C")), "c 1 C |  | "),
        (none.clone(), with("title", json!(5)), "c 1 - |  | "),
        (none.clone(), with("websiteUrl", json!([])), "c 1 - |  | "),
        (none.clone(), with("icons", json!("x")), "c 1 - |  | "),
        (none.clone(), with("other", json!({"a": 1})), "c 1 - |  | "),
        // The form used in drafts of 2025-11-25, along with icons that cannot be shown.
        (
            none.clone(),
            json!({"name": "c", "version": "1", "title": "C", "description": 1, "icons": [
                {"src": "https://a", "sizes": "48x48", "theme": "auto", "mimeType": 1},
                {"sizes": ["1x1"]}, 5, {"src": "https://b"}]}),
            "c 1 C https://a,https://b |  | ",
        ),
        (json!({"elicitation": true}), name.clone(), "c 1 - |  | "),
        (
            json!({"elicitation": true, "sampling": {}, "roots": {"listChanged": "yes"}}),
            name.clone(),
            "c 1 - | sampling,roots | ",
        ),
        (
            json!({"sampling": {"tools": true}, "roots": 1}),
            name.clone(),
            "c 1 - | sampling | ",
        ),
        // An empty object, as PHP writes it.
        (
            json!({"sampling": [], "roots": []}),
            name.clone(),
            "c 1 - | sampling,roots | ",
        ),
        // An empty object means forms; an unreadable one does not.
        (json!({"elicitation": {}}), name.clone(), "c 1 - | form | "),
        (
            json!({"elicitation": {"form": {}, "url": 1}}),
            name.clone(),
            "c 1 - | form | ",
        ),
        (
            json!({"elicitation": {"url": true}}),
            name.clone(),
            "c 1 - |  | ",
        ),
        (
            json!({"experimental": {"x": {}}, "extensions": 7, "sampling": null}),
            name.clone(),
            "c 1 - |  | x",
        ),
        (
            json!({"experimental": "x", "tasks": 1}),
            name,
            "c 1 - |  | ",
        ),
    ]
}

/// Returns the expectation for a protocol version: those before 2025-06-18 have no forms.
fn in_version(expected: &str, version: Version) -> String {
    match version {
        Version::V2024_11_05 | Version::V2025_03_26 => expected.replace("form", ""),
        _ => expected.to_owned(),
    }
}

// Covers: BASE-08, LIFE-01
#[tokio::test]
async fn a_handshake_ignores_malformed_optional_members() {
    for version in Version::LEGACY {
        for (capabilities, info, expected) in cases() {
            let mut client = shaken(version, &capabilities, &info).await;
            let said = client.text("introduced", json!({})).await;
            let expected = in_version(expected, version);
            assert_eq!(said, expected, "{version:?} {capabilities} {info}");
        }
    }
    let served = serve_server(server()).await;
    for version in Version::LEGACY {
        for (capabilities, info, expected) in cases() {
            let mut request = initialize(version);
            request.body = hello(version, &capabilities, &info).to_string().into();
            let mut response = served.send(&request).await;
            let message = response.message().await;
            assert_eq!(response.status, 200, "{message}");
            let session = response.header("mcp-session-id").unwrap_or_else(|| {
                panic!("{version:?} {capabilities} {info}: {message}");
            });
            let request = call(session, 1, "introduced", json!({}), version);
            let (_, said) = served.message(&request).await;
            assert_eq!(text(&said), in_version(expected, version));
        }
    }
}

// Covers: BASE-08, META-02
#[tokio::test]
async fn a_modern_request_ignores_malformed_optional_members() {
    let meta = "io.modelcontextprotocol";
    for (capabilities, info, expected) in cases() {
        let mut client = raw(server(), Version::V2026_07_28);
        let mut params = json!({"name": "introduced", "arguments": {}, "_meta": {}});
        params["_meta"][format!("{meta}/protocolVersion")] = json!("2026-07-28");
        params["_meta"][format!("{meta}/clientCapabilities")] = capabilities;
        params["_meta"][format!("{meta}/clientInfo")] = info;
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        client.send(&message).await;
        let result = client.response(&json!(1)).await.unwrap();
        assert_eq!(result["content"][0]["text"], expected, "{message}");
    }
}

// Covers: LIFE-01
#[tokio::test]
async fn a_handshake_without_required_members_is_refused() {
    let info = json!({"name": "c", "version": "1"});
    for version in Version::LEGACY {
        for (capabilities, info, member) in [
            (json!([]), info.clone(), "capabilities"),
            (json!(null), info.clone(), "capabilities"),
            (json!({}), json!({"name": "c"}), "clientInfo"),
            (json!({}), json!({"version": "1"}), "clientInfo"),
            (json!({}), json!({"name": 1, "version": "1"}), "clientInfo"),
            (json!({}), json!({"name": "c", "version": 1}), "clientInfo"),
            (json!({}), json!(["c", "1"]), "clientInfo"),
            (json!({}), json!("c"), "clientInfo"),
        ] {
            let mut client = raw(server(), version);
            client.send(&hello(version, &capabilities, &info)).await;
            let failure = client.response(&json!(0)).await.unwrap_err();
            assert_eq!(failure.code, -32602);
            assert!(failure.message.contains(member), "{failure:?}");
        }
    }
}
