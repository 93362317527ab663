//! The server as clients of both eras see it.

use mcp_runtime::prelude::*;
use mcp_runtime::testing::{TestClient, check};

use crate::{Settings, configure};

fn server() -> Server {
    let greeting = "Welcome".to_owned();
    configure(new_server!()).state(Settings { greeting })
}

#[tokio::test]
async fn users_are_greeted() {
    let client = TestClient::both(server()).await;
    let greeted = client.call("greet", json!({"name": "Ada"})).await;
    assert_eq!(greeted.unwrap().text(), "Welcome, Ada!");
    let refused = client.call("greet", json!({"name": "Ada L."})).await;
    assert_eq!(refused.unwrap().error_text(), "first names only");
}

/// Clients and models accept every definition, and no change breaks a client. `UPDATE_SURFACE=1 cargo test` accepts a change.
#[tokio::test]
async fn definitions_are_good() {
    check(server()).strict().surface("surface.json").await;
}
