//! Runs every example, over standard input and output and over HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "a test that goes wrong may panic"
)]

mod dynamic;
mod files;
mod guide;
mod large_results;
mod ledger;
mod many_tools;
mod model_apis;
#[cfg(unix)]
mod mounted;
mod notes;
mod observed;
mod orders;
#[cfg(unix)]
mod protected;
mod round_robin;
mod searches;
mod skills;
mod stdio;
mod tls;
mod weather;

use serde_json::{Value, json};
use tests::http::{Request, call, initialize, send, text};
use tests::run::free_address;
use tests::{Answer, Client, Process, Question, Version};

#[tokio::test]
async fn hello_is_short_and_greets() {
    assert!(source("hello").lines().count() <= 15);
    for version in Version::ALL {
        let mut process = Process::start("hello", &[], version).await;
        assert_eq!(
            process.client.text("hello", json!({"name": "Ada"})).await,
            "Hello, Ada!"
        );
    }
}

#[tokio::test]
async fn chart_has_a_page_for_its_tools() {
    for version in Version::ALL {
        let mut process = Process::start("chart", &[], version).await;
        let client = &mut process.client;
        let (tools, _) = client.list("tools/list", "tools").await;
        let uri = json!("ui://examples/ui/chart.html");
        assert!(
            tools
                .iter()
                .all(|tool| tool["_meta"]["ui"]["resourceUri"] == uri)
        );
        let read = client.ok("resources/read", json!({ "uri": uri })).await;
        let contents = &read["contents"][0];
        assert_eq!(contents["mimeType"], "text/html;profile=mcp-app");
        assert!(contents["text"].as_str().unwrap().contains("ui/initialize"));
        let sales = client.tool("sales", json!({"year": 2025})).await;
        let text = sales["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("{\"year\":2025,\"months\":["), "{text}");
    }
}

#[tokio::test]
async fn extension_is_short_and_used_only_by_clients_that_declare_it() {
    const GARDEN: &str = "com.example/garden";
    assert!(source("extension").lines().count() <= 50);
    for version in Version::ERAS {
        let process = Process::raw("extension", &[], version);
        let mut client = process.client;
        client.capabilities = json!({"extensions": {GARDEN: {}}});
        let mut client = client.connect().await;
        if version.is_modern() {
            let filter = json!({"gardenBeds": ["roses"]});
            client.listen("beds", filter).await;
        }
        let roses = json!({"bed": "roses", "litres": 2.5});
        let watered = client.ok("garden/water", roses).await;
        assert_eq!(watered["bed"], "roses");
        if version.is_modern() {
            let watered = client.notification("notifications/garden/watered").await;
            assert_eq!(watered["litres"], 2.5);
            let estimate = client.tool("harvest", json!({})).await;
            assert_eq!(
                (&estimate["resultType"], &estimate["minutes"]),
                (&json!("estimate"), &json!(30))
            );
            client.capabilities = json!({});
            client.fails("garden/water", json!({}), -32021).await;
        }
        let mut process = Process::start("extension", &[], version).await;
        assert_eq!(
            process.client.text("harvest", json!({})).await,
            "seven tomatoes"
        );
    }
}

#[tokio::test]
async fn guarded_knows_what_it_did_and_says_nothing_it_should_not() {
    for version in Version::ERAS {
        let mut process = Process::raw("guarded", &[], version);
        process.client.capabilities = json!({"elicitation": {}});
        let mut client = process.client.connect().await;
        client.answer(|_| Answer::accept(json!({"sure": true})));
        let tea = json!({"article": "tea"});
        for _ in 0..5 {
            assert_eq!(client.text("price", tea.clone()).await, "4.20");
        }
        let refused = client.refused("price", tea.clone()).await;
        assert!(
            refused.starts_with("too many calls to `price`"),
            "{refused}"
        );
        let order = json!({"name": "order", "arguments": tea});
        let ordered = client.ask("tools/call", order).await.unwrap();
        assert_eq!(ordered["content"][0]["text"], "tea is on its way");
    }
}

/// Answers like a person who approves and a model that always says the same thing.
fn approve(question: &Question) -> Answer {
    if question.method == "sampling/createMessage" {
        return Answer::said("It is done.");
    }
    Answer::accept(json!({"approve": true, "target": "production", "instances": 3}))
}

