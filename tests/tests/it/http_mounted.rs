//! The service inside of somebody else's program.

use axum::Router;
use axum::routing::get;
use mcp_runtime::transport::HttpOptions;
use serde_json::json;
use tests::Revision;
use tests::http::{Request, send};
use tokio::net::TcpListener;

use crate::fixture;
use crate::http_support::{initialize, text};

// Covers: HTTP-04
#[tokio::test]
async fn an_axum_program_mounts_the_server_beside_its_own_routes() {
    let options = HttpOptions::new().path("/tools/mcp").sse_2024(true);
    let service = fixture::server().http(options).into_http_service().unwrap();
    let app = Router::new()
        .route("/", get(async || "home"))
        .nest_service("/tools/mcp", service);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let program = tokio::spawn(async move { axum::serve(listener, app).await });

    let mut home = send(address, &Request::new("GET", Revision::E).to("/")).await;
    assert_eq!(home.text().await, "home");
    let request = Request::tool("echo", json!({"text": "mounted"})).to("/tools/mcp");
    assert_eq!(
        text(&send(address, &request).await.message().await),
        "mounted"
    );
    let response = send(address, &initialize(Revision::D).to("/tools/mcp")).await;
    assert!(response.header("mcp-session-id").is_some());
    let evil = request.with("Origin", "http://evil.example.com");
    assert_eq!(send(address, &evil).await.status, 403);
    // Clients of 2024 are sent to where the server is mounted.
    let mut old = send(address, &Request::new("GET", Revision::A).to("/tools/mcp")).await;
    assert!(old.event().await.unwrap().data.starts_with("/tools/mcp?"));
    program.abort();
}
