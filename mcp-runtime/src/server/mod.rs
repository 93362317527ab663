//! The server: built from definitions and settings, then run.

mod access;
mod around;
mod builder;
#[cfg(feature = "cli")]
mod command_line;
#[cfg(feature = "http")]
mod http;
mod run;
mod stderr;
mod tracing_layer;

pub use builder::{Cacheable, Server};
pub use tracing_layer::{ClientLogs, client_logs};
