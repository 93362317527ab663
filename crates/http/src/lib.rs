//! HTTP: options, the `tower` service, listeners, and stores for sessions and events.
//!
//! A single endpoint serves the modern transport, sessions that use the 2025 protocol versions, and the 2024-11-05
//! event stream. [`HttpService`] is a `tower::Service`; [`Server::serve_http`](crate::Server::serve_http) runs a
//! listener for it. A program that mounts the service itself must do the listener's work: disconnect slow clients and
//! limit the number of connections.

// A request first passes the guards, which check only its URL and headers. Then its caller is authenticated, and its
// body is read to determine the era. `ARCHITECTURE.md` lists the modules in dependency order.
//
// Specification: basic/transports, "Streamable HTTP" of 2025-03-26 and later, "HTTP with SSE" of 2024-11-05.

mod access;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod handler_watch;
pub(crate) mod health;
mod legacy;
mod listener;
mod modern;
mod options;
mod proxies;
mod request;
mod response;
mod service;
mod sessions;
mod state;
mod streams;
mod timers;

pub use listener::HttpListener;
pub(crate) use listener::serve;
#[doc(inline)]
pub use mcp_stores::{
    EventStore, MaybeReady, MemoryEvents, MemorySessions, SessionRecord, SessionStore, StreamEntry,
};
pub use options::{HttpOptions, HttpSessions};
pub use proxies::TrustedProxies;
pub use response::HttpBody;
pub use service::HttpService;

#[cfg(feature = "cli")]
pub(crate) use listener::serve_process;
#[cfg(feature = "testing")]
#[doc(inline)]
pub use mcp_stores::{check_event_store, check_session_store};
