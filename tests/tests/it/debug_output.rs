//! The output of `Debug` names the type, and does not contain what only the server may know.

use mcp_runtime::middleware::Next;
use mcp_runtime::testing::TestClient;
use serde_json::json;
use tests::Version;

use crate::fixture;
use crate::support::connect;

#[test]
fn a_server_and_its_parts_name_their_types() {
    let server = fixture::server();
    let handle = server.handle();
    let tools = format!("{:?}", handle.tools());
    assert!(tools.starts_with("Editor { list: "), "{tools}");
    let mut edit = String::new();
    let edited = handle.tools().edit(|list| {
        list.disable("add");
        edit = format!("{list:?}");
    });
    assert!(edited.unwrap());
    assert!(edit.starts_with("ListEdit { list: "), "{edit}");
    assert!(edit.contains("steps: 1"), "{edit}");
    let service = server.into_http_service().unwrap();
    assert_eq!(format!("{service:?}"), "HttpService { .. }");
}

#[tokio::test]
async fn the_rest_of_a_call_names_its_type() {
    let server = fixture::server().middleware(async |call, next: Next| {
        assert_eq!(format!("{next:?}"), "Next");
        next.run(call).await
    });
    let mut client = connect(server, Version::V2026_07_28).await;
    assert_eq!(client.text("add", json!({"a": 1, "b": 2})).await, "3");
}

#[tokio::test]
async fn a_client_for_tests_names_its_versions() {
    let client = TestClient::both(fixture::server()).await;
    let client = format!("{client:?}");
    assert!(client.contains("[2025-11-25, 2026-07-28]"), "{client}");
}
