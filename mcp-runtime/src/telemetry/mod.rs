//! What an operator sees: a span for each request, metrics, and refusals in the log.
//!
//! With feature `telemetry` a [`Sight`] follows each request; without it, it only keeps the span the request came in, and the
//! log of refusals is all that is seen. No payload gets here: of a request only its method, its id, what is registered under
//! the name it calls, the URI it reads, and who it says is its parent in a trace.
//!
//! Names are those of OpenTelemetry: semantic-conventions-genai, docs/gen-ai/mcp.md, "Server" and
//! "Metric: `mcp.server.operation.duration`" (status: development).

mod asked;
mod caller_span;
#[cfg(feature = "telemetry")]
mod metrics;
#[cfg(not(feature = "telemetry"))]
mod off;
mod origin;
mod refused;
#[cfg(feature = "telemetry")]
mod sight;
#[cfg(feature = "telemetry")]
mod trace_context;

pub(crate) use asked::{Asked, Called, Ended};
pub(crate) use caller_span::{carried, current_span};
#[cfg(feature = "telemetry")]
pub(crate) use metrics::{Open, describe};
#[cfg(not(feature = "telemetry"))]
pub(crate) use off::{Hooks, Open, Sight, Timer, describe};
pub(crate) use origin::Origin;
pub(crate) use refused::{Refused, refused};
#[cfg(feature = "telemetry")]
pub(crate) use sight::{Hooks, Sight, Timer, trace_of};
#[cfg(feature = "telemetry")]
pub use trace_context::TraceContext;
