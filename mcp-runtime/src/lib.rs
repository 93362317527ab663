//! Write plain Rust functions, annotate them, and serve them to every client of the Model Context Protocol.
#![forbid(unsafe_code)]

mod context;
mod dispatch;
mod error;
mod handler;
mod jsonrpc;
mod limits;
mod macros;
pub mod prelude;
mod protocol;
mod registry;
mod server;
pub mod transport;
pub mod types;

#[doc(hidden)]
pub mod __private;

pub use context::{
    Amount, Ask, AskError, Batch, CallId, Context, Editor, Elicit, Elicited, FormChoice, FormField,
    FromContext, MemoryStore, Notifier, OnceClaim, OnceStore, Progress, Questions, ServerHandle,
    State, States, StoreFuture,
};
#[cfg(feature = "sealing")]
pub use dispatch::seal::StateKey;
pub use error::{Error, ErrorKind};
pub use handler::completion::{Candidates, IntoCompletion};
pub use handler::definition::{IntoSchema, Selected};
pub use handler::dynamic::{
    Arguments, DynamicPrompt, DynamicResource, DynamicTemplate, DynamicTool,
};
pub use handler::listing::{ListCursor, Page};
pub use handler::output::{IntoToolResult, Json};
pub use handler::prompt::IntoPrompt;
pub use handler::resource::IntoResource;
pub use handler::safe_path::SafePath;
pub use handler::tool_error::{IntoToolError, Result, ResultExt, ToolError};
pub use jsonrpc::ErrorObject;
pub use limits::Limits;
pub use macros::{Elicit, completer, data, main, prompt, resource, resource_template, server, tool};
pub use server::{Cacheable, ClientLogs, Server, client_logs};
pub use transport::Transport;
pub use types::Sample;

pub use schemars;
pub use serde;
pub use serde_json;
