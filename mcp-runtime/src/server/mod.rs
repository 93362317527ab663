//! Builds a server from definitions and settings, and runs it.

mod backend_variable;
mod builder;
#[cfg(feature = "cli")]
mod command_line;
mod environment;
#[cfg(feature = "http")]
mod http;
#[cfg(not(target_family = "wasm"))]
mod log;
#[cfg(feature = "main")]
mod main_errors;
mod missing_features;
mod observing;
#[cfg(not(target_family = "wasm"))]
mod run;
mod sealing;
#[cfg(all(feature = "cli", feature = "http"))]
mod service_manager;
mod shared_definitions;
mod start;
mod stores;
mod tags;
#[cfg(feature = "client-logs")]
mod tracing_layer;
#[cfg(any(feature = "cli", feature = "testing"))]
mod unstarted;
mod watching;

pub use builder::{Cacheable, Server};
#[cfg(feature = "main")]
pub use main_errors::{MainBoxedError, MainError, MainOther, MainOutcome};
pub use shared_definitions::SharedDefinitions;
#[cfg(feature = "client-logs")]
pub use tracing_layer::{ClientLogs, client_logs};
