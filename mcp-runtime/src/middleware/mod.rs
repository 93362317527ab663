//! Middleware: functions and `tower` layers that wrap calls, and a few ready-made functions.
//!
//! The functions [`audit`], [`cache`], [`retry`] and [`trim_text`] are passed to
//! [`Server::middleware`](crate::Server::middleware). Each function is short and uses little beyond the public
//! interface, so it can serve as a starting point for your own.
//!
//! ```
//! use std::time::Duration;
//!
//! use mcp_runtime::middleware::{AuditRecord, audit, cache, retry, trim_text};
//! use mcp_runtime::prelude::*;
//!
//! let server = new_server!()
//!     .middleware(audit(AuditRecord::log)) // outermost
//!     .middleware(trim_text(16 << 10))
//!     .middleware(cache(Duration::from_secs(60), |call| (call.name() == "rates").then(String::new)))
//!     .middleware(retry(3, |call, error| call.name() == "rates" && error.cause().is_some()));
//! ```

mod audit;
mod cache;
mod retry;
mod trim;

use std::future::Future;
use std::pin::Pin;

pub use crate::handler::call::CallOutput;
pub use crate::handler::definition::Kind;
pub use crate::handler::middleware::{Call, Next};
#[cfg(feature = "tower")]
pub use crate::handler::tower::{CallService, ResponseFuture};
pub use audit::{AuditOutcome, AuditRecord, audit};
pub use cache::cache;
pub use retry::retry;
pub use trim::trim_text;

/// The future returned by ready-made middleware.
pub type MiddlewareFuture = Pin<Box<dyn Future<Output = crate::Result<CallOutput>> + Send>>;
