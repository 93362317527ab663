//! Calls through the search: they ask questions and are subject to limits, just like direct calls.

use mcp_runtime::Limits;
use mcp_runtime::extension::ToolSearch;
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::testing::TestClient;
use serde_json::{Value, json};
use tests::link::Hub;
use tests::{Client, Version};

use super::search::{anonymous, names, searching, through};
use crate::fixture::Shared;
use crate::support::connect;

#[tokio::test]
async fn tools_called_through_the_search_can_send_input_requests() {
    let hub = Hub::serve(searching());
    for version in [
        Version::V2025_06_18,
        Version::V2025_11_25,
        Version::V2026_07_28,
    ] {
        let mut client = hub.client(version);
        client.capabilities = crate::asking::able();
        let mut client = client.connect().await;
        client.answer(|_| tests::Answer::accept(json!({"city": "Bern"})));
        let sent = client
            .ask("tools/call", through("send_parcel", json!({"weight": 5})))
            .await
            .unwrap();
        assert_eq!(sent["content"][0]["text"], "5 g to Bern");
    }
    let mut unable = anonymous(&hub, Version::V2026_07_28).await;
    unable
        .fails(
            "tools/call",
            through("send_parcel", json!({"weight": 5})),
            -32021,
        )
        .await;
}

/// Returns the outcomes of a direct call and of a call through the search.
async fn both(client: &mut Client, name: &str, arguments: Value) -> [Result<Value, String>; 2] {
    let direct = json!({"name": name, "arguments": arguments});
    let mut outcomes = Vec::new();
    for params in [direct, through(name, arguments)] {
        let outcome = client.request("tools/call", params).await;
        outcomes.push(outcome.map_err(|failure| format!("{failure:?}")));
    }
    outcomes.try_into().unwrap()
}

#[tokio::test]
async fn limits_apply_through_the_search() {
    for version in Version::ALL {
        // Each of the two may be called once per hour.
        let (direct, searching) = (Hub::serve(searching()), Hub::serve(searching()));
        let mut direct = anonymous(&direct, version).await;
        let mut searching = anonymous(&searching, version).await;
        let outcome = async |client: &mut Client, params: Value| {
            let outcome = client.request("tools/call", params).await;
            let text = format!("{outcome:?}");
            // The remaining time may differ.
            text.replace(|char: char| char.is_ascii_digit(), "")
        };
        let long = json!({"long": true});
        let params = json!({"name": "count_parcels", "arguments": long});
        let cut = outcome(&mut direct, params.clone()).await;
        assert!(!cut.contains(&"x".repeat(601)), "{cut}");
        let params_through = through("count_parcels", long);
        assert_eq!(outcome(&mut searching, params_through.clone()).await, cut);
        let refused = outcome(&mut direct, params).await;
        assert_ne!(refused, cut);
        assert_eq!(outcome(&mut searching, params_through).await, refused);
    }
}

/// Takes no JSON in strings.
#[tool(tags("through"), strict)]
fn measure(length: u32) -> String {
    length.to_string()
}

/// Delivers a parcel to a region.
#[tool(tags("through"))]
fn deliver(#[arg(header = "Region")] region: Option<String>) -> String {
    region.unwrap_or_default()
}

/// Packs a parcel, perhaps as a task.
#[tool(tags("through"), task)]
fn pack() -> &'static str {
    "packed"
}

/// Loads a van. Can only be run as a task.
#[tool(tags("through"), task = required)]
fn load() -> &'static str {
    "loaded"
}

/// Waits for ever.
#[tool(tags("through"), timeout = "1ms")]
async fn wait() -> &'static str {
    std::future::pending().await
}

/// Ships one parcel at a time.
#[tool(tags("shipping"), concurrency = 1)]
async fn ship(shared: State<Shared>) -> &'static str {
    crate::fixture::waiting::wait(shared).await
}

fn through_server() -> Server {
    let search = ToolSearch::above(0);
    Server::new("through", "1")
        .only(Selected::tag("through"))
        .with(search)
}

#[tokio::test]
async fn calls_through_the_search_count_towards_the_concurrency_of_their_tool() {
    let limits = Limits::default().with(|limits| limits.calls.max_waiting = 1);
    for version in Version::ERAS {
        let shared = Shared::default();
        let server = Server::new("shipping", "1")
            .only(Selected::tag("shipping"))
            .with(ToolSearch::above(0))
            .state(shared.clone())
            .limits(limits.clone());
        let mut client = connect(server, version).await;
        let direct = json!({"name": "ship"});
        let direct = client.start("tools/call", direct).await;
        shared.started(1).await;
        let searched = through("ship", json!({}));
        let waiting = client.start("tools/call", searched.clone()).await;
        let refused = client.ok("tools/call", searched).await;
        assert_eq!(
            refused["content"][0]["text"],
            "too many of these calls at once; try again in 1 s"
        );
        client.cancel(&direct).await;
        shared.started(2).await;
        shared.0.go_on.notify_waiters();
        let result = client.response(&waiting).await.unwrap();
        assert_eq!(result["content"][0]["text"], "waited");
    }
}

