//! Common imports for servers: `use mcp_runtime::prelude::*;`.
//!
//! It does not include the derives of serde and schemars: they work only in a program that depends on these crates, which
//! imports them itself. [`#[data]`](crate::data) works in any program.

pub use serde_json::json;

pub use crate::listing::{ListCursor, Page};
pub use crate::macros::{
    completer, data, expose, prompt, resource, resource_template, server, tool,
};
pub use crate::types::{ContentBlock, PromptMessage, Resource};
pub use crate::{
    AskError, Context, Elicit, Elicited, FromContext, HandlerError, Json, Principal, Result,
    ResultExt, SafePath, SamplingRequest, Server, State, bail, new_server,
};
