//! The client for testing servers: in both eras, with questions, notifications and paused time.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mcp_runtime::ProtocolVersion::{V2025_06_18, V2025_11_25, V2026_07_28};
use mcp_runtime::prelude::*;
use mcp_runtime::server::{Capability, Selected};
use mcp_runtime::testing::{Notification, Response, TestClient};
use mcp_runtime::types::{LoggingLevel, Root};

#[derive(Default)]
struct Counter {
    calls: AtomicU32,
}

/// Counts its calls.
#[tool(tags("test-client"))]
fn count_up(counter: State<Counter>) -> u32 {
    counter.calls.fetch_add(1, Ordering::SeqCst) + 1
}

/// Fails for a reason only the log sees.
#[tool(tags("test-client"))]
fn break_down() -> Result<String> {
    Err(std::io::Error::other("secret"))?
}

/// Gives more than text.
#[tool(tags("test-client"))]
fn pair() -> Json<Pair> {
    Json(Pair {
        a: 1,
        b: vec!["x".into()],
    })
}

#[data]
#[derive(Debug, PartialEq)]
struct Pair {
    a: u32,
    b: Vec<String>,
}

#[derive(Elicit)]
struct Trip {
    to: Place,
    #[arg(range(1..=9))]
    people: u8,
    stops: Vec<Place>,
    note: Option<String>,
}

#[derive(Debug, Elicit)]
enum Place {
    /// The capital of France
    #[arg(name = "paris")]
    Paris,
    Rome,
}

/// Asks two things, one after the other.
#[tool(tags("test-client"))]
async fn travel(ctx: Context) -> Result<String> {
    let trip: Trip = ctx.elicit("Where to?").await?;
    let said = ctx
        .sample(SamplingRequest::user("What is it like?"))
        .await?
        .text();
    let Trip {
        to,
        people,
        stops,
        note,
    } = trip;
    Ok(format!("{people} to {to:?} by {stops:?} {note:?}: {said}"))
}

/// Asks for directories, and sends a person somewhere.
#[tool(tags("test-client"))]
async fn look_around(ctx: Context) -> Result<String> {
    let roots = ctx.roots().await?;
    ctx.elicit_url("Pay here", "https://example.com/pay")
        .await?;
    Ok(format!("{} {:?}", roots[0].uri, roots[0].name))
}

/// Takes an hour.
#[tool(tags("test-client"), timeout = "2h")]
async fn wait() -> &'static str {
    tokio::time::sleep(Duration::from_hours(1)).await;
    "waited"
}

/// Says things.
#[tool(tags("test-client"))]
async fn talk(ctx: Context) {
    ctx.log(LoggingLevel::Warning, "careful");
    ctx.server().notify().resource_updated("test-client:thing");
    ctx.server().tools().disable("pair");
}

/// Reports progress faster than notifications are sent to clients.
#[tool(tags("test-client"))]
fn hurry(ctx: &Context) {
    for step in 1..=100 {
        ctx.progress((step, 100));
    }
}

/// A thing.
#[resource("test-client:thing", tags("test-client"))]
fn thing() -> &'static str {
    "thing"
}

/// Bytes.
#[resource("test-client:bytes", tags("test-client"))]
fn bytes() -> Vec<u8> {
    (0..200).collect()
}

/// Numbers that are no object.
#[tool(tags("test-client"))]
fn numbers() -> Json<Vec<u32>> {
    Json(vec![1, 2])
}

fn server() -> Server {
    Server::new("s", "1")
        .only(Selected::tag("test-client"))
        .limits(tests::pages_of(2))
        .state(Counter::default())
}

#[tokio::test]
async fn results_are_read_as_types() {
    let client = TestClient::both(server()).await;
    let pair: Pair = client.call("pair", json!({})).await.unwrap().structured();
    assert_eq!(
        pair,
        Pair {
            a: 1,
            b: vec!["x".into()]
        }
    );
    assert!(
        client
            .call("break_down", json!({}))
            .await
            .unwrap()
            .error_text()
            .contains("internal error")
    );
    assert_eq!(
        client.call("none", json!({})).await.unwrap_err().code,
        -32602
    );
    assert_eq!(
        client.read("test-client:thing").await.unwrap().text(),
        "thing"
    );
    let bytes = client.read("test-client:bytes").await.unwrap().bytes();
    assert_eq!(bytes, (0..200).collect::<Vec<u8>>());
    client.read("test-client:none").await.unwrap_err();
    // There are several pages.
    assert_eq!(client.tools().await.len(), 9);
    assert_eq!(client.resources().await[0].uri, "test-client:thing");
    assert!(client.prompts().await.is_empty());
    assert!(client.resource_templates().await.is_empty());
}

