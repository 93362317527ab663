//! The server: built from definitions and settings, then run.

mod builder;
mod run;
mod stderr;
mod tracing_layer;

pub use builder::{Cacheable, Server};
pub use tracing_layer::{ClientLogs, client_logs};
