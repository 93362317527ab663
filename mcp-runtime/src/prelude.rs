//! Common imports for servers: `use mcp_runtime::prelude::*;`.
//!
//! The prelude does not include the derive macros from serde and schemars. These macros work only in programs that
//! depend on those crates, and such programs can import them directly. [`#[data]`](crate::data) works in any program.

pub use mcp_extra::spill::SpillExt;
pub use serde_json::json;

pub use crate::apps::AppContextExt as _;
pub use crate::handler::{AsyncFromContext, ListCursor, Page};
#[cfg(feature = "skills")]
pub use crate::macros::skills;
pub use crate::macros::{
    app, completer, data, expose, prompt, resource, resource_template, server, tool,
};
pub use crate::tasks::{TaskCallExt as _, TaskContextExt as _, TaskToolExt as _};
pub use crate::types::{ContentBlock, PromptMessage, Resource};
pub use crate::{
    AskError, Context, Elicit, Elicited, FromContext, HandlerError, Json, Principal, Result,
    ResultExt, SafePath, SamplingRequest, Server, State, bail, new_server,
};
