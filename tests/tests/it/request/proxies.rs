//! Trusted proxies: the client's address and trusted headers, and forged ones.

use mcp_runtime::http::{HttpOptions, TrustedProxies};
use serde_json::json;
use tests::Version;
use tests::http::Request;

use super::server;
use crate::http::support::{Served, call, serve_server, text};

async fn behind(proxies: TrustedProxies) -> Served {
    serve_server(server().http(HttpOptions::new().trusted_proxies(proxies))).await
}

/// Returns the client's address as both eras report it.
async fn client(server: &Served, name: &str, value: &str) -> String {
    let session = server.session(Version::V2025_06_18).await;
    let mut seen = Vec::new();
    for request in [
        Request::tool("describe", json!({})),
        call(&session, 1, "describe", json!({}), Version::V2025_06_18),
    ] {
        let (_, message) = server.message(&request.header(name, value)).await;
        let (_, client) = text(&message).split_once("client=").unwrap();
        seen.push(client.to_owned());
    }
    assert_eq!(seen[0], seen[1]);
    seen.remove(0)
}

#[tokio::test]
async fn a_trusted_proxy_names_the_client() {
    let server = behind(TrustedProxies::new(["127.0.0.0/8"])).await;
    let header = "X-Forwarded-For";
    for (value, expected) in [
        ("203.0.113.7", "203.0.113.7 trusted=true"),
        (
            "198.51.100.9, 203.0.113.7, 127.0.0.3",
            "203.0.113.7 trusted=true",
        ),
        ("not an address", "- trusted=true"),
    ] {
        assert_eq!(client(&server, header, value).await, expected);
    }
    // The proxy was not declared to send this header.
    let other = client(&server, "Forwarded", "for=203.0.113.7").await;
    assert_eq!(other, "- trusted=true");
    let server = behind(TrustedProxies::new(["127.0.0.1"]).forwarded()).await;
    let named = client(&server, "Forwarded", "for=\"[2001:db8::5]:80\";proto=https").await;
    assert_eq!(named, "2001:db8::5 trusted=true");
}

#[tokio::test]
async fn forwarding_headers_from_untrusted_peers_are_ignored() {
    let of_others = behind(TrustedProxies::new(["10.0.0.0/8"])).await;
    let of_none = serve_server(server()).await;
    for server in [of_others, of_none] {
        for (header, value) in [
            ("X-Forwarded-For", "203.0.113.7"),
            ("Forwarded", "for=203.0.113.7"),
        ] {
            let seen = client(&server, header, value).await;
            assert_eq!(seen, "127.0.0.1 trusted=false");
        }
        let request = Request::tool("trusted_header", json!({"name": "x-tenant"}));
        let (_, message) = server.message(&request.header("X-Tenant", "acme")).await;
        assert_eq!(text(&message), "-");
    }
}

#[tokio::test]
async fn a_header_from_a_trusted_proxy_is_read_and_must_be_unambiguous() {
    let server = behind(TrustedProxies::new(["127.0.0.1"])).await;
    let request = Request::tool("trusted_header", json!({"name": "x-tenant"}));
    let (_, none) = server.message(&request).await;
    assert_eq!(text(&none), "-");
    let named = request.header("X-Tenant", "acme");
    assert_eq!(text(&server.message(&named).await.1), "acme");
    let (_, twice) = server.message(&named.header("X-Tenant", "other")).await;
    assert_eq!(text(&twice), "header `x-tenant` occurs more than once");
}

#[tokio::test]
async fn a_proxy_that_is_not_an_address_is_an_error_at_the_start() {
    let options = HttpOptions::new().trusted_proxies(TrustedProxies::new(["proxy.local"]));
    let error = server().http(options).into_http_service().unwrap_err();
    let message = error.to_string();
    assert!(message.contains("`proxy.local` is neither"), "{message}");
}
