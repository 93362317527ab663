//! Injected values that are awaited.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use mcp_runtime::Principal;
use mcp_runtime::prelude::*;
use mcp_runtime::server::{Selected, States};
use mcp_runtime::testing::TestClient;
use serde_json::json;
use tests::Version;
use tests::wait::in_time;
use tokio::sync::Semaphore;

/// Stands in for a database that takes a while to connect to.
pub(super) struct Database {
    pub(super) queries: AtomicU32,
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

/// Counts how often its state was created, and fails to create it for as long as it is told to.
#[derive(Clone, Default)]
pub(super) struct Maker(Arc<(AtomicU32, AtomicBool)>);

impl Maker {
    pub(super) fn server(&self) -> Server {
        self.server_with(["awaited"])
    }

    pub(super) fn server_with(&self, tags: [&str; 1]) -> Server {
        let Self(maker) = self.clone();
        Server::new("awaited", "1")
            .only(tags.map(Selected::tag))
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

    pub(super) fn made(&self) -> u32 {
        self.0.0.load(Ordering::Relaxed)
    }

    pub(super) fn fail(&self, fails: bool) {
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
async fn cancelling_a_call_drops_the_awaited_values() {
    for version in [Version::V2025_11_25, Version::V2026_07_28] {
        let waits = Arc::new(Waits {
            begun: Semaphore::new(0),
            dropped: Semaphore::new(0),
        });
        let server = Server::new("never", "1")
            .only(Selected::tag("never"))
            .state(Arc::clone(&waits));
        let mut client = crate::support::connect(server, version).await;
        let params = json!({"name": "never", "arguments": {}});
        let id = client.start("tools/call", params).await;
        in_time(waits.begun.acquire()).await.unwrap().forget();
        client.cancel(&id).await;
        in_time(waits.dropped.acquire()).await.unwrap().forget();
    }
}
