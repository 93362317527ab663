//! Servers whose models search for tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_runtime::dynamic::{Arguments, DynamicTool};
use mcp_runtime::extension::ToolSearch;
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::{Context, Principal};
use serde_json::{Value, json};
use tests::http::Request;
use tests::link::Hub;
use tests::{Client, Version};

use super::{HttpHost, serve};

/// A parcel.
#[data]
struct Parcel {
    /// The weight in grams
    weight: u32,
}

/// Weighs a parcel on the scales in the warehouse.
#[tool(tags("search"))]
fn weigh(ctx: &Context, parcel: Parcel, times: Option<u32>) -> Json<Parcel> {
    ctx.progress((1, 1));
    let weight = parcel.weight * times.unwrap_or(1);
    Json(Parcel { weight })
}

#[derive(Elicit)]
struct Address {
    city: String,
}

/// Sends a parcel to an address that the user is asked for.
#[tool(tags("search"), requires(elicitation))]
async fn send_parcel(ctx: Context, weight: u32) -> Result<String> {
    let Address { city } = ctx.elicit("Where to?").await?;
    Ok(format!("{weight} g to {city}"))
}

/// Throws a parcel away.
#[tool(tags("search"), scopes("parcels:delete"))]
fn discard_parcel() -> &'static str {
    "gone"
}

/// Opens the parcels of others.
#[tool(tags("search"), visible_if = is_inspector)]
fn inspect_parcel() -> &'static str {
    "books"
}

fn is_inspector(caller: &mcp_runtime::Caller) -> bool {
    caller.has_scope("inspect")
}

/// Counts parcels, rarely.
#[tool(tags("search"), rate = "1/h", max_output = "600B")]
fn count_parcels(long: Option<bool>) -> String {
    if long == Some(true) {
        "x".repeat(1_000)
    } else {
        "3".into()
    }
}

/// Always there.
#[tool(tags("search", "office"))]
fn open_hours() -> &'static str {
    "9 to 5"
}

fn server() -> Server {
    Server::new("search", "1").only(Selected::tag("search"))
}

pub(super) fn searching() -> Server {
    server().with(ToolSearch::above(3).pin(["open_hours"]))
}

