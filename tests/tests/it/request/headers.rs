//! Headers and the URL, in both eras, including headers that are ambiguous or malformed.

use mcp_runtime::Limits;
use mcp_runtime::http::{HttpOptions, HttpSessions};
use serde_json::{Value, json};
use tests::Version;
use tests::http::{Request, connect, response};
use tokio::io::AsyncWriteExt as _;

use super::server;
use crate::http::legacy_sse::Old;
use crate::http::support::{Served, call, serve_server, text};

/// Returns requests that call a tool in every way that HTTP offers.
async fn everywhere(server: &Served, name: &str, arguments: Value) -> Vec<Request> {
    let session = server.session(Version::V2025_11_25).await;
    let older = server.session(Version::V2025_03_26).await;
    vec![
        Request::tool(name, arguments.clone()),
        call(&session, 1, name, arguments.clone(), Version::V2025_11_25),
        call(&older, 1, name, arguments, Version::V2025_03_26),
    ]
}

#[tokio::test]
async fn a_handler_reads_headers_and_the_url_in_both_eras() {
    let server = serve_server(server()).await;
    for request in everywhere(&server, "header", json!({"name": "X-Tenant"})).await {
        let (_, none) = server.message(&request).await;
        assert_eq!(text(&none), "-");
        let named = request.header("x-tenant", " acme ");
        assert_eq!(text(&server.message(&named).await.1), "acme");
    }
    let described = [
        "2026-07-28 path=/mcp query=a=b%20c session=false",
        "2025-11-25 path=/mcp query=a=b%20c session=true",
        "2025-03-26 path=/mcp query=a=b%20c session=true",
    ];
    let requests = everywhere(&server, "describe", json!({})).await;
    for (request, expected) in requests.into_iter().zip(described) {
        let (_, message) = server.message(&request.to("/mcp?a=b%20c")).await;
        let expected = format!("{expected} peer=127.0.0.1 client=127.0.0.1 trusted=false");
        assert_eq!(text(&message), expected);
    }
}

#[tokio::test]
async fn without_sessions_a_session_id_header_is_ignored() {
    let options = HttpOptions::new().sessions(HttpSessions::None);
    let server = serve_server(server().http(options)).await;
    let modern = Request::tool("describe", json!({})).header("Mcp-Session-Id", "made-up");
    let legacy = call("", 1, "describe", json!({}), Version::V2025_06_18);
    let legacy = legacy.without("Mcp-Session-Id");
    for request in [modern, legacy] {
        let (status, message) = server.message(&request).await;
        assert_eq!(status, 200);
        assert!(text(&message).contains("session=false"), "{message}");
    }
}

#[tokio::test]
async fn handlers_of_2024_11_05_clients_see_the_headers_of_each_post() {
    let options = HttpOptions::new().legacy_sse(true);
    let server = serve_server(server().http(options)).await;
    let mut old = Old::open(&server, "/mcp").await;
    old.shake(Version::V2024_11_05).await;
    let arguments = json!({"name": "x-tenant"});
    let params = json!({"name": "header", "arguments": arguments});
    let message = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params});
    for tenant in ["acme", "other"] {
        let request = Request::bare(&message, Version::V2024_11_05).to(&old.endpoint);
        let response = server.send(&request.header("X-Tenant", tenant)).await;
        assert_eq!(response.status, 202);
        assert_eq!(text(&old.next().await), tenant);
    }
}

#[tokio::test]
async fn an_ambiguous_or_malformed_header_is_an_error_that_names_it() {
    let server = serve_server(server()).await;
    for request in everywhere(&server, "header", json!({"name": "x-tenant"})).await {
        let twice = request
            .clone()
            .header("X-Tenant", "acme")
            .header("x-tenant", "other");
        let (_, message) = server.message(&twice).await;
        assert_eq!(message["result"]["isError"], true);
        assert_eq!(text(&message), "header `x-tenant` occurs more than once");

        let mut stream = connect(server.address).await;
        let mut head = request.head();
        head.truncate(head.len() - 2);
        let bytes = [&*head, b"X-Tenant: \xff\xfe\r\n\r\n", &*request.body].concat();
        stream.write_all(&bytes).await.unwrap();
        let mut answer = response(stream, &request).await.unwrap();
        let message = answer.message().await;
        assert_eq!(text(&message), "header `x-tenant` is not UTF-8");
    }
}

#[tokio::test]
async fn a_header_that_is_too_long_is_refused() {
    let limits = Limits::default().with(|limits| limits.http.max_header_bytes = 8 << 10);
    let server = serve_server(server().limits(limits)).await;
    let request = Request::tool("header", json!({"name": "x-tenant"}));
    let long = request.header("X-Tenant", &"a".repeat(10 << 10));
    assert_eq!(server.send(&long).await.status, 431);
}
