//! Write plain Rust functions, annotate them, and serve them to every client of the Model Context Protocol.
#![forbid(unsafe_code)]

mod context;
mod dispatch;
mod error;
mod handler;
mod jsonrpc;
mod limits;
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
pub use server::Server;