pub(super) async fn names(client: &mut Client) -> Vec<String> {
    let (tools, _) = client.list("tools/list", "tools").await;
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns the names of the tools that a query finds.
pub(super) async fn found(client: &mut Client, query: &str) -> Vec<String> {
    let params = json!({"name": "search_tools", "arguments": {"query": query}});
    let found = client.ok("tools/call", params).await;
    let text = found["content"][0]["text"].as_str().unwrap();
    let found: Value = serde_json::from_str(text).unwrap();
    let tools = found["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

pub(super) fn through(name: &str, arguments: Value) -> Value {
    json!({"name": "call_tool", "arguments": {"name": name, "arguments": arguments}})
}

pub(super) async fn anonymous(hub: &Hub, version: Version) -> Client {
    hub.client(version).connect().await
}

async fn known(hub: &Hub, version: Version, scopes: &'static [&'static str]) -> Client {
    let client = hub.client_as(version, |connection| {
        connection.with_principal(Principal::new("alice").with_scopes(scopes.to_vec()))
    });
    client.connect().await
}

#[tokio::test]
async fn many_tools_are_replaced_by_a_search_and_few_are_not() {
    let hub = Hub::serve(searching());
    let few = Hub::serve(server().with(ToolSearch::above(6)));
    for version in Version::ALL {
        let mut client = anonymous(&hub, version).await;
        assert_eq!(
            names(&mut client).await,
            ["search_tools", "call_tool", "open_hours"]
        );
        let mut client = anonymous(&few, version).await;
        assert_eq!(names(&mut client).await.len(), 4);
        // The decisive number is that of the tools that a client may use.
        let mut client = known(&few, version, &["parcels:delete", "inspect"]).await;
        assert_eq!(names(&mut client).await.len(), 6);
        let hub = Hub::serve(server().with(ToolSearch::above(5)));
        let mut client = known(&hub, version, &["parcels:delete", "inspect"]).await;
        assert_eq!(names(&mut client).await, ["search_tools", "call_tool"]);
    }
}

#[tokio::test]
async fn a_search_finds_by_names_descriptions_and_arguments_and_returns_schemas() {
    let hub = Hub::serve(searching());
    for version in Version::ALL {
        let mut client = anonymous(&hub, version).await;
        // The other tool has an argument `weight`.
        assert_eq!(found(&mut client, "weigh").await, ["weigh", "send_parcel"]);
        assert_eq!(found(&mut client, "warehouse").await, ["weigh"]);
        assert_eq!(found(&mut client, "grams").await, ["weigh"]);
        assert_eq!(found(&mut client, "send parcels").await[0], "send_parcel");
        assert_eq!(found(&mut client, "zebra").await, Vec::<String>::new());
        let params =
            json!({"name": "search_tools", "arguments": {"query": "weigh a parcel", "limit": 1}});
        let result = client.ok("tools/call", params).await;
        let read: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        let [tool] = read["tools"].as_array().unwrap().as_slice() else {
            panic!("{read}");
        };
        assert_eq!(
            tool["description"],
            "Weighs a parcel on the scales in the warehouse."
        );
        assert_eq!(
            tool["inputSchema"]["properties"]["parcel"]["properties"]["weight"]["type"],
            "integer"
        );
        if result.get("structuredContent").is_some() {
            assert_eq!(result["structuredContent"], read);
        }
    }
}

#[tokio::test]
async fn hidden_and_deselected_tools_are_neither_found_nor_called() {
    let hub = Hub::serve(searching());
    for version in Version::ALL {
        let mut client = anonymous(&hub, version).await;
        for query in ["discard", "inspect", "parcel"] {
            let found = found(&mut client, query).await;
            assert!(
                !found
                    .iter()
                    .any(|name| name.starts_with("discard") || name.starts_with("inspect")),
                "{found:?}"
            );
        }
        let hidden = client
            .ok("tools/call", through("inspect_parcel", json!({})))
            .await;
        let unknown = client
            .ok("tools/call", through("inspekt_parcel", json!({})))
            .await;
        let text = |result: &Value| result["content"][0]["text"].as_str().unwrap().to_owned();
        assert_eq!(hidden["isError"], true);
        assert_eq!(text(&hidden).replace("inspect", "inspekt"), text(&unknown));
        let failed = client
            .request("tools/call", through("discard_parcel", json!({})))
            .await
            .unwrap_err();
        assert!(failed.message.contains("parcels:delete"), "{failed:?}");
        let mut inspector = known(&hub, version, &["inspect"]).await;
        assert_eq!(found(&mut inspector, "inspect").await, ["inspect_parcel"]);
        let seen = inspector
            .ok("tools/call", through("inspect_parcel", json!({})))
            .await;
        assert_eq!(seen["content"][0]["text"], "books");
    }
    let served = serve(server().with(ToolSearch::above(0))).await;
    for version in Version::ALL {
        let host = HttpHost::connect(&served, version, "/mcp?tags=office", &[])
            .await
            .unwrap();
        let call = async |params: Value| host.call("tools/call", params).await;
        let parcels =
            call(json!({"name": "search_tools", "arguments": {"query": "parcel hours"}})).await;
        let text = parcels["result"]["content"][0]["text"].as_str().unwrap();
        assert!(
            text.contains("open_hours") && !text.contains("parcel"),
            "{text}"
        );
        assert_eq!(
            call(through("weigh", json!({"parcel": {"weight": 1}}))).await["result"]["isError"],
            true
        );
        assert_eq!(
            call(through("open_hours", json!({}))).await["result"]["content"][0]["text"],
            "9 to 5"
        );
    }
}

#[tokio::test]
async fn a_call_through_the_search_is_a_call_of_the_tool() {
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&seen);
    let watched = searching().middleware(move |call, next| {
        counter.fetch_add(usize::from(call.name() == "weigh"), Ordering::SeqCst);
        async move { next.run(call).await }
    });
    let hub = Hub::serve(watched);
    for (number, version) in Version::ALL.into_iter().enumerate() {
        let mut client = anonymous(&hub, version).await;
        client.meta.insert("progressToken".into(), json!("p"));
        let direct = json!({"name": "weigh", "arguments": {"parcel": {"weight": 2}, "times": 3}});
        let direct = client.ok("tools/call", direct).await;
        let called = client
            .ok(
                "tools/call",
                through("weigh", json!({"parcel": {"weight": 2}, "times": 3})),
            )
            .await;
        assert_eq!(called, direct);
        assert_eq!(seen.load(Ordering::SeqCst), 3 * number + 2);
        let notifications = client.drain().await;
        let progress = notifications
            .iter()
            .filter(|it| it["method"] == "notifications/progress");
        assert_eq!(progress.count(), 2, "{notifications:?}");
        // Some models write objects as strings.
        let written = json!({"name": "call_tool", "arguments": {"name": "weigh", "arguments": "{\"parcel\": {\"weight\": 6}}"}});
        assert_eq!(client.ok("tools/call", written).await, direct);
        assert_eq!(seen.load(Ordering::SeqCst), 3 * number + 3);
    }
}

#[tokio::test]
async fn errors_of_tool_search_are_explained_to_the_model() {
    let hub = Hub::serve(searching());
    for version in Version::ALL {
        let mut client = anonymous(&hub, version).await;
        for (arguments, expected) in [
            (json!({}), "missing property `name`"),
            (json!({"name": 1}), "name: expected string"),
            (
                json!({"name": "weigh", "arguments": []}),
                "arguments: expected object",
            ),
            (
                json!({"name": "weigh", "arguments": "{"}),
                "arguments: expected object",
            ),
            (json!({"name": "weigh", "args": {}}), "`args`"),
            (
                json!({"name": "weight"}),
                "did you mean `weigh`? (find tools with `search_tools`)",
            ),
            (
                json!({"name": "call_tool", "arguments": {"name": "weigh"}}),
                "no tool `call_tool`",
            ),
            (
                json!({"name": "weigh", "arguments": {"parcel": {"weight": "x"}}}),
                "/parcel/weight: expected integer",
            ),
            (json!({"name": "x".repeat(200)}), "name: "),
        ] {
            let params = json!({"name": "call_tool", "arguments": arguments});
            let result = client.ok("tools/call", params).await;
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(
                result["isError"] == true && text.contains(expected),
                "{arguments}: {text}"
            );
        }
        for arguments in [
            json!({}),
            json!({"query": "x", "limit": 0}),
            json!({"query": "x", "limit": 9}),
            json!({"query": "x".repeat(501)}),
        ] {
            let params = json!({"name": "search_tools", "arguments": arguments});
            assert_eq!(client.ok("tools/call", params).await["isError"], true);
        }
        client
            .fails("tools/list", json!({"cursor": "x"}), -32602)
            .await;
        client
            .fails("tools/call", json!({"name": "call_tools"}), -32602)
            .await;
    }
}

#[tokio::test]
async fn inserted_tools_are_found_and_removed_ones_are_not() {
    let server = searching();
    let handle = server.handle();
    let hub = Hub::serve(server);
    let schema = || json!({"type": "object", "properties": {"colour": {"type": "string"}}});
    let paint = DynamicTool::new("paint", schema(), async |arguments: Arguments, _| {
        Ok::<_, mcp_runtime::HandlerError>(format!("{:?}", arguments.text("colour")))
    });
    let mut client = anonymous(&hub, Version::V2026_07_28).await;
    assert!(found(&mut client, "colour").await.is_empty());
    handle
        .tools()
        .insert(paint.description("Paints the van."))
        .unwrap();
    assert_eq!(found(&mut client, "colour van").await, ["paint"]);
    let painted = client
        .ok("tools/call", through("paint", json!({"colour": "red"})))
        .await;
    assert_eq!(painted["content"][0]["text"], "Some(\"red\")");
    assert!(handle.tools().remove("paint"));
    assert!(found(&mut client, "colour").await.is_empty());
    let taken = DynamicTool::new("search_tools", schema(), async |_, _| "");
    let error = handle.tools().insert(taken).unwrap_err().to_string();
    assert!(error.contains("ToolSearch"), "{error}");
}

#[test]
fn an_invalid_tool_search_is_an_error_at_startup() {
    let taken = server().with(ToolSearch::above(3));
    let call_tool = DynamicTool::new("call_tool", json!({"type": "object"}), async |_, _| "");
    taken.handle().tools().insert(call_tool).unwrap();
    for (server, expected) in [
        (
            server().with(ToolSearch::above(3).pin(["open_hour"])),
            "the tool `open_hour` cannot be pinned",
        ),
        (taken, "`ToolSearch` adds"),
    ] {
        let error = server.into_http_service().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn over_http_the_header_names_the_tool_of_the_request() {
    let served = serve(searching()).await;
    let called = Request::tool("call_tool", json!({"name": "open_hours"}));
    let (status, message) = served.message(&called).await;
    assert_eq!(
        (status, &message["result"]["content"][0]["text"]),
        (200, &json!("9 to 5"))
    );
    served
        .refused(&called.with("Mcp-Name", "open_hours"), 400, -32020)
        .await;
}

#[test]
fn tool_search_above_keeps_its_number_and_at_least_one_result() {
    let search = format!("{:?}", ToolSearch::above(40).max_results(0));
    assert!(
        search.contains("above: 40") && search.contains("max_results: 1"),
        "{search}"
    );
}
