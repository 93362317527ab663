//! Tools from an OpenAPI document: one for each operation that you select.
//!
//! `OPENAPI_DOCUMENT=api.json openapi tools` lists them; `openapi --help` lists all settings.

mod api;
mod document;
mod operation;
mod schema;
mod settings;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use mcp_runtime::dynamic::{Arguments, DynamicTool};
use mcp_runtime::prelude::*;
use mcp_runtime::server::Capability;

use crate::api::Api;
use crate::operation::Operation;
use crate::settings::{Settings, SetupError};

#[mcp_runtime::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = new_server!().env::<Settings>("OPENAPI_");
    let settings = server.env_value::<Settings>()?;
    let server = add_tools(server, &settings).await?;
    Ok(server.run().await?)
}

/// Reads the document and adds a tool for each of its operations that the settings select.
async fn add_tools(server: Server, settings: &Settings) -> Result<Server, SetupError> {
    let document = settings.read_document().await?;
    let operations = document::operations(&document, settings)?;
    let api = Arc::new(Api::new(settings, &document)?);
    let tools = server.handle().tools();
    for operation in operations {
        let added = tools.insert(tool(operation, &api));
        added.map_err(|error| SetupError::new(error.to_string()))?;
    }
    let title = document["info"]["title"].as_str().unwrap_or("an API");
    Ok(server
        .capability(Capability::Tools)
        .instructions(format!("Each tool calls an operation of {title}.")))
}

fn tool(operation: Operation, api: &Arc<Api>) -> DynamicTool {
    let (api, operation) = (Arc::clone(api), Arc::new(operation));
    let method = &operation.method;
    let tool = DynamicTool::new(&operation.tool, operation.schema.clone(), {
        let operation = Arc::clone(&operation);
        move |arguments: Arguments, _: Context| {
            let (api, operation) = (Arc::clone(&api), Arc::clone(&operation));
            async move { api.call(&operation, &arguments.0).await }
        }
    });
    let tool = tool
        .description(&operation.description)
        .read_only(method.is_safe())
        .destructive(!method.is_safe())
        .idempotent(method.is_idempotent())
        .open_world(true);
    match &operation.title {
        Some(title) => tool.title(title),
        None => tool,
    }
}
