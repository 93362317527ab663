//! State that is created when it is first needed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mcp_runtime::dynamic::{DynamicTemplate, DynamicTool};
use mcp_runtime::handler::Page;
use mcp_runtime::prelude::*;
use mcp_runtime::server::{ErrorKind, Selected};
use mcp_runtime::testing::TestClient;
use serde_json::json;
use tests::Version;
use tests::http::Request;
use tokio::sync::Semaphore;

use super::awaited::{Database, Maker};
use crate::http::support::{call, initialize, text};

/// Serves the service inside an axum program. Returns its address.
pub(crate) async fn mount(service: mcp_runtime::http::HttpService) -> std::net::SocketAddr {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0));
    let listener = listener.await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = axum::Router::from(service);
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

#[tokio::test]
async fn the_test_client_makes_state_when_it_is_first_needed() {
    let maker = Maker::default();
    maker.fail(true);
    let client = TestClient::modern(maker.server()).await;
    client.call("nothing", json!({})).await.unwrap();
    client.tools().await;
    assert_eq!(maker.made(), 0);
    let failed = client.call("queries", json!({})).await.unwrap();
    assert!(
        failed.error_text().starts_with("internal error"),
        "{}",
        failed.error_text()
    );
    // The next call tries again.
    maker.fail(false);
    for _ in 0..3 {
        assert_eq!(client.call("queries", json!({})).await.unwrap().text(), "0");
    }
    assert_eq!(maker.made(), 2);
}

#[tokio::test]
async fn a_failure_to_make_state_is_logged_once() {
    let (log, _guard) = crate::results::Log::begin();
    let maker = Maker::default();
    maker.fail(true);
    let client = TestClient::modern(maker.server()).await;
    let mut texts = Vec::new();
    for _ in 0..3 {
        texts.push(
            client
                .call("queries", json!({}))
                .await
                .unwrap()
                .error_text(),
        );
    }
    assert_eq!(maker.made(), 3);
    let log = log.take();
    let lines: Vec<_> = log
        .lines()
        .filter(|line| line.contains("the database is down"))
        .collect();
    assert_eq!(lines.len(), 1, "{log}");
    // All calls refer to that line.
    let (_, reference) = texts[0].split_once("reference ").unwrap();
    assert!(lines[0].contains(reference.trim_end_matches(')')), "{log}");
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
}

#[tokio::test]
async fn calls_at_the_same_time_make_state_once() {
    let maker = Maker::default();
    let client = TestClient::modern(maker.server()).await;
    let call = || client.call("queries", json!({}));
    let (one, two, three) = tokio::join!(call(), call(), call());
    for called in [one, two, three] {
        assert_eq!(called.unwrap().text(), "0");
    }
    assert_eq!(maker.made(), 1);
}

#[tokio::test]
async fn calls_that_wait_for_the_same_attempt_share_its_failure() {
    for version in Version::ERAS {
        let maker = Maker::default();
        maker.fail(true);
        let client = TestClient::new(maker.server(), version.protocol_version()).await;
        let call = || client.call("queries", json!({}));
        let (one, two, three) = tokio::join!(call(), call(), call());
        for called in [one, two, three] {
            let failed = called.unwrap().error_text();
            assert!(failed.starts_with("internal error"), "{failed}");
        }
        assert_eq!(maker.made(), 1);
        maker.fail(false);
        assert_eq!(call().await.unwrap().text(), "0");
    }
}

#[tokio::test]
async fn a_client_that_cancels_its_call_does_not_keep_state_from_others() {
    for version in Version::ERAS {
        let (begun, go_on) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let made = Arc::new(AtomicU32::new(0));
        let maker = (Arc::clone(&begun), Arc::clone(&go_on), Arc::clone(&made));
        let server = Server::new("awaited", "1")
            .only(Selected::tag("awaited"))
            .state_with(move || {
                let (begun, go_on, made) = maker.clone();
                async move {
                    begun.add_permits(1);
                    go_on.acquire().await?.forget();
                    made.fetch_add(1, Ordering::Relaxed);
                    let queries = AtomicU32::new(0);
                    Ok::<_, tokio::sync::AcquireError>(Database { queries })
                }
            });
        let service = server.into_http_service().unwrap();
        let address = mount(service).await;
        let mut request = Request::tool("queries", json!({}));
        let mut session = String::new();
        if !version.is_modern() {
            let opened = tests::http::send(address, &initialize(version)).await;
            session = opened.header("mcp-session-id").unwrap().to_owned();
            request = call(&session, 1, "queries", json!({}), version);
        }
        {
            // The client disconnects while the value is being created.
            let mut first = Box::pin(tests::http::send(address, &request));
            tokio::select! {
                _ = &mut first => panic!("there is no value yet"),
                permit = begun.acquire() => permit.unwrap().forget(),
            }
        }
        if !version.is_modern() {
            // In a session, the call continues without its client until it is cancelled.
            let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
            let cancelled = Request::legacy(&session, &cancelled, version);
            assert_eq!(tests::http::send(address, &cancelled).await.status, 202);
        }
        go_on.add_permits(1);
        let mut response = tests::http::send(address, &request).await;
        assert_eq!(text(&response.message().await), "0");
        assert_eq!(made.load(Ordering::Relaxed), 1);
        // Its creation was not started a second time.
        assert_eq!(begun.available_permits(), 0, "{version:?}");
    }
}

#[tokio::test]
async fn a_listing_makes_state_too() {
    let maker = Maker::default();
    let client = TestClient::both(maker.server()).await;
    let listed = client.resources().await;
    assert_eq!(listed.len(), 1);
    assert_eq!(maker.made(), 1);
}

