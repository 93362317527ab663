//! Write plain Rust functions, annotate them, and serve them to every client of the Model Context Protocol.
//!
//! ```no_run
//! use mcp_runtime::prelude::*;
//!
//! /// Adds two integers.
//! #[tool]
//! fn add(
//!     /// Left operand
//!     a: i64,
//!     /// Right operand
//!     b: i64,
//! ) -> i64 {
//!     a + b
//! }
//!
//! #[mcp_runtime::main]
//! async fn main() -> Result<(), mcp_runtime::Error> {
//!     new_server!().run().await
//! }
//! ```
//!
//! The [guide] begins with a [first server](guide::first_server) and includes a [cookbook](guide::cookbook) and a page
//! about [error messages](guide::troubleshooting).
//!
//! | purpose | attribute | return type |
//! |---|---|---|
//! | an action for the model | [`#[tool]`](macro@tool) | [`IntoToolResult`] |
//! | a conversation to start from | [`#[prompt]`](macro@prompt) | [`IntoPromptResult`] |
//! | data to read | [`#[resource]`](macro@resource) | [`IntoResourceResult`] |
//! | a family of resources | [`#[resource_template]`](macro@resource_template) | [`IntoResourceResult`] |
//! | suggestions for an argument | [`#[completer]`](macro@completer) | [`IntoCompletionResult`] |
//! | methods of a type | [`#[server]`](macro@server) on the `impl` block | |
//!
//! A parameter is an argument if its type implements `Deserialize` and `JsonSchema`. A parameter is injected if its
//! type implements [`FromContext`], as [`State<T>`](State) and [`Context`] do. [`bail!`] and [`ResultExt::expose`]
//! return errors whose messages the model reads; all other errors are only logged ([`HandlerError`]).
//!
//! A server supports the protocol versions 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28 at the same
//! time, over standard input and output ([`Server::run`]) or any [`Transport`] ([`Server::serve`]). [`Limits`] bounds
//! the load that clients can cause.
//!
//! | feature | default | provides |
//! |---|---|---|
//! | `cli` | yes | the commands and options of [`Server::run`] |
//! | `client-logs` | yes | `client_logs`, which sends handlers' `tracing` events to the client |
//! | `http` | yes | HTTP, for all protocol versions; the HTTP+SSE transport of 2024-11-05 is enabled with `HttpOptions::legacy_sse` |
//! | `main` | yes | [`#[main]`](macro@main): a multi-threaded runtime, for programs that do not set one up themselves |
//! | `sealing` | yes | sealed state, which clients keep between the rounds of a 2026-07-28 call; without this feature, the server process keeps that state |
//! | `tower` | yes | tower layers as middleware |
//! | `auth` | | authorization with access tokens over HTTP |
//! | `axum` | | the HTTP service as an axum `Router` |
//! | `ship` | | the `bundle`, `manifest` and `recipe` commands, and edits to configuration files that preserve comments; for use on the author's machine |
//! | `skills` | | skills: folders with instructions for models, which are included in the program with [`skills!`](macro@skills) or read at run time |
//! | `telemetry` | | a span and metrics for each request |
//! | `testing` | | a client for testing servers |
//! | `chrono`, `decimal`, `jiff`, `url`, `uuid` | | the types of these crates (`rust_decimal` for `decimal`) as arguments and results |
//! | `duration` | | `values::HumanDuration`, lengths of time such as `1h 30m` |
//!
//! Without any features, a server supports only standard input/output and custom streams. The server still writes
//! warnings and errors to standard error, unless the program has set up a `tracing` subscriber.

#![forbid(unsafe_code)]
// docs.rs builds with `docsrs` and a nightly compiler, so each item shows the feature that it requires.
#![cfg_attr(docsrs, feature(doc_cfg))]
// What only these features need may have no condition of its own. A build with all of them finds what nothing needs.
#![cfg_attr(
    not(all(feature = "cli", feature = "http", feature = "testing")),
    allow(dead_code, unused_imports)
)]

#[cfg(feature = "auth")]
pub mod auth;
pub mod backend;
mod budget;
#[cfg(any(feature = "cli", feature = "testing"))]
mod client;
#[path = "../../crates/core/src/context/mod.rs"]
mod context;
#[path = "../../crates/core/src/dispatch/mod.rs"]
mod dispatch;
mod environment;
#[path = "../../crates/core/src/error.rs"]
mod error;
pub mod extension;
#[path = "../../crates/core/src/fnv.rs"]
mod fnv;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(any(doc, doctest))]
pub mod guide;
#[path = "../../crates/core/src/handler/mod.rs"]
mod handler;
#[cfg(feature = "http")]
pub mod http;
mod idempotency;
mod instances;
#[path = "../../crates/core/src/limits/mod.rs"]
pub mod limits;
mod macros;
pub mod middleware;
#[path = "../../crates/core/src/observe/mod.rs"]
mod observe;
#[path = "../../crates/core/src/order.rs"]
mod order;
pub mod prelude;
#[path = "../../crates/core/src/random.rs"]
mod random;
#[path = "../../crates/core/src/rate.rs"]
mod rate;
#[path = "../../crates/core/src/registry/mod.rs"]
mod registry;
#[path = "../../crates/core/src/seal/mod.rs"]
pub(crate) mod seal;
mod server;
#[path = "../../crates/core/src/spawn.rs"]
mod spawn;
mod spill;
mod stores;
#[path = "../../crates/core/src/sync.rs"]
mod sync;
mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tool_search;
pub mod transport;

#[doc(hidden)]
pub mod __private;

// Short names for `mcp_protocol` and its modules.
#[doc(inline)]
pub use mcp_protocol::types;

