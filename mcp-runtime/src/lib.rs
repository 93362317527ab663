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
#[cfg(any(feature = "cli", feature = "testing"))]
mod client;
mod environment;
pub mod extension;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(any(doc, doctest))]
pub mod guide;
#[cfg(feature = "http")]
pub mod http;
mod idempotency;
mod instances;
mod macros;
pub mod middleware;
pub mod prelude;
mod server;
mod spill;
mod stores;
mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tool_search;
#[cfg(not(target_family = "wasm"))]
pub mod transport;

#[doc(hidden)]
pub mod __private;

pub(crate) use mcp_core::{
    budget, context, dispatch, error, fnv, handler, observe, order, random, rate, registry, seal,
    spawn, sync,
};
// Short names for `mcp_protocol` and its modules.
#[doc(inline)]
pub use mcp_protocol::types;

#[doc(inline)]
pub use context::{
    AskError, AsyncFromContext, Caller, Capability, Context, Elicit, Elicited, FromContext,
    Notifier, Principal, ServerHandle, State, States,
};
#[doc(inline)]
pub use error::{Error, ErrorKind};
#[doc(inline)]
pub use handler::completion::IntoCompletionResult;
#[doc(inline)]
pub use handler::definition::{IntoSchema, Selected};
#[doc(inline)]
pub use handler::handler_error::{HandlerError, IntoHandlerError, Result, ResultExt};
#[doc(inline)]
pub use handler::output::{IntoPromptResult, IntoResourceResult, IntoToolResult, Json};
#[doc(inline)]
pub use handler::safe_path::SafePath;
#[doc(inline)]
pub use jsonrpc::ErrorObject;
#[doc(inline)]
pub use limits::Limits;
pub use macros::{
    Elicit, app, completer, data, expose, prompt, resource, resource_template, server, tool,
};
#[doc(inline)]
pub use mcp_core::bail;
pub(crate) use mcp_protocol as protocol;
pub(crate) use mcp_protocol::jsonrpc;
#[doc(inline)]
pub use protocol::ProtocolVersion;
pub use server::{Cacheable, Server};
#[cfg(not(target_family = "wasm"))]
pub use transport::{Transport, shutdown_signal};
#[doc(inline)]
pub use types::SamplingRequest;

#[cfg(feature = "sealing")]
#[doc(inline)]
pub use crate::seal::{SealingKey, SealingKeys};
#[cfg(feature = "main")]
pub use macros::main;
#[cfg(feature = "skills")]
pub use macros::skills;
#[cfg(feature = "client-logs")]
pub use server::client_logs;

/// MCP Apps: pages that hosts display next to tool results, using the extension `io.modelcontextprotocol/ui`.
pub mod apps {
    pub use crate::extension::apps::{App, AppContextExt, MIME_TYPE};
}

/// Bounds on everything that a peer can ask of the server. Zero never means "no limit".
pub mod limits {
    #[doc(inline)]
    pub use mcp_core::limits::{
        CallLimits, ElicitationLimits, HttpLimits, IdempotencyLimits, Limits, LogLimits,
        MessageLimits, OnceLimits, ResultLimits, SessionLimits, StreamLimits, TaskLimits,
    };
}

/// Completion candidates and their total number.
pub mod completion {
    #[doc(inline)]
    pub use crate::handler::completion::Candidates;
}

/// Definitions that are added, changed and removed at run time.
pub mod dynamic {
    #[doc(inline)]
    pub use crate::context::{Editor, ListEdit};
    #[doc(inline)]
    pub use crate::handler::dynamic::{
        Arguments, DynamicPrompt, DynamicResource, DynamicTemplate, DynamicTool,
    };
    pub use crate::server::SharedDefinitions;
}

/// Questions to the client, and forms for the user to fill in.
pub mod elicit {
    #[doc(inline)]
    pub use crate::context::{Ask, FormChoice, FormField, Questions};
}

/// Settings from environment variables: see [`Server::env`].
pub mod env {
    pub use crate::environment::Secret;
}

/// Programs with a loop of their own: serverless functions, WebAssembly modules, and whatever else gets a message and wants its
/// answer. See [`Server::build`].
pub mod host {
    #[doc(inline)]
    pub use mcp_core::dispatch::{BuiltServer, MessageSender};
    #[cfg(any(target_family = "wasm", doc))]
    #[doc(inline)]
    pub use mcp_core::host::{Host, install};
}

/// Paginated lists of a template's resources.
pub mod listing {
    #[doc(inline)]
    pub use crate::handler::listing::{ListCursor, Page};
}

/// Steps that run only once in a call, even if the handler runs again.
pub mod once {
    #[doc(inline)]
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
    #[doc(inline)]
    pub use crate::context::{Amount, Progress};
}

/// The request that started a call: its headers, addresses and extensions.
pub mod request {
    #[cfg(feature = "http")]
    #[doc(inline)]
    pub use crate::context::RequestExtension;
    #[doc(inline)]
    pub use crate::context::RequestInfo;
}

/// Skills: folders with instructions for models, served by the extension `io.modelcontextprotocol/skills`.
#[cfg(feature = "skills")]
pub mod skills {
    pub use crate::extension::skills::{Skill, Skills};
}

/// Sources of tools that are asked at run time: see [`Server::tool_source`].
pub mod sources {
    #[doc(inline)]
    pub use crate::registry::{SourceAnswer, SourceRequest, SourceTool, ToolSource};
}

/// Tasks: tool calls that continue after their request has been answered.
pub mod tasks {
    pub use crate::extension::tasks::{TaskCallExt, TaskContextExt, TaskOptions, TaskToolExt};
}

/// Utilities for strings that clients, models and people read.
pub mod text {
    #[doc(inline)]
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
    #[doc(inline)]
    pub use crate::observe::TraceContext;
    #[cfg(feature = "client-logs")]
    pub use crate::server::ClientLogs;
}

/// Types for values without a dedicated JSON type.
pub mod values {
    #[doc(inline)]
    pub use crate::handler::decode::{InvalidJson, JsonReader};
    #[doc(inline)]
    pub use crate::handler::values::Base64;
    #[cfg(feature = "duration")]
    #[doc(inline)]
    pub use crate::handler::values::HumanDuration;
}

pub use schemars;
pub use serde;
pub use serde_json;
