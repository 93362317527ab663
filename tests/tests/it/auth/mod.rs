//! Servers that are protected by access tokens.

mod callers;
mod client;
mod expiry;
mod introspection;
mod issuer;
mod keys;
mod metadata;
mod reauthorization;
mod scopes;
mod sessions;
mod tokens;

use std::time::Duration;

use mcp_runtime::auth::{Jwt, ProtectedResource};
use mcp_runtime::http::HttpOptions;
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::json;
use tests::Version;
use tests::http::{Request, Response};

use self::issuer::Issuer;
use crate::fixture;
use crate::http::support::{Served, initialize, serve_server, text};

/// The URL by which the servers here are known, regardless of their actual address.
const RESOURCE: &str = "https://mcp.example.com/mcp";
const METADATA: &str = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";

/// Says who calls, and what they may do.
#[tool(tags("auth"))]
fn whoami(ctx: &Context) -> String {
    match ctx.principal() {
        None => "anonymous".into(),
        Some(principal) => {
            let scopes: Vec<_> = principal.scopes().collect();
            let (subject, client) = (principal.subject(), principal.client_id());
            format!("{subject} {client} {}", scopes.join(" "))
        }
    }
}

/// Needs a scope.
#[tool(tags("auth-scopes"), scopes("notes:read", "notes:write"))]
fn write_note() -> &'static str {
    "written"
}

/// Checks tokens of this issuer, and fetches new keys as often as necessary.
fn jwt(issuer: &Issuer) -> Jwt {
    Jwt::issuer(issuer.url()).refetch_after(Duration::ZERO)
}

fn options(issuer: &Issuer) -> HttpOptions {
    HttpOptions::new().authenticate(ProtectedResource::new(RESOURCE, jwt(issuer)))
}

async fn serve(options: HttpOptions) -> Served {
    serve_server(fixture::server().only(Selected::tag("auth")).http(options)).await
}

/// Adds a token to the request.
fn with(request: Request, token: &str) -> Request {
    request.with("Authorization", &format!("Bearer {token}"))
}

fn who() -> Request {
    Request::tool("whoami", json!({}))
}

/// Returns the caller that the server sees.
async fn called_by(server: &Served, token: &str) -> String {
    let (status, message) = server.message(&with(who(), token)).await;
    assert_eq!(status, 200, "{message}");
    text(&message).to_owned()
}

/// Returns the status of a request with this token.
async fn status(server: &Served, token: &str) -> u16 {
    server.send(&with(who(), token)).await.status
}

/// Completes the handshake with a token and returns the id of the session.
async fn session(server: &Served, token: &str, version: Version) -> String {
    let response = server.send(&with(initialize(version), token)).await;
    assert_eq!(response.status, 200);
    let session = response.header("mcp-session-id").unwrap().to_owned();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let ready = Request::legacy(&session, &ready, version);
    assert_eq!(server.send(&with(ready, token)).await.status, 202);
    session
}

/// Returns the challenge of a response.
fn challenge(response: &Response) -> &str {
    response.header("www-authenticate").unwrap_or_default()
}
