//! The server inside an axum program: extensions, the peer's address, and the path that the client requested.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::Request as Incoming;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use mcp_runtime::handler::RequestExtension;
use mcp_runtime::http::HttpOptions;
use mcp_runtime::prelude::*;
use serde_json::json;
use tests::Version;
use tests::http::{Request, send};
use tokio::net::TcpListener;

use super::server;
use crate::http::support::{call, initialize, text};

/// An extension attached to requests that name a user.
#[derive(Clone)]
struct User(String);

/// Returns the user.
#[tool(tags("request"))]
fn user(user: &RequestExtension<User>) -> String {
    user.0.0.clone()
}

/// Returns the user, if there is one.
#[tool(tags("request"))]
fn user_or_nobody(user: Option<RequestExtension<User>>) -> String {
    user.map_or_else(|| "nobody".to_owned(), |user| user.0.0)
}

async fn attach_user(mut request: Incoming, next: Next) -> Response {
    let user = request.headers().get("x-user").cloned();
    if let Some(user) = user.as_ref().and_then(|user| user.to_str().ok()) {
        request.extensions_mut().insert(User(user.to_owned()));
    }
    next.run(request).await
}

async fn serve() -> SocketAddr {
    let service = server()
        .http(HttpOptions::new())
        .into_http_service()
        .unwrap();
    let app = Router::new().nest("/tools", Router::from(service));
    let app = app.layer(from_fn(attach_user));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

#[tokio::test]
async fn layers_attach_values_that_handlers_take() {
    let address = serve().await;
    let opening = initialize(Version::V2025_11_25).to("/tools/mcp");
    let opened = send(address, &opening).await;
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let in_session = |name| call(&session, 1, name, json!({}), Version::V2025_11_25);
    for tool in ["user", "user_or_nobody"] {
        for request in [Request::tool(tool, json!({})), in_session(tool)] {
            // Requests in one session may belong to different users.
            for user in ["alice", "bob"] {
                let request = request.clone().to("/tools/mcp").header("X-User", user);
                let message = send(address, &request).await.message().await;
                assert_eq!(text(&message), user);
            }
            let message = send(address, &request.to("/tools/mcp"))
                .await
                .message()
                .await;
            if tool == "user" {
                assert_eq!(message["result"]["isError"], true);
                assert!(text(&message).starts_with("internal error"), "{message}");
            } else {
                assert_eq!(text(&message), "nobody");
            }
        }
    }
}

#[tokio::test]
async fn a_mounted_handler_sees_the_peer_and_the_full_path() {
    let address = serve().await;
    let request = Request::tool("describe", json!({})).to("/tools/mcp?x=1");
    let message = send(address, &request).await.message().await;
    assert_eq!(
        text(&message),
        "2026-07-28 path=/tools/mcp query=x=1 session=false peer=127.0.0.1 client=127.0.0.1 trusted=false"
    );
}
