//! The server to measure.

use flymcprust::prelude::*;
use flymcprust::transport::http::{StreamableHttpService, serve};
use flymcprust::{IntoToolResult as _, Tool as _, ToolDef};
use rivals_data::{DESCRIPTION, Lookup, TABLE, Table};

/// Adds two integers.
#[tool]
async fn add(a: i64, b: i64) -> String {
    a.wrapping_add(b).to_string()
}

/// Says what it was told.
#[tool]
async fn echo(text: String) -> String {
    text
}

/// Returns a thousand rows of a table.
#[tool]
async fn rows() -> Json<&'static Table> {
    Json(&*TABLE)
}

/// Looks up what is stored under a key, and says when it was stored
#[tool]
async fn lookup(
    #[doc = "Under which it is stored"] key: String,
    #[doc = "Most entries"] _limit: Option<u32>,
) -> String {
    key
}

/// Returns one of many tools, which all run the same function.
fn definition(number: usize) -> ToolDef {
    let mut tool = lookup::definition().tool().clone();
    tool.name = rivals_data::name(number);
    tool.description = Some(DESCRIPTION.into());
    ToolDef::new(tool, |arguments, _| {
        let arguments = arguments.map_or("{}", |text| text.get());
        let Lookup { key, .. } = serde_json::from_str(arguments)
            .map_err(|error| ToolError::invalid_arguments(&error))?;
        Ok(Box::pin(async { key.into_tool_result() }))
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = rivals_data::options();
    let mut server = Server::builder("bench", "1.0.0")
        .tool::<add>()
        .tool::<echo>()
        .tool::<rows>();
    for number in 0..options.tools {
        server = server.tool_def(definition(number));
    }
    let server = server.build()?;
    if !options.over_http {
        server.serve_stdio().await?;
        return Ok(());
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    rivals_data::end_with_input();
    serve(
        listener,
        StreamableHttpService::new(server),
        "/mcp",
        std::future::pending(),
    )
    .await?;
    Ok(())
}
