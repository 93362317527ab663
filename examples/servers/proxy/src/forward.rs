//! Requests to the servers, and their results and errors as they are.

use mcp_runtime::HandlerError;
use mcp_runtime::prelude::*;
use mcp_runtime::serde_json::{self, Map, Value};
use mcp_runtime::types::{CallToolResult, ErrorObject, GetPromptResult, ReadResourceResult};
use rmcp::model::{CallToolRequestParams, GetPromptRequestParams, ReadResourceRequestParams};
use rmcp::service::ServiceError;
use rmcp::{Peer, RoleClient};

use crate::upstream::Upstream;

/// Calls a tool. Dropping the future, as the runtime does when a client cancels the call, cancels it at the server, too.
pub async fn call(
    upstream: &Upstream,
    name: String,
    arguments: Map<String, Value>,
) -> Result<CallToolResult> {
    let params = CallToolRequestParams::new(name).with_arguments(arguments);
    let result = peer(upstream)?.call_tool(params).await;
    convert(&result.map_err(|error| failure(upstream, error))?)
}

pub async fn prompt(
    upstream: &Upstream,
    name: String,
    arguments: Map<String, Value>,
) -> Result<GetPromptResult> {
    let params = GetPromptRequestParams::new(name).with_arguments(arguments);
    let result = peer(upstream)?.get_prompt(params).await;
    convert(&result.map_err(|error| failure(upstream, error))?)
}

pub async fn read(upstream: &Upstream, uri: String) -> Result<ReadResourceResult> {
    let params = ReadResourceRequestParams::new(uri);
    let result = peer(upstream)?.read_resource(params).await;
    convert(&result.map_err(|error| failure(upstream, error))?)
}

fn peer(upstream: &Upstream) -> Result<Peer<RoleClient>> {
    let peer = upstream.peer();
    peer.map_err(|problem| unavailable(upstream, &problem))
}

fn unavailable(upstream: &Upstream, problem: &str) -> HandlerError {
    HandlerError::exposed(format_args!(
        "the server `{}` is not connected ({problem}); the gateway keeps trying, so try again later",
        upstream.prefix
    ))
}

fn failure(upstream: &Upstream, error: ServiceError) -> HandlerError {
    match error {
        ServiceError::McpError(error) => {
            let mut object = ErrorObject::new(error.code.0, error.message);
            if let Some(data) = error.data {
                object = object.with_data(data);
            }
            HandlerError::protocol(object)
        }
        ServiceError::TransportSend(_) | ServiceError::TransportClosed => {
            upstream.report_lost();
            unavailable(
                upstream,
                "the request failed, and it may have been processed",
            )
        }
        error => HandlerError::exposed(format_args!("the server `{}`: {error}", upstream.prefix)),
    }
}

/// Converts a result of the SDK to the runtime's type, which has the same form in JSON.
fn convert<T: serde::de::DeserializeOwned>(result: &impl serde::Serialize) -> Result<T> {
    Ok(serde_json::from_str(&serde_json::to_string(result)?)?)
}
