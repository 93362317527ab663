//! The metadata that tells clients how to get credentials.

use axum::Router;
use mcp_runtime::Principal;
use mcp_runtime::auth::{Jwt, ProtectedResource, StaticTokens};
use mcp_runtime::http::HttpOptions;
use mcp_runtime::server::ErrorKind;
use serde_json::{Value, json};
use tests::Version;
use tests::http::{Request, Response, send};
use tokio::net::TcpListener;

use super::{METADATA, RESOURCE, serve, who};
use crate::fixture;

const ISSUER: &str = "https://login.example.com";

fn get(path: &str) -> Request {
    Request::new("GET", Version::V2026_07_28).to(path)
}

fn protected() -> ProtectedResource {
    ProtectedResource::new(RESOURCE, Jwt::issuer(ISSUER))
}

async fn document(mut response: Response) -> Value {
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    serde_json::from_str(&response.text().await).unwrap()
}

// Covers: AUTH-03, AUTH-04, AUTH-08, AUTH-10
#[tokio::test]
async fn the_metadata_names_the_authorization_servers_and_needs_no_token() {
    let scopes = ["b", "a", "offline_access", "a"];
    let configured = ProtectedResource::new("HTTPS://MCP.example.com/mcp", Jwt::issuer(ISSUER))
        .authorization_server("https://one.example.com")
        .authorization_server("https://two.example.com/tenant")
        .scopes_supported(scopes);
    for (protected, expected) in [
        (
            protected(),
            json!({"resource": RESOURCE, "authorization_servers": [ISSUER], "bearer_methods_supported": ["header"]}),
        ),
        (
            protected().require_scopes(["mcp"]),
            json!({
                "resource": RESOURCE, "authorization_servers": [ISSUER], "bearer_methods_supported": ["header"],
                "scopes_supported": ["mcp"],
            }),
        ),
        (
            configured,
            json!({
                "resource": RESOURCE,
                "authorization_servers": ["https://one.example.com", "https://two.example.com/tenant"],
                "bearer_methods_supported": ["header"], "scopes_supported": ["a", "b"],
            }),
        ),
    ] {
        let server = serve(HttpOptions::new().authenticate(protected)).await;
        for path in ["", "/mcp", "/"] {
            let path = format!("/.well-known/oauth-protected-resource{path}");
            assert_eq!(document(server.send(&get(&path)).await).await, expected);
            let posted = Request::new("POST", Version::V2026_07_28).to(&path);
            assert_eq!(server.send(&posted).await.status, 405);
        }
        for path in ["/x", "x", "/mcp/x"] {
            let path = format!("/.well-known/oauth-protected-resource{path}");
            assert_eq!(server.send(&get(&path)).await.status, 404);
        }
        let foreign = get("/.well-known/oauth-protected-resource").with("Host", "evil.example.com");
        assert_eq!(server.send(&foreign).await.status, 403);
    }
}

// Covers: AUTH-04
#[tokio::test]
async fn a_listed_web_page_may_read_the_metadata_and_the_challenge() {
    let page = "https://app.example.com";
    let options = HttpOptions::new()
        .allow_origin(page)
        .authenticate(protected());
    let server = serve(options).await;
    for request in [get("/.well-known/oauth-protected-resource/mcp"), who()] {
        let response = server.send(&request.with("Origin", page)).await;
        assert_eq!(response.header("access-control-allow-origin"), Some(page));
        let exposed = response.header("access-control-expose-headers");
        assert!(exposed.unwrap().contains("www-authenticate"));
    }
    // Browsers send this request without a token.
    let asks = Request::new("OPTIONS", Version::V2026_07_28).with("Origin", page);
    assert_eq!(server.send(&asks).await.status, 204);
}

// Covers: AUTH-12
#[tokio::test]
async fn origin_metadata_redirects_2025_03_26_clients_to_the_issuer() {
    let path = "/.well-known/oauth-authorization-server";
    let server = serve(HttpOptions::new().authenticate(protected())).await;
    assert_eq!(server.send(&get(path)).await.status, 404);
    let there = format!("{ISSUER}{path}");
    let options = HttpOptions::new().authenticate(protected().origin_metadata(&*there));
    let response = serve(options).await.send(&get(path)).await;
    assert_eq!(
        (response.status, response.header("location")),
        (307, Some(&*there))
    );
}

