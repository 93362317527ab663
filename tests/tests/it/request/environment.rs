//! Transports without headers, where environment variables can stand in for them.

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Principal, Server};
use serde_json::json;
use tests::Version;
use tests::http::Request;
use tests::link::Hub;

use super::server;
use crate::http::support::{serve_server, text};
use crate::support::connect;

/// Set by cargo for every test.
const VARIABLE: &str = "CARGO_PKG_NAME";

fn with_variable() -> Server {
    server().header_from_env("X-Tenant", VARIABLE)
}

#[tokio::test]
async fn without_http_there_are_no_headers_addresses_or_sessions() {
    for version in Version::ALL {
        let mut client = connect(server(), version).await;
        let described = client.text("describe", json!({})).await;
        let nothing = "path=- query=- session=false peer=- client=- trusted=false";
        assert_eq!(described, format!("{} {nothing}", version.date()));
        for tool in ["header", "trusted_header"] {
            assert_eq!(client.text(tool, json!({"name": "x-tenant"})).await, "-");
        }
    }
}

#[tokio::test]
async fn a_variable_stands_in_for_a_header_of_the_user_who_started_the_process() {
    let arguments = json!({"name": "x-tenant"});
    for version in Version::ALL {
        let client = TestClient::new(with_variable(), version.protocol_version()).await;
        for tool in ["header", "trusted_header"] {
            let result = client.call(tool, arguments.clone()).await.unwrap();
            assert_eq!(result.text(), "tests");
        }
    }
    let alice = TestClient::new(with_variable(), mcp_runtime::ProtocolVersion::V2026_07_28);
    let result = alice.as_principal(Principal::new("alice")).await;
    assert_eq!(
        result
            .call("header", arguments.clone())
            .await
            .unwrap()
            .text(),
        "-"
    );
    // Other connections of the same process are not the user's.
    let hub = Hub::serve(with_variable());
    let mut stranger = hub.client(Version::V2026_07_28).connect().await;
    assert_eq!(stranger.text("header", arguments).await, "-");
}

#[tokio::test]
async fn a_variable_never_stands_in_for_a_header_over_http() {
    let server = serve_server(with_variable()).await;
    let request = Request::tool("header", json!({"name": "x-tenant"}));
    assert_eq!(text(&server.message(&request).await.1), "-");
    let named = request.header("X-Tenant", "acme");
    assert_eq!(text(&server.message(&named).await.1), "acme");
}
