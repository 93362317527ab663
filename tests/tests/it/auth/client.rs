//! Authentication as authors test it: an issuer for tests, and the client over HTTP with a token.

use mcp_runtime::server::Selected;
use mcp_runtime::testing::{Issuer, Notification, TestClient, TestServer};
use mcp_runtime::types::ErrorObject;

use super::*;

/// Names the tenant.
#[tool(tags("auth-client"), read_only)]
fn tenant(caller: Principal) -> Result<String> {
    match caller.claims()["tenant"].as_str() {
        Some(tenant) => Ok(tenant.to_owned()),
        None => bail!("the token names no tenant"),
    }
}

/// Needs a scope.
#[tool(tags("auth-client"), scopes("notes:write"))]
fn erase() -> &'static str {
    "erased"
}

/// Asks, and tells about its progress.
#[tool(tags("auth-client"))]
async fn confirm(ctx: &Context) -> Result<String> {
    ctx.progress((1, 2, "asking"));
    let Sure { sure } = ctx.elicit("Really?").await?;
    Ok(format!("{sure}"))
}

#[derive(Elicit)]
struct Sure {
    sure: bool,
}

/// Returns the region.
#[tool(tags("auth-client"))]
fn region(#[arg(header = "Region")] region: String) -> String {
    region
}

async fn start() -> (Issuer, TestServer) {
    let issuer = Issuer::start(RESOURCE).await;
    let protected = ProtectedResource::new(RESOURCE, Jwt::issuer(issuer.url()));
    let options = HttpOptions::new().authenticate(protected);
    let server = new_server!()
        .only(Selected::tag("auth-client"))
        .http(options);
    let server = TestServer::start(server.into_http_service().unwrap()).await;
    (issuer, server)
}

fn status(error: ErrorObject) -> u64 {
    error.data.unwrap()["httpStatus"].as_u64().unwrap()
}

#[tokio::test]
async fn a_token_of_the_issuer_for_tests_tells_who_calls() {
    let (issuer, server) = start().await;
    let token = issuer.mint("alice", ["notes:write"], json!({"tenant": "acme"}));
    let client = TestClient::http(server.url()).token(token).await;
    let called = client.call("tenant", json!({})).await.unwrap();
    assert_eq!(called.text(), "acme");
    let erased = client.call("erase", json!({})).await.unwrap();
    assert_eq!(erased.text(), "erased");
}

#[tokio::test]
async fn tokens_that_are_not_valid_are_refused_with_their_challenge() {
    let (issuer, server) = start().await;
    let another = json!({"aud": "https://another.example.com/mcp"});
    for token in [
        issuer.mint("alice", [], json!({"exp": 0})),
        issuer.mint("alice", [], another),
        issuer.mint("alice", [], json!({"exp": null})),
        issuer.forge("alice", [], json!({})),
    ] {
        let refused = TestClient::http(server.url()).token(token).refused().await;
        let data = refused.data.unwrap();
        assert_eq!(data["httpStatus"], 401);
        let challenge = data["wwwAuthenticate"].as_str().unwrap();
        assert!(challenge.contains("invalid_token"), "{challenge}");
    }
    let refused = TestClient::http(server.url()).refused().await;
    assert_eq!(status(refused), 401);
}

#[tokio::test]
async fn a_call_without_its_scopes_is_refused_with_403() {
    let (issuer, server) = start().await;
    let token = issuer.mint("alice", ["notes:read"], json!({}));
    let client = TestClient::http(server.url()).token(token).await;
    let refused = client.call("erase", json!({})).await.unwrap_err();
    assert_eq!(status(refused), 403);
}

#[tokio::test]
async fn the_client_over_http_answers_questions_and_hears_notifications() {
    let (issuer, server) = start().await;
    let token = issuer.mint("alice", [], json!({}));
    let client = TestClient::http(server.url()).token(token).await;
    client.answer(Sure { sure: true });
    let confirmed = client.call("confirm", json!({})).await.unwrap();
    assert_eq!(confirmed.text(), "true");
    assert_eq!(
        client.notification().await,
        Notification::Progress((1, 2, "asking").into())
    );
    assert_eq!(client.asked()[0].message(), "Really?");
}

#[tokio::test]
async fn arguments_are_repeated_in_headers_where_the_tool_wants_it() {
    let (issuer, server) = start().await;
    let token = issuer.mint("alice", [], json!({}));
    let client = TestClient::http(server.url()).token(token).await;
    for region in ["north", "Nørrebro"] {
        let called = client.call("region", json!({"region": region})).await;
        assert_eq!(called.unwrap().text(), region);
    }
}

#[tokio::test]
async fn a_single_version_can_be_chosen() {
    let (issuer, server) = start().await;
    for version in [
        mcp_runtime::ProtocolVersion::V2025_03_26,
        mcp_runtime::ProtocolVersion::V2026_07_28,
    ] {
        let token = issuer.mint("alice", [], json!({"tenant": "acme"}));
        let client = TestClient::http(server.url()).token(token).version(version);
        let called = client.await.call("tenant", json!({})).await.unwrap();
        assert_eq!(called.text(), "acme");
    }
}