/// Returns how many tags there are in a list of tags.
#[tool(tags("through"))]
fn count(tags: Vec<String>) -> String {
    tags.len().to_string()
}

#[tokio::test]
async fn a_list_in_a_string_keeps_the_limits_of_messages() {
    let small = Limits::default().with(|limits| limits.message.max_values = 100);
    let hub = Hub::serve(through_server().limits(small));
    for version in Version::ALL {
        let mut client = anonymous(&hub, version).await;
        for (tags, fits) in [(80, true), (120, false)] {
            let tags = json!(vec!["a"; tags]).to_string();
            let outcomes = both(&mut client, "count", json!({"tags": tags})).await;
            for outcome in outcomes {
                let result = outcome.unwrap_or_default();
                assert_eq!(result["content"][0]["text"] == "80", fits, "{result}");
            }
        }
    }
}

#[tokio::test]
async fn tools_whose_definitions_clients_need_stay_in_the_list() {
    let hub = Hub::serve(through_server());
    for version in Version::ALL {
        let mut client = anonymous(&hub, version).await;
        assert_eq!(
            names(&mut client).await,
            [
                "search_tools",
                "call_tool",
                "deliver",
                "load",
                "job_status",
                "job_cancel"
            ]
        );
        // A proxy would not see the region.
        let [direct, called] = both(&mut client, "deliver", json!({"region": "x"})).await;
        assert_eq!(direct.unwrap()["content"][0]["text"], "x");
        let called = called.unwrap();
        let text = called["content"][0]["text"].as_str().unwrap();
        assert_eq!(called["isError"], true);
        assert!(
            text.starts_with("call the tool `deliver` directly, by its own name"),
            "{text}"
        );
        let [direct, called] = both(&mut client, "wait", json!({})).await;
        assert_eq!(direct, called);
        assert!(direct.is_err() || direct.unwrap()["isError"] == true);
    }
}

#[tokio::test]
async fn a_call_through_the_search_becomes_a_task() {
    let hub = Hub::serve(through_server());
    for version in [Version::V2025_11_25, Version::V2026_07_28] {
        let mut client = hub.client(version);
        client.capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        let mut client = client.connect().await;
        for (tool, text) in [("pack", "packed"), ("load", "loaded")] {
            let mut params = through(tool, json!({}));
            if !version.is_modern() {
                params["task"] = json!({});
            }
            let created = client.ok("tools/call", params).await;
            if version.is_modern() {
                assert_eq!(created["resultType"], "task");
                continue;
            }
            let task = json!({"taskId": created["task"]["taskId"]});
            let result = client.ok("tasks/result", task).await;
            assert_eq!(result["content"][0]["text"], text);
        }
        let mut plain = anonymous(&hub, version).await;
        let [direct, called] = both(&mut plain, "load", json!({})).await;
        assert_eq!(direct, called);
        assert!(direct.is_err(), "{direct:?}");
    }
}

#[tokio::test]
async fn arguments_in_a_string_keep_the_limits_of_messages_and_strictness() {
    let small = Limits::default().with(|limits| limits.message.max_values = 100);
    let hub = Hub::serve(searching().limits(small));
    let strict = Hub::serve(through_server());
    let text = |result: &Value| result["content"][0]["text"].as_str().unwrap().to_owned();
    let in_string = |name: &str, inner: &Value| through(name, inner.to_string().into());
    let refused = "arguments: expected object";
    for version in Version::ALL {
        let mut client = anonymous(&hub, version).await;
        for (zeros, expected) in [(9, "unknown"), (200, refused)] {
            let inner = json!({"parcel": {"weight": 1}, "zeros": vec![0; zeros]});
            let result = client.ok("tools/call", in_string("weigh", &inner)).await;
            assert!(text(&result).contains(expected), "{result}");
        }
        let mut client = anonymous(&strict, version).await;
        let length = json!({"length": 3});
        let result = client.ok("tools/call", in_string("measure", &length)).await;
        assert!(text(&result).contains(refused), "{result}");
        let result = client.ok("tools/call", through("measure", length)).await;
        assert_eq!(text(&result), "3");
    }
}

/// What only other tools need.
struct Settings;

/// As in a command, where the settings may be missing.
#[tokio::test]
async fn the_search_works_although_other_tools_lack_their_state() {
    let no_settings = || async { Err::<Settings, _>(std::io::Error::other("no settings")) };
    let client = TestClient::both(searching().state_with(no_settings)).await;
    let search = client.call("search_tools", json!({"query": "parcel"}));
    let found = search.await.unwrap();
    assert!(found.text().contains("send_parcel"), "{}", found.text());
}
