//! The observers that a feature gives to every server, and what is set for them.

use crate::observe::Observers;
#[cfg(feature = "telemetry")]
use crate::server::Server;

/// Returns the observers of a server, with those that a feature gives to every server.
#[cfg_attr(
    not(feature = "telemetry"),
    expect(unused_mut, reason = "no other feature has any")
)]
pub(super) fn with_built_in(mut observers: Observers) -> Observers {
    #[cfg(feature = "telemetry")]
    observers.insert_default::<mcp_telemetry::Telemetry>();
    observers
}

#[cfg(feature = "telemetry")]
impl Server {
    /// Sets a hook that is called right after the span for a request is created. The hook receives the span and the
    /// trace context that the caller sent. Programs that export spans can use it to link their spans to the caller's.
    /// Replaces any hook that was set earlier.
    ///
    /// The span's fields follow OpenTelemetry; [Observability](crate::guide::observability) lists them. The hook must
    /// not block. It is not called for spans that are not recorded by a subscriber.
    ///
    /// ```
    /// # use mcp_runtime::prelude::*;
    /// let server = new_server!().on_span(|span, trace| {
    ///     if let Some(trace) = trace {
    ///         // With `tracing-opentelemetry`, call `set_parent` here; see `examples/src/bin/traces.rs`.
    ///         println!("{:?} is part of {:032x}", span.id(), trace.trace_id());
    ///     }
    /// });
    /// ```
    pub fn on_span(
        mut self,
        hook: impl Fn(&tracing::Span, Option<&crate::observe::TraceContext>) + Send + Sync + 'static,
    ) -> Self {
        self.observers
            .insert(mcp_telemetry::Telemetry::with_hook(hook));
        self
    }
}
