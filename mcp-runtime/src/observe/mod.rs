//! What happens to requests, for those who observe a server: its log, its operators and tests.

mod attributes;
mod caller_span;
mod origin;
mod refused;
#[cfg(feature = "telemetry")]
mod trace_context;

pub(crate) use attributes::{CalledItem, RecordedOutcome, RequestAttributes};
pub(crate) use caller_span::{current_span, in_current_span};
pub(crate) use origin::Origin;
#[cfg(feature = "telemetry")]
pub(crate) use origin::with_current_origin;
pub(crate) use refused::{RefusalKind, record_refusal};
#[cfg(feature = "telemetry")]
pub use trace_context::TraceContext;
