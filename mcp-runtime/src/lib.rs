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
//! | an action for the model | [`#[tool]`](macro@tool) | [`IntoToolResult`](handler::IntoToolResult) |
//! | a conversation to start from | [`#[prompt]`](macro@prompt) | [`IntoPromptResult`](handler::IntoPromptResult) |
//! | data to read | [`#[resource]`](macro@resource) | [`IntoResourceResult`](handler::IntoResourceResult) |
//! | a family of resources | [`#[resource_template]`](macro@resource_template) | [`IntoResourceResult`](handler::IntoResourceResult) |
//! | suggestions for an argument | [`#[completer]`](macro@completer) | [`IntoCompletionResult`](handler::IntoCompletionResult) |
//! | methods of a type | [`#[server]`](macro@server) on the `impl` block | |
//!
//! A parameter is an argument if its type implements `Deserialize` and `JsonSchema`. A parameter is injected if its
//! type implements [`FromContext`], as [`State<T>`](State) and [`Context`] do. [`bail!`] and [`ResultExt::expose`]
//! return errors whose messages the model reads; all other errors are only logged ([`HandlerError`]).
//!
//! A server supports the protocol versions 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28 at the same
//! time, over standard input and output ([`Server::run`]) or any [`Transport`](transport::Transport) ([`Server::serve`]). [`Limits`] bounds
//! the load that clients can cause.
//!
//! | feature | default | provides |
//! |---|---|---|
//! | `cli` | yes | the commands and options of [`Server::run`] |
//! | `client-logs` | yes | `server::client_logs`, which sends handlers' `tracing` events to the client |
//! | `http` | yes | HTTP, for all protocol versions; the HTTP+SSE transport of 2024-11-05 is enabled with `HttpOptions::legacy_sse` |
//! | `main` | yes | [`#[main]`](macro@main): a multi-threaded runtime, for programs that do not set one up themselves |
//! | `auth` | | authorization with access tokens over HTTP |
//! | `axum` | | the HTTP service as an axum `Router` |
//! | `skills` | | skills: folders with instructions for models, which are included in the program with [`skills!`](macro@skills) or read at run time |
//! | `telemetry` | | a span and metrics for each request |
//! | `testing` | | a client for testing servers |
//! | `tower` | | tower layers as middleware |
//! | `chrono`, `decimal`, `jiff`, `url`, `uuid` | | the types of these crates (`rust_decimal` for `decimal`) as arguments and results |
//! | `duration` | | `values::HumanDuration`, lengths of time such as `1h 30m` |
//! | `full` | | all of them |
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

#[doc(hidden)]
pub mod __private;
pub mod extension;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(any(doc, doctest))]
pub mod guide;
mod macros;
pub mod prelude;
pub mod server;

#[cfg(feature = "main")]
pub use macros::main;
#[cfg(feature = "skills")]
pub use macros::skills;
pub use macros::{
    Elicit, app, completer, data, expose, prompt, resource, resource_template, server, tool,
};
#[doc(inline)]
pub use mcp_core::bail;
#[doc(inline)]
pub use mcp_core::context::{
    AskError, Caller, Context, Elicit, Elicited, FromContext, Principal, State,
};
#[doc(inline)]
pub use mcp_core::error::Error;
#[doc(inline)]
pub use mcp_core::handler::handler_error::{HandlerError, Result, ResultExt};
#[doc(inline)]
pub use mcp_core::handler::output::Json;
#[doc(inline)]
pub use mcp_core::limits::Limits;
pub(crate) use mcp_core::{context, dispatch, error, observe, order, rate, registry, seal, sync};
#[doc(inline)]
pub use mcp_extra::safe_path::SafePath;
#[cfg(feature = "auth")]
#[doc(inline)]
pub use mcp_http::auth;
pub(crate) use mcp_protocol as protocol;
#[doc(inline)]
pub use mcp_protocol::types;
#[doc(inline)]
pub use protocol::ProtocolVersion;
#[doc(inline)]
pub use server::Server;
#[doc(inline)]
pub use types::SamplingRequest;

/// MCP Apps: pages that hosts display next to tool results, using the extension `io.modelcontextprotocol/ui`.
pub mod apps {
    #[doc(inline)]
    pub use mcp_extra::apps::{App, AppContextExt, MIME_TYPE};
}