#[tokio::test]
async fn deploy_asks_before_it_acts() {
    for version in [
        Version::V2025_06_18,
        Version::V2025_11_25,
        Version::V2026_07_28,
    ] {
        for (capabilities, expected) in [
            (
                json!({"elicitation": {}}),
                "v1 is on Production, 3 instances (no note)",
            ),
            (json!({"elicitation": {}, "sampling": {}}), "It is done."),
        ] {
            let mut process = Process::raw("deploy", &[], version);
            process.client.capabilities = capabilities;
            let mut client = process.client.connect().await;
            client.answer(approve);
            let params = json!({"name": "deploy", "arguments": {"service": "shop"}});
            let result = client.ask("tools/call", params.clone()).await.unwrap();
            assert_eq!(result["content"][0]["text"], expected);
            assert_eq!(
                client.asked[0].params["message"],
                "Deploy shop? build shop v1, test shop v1, start shop v1"
            );
            client.answer(|_| Answer::accept(json!({"approve": false})));
            let result = client.ask("tools/call", params).await.unwrap();
            assert_eq!(result["isError"], true);
        }
    }
}

#[tokio::test]
async fn rounds_of_deploy_may_land_on_different_processes_that_share_a_key() {
    let start = |key: &'static str| {
        let variables = [("DEPLOY_STATE_KEYS", key)];
        let mut process =
            Process::with_environment("deploy", &[], &variables, Version::V2026_07_28);
        process.client.capabilities = json!({"elicitation": {}, "sampling": {}});
        process.client.answer(approve);
        process
    };
    let shared = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let mut processes = [start(shared), start(shared)];
    let mut foreign = start("BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA=");
    let params = json!({"name": "deploy", "arguments": {"service": "shop"}});
    let mut next = params.clone();
    for round in 0..3 {
        let client = &mut processes[round % 2].client;
        let result = client.ok("tools/call", next.clone()).await;
        if round == 2 {
            assert_eq!(result["content"][0]["text"], "It is done.");
            break;
        }
        next = client.retry(&params, &result);
        let failure = foreign
            .client
            .fails("tools/call", next.clone(), -32602)
            .await;
        assert!(failure.message.contains("sealing_keys"), "{failure:?}");
    }
}

#[tokio::test]
async fn calculator_keeps_its_memory() {
    let mut process = Process::start("calculator", &[], Version::V2026_07_28).await;
    let client = &mut process.client;
    assert_eq!(client.text("add", json!({"a": 1, "b": 2})).await, "3");
    client.text("accumulate", json!({"number": 2.5})).await;
    assert_eq!(client.text("accumulate", json!({"number": 2})).await, "4.5");
    assert_eq!(client.text("recall", json!({})).await, "4.5");
    client.tool("clear", json!({})).await;
    client
        .refused("divide", json!({"dividend": 1, "divisor": 0}))
        .await;
}

// Covers: CUST-01, CUST-02
#[tokio::test]
async fn tcp_serves_several_clients() {
    let address = free_address().to_string();
    let _process = Process::raw("tcp", &[&address], Version::V2025_11_25);
    for version in Version::ALL {
        let stream = retry(async || tokio::net::TcpStream::connect(&address).await).await;
        let (reader, writer) = tokio::io::split(stream);
        let mut client = Client::new(reader, writer, version).connect().await;
        assert_eq!(
            client.text("hello", json!({"name": "Ada"})).await,
            "Hello, Ada!"
        );
    }
}

// Covers: CUST-02
#[cfg(unix)]
#[tokio::test]
async fn a_unix_socket_serves_several_clients() {
    let path = std::env::temp_dir().join(format!("mcp-{}.sock", std::process::id()));
    let _process = Process::raw(
        "unix_socket",
        &[path.to_str().unwrap()],
        Version::V2025_11_25,
    );
    for version in Version::ERAS {
        let stream = retry(async || tokio::net::UnixStream::connect(&path).await).await;
        let (reader, writer) = tokio::io::split(stream);
        let mut client = Client::new(reader, writer, version).connect().await;
        assert_eq!(
            client.text("hello", json!({"name": "Ada"})).await,
            "Hello, Ada!"
        );
    }
    let _ = std::fs::remove_file(&path);
}

