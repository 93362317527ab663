//! Injected values that are awaited, and state that is made when it is first needed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use mcp_runtime::prelude::*;
use mcp_runtime::testing::TestClient;
use mcp_runtime::{ErrorKind, Principal, States};
use serde_json::json;
use tests::Version;
use tests::http::Request;
use tokio::sync::Semaphore;

use crate::http::support::{call, initialize, text};

/// Stands in for a database that takes a while to connect to.
struct Database {
    queries: AtomicU32,
}

/// The tenant of the caller, looked up in the database.
#[derive(Clone)]
struct Tenant(String);

impl AsyncFromContext for Tenant {
    async fn from_context(ctx: &Context) -> Result<Self> {
        let database = State::<Database>::from_context(ctx)?;
        tokio::task::yield_now().await;
        database.queries.fetch_add(1, Ordering::Relaxed);
        match ctx.principal() {
            Some(who) => Ok(Self(format!("tenant of {}", who.subject()))),
            None => bail!("nobody has no tenant"),
        }
    }

    fn check(states: &States) -> Result<(), String> {
        State::<Database>::check(states)
    }
}

/// Takes it in an async function.
#[tool(tags("awaited"))]
async fn later(tenant: &Tenant, suffix: String) -> String {
    format!("{}{suffix}", tenant.0)
}

/// Takes it in a plain function, twice.
#[tool(tags("awaited"))]
fn plain(tenant: Tenant, again: &Tenant) -> String {
    assert_eq!(tenant.0, again.0);
    tenant.0
}

/// Takes it in a function that blocks.
#[tool(tags("awaited"), blocking)]
fn blocking(tenant: Tenant) -> String {
    tenant.0
}

/// Takes it if there is one.
#[tool(tags("awaited"))]
fn perhaps(tenant: Option<Tenant>) -> String {
    tenant.map_or_else(|| "none".to_owned(), |tenant| tenant.0)
}

/// Takes the state itself.
#[tool(tags("awaited"))]
fn queries(database: &State<Database>) -> u32 {
    database.queries.load(Ordering::Relaxed)
}

/// Needs no state.
#[tool(tags("awaited"))]
fn nothing() -> &'static str {
    "nothing"
}

#[prompt(tags("awaited"))]
fn greeting(tenant: &Tenant, #[complete(names)] name: String) -> String {
    format!("{} {name}", tenant.0)
}

#[completer]
fn names(_partial: &str, tenant: &Tenant) -> Vec<String> {
    vec![tenant.0.clone()]
}

#[resource_template("awaited:///{name}", tags("awaited"), list = listed)]
fn note(tenant: Tenant, name: String) -> String {
    format!("{} {name}", tenant.0)
}

fn listed(database: &State<Database>) -> Vec<Resource> {
    let queries = database.queries.load(Ordering::Relaxed);
    vec![Resource::new(format!("awaited:///{queries}"), "listed")]
}

/// Counts how often its state was made, and fails to make it as long as it is told to.
#[derive(Clone, Default)]
struct Maker(Arc<(AtomicU32, AtomicBool)>);

impl Maker {
    fn server(&self) -> Server {
        let Self(maker) = self.clone();
        Server::new("awaited", "1")
            .tags(["awaited"])
            .state_with(move || {
                let maker = Arc::clone(&maker);
                async move {
                    tokio::task::yield_now().await;
                    maker.0.fetch_add(1, Ordering::Relaxed);
                    if maker.1.load(Ordering::Relaxed) {
                        return Err("the database is down");
                    }
                    let queries = AtomicU32::new(0);
                    Ok(Database { queries })
                }
            })
    }

    fn made(&self) -> u32 {
        self.0.0.load(Ordering::Relaxed)
    }

    fn fail(&self, fails: bool) {
        self.0.1.store(fails, Ordering::Relaxed);
    }
}

async fn alice(server: Server) -> TestClient {
    TestClient::both(server)
        .as_principal(Principal::new("alice"))
        .await
}