/// Bounds on everything that a peer can ask of the server. Zero never means "no limit".
pub mod limits {
    #[doc(inline)]
    pub use mcp_core::limits::{
        CallLimits, ElicitationLimits, HttpLimits, IdempotencyLimits, Limits, LogLimits,
        MessageLimits, OnceLimits, ResultLimits, SessionLimits, StreamLimits, TaskLimits,
    };
}

/// Stores for data that outlives a request: a [`Backend`](backend::Backend) that combines all stores, the traits for stores
/// of your own, and stores in memory.
pub mod backend {
    #[doc(inline)]
    pub use mcp_core::context::{
        ClaimId, OnceClaim, OnceKind, OnceRoom, OnceStore, OnceWork, StoreFuture, StoreRefusal,
    };
    #[doc(inline)]
    pub use mcp_stores::{
        Backend, ClaimExceptions, DefinitionStore, InstanceRelay, KeptResult,
        MemoryDefinitionStore, MemoryInstanceRelay, MemoryOnceStore, MemoryResultStore,
        MemoryTaskStore, NewTask, NotificationRelay, RateDecision, RateFallback, RateStore,
        RateToken, RelayedTexts, ResultId, ResultStore, StoredDefinitions, StoredTask, TaskChange,
        TaskChanged, TaskClaim, TaskCreation, TaskDetails, TaskId, TaskOutcome, TaskPage,
        TaskStatus, TaskStep, TaskStore,
    };
    #[cfg(feature = "http")]
    #[doc(inline)]
    pub use mcp_stores::{
        EventStore, MaybeReady, MemoryEvents, MemorySessions, SessionRecord, SessionStore,
        StreamEntry,
    };
    #[cfg(feature = "testing")]
    #[doc(inline)]
    pub use mcp_stores::{
        check_definition_store, check_once_limits, check_once_store, check_task_store,
        few_once_entries,
    };
    #[cfg(all(feature = "http", feature = "testing"))]
    #[doc(inline)]
    pub use mcp_stores::{check_event_store, check_session_store};
}

/// Definitions that are added, changed and removed at run time.
pub mod dynamic {
    #[doc(inline)]
    pub use mcp_core::context::{Editor, ListEdit};
    #[doc(inline)]
    pub use mcp_core::handler::dynamic::{
        Arguments, DynamicPrompt, DynamicResource, DynamicTemplate, DynamicTool,
    };

    pub use crate::server::shared_definitions::SharedDefinitions;
}

/// Questions to the client, and forms for the user to fill in.
pub mod elicit {
    #[doc(inline)]
    pub use mcp_core::context::{Ask, FormChoice, FormField, Questions};
}

/// What handlers take and return, besides the names in the root: results, lists, completions, the request, progress and
/// steps.
pub mod handler {
    #[cfg(feature = "http")]
    #[doc(inline)]
    pub use mcp_core::context::RequestExtension;
    #[doc(inline)]
    pub use mcp_core::context::{
        Amount, AsyncFromContext, CallId, OnceStep, Progress, RequestInfo,
    };
    #[doc(inline)]
    pub use mcp_core::handler::completion::{Candidates, IntoCompletionResult};
    #[doc(inline)]
    pub use mcp_core::handler::definition::IntoSchema;
    #[doc(inline)]
    pub use mcp_core::handler::handler_error::IntoHandlerError;
    #[doc(inline)]
    pub use mcp_core::handler::listing::{ListCursor, Page};
    #[doc(inline)]
    pub use mcp_core::handler::output::{IntoPromptResult, IntoResourceResult, IntoToolResult};
    #[doc(inline)]
    pub use mcp_core::observe::TraceContext;
}

/// HTTP: options, the `tower` service, and listeners.
///
/// A single endpoint serves the modern transport, sessions that use the 2025 protocol versions, and the 2024-11-05
/// event stream. [`HttpService`](http::HttpService) is a `tower::Service`; [`Server::serve_http`] runs a listener for it. A
/// program that mounts the service itself must do the listener's work: disconnect slow clients and limit the number of
/// connections. Stores for sessions and events are in [`backend`].
#[cfg(feature = "http")]
pub mod http {
    #[doc(inline)]
    pub use mcp_http::{
        HttpBody, HttpListener, HttpOptions, HttpService, HttpSessions, RouteRequest,
        RouteResponse, TrustedProxies,
    };
}