#[tokio::test]
async fn a_server_that_runs_makes_state_first_or_does_not_start() {
    let maker = Maker::default();
    maker.fail(true);
    let (transport, _client) = mcp_runtime::transport::memory();
    let error = maker.server().serve(transport).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    let expected = "cannot create the state of type `Database`: the database is down";
    assert_eq!(error.to_string(), expected);
    let error = maker.server().serve_http("127.0.0.1:0").await.unwrap_err();
    assert_eq!(error.to_string(), expected);
    maker.fail(false);
    let mut client = crate::support::connect(maker.server(), Version::V2025_11_25).await;
    assert_eq!(maker.made(), 3);
    assert_eq!(client.text("queries", json!({})).await, "0");
    assert_eq!(maker.made(), 3);
}

#[tokio::test]
async fn a_mounted_service_makes_state_with_the_first_call_that_needs_it() {
    let maker = Maker::default();
    let service = maker.server().into_http_service().unwrap();
    let address = mount(service).await;
    let call = async |name| {
        let mut response = tests::http::send(address, &Request::tool(name, json!({}))).await;
        text(&response.message().await).to_owned()
    };
    assert_eq!(call("nothing").await, "nothing");
    assert_eq!(maker.made(), 0);
    assert_eq!(call("queries").await, "0");
    assert_eq!(call("queries").await, "0");
    assert_eq!(maker.made(), 1);
}

#[tokio::test]
async fn a_later_value_of_the_same_type_replaces_the_first() {
    let maker = Maker::default();
    let ready = Database {
        queries: AtomicU32::new(7),
    };
    let client = TestClient::both(maker.server().state(ready)).await;
    assert_eq!(client.call("queries", json!({})).await.unwrap().text(), "7");
    assert_eq!(maker.made(), 0);
}

#[tokio::test]
async fn definitions_made_at_run_time_find_state() {
    for version in Version::ERAS {
        // Nothing else here needs the state.
        let maker = Maker::default();
        let server = maker.server_with(["undeclared"]);
        let queries = |ctx: Context| {
            let database = ctx.state::<Database>();
            database.map_or("none".to_owned(), |database| {
                database.queries.load(Ordering::Relaxed).to_string()
            })
        };
        let handle = server.handle();
        handle
            .tools()
            .insert(DynamicTool::new(
                "dynamic",
                json!({"type": "object"}),
                move |_, ctx| async move { queries(ctx) },
            ))
            .unwrap();
        handle
            .resource_templates()
            .insert(
                DynamicTemplate::new("dynamic:///{name}", "dynamic", |_, _| async { "text" }).list(
                    move |ctx, _| async move {
                        let listed = Resource::new("dynamic:///one", queries(ctx));
                        Ok(Page::new([listed]))
                    },
                ),
            )
            .unwrap();
        let client = TestClient::new(server, version.protocol_version()).await;
        let listed = client.resources().await;
        let listed = listed.iter().find(|it| it.uri == "dynamic:///one").unwrap();
        assert_eq!(listed.name, "0", "{version:?}");
        let called = client.call("dynamic", json!({})).await.unwrap();
        assert_eq!(called.text(), "0", "{version:?}");
        assert_eq!(maker.made(), 1);
    }
}

/// A value that nothing else needs.
struct Other;

#[resource_template("other:///{name}", tags("other"), list = others)]
fn other(name: String) -> String {
    name
}

fn others() -> Vec<Resource> {
    vec![Resource::new("other:///one", "one")]
}

/// Takes the value that cannot be made.
#[tool(tags("other"))]
fn takes_other(_other: &State<Other>) {}

#[tokio::test]
async fn a_list_waits_only_for_the_state_that_its_functions_take() {
    for version in Version::ERAS {
        let server = Server::new("other", "1")
            .only(Selected::tag("other"))
            .state_with(|| async { Err::<Other, _>("the other database is down") });
        let client = TestClient::new(server, version.protocol_version()).await;
        assert_eq!(client.resources().await.len(), 1, "{version:?}");
        let failed = client.call("takes_other", json!({})).await.unwrap();
        assert!(failed.error_text().starts_with("internal error"));
    }
}

#[tokio::test]
async fn a_listing_function_without_its_state_is_an_error_at_the_start() {
    #[resource_template("lacking:///{name}", tags("lacking"), list = lacking)]
    fn item(name: String) -> String {
        name
    }
    fn lacking(_other: &State<Other>) -> Vec<Resource> {
        Vec::new()
    }
    let (transport, _client) = mcp_runtime::transport::memory();
    let server = Server::new("lacking", "1").only(Selected::tag("lacking"));
    let error = server.serve(transport).await.unwrap_err().to_string();
    let expected = "cannot get a parameter of its listing function: no state of type `Other`";
    assert!(error.contains(expected), "{error}");
}

/// Does not tell `check` that it needs the database.
struct Undeclared;

impl FromContext for Undeclared {
    fn from_context(ctx: &Context) -> Result<Self> {
        State::<Database>::from_context(ctx)?;
        Ok(Self)
    }
}

#[tool(tags("undeclared"))]
fn undeclared(_value: Undeclared) {}

#[tokio::test]
async fn lazy_state_that_is_not_made_yet_is_not_reported_as_missing() {
    let server = Maker::default().server_with(["undeclared"]);
    let client = TestClient::both(server.expose_errors()).await;
    let failed = client.call("undeclared", json!({})).await.unwrap();
    let text = failed.error_text();
    assert!(
        text.contains("the state of type `Database` has not been created yet"),
        "{text}"
    );
}