#[tokio::test]
async fn the_test_client_returns_server_info_and_instructions() {
    let client = TestClient::both(server().title("S!").instructions("Count.")).await;
    let info = client.server_info();
    assert_eq!((&*info.name, &*info.version), ("s", "1"));
    assert_eq!(info.title.as_deref(), Some("S!"));
    assert_eq!(client.instructions(), Some("Count."));
    assert_eq!(client.input_schema("count_up").await["type"], "object");
    let required = &client.output_schema("pair").await["required"];
    assert_eq!(*required, json!(["a", "b"]));

    let older = TestClient::new(server(), V2025_06_18).await;
    assert_eq!(older.server_info().name, "s");
    assert_eq!(older.instructions(), None);
}

#[tokio::test]
#[should_panic(expected = "there is no tool `none`, only [\"")]
async fn the_schema_of_a_tool_that_is_not_listed_fails_the_test() {
    TestClient::both(server()).await.input_schema("none").await;
}

#[tokio::test]
async fn structured_results_that_are_not_objects_are_equal_in_every_version() {
    for version in [V2025_06_18, V2025_11_25, V2026_07_28] {
        let client = TestClient::new(server(), version).await;
        let numbers = client.call("numbers", json!({})).await.unwrap();
        assert_eq!(numbers.structured::<Vec<u32>>(), [1, 2]);
        assert_eq!(numbers.json(), json!([1, 2]));
        let pair = client.call("pair", json!({})).await.unwrap();
        assert_eq!(pair.json(), json!({"a": 1, "b": ["x"]}));
    }
    let client = TestClient::both(server()).await;
    let numbers = client.call("numbers", json!({})).await.unwrap();
    assert_eq!(numbers.text(), "[1,2]");
    assert_eq!(numbers.json(), json!([1, 2]));
}

#[tokio::test]
async fn every_report_of_progress_is_seen() {
    let client = TestClient::both(server()).await;
    client.call("hurry", json!({})).await.unwrap();
    let reports: Vec<_> = (1..=100)
        .map(|step| Notification::Progress((step, 100).into()))
        .collect();
    assert_eq!(client.notifications().await, reports);
}

#[tokio::test]
async fn questions_are_answered_with_values() {
    let client = TestClient::both(server()).await;
    client.answer(Response::assistant("Lovely."));
    client.answer(Trip {
        to: Place::Paris,
        people: 2,
        stops: vec![Place::Rome],
        note: None,
    });
    let answer = client.call("travel", json!({})).await.unwrap();
    assert_eq!(answer.text(), "2 to Paris by [Rome] None: Lovely.");
    assert_eq!(client.rounds(), 2);
    let asked = client.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].message(), "Where to?");
    assert_eq!(asked[1].method, "sampling/createMessage");

    // An invalid answer is asked for again.
    client.answer(json!({"to": "paris", "people": 99, "stops": []}));
    client.answer(json!({"to": "paris", "people": 9, "stops": [], "note": "x"}));
    client.answer_with(|question| {
        assert_eq!(question.method, "sampling/createMessage");
        Some(Response::assistant("Fine."))
    });
    let answer = client.call("travel", json!({})).await.unwrap();
    assert_eq!(answer.text(), "9 to Paris by [] Some(\"x\"): Fine.");

    // The third question results in an error.
    assert_eq!(client.asked().len(), 3);
    for _ in 0..3 {
        client.answer(json!({"to": "paris", "people": 99, "stops": []}));
    }
    let wrong = client.call("travel", json!({})).await.unwrap();
    let why = wrong.error_text();
    assert!(why.starts_with("the answer is invalid: `people` "), "{why}");
    assert_eq!(client.asked().len(), 3);

    client.answer(Response::cancel());
    let dismissed = client.call("travel", json!({})).await.unwrap();
    assert!(!dismissed.error_text().is_empty());
    client.answer(Response::roots([
        Root::new("file:///home").with_name("Home")
    ]));
    client.answer(Response::agree());
    assert_eq!(
        client.call("look_around", json!({})).await.unwrap().text(),
        r#"file:///home Some("Home")"#
    );
}

