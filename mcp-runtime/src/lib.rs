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

pub use context::{Context, FromContext, ServerHandle, State};
pub use error::{Error, ErrorKind};
pub use jsonrpc::ErrorObject;
pub use limits::Limits;
pub use handler::definition::{IntoSchema, Selected};
pub use handler::completion::Candidates;
pub use handler::output::Json;
pub use handler::tool_error::{Result, ResultExt, ToolError};
pub use macros::{completer, data, main, prompt, resource, resource_template, server, tool};
pub use server::Server;

pub use schemars;
pub use serde;
pub use serde_json;
