//! HTTP: the modern transport, the sessions of 2025, and the event stream of 2024, at one endpoint.
//!
//! [`HttpService`] is one `tower::Service`. A request passes the guards, which check only its URL and headers; then its
//! body is read, and the body decides the era: `modern` has no state but that of the request, `legacy` has sessions.
//! `listener` is the listener that [`Server::serve_http`](crate::Server::serve_http) runs; a program that mounts the
//! service elsewhere takes over its duties (timeouts for slow clients, a maximum number of connections).
//!
//! Specification: basic/transports, "Streamable HTTP" of 2025-03-26 and later, "HTTP with SSE" of 2024-11-05.

mod accept;
mod access;
mod answer;
#[cfg(feature = "axum")]
mod axum;
mod batch;
mod body;
mod calls;
mod event_store;
mod events;
mod expiry;
mod found;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod guards;
mod handshake;
mod head;
mod headers;
mod incoming;
mod io;
mod keeping;
mod legacy;
mod listener;
mod memory_sessions;
mod modern;
mod movers;
mod options;
mod params;
mod places;
#[cfg(feature = "auth")]
mod protection;
mod pulse;
mod reading;
mod record;
#[cfg(feature = "sealing")]
mod sealed_sessions;
mod service;
mod session;
mod session_store;
mod sessions;
mod silence;
mod sse_2024;
mod stopping;
mod stream;

pub use accept::HttpListener;
pub use body::HttpBody;
pub use event_store::{EventStore, MemoryEvents, StreamEntry};
pub(crate) use listener::serve;
#[cfg(feature = "cli")]
pub(crate) use listener::serve_process;
pub use memory_sessions::MemorySessions;
pub use options::{HttpOptions, HttpSessions};
pub use record::SessionRecord;
pub use service::HttpService;
pub use session_store::{MaybeReady, SessionStore};
