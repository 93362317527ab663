//! HTTP for `mcp-runtime`: the transports of all protocol versions behind one `tower` service, listeners, and authorization.
//!
//! **Internal to `mcp-runtime`.** Depend on that crate, which re-exports everything that servers need. Items in this crate
//! may change or disappear in any release, including patch releases.
//!
//! A single endpoint serves the modern transport, sessions that use the 2025 protocol versions, and the 2024-11-05
//! event stream. [`HttpService`] is a `tower::Service`, and [`serve`] runs a listener for it. A program that mounts the service
//! itself must do the listener's work: disconnect slow clients and limit the number of connections.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

// A request first passes the guards, which check only its URL and headers. Then its caller is authenticated, and its
// body is read to determine the era. `architecture/rooms.md` lists the modules in dependency order.
//
// Specification: basic/transports, "Streamable HTTP" of 2025-03-26 and later, "HTTP with SSE" of 2024-11-05.

mod access;
#[cfg(feature = "auth")]
pub mod auth;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod handler_watch;
mod health;
mod legacy;
mod listener;
mod modern;
mod options;
mod proxies;
mod request;
mod response;
mod routes;
mod service;
mod sessions;
mod state;
mod streams;
mod timers;

pub use listener::HttpListener;
#[doc(hidden)]
pub use listener::{serve, serve_process};
pub use options::{HttpOptions, HttpSessions};
pub use proxies::TrustedProxies;
pub use response::HttpBody;
pub use routes::{RouteRequest, RouteResponse};
pub use service::HttpService;