#[tokio::test]
async fn the_one_command_of_the_readme_shows_a_result() {
    let mut command = std::process::Command::new(tests::binary("call_hello"));
    let output = tests::run::output(&mut command);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("Hello, world!"), "{text}");
}

#[tokio::test]
async fn an_axum_program_serves_standard_input_and_output_too() {
    for version in Version::ERAS {
        let mut process = Process::start("axum-app", &[], version).await;
        assert_eq!(process.client.text("visits", json!({})).await, "0");
        process.client.close().await;
        assert!(process.ended().await.success());
    }
}

#[tokio::test]
async fn an_axum_program_has_its_own_routes_and_middleware_beside_the_server() {
    let address = free_address();
    let mut process = Process::raw("axum-app", &[&address.to_string()], Version::V2026_07_28);
    let home = Request::new("GET", Version::V2026_07_28).to("/");
    retry(async || tokio::net::TcpStream::connect(address).await).await;
    for visit in 1..=2 {
        let mut response = send(address, &home).await;
        assert_eq!(response.text().await, "Welcome!");
        let call = Request::tool("visits", json!({}));
        assert_eq!(send(address, &call).await.status, 401);
        let call = call.header("Authorization", "Bearer open sesame");
        let answer = send(address, &call).await.message().await;
        assert_eq!(text(&answer), visit.to_string());
    }
    let hello = initialize(Version::V2025_11_25);
    assert_eq!(send(address, &hello).await.status, 401);
    let mut response = send(
        address,
        &hello.header("Authorization", "Bearer open sesame"),
    )
    .await;
    let session = response.header("mcp-session-id").unwrap().to_owned();
    response.message().await;
    let call = call(&session, 1, "visits", json!({}), Version::V2025_11_25)
        .header("Authorization", "Bearer open sesame");
    let answer = send(address, &call).await.message().await;
    assert_eq!(text(&answer), "2");
    let get = Request::new("GET", Version::V2025_11_25)
        .header("Mcp-Session-Id", &session)
        .header("Authorization", "Bearer open sesame");
    let mut open = send(address, &get).await;
    assert_eq!(open.status, 200);
    #[cfg(unix)]
    {
        tests::run::signal(process.child.id().unwrap(), "INT");
        assert_eq!(open.next().await, None);
        assert!(process.ended().await.success());
    }
}

// Covers: TOOL-13
#[tokio::test]
async fn an_example_keeps_what_it_promises() {
    for version in Version::ALL {
        let mut process = Process::start("everything", &[], version).await;
        process.client.list("tools/list", "tools").await;
        // The client checks the result against the schema.
        let city = json!({"city": "Rome"});
        let text = process.client.text("weather", city).await;
        assert!(text.contains("sky"), "{text}");
    }
}

/// Retries until the example is listening.
async fn retry<T>(connect: impl AsyncFn() -> std::io::Result<T>) -> T {
    let mut connected = None;
    tests::wait::until(async || {
        connected = connect().await.ok();
        connected.is_some()
    })
    .await;
    connected.unwrap()
}

/// Starts an example with these variables in its environment and completes the handshake.
pub(crate) async fn start(name: &str, variables: &[(&str, &str)], version: Version) -> Process {
    let mut process = Process::with_environment(name, &[], variables, version);
    process.client = process.client.connect().await;
    process
}

/// Subscribes to changes to this resource and to all lists.
async fn follow(client: &mut Client, uri: &str) {
    if !client.version().is_modern() {
        client.ok("resources/subscribe", json!({"uri": uri})).await;
        return;
    }
    let filter = json!({"resourceSubscriptions": [uri], "resourcesListChanged": true, "toolsListChanged": true});
    client.listen("follow", filter).await;
}

/// Returns the suggested values for an argument of a prompt or template.
async fn completed(client: &mut Client, reference: Value, name: &str, value: &str) -> Value {
    let params = json!({"ref": reference, "argument": {"name": name, "value": value}});
    client.ok("completion/complete", params).await["completion"]["values"].take()
}

/// Returns the path to the program of an example.
fn source(example: &str) -> String {
    let path = format!("{}/src/bin/{example}.rs", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}
