//! The server to measure.

use mcp_runtime::dynamic::{Arguments, DynamicTool};
use mcp_runtime::prelude::*;
use mcp_runtime::schemars::schema_for;
use mcp_runtime::transport::Stdio;
use rivals_data::{DESCRIPTION, Lookup, TABLE, Table};

/// Adds two integers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
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

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), mcp_runtime::Error> {
    let options = rivals_data::options();
    let server = new_server!();
    server.handle().tools().edit(|batch| {
        for number in 0..options.tools {
            let run = async |arguments: Arguments, _: Context| arguments.get::<String>("key");
            let tool = DynamicTool::new(rivals_data::name(number), schema_for!(Lookup).into(), run);
            batch.insert(tool.description(DESCRIPTION));
        }
    })?;
    if !options.over_http {
        return server.serve(Stdio::open()?).await;
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    rivals_data::end_with_input();
    server.serve_http_listener(listener).await
}
