use std::sync::Arc;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServiceExt as _, schemars, tool, tool_router};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Greeting {
    name: String,
}

#[derive(Clone)]
struct Hello;

#[tool_router(server_handler)]
impl Hello {
    /// Greets a user.
    #[tool]
    fn hello(&self, Parameters(Greeting { name }): Parameters<Greeting>) -> String {
        format!("Hello, {name}!")
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() != Some("--http") {
        Hello
            .serve(rmcp::transport::stdio())
            .await?
            .waiting()
            .await?;
        return Ok(());
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    let service = StreamableHttpService::new(
        || Ok(Hello),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
