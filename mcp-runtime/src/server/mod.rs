//! The server: built from definitions and settings, then run.

mod builder;
mod run;
mod selection;
mod tracing_layer;

pub use builder::Server;
pub use selection::Select;
pub use tracing_layer::{ClientLogs, client_logs};
