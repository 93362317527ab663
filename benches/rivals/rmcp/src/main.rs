//! The server to measure.

use std::sync::Arc;

use rivals_data::{DESCRIPTION, Lookup, TABLE, Table};
use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::Tool;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServiceExt as _, schemars, tool, tool_handler, tool_router};
use serde::Deserialize;

#[derive(Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Echo {
    text: String,
}

#[derive(Clone)]
struct Bench {
    // Made once: by default the macro makes it again for each call.
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Bench {
    /// Adds two integers.
    #[tool]
    async fn add(&self, Parameters(Add { a, b }): Parameters<Add>) -> String {
        a.wrapping_add(b).to_string()
    }

    /// Says what it was told.
    #[tool]
    async fn echo(&self, Parameters(Echo { text }): Parameters<Echo>) -> String {
        text
    }

    /// Returns a thousand rows of a table.
    #[tool]
    async fn rows(&self) -> Json<&'static Table> {
        Json(&*TABLE)
    }
}

#[tool_handler(router = self.tool_router)]
impl rmcp::ServerHandler for Bench {}

fn bench(tools: usize) -> Bench {
    let mut tool_router = Bench::tool_router();
    let schema = schemars::schema_for!(Lookup);
    let schema = schema
        .as_object()
        .cloned()
        .map(Arc::new)
        .expect("an object");
    for number in 0..tools {
        let tool = Tool::new(rivals_data::name(number), DESCRIPTION, Arc::clone(&schema));
        let run = |Parameters(Lookup { key, .. }): Parameters<Lookup>| async { key };
        tool_router.add_route(ToolRoute::new(tool, run));
    }
    Bench { tool_router }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = rivals_data::options();
    let server = bench(options.tools);
    if !options.over_http {
        server
            .serve(rmcp::transport::stdio())
            .await?
            .waiting()
            .await?;
        return Ok(());
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    rivals_data::end_with_input();
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default().with_json_response(true),
    );
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
