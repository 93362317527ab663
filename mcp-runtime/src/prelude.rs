//! What most servers use: `use mcp_runtime::prelude::*;`.

pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};
pub use serde_json::json;

pub use crate::macros::{completer, data, prompt, resource, resource_template, server, tool};
pub use crate::types::{ContentBlock, PromptMessage};
pub use crate::{
    Context, FromContext, Json, Result, ResultExt, SafePath, Server, State, ToolError, bail,
    new_server,
};