/// Middleware: functions and `tower` layers that wrap calls, and a few ready-made functions.
///
/// The functions [`audit`](middleware::audit), [`cache`](middleware::cache), [`retry`](middleware::retry) and
/// [`trim_text`](middleware::trim_text) are passed to [`Server::middleware`]. Each function is short and uses little beyond the
/// public interface, so it can serve as a starting point for your own.
///
/// ```
/// use std::time::Duration;
///
/// use mcp_runtime::middleware::{AuditRecord, audit, cache, retry, trim_text};
/// use mcp_runtime::prelude::*;
///
/// let server = new_server!()
///     .middleware(audit(AuditRecord::log)) // outermost
///     .middleware(trim_text(16 << 10))
///     .middleware(cache(Duration::from_secs(60), |call| (call.name() == "rates").then(String::new)))
///     .middleware(retry(3, |call, error| call.name() == "rates" && error.cause().is_some()));
/// ```
pub mod middleware {
    #[doc(inline)]
    pub use mcp_core::handler::definition::Kind;
    #[cfg(feature = "tower")]
    #[doc(inline)]
    pub use mcp_core::handler::middleware::ResponseFuture;
    #[doc(inline)]
    pub use mcp_core::handler::middleware::{Call, Middleware, Next};
    #[doc(inline)]
    pub use mcp_core::handler::run::CallOutput;
    #[doc(inline)]
    pub use mcp_extra::middleware::*;
    #[cfg(feature = "tower")]
    #[doc(inline)]
    pub use mcp_extra::tower::CallService;
}

/// Skills: folders with instructions for models, served by the extension `io.modelcontextprotocol/skills`.
#[cfg(feature = "skills")]
pub mod skills {
    #[doc(inline)]
    pub use mcp_extra::skills::{Skill, Skills};
}

/// Tasks: tool calls that continue after their request has been answered.
pub mod tasks {
    #[doc(inline)]
    pub use mcp_tasks::{TaskCallExt, TaskContextExt, TaskOptions, TaskToolExt, Tasks};
}

/// Transports: memory, sockets, standard input and output, and any other kind of byte stream.
#[cfg(not(target_family = "wasm"))]
pub mod transport {
    #[doc(inline)]
    pub use mcp_transport::{Connection, Memory, Stdio, Transport, memory};
}

/// Types for values without a dedicated JSON type, and utilities for strings that clients, models and people read.
pub mod values {
    #[doc(inline)]
    pub use mcp_core::handler::decode::{InvalidJson, JsonReader};
    #[doc(inline)]
    pub use mcp_extra::sanitize::strip_invisible;
    #[doc(inline)]
    pub use mcp_extra::values::Base64;
    #[cfg(feature = "duration")]
    #[doc(inline)]
    pub use mcp_extra::values::HumanDuration;
    /// Finds the name that the caller probably meant, so that an error message can suggest it.
    ///
    /// ```
    /// use mcp_runtime::{values::did_you_mean, HandlerError};
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
    /// let name = mcp_runtime::values::percent_encode("olive oil, 1/2");
    /// assert_eq!(format!("shopping:///{name}"), "shopping:///olive%20oil%2C%201%2F2");
    /// ```
    ///
    /// For `{+path}` see [`SafePath::to_percent_encoded`](crate::SafePath::to_percent_encoded).
    #[doc(inline)]
    pub use mcp_schema::template::percent_encode;
}

pub use schemars;
pub use serde;
pub use serde_json;

/// An in-memory client for testing servers in both eras at the same time. Requires the `testing` feature, which should
/// be enabled only in dev-dependencies.
///
/// ```standalone_crate
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::testing::TestClient;
///
/// /// Adds two integers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # async fn test() {
/// let client = TestClient::both(new_server!()).await;
/// assert_eq!(client.call("add", json!({"a": 1, "b": 2})).await.unwrap().text(), "3");
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test());
/// ```
#[cfg(feature = "testing")]
pub mod testing {
    #[doc(inline)]
    #[cfg(feature = "auth")]
    pub use mcp_testing::Issuer;
    #[doc(inline)]
    #[cfg(feature = "http")]
    pub use mcp_testing::TestServer;
    #[doc(inline)]
    pub use mcp_testing::chaos;
    #[doc(inline)]
    pub use mcp_testing::{
        CallResult, Check, Connect, Notification, PromptResult, Question, ReadResult, Response,
        TestClient, TestTask, UnstartedServer, check,
    };
}