pub use context::{
    AskError, AsyncFromContext, Caller, Capability, Context, Elicit, Elicited, FromContext,
    Notifier, Principal, ServerHandle, State, States,
};
pub use error::{Error, ErrorKind};
pub use handler::completion::IntoCompletionResult;
pub use handler::definition::{IntoSchema, Selected};
pub use handler::handler_error::{HandlerError, IntoHandlerError, Result, ResultExt};
pub use handler::output::{IntoPromptResult, IntoResourceResult, IntoToolResult, Json};
pub use handler::safe_path::SafePath;
pub use jsonrpc::ErrorObject;
pub use limits::Limits;
pub use macros::{
    Elicit, app, completer, data, expose, prompt, resource, resource_template, server, tool,
};
pub(crate) use mcp_protocol as protocol;
pub(crate) use mcp_protocol::jsonrpc;
pub use protocol::ProtocolVersion;
pub use server::{Cacheable, Server};
pub use transport::{Transport, shutdown_signal};
pub use types::SamplingRequest;

#[cfg(feature = "sealing")]
pub use crate::seal::{SealingKey, SealingKeys};
#[cfg(feature = "main")]
pub use macros::main;
#[cfg(feature = "skills")]
pub use macros::skills;
#[cfg(feature = "client-logs")]
pub use server::client_logs;

/// MCP Apps: pages that hosts display next to tool results, using the extension `io.modelcontextprotocol/ui`.
pub mod apps {
    pub use crate::extension::apps::{App, MIME_TYPE};
}

/// Completion candidates and their total number.
pub mod completion {
    pub use crate::handler::completion::Candidates;
}

/// Definitions that are added, changed and removed at run time.
pub mod dynamic {
    pub use crate::context::{Editor, ListEdit};
    pub use crate::handler::dynamic::{
        Arguments, DynamicPrompt, DynamicResource, DynamicTemplate, DynamicTool,
    };
    pub use crate::server::SharedDefinitions;
}

/// Questions to the client, and forms for the user to fill in.
pub mod elicit {
    pub use crate::context::{Ask, FormChoice, FormField, Questions};
}

/// Settings from environment variables: see [`Server::env`].
pub mod env {
    pub use crate::environment::Secret;
}

/// Paginated lists of a template's resources.
pub mod listing {
    pub use crate::handler::listing::{ListCursor, Page};
}

/// Steps that run only once in a call, even if the handler runs again.
pub mod once {
    pub use crate::context::{
        CallId, ClaimId, OnceClaim, OnceKind, OnceRoom, OnceStep, OnceStore, OnceWork, StoreFuture,
        StoreRefusal,
    };
    pub use crate::stores::MemoryOnceStore;
    #[cfg(feature = "testing")]
    pub use crate::stores::{check_once_limits, check_once_store, few_once_entries};
}

/// Progress reports.
pub mod progress {
    pub use crate::context::{Amount, Progress};
}

/// The request that started a call: its headers, addresses and extensions.
pub mod request {
    #[cfg(feature = "http")]
    pub use crate::context::RequestExtension;
    pub use crate::context::RequestInfo;
}

/// Skills: folders with instructions for models, served by the extension `io.modelcontextprotocol/skills`.
#[cfg(feature = "skills")]
pub mod skills {
    pub use crate::extension::skills::{Skill, Skills};
}

/// Sources of tools that are asked at run time: see [`Server::tool_source`].
pub mod sources {
    pub use crate::registry::{SourceAnswer, SourceRequest, SourceTool, ToolSource};
}

/// Tasks: tool calls that continue after their request has been answered.
pub mod tasks {
    pub use crate::extension::tasks::TaskOptions;
}

/// Utilities for strings that clients, models and people read.
pub mod text {
    pub use crate::handler::sanitize::strip_invisible;
    /// Finds the name that the caller probably meant, so that an error message can suggest it.
    ///
    /// ```
    /// use mcp_runtime::{text::did_you_mean, HandlerError};
    ///
    /// fn no_such(plant: &str) -> HandlerError {
    ///     match did_you_mean(plant, ["basil", "rose"]) {
    ///         Some(meant) => HandlerError::exposed(format_args!("there is no {plant}; did you mean {meant}?")),
    ///         None => HandlerError::exposed(format_args!("there is no {plant}; there are basil and rose")),
    ///     }
    /// }
    /// ```
    #[doc(inline)]
    pub use mcp_schema::suggest::closest as did_you_mean;
    /// Percent-encodes a value for a URI. If a template variable is a string, encode its value in the URIs that you
    /// list or send in notifications, because clients read and subscribe to exactly these URIs.
    ///
    /// ```
    /// let name = mcp_runtime::text::percent_encode("olive oil, 1/2");
    /// assert_eq!(format!("shopping:///{name}"), "shopping:///olive%20oil%2C%201%2F2");
    /// ```
    ///
    /// For `{+path}` see [`SafePath::to_percent_encoded`](crate::SafePath::to_percent_encoded).
    #[doc(inline)]
    pub use mcp_schema::template::percent_encode;
}

/// Integration with `tracing`: log events for clients and the trace context of requests.
pub mod trace {
    pub use crate::observe::TraceContext;
    #[cfg(feature = "client-logs")]
    pub use crate::server::ClientLogs;
}

/// Types for values without a dedicated JSON type.
pub mod values {
    pub use crate::handler::decode::{InvalidJson, JsonReader};
    pub use crate::handler::values::Base64;
    #[cfg(feature = "duration")]
    pub use crate::handler::values::HumanDuration;
}

pub use schemars;
pub use serde;
pub use serde_json;