#[tokio::test]
async fn an_input_request_that_the_client_does_not_declare_is_refused() {
    let client = TestClient::both(server())
        .capabilities(json!({"elicitation": {}}))
        .await;
    let refused = client.call("look_around", json!({})).await.unwrap_err();
    assert_eq!(refused.code, -32021);
    assert!(refused.message.contains("roots"), "{}", refused.message);
}

#[tokio::test(start_paused = true)]
async fn paused_time_advances_as_far_as_handlers_sleep() {
    let client = TestClient::both(server()).await;
    let before = tokio::time::Instant::now();
    assert_eq!(
        client.call("wait", json!({})).await.unwrap().text(),
        "waited"
    );
    assert!(before.elapsed() >= Duration::from_hours(2));
    // A request that is dropped is cancelled.
    let dropped = tokio::time::timeout(Duration::from_secs(1), client.call("wait", json!({})));
    dropped.await.unwrap_err();
    assert!(before.elapsed() < Duration::from_hours(3));
}

#[tokio::test]
async fn notifications_of_a_server_are_received() {
    let client = TestClient::each(server).await;
    client.subscribe("test-client:thing").await.unwrap();
    client.call("talk", json!({})).await.unwrap();
    let mut notifications = client.notifications().await;
    assert!(
        matches!(&notifications.remove(0), Notification::Log { level: LoggingLevel::Warning, data, .. } if data == "careful")
    );
    notifications.sort_by_key(|notification| matches!(notification, Notification::ListChanged(_)));
    assert_eq!(
        notifications,
        [
            Notification::ResourceUpdated("test-client:thing".into()),
            Notification::ListChanged(Capability::Tools)
        ]
    );
    client.call("talk", json!({})).await.unwrap();
    assert!(matches!(
        client.notification().await,
        Notification::Log { .. }
    ));
}

#[tokio::test]
async fn each_client_can_have_a_server_of_its_own() {
    let client = TestClient::each(server).await;
    assert_eq!(
        client.call("count_up", json!({})).await.unwrap().text(),
        "1"
    );
    assert_eq!(
        client.call("count_up", json!({})).await.unwrap().text(),
        "2"
    );
    for client in [
        TestClient::legacy(server()).await,
        TestClient::modern(server()).await,
    ] {
        assert_eq!(
            client.call("count_up", json!({})).await.unwrap().text(),
            "1"
        );
    }
    for version in tests::Version::ALL {
        let client = TestClient::new(server(), version.protocol_version()).await;
        assert_eq!(
            client.call("count_up", json!({})).await.unwrap().text(),
            "1"
        );
    }
}

#[tokio::test]
#[should_panic(
    expected = "different results for tools/call {\"name\":\"count_up\",\"arguments\":{}}:"
)]
async fn eras_that_disagree_fail_the_test() {
    let client = TestClient::both(server()).await;
    drop(client.call("count_up", json!({})).await);
}

#[tokio::test]
#[should_panic(expected = "the test has no answer to `elicitation/create`")]
async fn an_elicitation_without_an_answer_fails_the_test() {
    let client = TestClient::legacy(server()).await;
    drop(client.call("travel", json!({})).await);
}

#[tokio::test]
#[should_panic(expected = "the server does not start")]
async fn a_server_that_does_not_start_fails_the_test() {
    TestClient::both(Server::new("s", "1").only(Selected::tag("test-client"))).await;
}

#[tokio::test]
#[should_panic(expected = "breaking: tool `gone` was removed")]
async fn a_surface_that_changed_fails_the_test() {
    let client = TestClient::both(server()).await;
    let path = std::env::temp_dir().join(format!("mcp-surface-{}.json", std::process::id()));
    std::fs::write(&path, client.surface().await).unwrap();
    client.assert_surface(&path).await;
    std::fs::write(&path, r#"{"tools": [{"name": "gone"}]}"#).unwrap();
    client.assert_surface(&path).await;
}
