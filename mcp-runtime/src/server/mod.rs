//! Servers: settings, handles to a running server, and embedding in programs with a loop of their own
//! ([`Server::build`]).

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
pub(crate) mod shared_definitions;
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
#[doc(hidden)]
pub use main_errors::{MainBoxedError, MainError, MainOther, MainOutcome};
#[doc(inline)]
pub use mcp_core::context::{Capability, Notifier, ServerHandle, States};
#[doc(inline)]
pub use mcp_core::dispatch::{BuiltServer, MessageSender};
#[doc(inline)]
pub use mcp_core::error::ErrorKind;
#[doc(inline)]
pub use mcp_core::handler::definition::Selected;
#[cfg(any(target_family = "wasm", doc))]
#[doc(inline)]
pub use mcp_core::host::{Host, install as install_host};
#[doc(inline)]
pub use mcp_core::seal::{SealingKey, SealingKeys};
#[doc(inline)]
pub use mcp_settings::Secret;
#[cfg(not(target_family = "wasm"))]
#[doc(inline)]
pub use mcp_transport::shutdown_signal;
#[cfg(feature = "client-logs")]
pub use tracing_layer::{ClientLogs, client_logs};