#[tokio::test]
async fn handlers_of_every_kind_take_awaited_values() {
    let client = alice(Maker::default().server()).await;
    for (tool, arguments) in [
        ("later", json!({"suffix": ""})),
        ("plain", json!({})),
        ("blocking", json!({})),
        ("perhaps", json!({})),
    ] {
        let result = client.call(tool, arguments).await.unwrap();
        assert_eq!(result.text(), "tenant of alice", "{tool}");
    }
    let prompt = client
        .prompt("greeting", json!({"name": "x"}))
        .await
        .unwrap();
    assert_eq!(prompt.text(), "tenant of alice x");
    let read = client.read("awaited:///one").await.unwrap();
    assert_eq!(read.text(), "tenant of alice one");
    let completed = client
        .complete_prompt("greeting", "name", "", json!({}))
        .await
        .unwrap();
    assert!(format!("{completed:?}").contains("tenant of alice"));
}

#[tokio::test]
async fn a_value_that_is_not_available_fails_the_call() {
    let client = TestClient::both(Maker::default().server()).await;
    let failed = client.call("later", json!({"suffix": ""})).await.unwrap();
    assert_eq!(failed.error_text(), "nobody has no tenant");
    let without = client.call("perhaps", json!({})).await.unwrap();
    assert_eq!(without.text(), "none");
    // Arguments are still checked.
    let client = alice(Maker::default().server()).await;
    let failed = client.call("later", json!({"sufix": ""})).await.unwrap();
    assert!(
        failed.error_text().contains("did you mean `suffix`"),
        "{}",
        failed.error_text()
    );
}

#[tokio::test]
async fn in_this_process_state_is_made_when_it_is_first_needed() {
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
            let failed = called.unwrap().error_text().to_owned();
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
            .tags(["awaited"])
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
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
            .await
            .unwrap();
        let address = listener.local_addr().unwrap();
        let app = axum::Router::from(service);
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        let mut request = Request::tool("queries", json!({}));
        let mut session = String::new();
        if !version.is_modern() {
            let opened = tests::http::send(address, &initialize(version)).await;
            session = opened.header("mcp-session-id").unwrap().to_owned();
            request = call(&session, 1, "queries", json!({}), version);
        }
        {
            // The client goes while the value is made.
            let mut first = Box::pin(tests::http::send(address, &request));
            tokio::select! {
                _ = &mut first => panic!("there is no value yet"),
                permit = begun.acquire() => permit.unwrap().forget(),
            }
        }
        if !version.is_modern() {
            // In a session the call goes on without its client, until it is cancelled.
            let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
            let cancelled = Request::legacy(&session, &cancelled, version);
            assert_eq!(tests::http::send(address, &cancelled).await.status, 202);
        }
        go_on.add_permits(1);
        let mut response = tests::http::send(address, &request).await;
        assert_eq!(text(&response.message().await), "0");
        assert_eq!(made.load(Ordering::Relaxed), 1);
        // It was not begun a second time.
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
    let expected = "cannot make the state of type `Database`: the database is down";
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
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap();
    let address = listener.local_addr().unwrap();
    let app = axum::Router::from(service);
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
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

/// A value that is never available.
struct Never;

impl AsyncFromContext for Never {
    async fn from_context(ctx: &Context) -> Result<Self> {
        let waits = ctx.state::<Waits>().unwrap();
        waits.begun.add_permits(1);
        let _dropped = Dropped(Arc::clone(&waits));
        std::future::pending().await
    }
}

struct Waits {
    begun: Semaphore,
    dropped: Semaphore,
}

struct Dropped(Arc<Waits>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.dropped.add_permits(1);
    }
}

/// Never runs.
#[tool(tags("never"))]
fn never(_value: Never) -> &'static str {
    unreachable!()
}

#[tokio::test]
async fn cancelling_a_call_drops_what_it_waits_for() {
    for version in [Version::V2025_11_25, Version::V2026_07_28] {
        let waits = Arc::new(Waits {
            begun: Semaphore::new(0),
            dropped: Semaphore::new(0),
        });
        let server = Server::new("never", "1")
            .tags(["never"])
            .shared_state(Arc::clone(&waits));
        let mut client = crate::support::connect(server, version).await;
        let params = json!({"name": "never", "arguments": {}});
        let id = client.start("tools/call", params).await;
        waits.begun.acquire().await.unwrap().forget();
        client.cancel(&id).await;
        waits.dropped.acquire().await.unwrap().forget();
    }
}