// Covers: AUTH-04
#[tokio::test]
async fn mounted_servers_publish_the_metadata() {
    let mounted = |protected: ProtectedResource| {
        let options = HttpOptions::new().authenticate(protected);
        fixture::server().http(options).into_http_service().unwrap()
    };
    let nested = ProtectedResource::new("https://mcp.example.com/api/mcp", Jwt::issuer(ISSUER));
    let at_api = mounted(nested);
    let app: Router = Router::new()
        .merge(mounted(protected()))
        .route_service(
            "/.well-known/oauth-protected-resource/api/mcp",
            at_api.clone(),
        )
        .nest("/api", Router::from(at_api));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = axum::serve(listener, app);
    let task = tokio::spawn(async move { serving.await.unwrap() });
    for (path, resource) in [
        ("/.well-known/oauth-protected-resource", RESOURCE),
        ("/.well-known/oauth-protected-resource/mcp", RESOURCE),
        (
            "/.well-known/oauth-protected-resource/api/mcp",
            "https://mcp.example.com/api/mcp",
        ),
    ] {
        let document = document(send(address, &get(path)).await).await;
        assert_eq!(document["resource"], resource);
    }
    for (path, metadata) in [
        ("/mcp", METADATA),
        (
            "/api/mcp",
            "https://mcp.example.com/.well-known/oauth-protected-resource/api/mcp",
        ),
    ] {
        let response = send(address, &who().to(path)).await;
        let said = format!(r#"Bearer resource_metadata="{metadata}""#);
        assert_eq!(
            (response.status, super::challenge(&response)),
            (401, &*said)
        );
    }
    let response = send(address, &get("/.well-known/oauth-authorization-server")).await;
    assert_eq!(response.status, 404);
    task.abort();
}

// Covers: AUTH-02, AUTH-10, AUTH-15, SEC-01
#[tokio::test]
async fn an_invalid_authentication_configuration_is_an_error_at_startup() {
    let tokens = || StaticTokens::new().token(&"t".repeat(32), Principal::new("alice"));
    for (protected, fault) in [
        (
            ProtectedResource::new("http://mcp.example.com/mcp", tokens()),
            "neither `https`",
        ),
        (
            ProtectedResource::new("https://mcp.example.com/mcp#x", tokens()),
            "fragment",
        ),
        (
            ProtectedResource::new("/mcp", tokens()),
            "not an absolute URL",
        ),
        (
            protected().authorization_server("http://login.example.com"),
            "neither `https`",
        ),
        (
            protected().origin_metadata("login.example.com"),
            "not an absolute URL",
        ),
        (protected().require_scopes(["a b"]), "a b"),
        (protected().scopes_supported(["\""]), "scope"),
        (
            ProtectedResource::new(RESOURCE, Jwt::issuer("http://login.example.com")),
            "the issuer",
        ),
        (
            ProtectedResource::new(RESOURCE, Jwt::issuer(ISSUER).key_set_url("ftp://x")),
            "the key set",
        ),
        (
            ProtectedResource::new(RESOURCE, Jwt::issuer(ISSUER).key_set(&json!({}))),
            "no usable key",
        ),
        (
            ProtectedResource::new(RESOURCE, StaticTokens::new()),
            "every request would be refused",
        ),
        (
            ProtectedResource::new(
                RESOURCE,
                StaticTokens::new().token("short", Principal::new("a")),
            ),
            "shorter than 32",
        ),
    ] {
        let server = fixture::server().http(HttpOptions::new().authenticate(protected));
        let error = server.into_http_service().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.to_string().contains(fault), "{error}");
    }
    // A server that identifies its callers may be reachable from other machines.
    let server = |options| fixture::server().http(options);
    let every = ("0.0.0.0", 0);
    let error = server(HttpOptions::new())
        .serve_http(every)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    let protected = server(HttpOptions::new().authenticate(protected()));
    protected.handle().shut_down();
    protected.serve_http(every).await.unwrap();
}
