//! Transports without headers, for which environment variables can stand in.

use mcp_runtime::testing::TestClient;
use mcp_runtime::{Principal, Server};
use serde_json::json;
use tests::Version;
use tests::http::Request;
use tests::link::Hub;

use super::server;
use crate::http::support::{serve_server, text};
use crate::support::connect;

/// A variable that cargo sets for every test.
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
async fn a_test_sets_a_header_for_any_caller() {
    let arguments = json!({"name": "X-Tenant"});
    let connect = || TestClient::each(with_variable).header("x-tenant", "acme");
    for connect in [
        connect(),
        connect().as_anonymous(),
        connect().as_principal(Principal::new("alice")),
    ] {
        let client = connect.await;
        for tool in ["header", "trusted_header"] {
            let result = client.call(tool, arguments.clone()).await.unwrap();
            assert_eq!(result.text(), "acme");
        }
    }
    // The process's own variables still stand in for headers of the user who started it, and for nobody else's.
    let other = || TestClient::each(with_variable).header("x-other", "1");
    for (client, expected) in [(other(), "tests"), (other().as_anonymous(), "-")] {
        let result = client
            .await
            .call("header", arguments.clone())
            .await
            .unwrap();
        assert_eq!(result.text(), expected);
    }
}

#[tokio::test]
async fn without_http_a_variable_replaces_a_header() {
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
    // Other connections of the same process do not belong to the user.
    let hub = Hub::serve(with_variable());
    let mut stranger = hub.client(Version::V2026_07_28).connect().await;
    assert_eq!(stranger.text("header", arguments).await, "-");
}

#[tokio::test]
async fn over_http_a_variable_does_not_replace_a_header() {
    let server = serve_server(with_variable()).await;
    let request = Request::tool("header", json!({"name": "x-tenant"}));
    assert_eq!(text(&server.message(&request).await.1), "-");
    let named = request.header("X-Tenant", "acme");
    assert_eq!(text(&server.message(&named).await.1), "acme");
}
