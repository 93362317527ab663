//! The surface of a server contains its declarations and none of its users' data.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use mcp_runtime::Principal;
use mcp_runtime::dynamic::DynamicResource;
use mcp_runtime::extension::ToolSearch;
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::testing::TestClient;
use mcp_runtime::types::Resource;
use serde_json::{Value, json};
use tests::Version;

use crate::support::connect;

/// The data that would be in a database.
#[derive(Default)]
struct Rows {
    ids: Mutex<Vec<u32>>,
    is_down: AtomicBool,
}

/// Instructions for using the rows.
#[resource("row:help", tags("surface"))]
fn help() -> &'static str {
    "help"
}

/// The rights of users.
#[resource("row:rights", tags("surface"), scopes("admin"))]
fn rights() -> &'static str {
    "rights"
}

/// One row.
#[resource_template("row:///{id}", tags("surface"), list = rows)]
fn row(id: u32) -> String {
    id.to_string()
}

fn rows(rows: State<Rows>) -> Result<Vec<Resource>> {
    if rows.is_down.load(Ordering::SeqCst) {
        bail!("the database is down");
    }
    let ids = rows.ids.lock().unwrap_or_else(PoisonError::into_inner);
    let resource = |id: &u32| Resource::new(format!("row:///{id}"), format!("secret of {id}"));
    Ok(ids.iter().map(resource).collect())
}

/// One column.
#[resource_template("column:///{id}", tags("surface"), list = columns)]
fn column(id: u32) -> String {
    id.to_string()
}

async fn columns(rows: &State<Rows>) -> Result<Vec<Resource>> {
    if rows.is_down.load(Ordering::SeqCst) {
        return Err(std::io::Error::other("the password is wrong").into());
    }
    Ok(Vec::new())
}

fn server() -> (Server, std::sync::Arc<Rows>) {
    let rows = std::sync::Arc::new(Rows::default());
    rows.ids.lock().unwrap().extend([1, 2, 3]);
    let server = Server::new("surface", "1")
        .only(Selected::tag("surface"))
        .limits(tests::pages_of(2))
        .state(std::sync::Arc::clone(&rows));
    (server, rows)
}

fn uris(surface: &str) -> Vec<String> {
    let surface: Value = serde_json::from_str(surface).unwrap();
    let resources = surface["resources"].as_array().unwrap().iter();
    resources
        .map(|resource| resource["uri"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_surface_excludes_resources_from_listers() {
    let (server, rows) = server();
    let resource = |uri: &'static str| DynamicResource::new(uri, uri, |_| async { "inserted" });
    for uri in ["row:a", "row:b", "row:c"] {
        server.handle().resources().insert(resource(uri)).unwrap();
    }
    let client = TestClient::both(server).await;
    let surface = client.surface().await;
    assert!(!surface.contains("secret"), "{surface}");
    // The declarations are on more than one page, and sorted.
    let declared = ["row:a", "row:b", "row:c", "row:help", "row:rights"];
    assert_eq!(uris(&surface), declared);
    assert!(surface.contains("row:///{id}"), "{surface}");
    // The rows are still listed.
    let listed = client.resources().await;
    assert!(listed.iter().any(|resource| resource.uri == "row:///1"));
    // Adding or removing rows does not change the surface.
    let path = std::env::temp_dir().join(format!("mcp-rows-{}.json", std::process::id()));
    std::fs::write(&path, &surface).unwrap();
    rows.ids.lock().unwrap().clear();
    client.assert_surface(&path).await;
    rows.ids.lock().unwrap().extend(7..2_000);
    client.assert_surface(&path).await;
    // The surface needs no database.
    rows.is_down.store(true, Ordering::SeqCst);
    client.assert_surface(&path).await;
    std::fs::remove_file(&path).unwrap();
}

#[tokio::test]
async fn a_surface_contains_disabled_definitions() {
    let (server, _) = server();
    server.handle().resources().disable("row:help");
    let client = TestClient::both(server).await;
    assert!(
        client
            .resources()
            .await
            .iter()
            .all(|it| it.uri != "row:help")
    );
    assert_eq!(uris(&client.surface().await), ["row:help", "row:rights"]);
}

#[tokio::test]
async fn a_surface_contains_the_search_tools_and_the_tools_they_find() {
    let server = Server::new("search", "1").only(Selected::tag("search"));
    let client = TestClient::both(server.with(ToolSearch::above(3))).await;
    let surface: Value = serde_json::from_str(&client.surface().await).unwrap();
    let tools = surface["tools"].as_array().unwrap();
    for expected in ["search_tools", "call_tool", "open_hours"] {
        assert!(
            tools.iter().any(|tool| tool["name"] == expected),
            "{surface}"
        );
    }
}

#[tokio::test]
async fn a_surface_contains_definitions_visible_to_its_client() {
    let user = Principal::new("user").with_scopes(["none"]);
    let client = TestClient::both(server().0).as_principal(user).await;
    assert_eq!(uris(&client.surface().await), ["row:help"]);
    let admin = Principal::new("admin").with_scopes(["admin"]);
    let client = TestClient::both(server().0).as_principal(admin).await;
    assert_eq!(uris(&client.surface().await), ["row:help", "row:rights"]);
}

#[tokio::test]
async fn an_error_of_a_lister_names_its_template() {
    for version in Version::ALL {
        let (server, rows) = server();
        rows.is_down.store(true, Ordering::SeqCst);
        let mut client = connect(server.limits(tests::pages_of(1_000)), version).await;
        let failure = client.fails("resources/list", json!({}), -32603).await;
        assert_eq!(
            failure.message,
            "listing the resources of `row:///{id}`: the database is down"
        );
    }
}

#[tokio::test]
async fn a_failed_lister_does_not_expose_its_cause() {
    let (log, _guard) = crate::results::Log::begin();
    for version in Version::ALL {
        let (server, rows) = server();
        rows.is_down.store(true, Ordering::SeqCst);
        let handle = server.handle();
        let mut client = connect(server, version).await;
        client.pass().await;
        handle.resource_templates().disable("row:///{id}");
        let mut cursor = json!({});
        let failure = loop {
            match client.request("resources/list", cursor).await {
                Ok(page) => cursor = json!({"cursor": page["nextCursor"]}),
                Err(failure) => break failure,
            }
        };
        assert_eq!(
            (failure.code, &*failure.message),
            (-32603, "internal error")
        );
        assert!(!failure.data.to_string().contains("password"));
        let log = log.take();
        assert!(log.contains("listing the resources of `"), "{log}");
        assert!(log.contains("password"), "{log}");
    }
}
