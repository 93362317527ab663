//! Methods that need a feature which is not switched on: a call is a compile error that names the feature.

#[cfg(any(not(feature = "telemetry"), not(feature = "tower")))]
use crate::server::Server;

/// Implemented by nothing.
#[cfg(not(feature = "telemetry"))]
#[diagnostic::on_unimplemented(
    message = "this method needs the `telemetry` feature of `mcp-runtime`",
    label = "the feature `telemetry` is not enabled",
    note = "to enable it: cargo add mcp-runtime --features telemetry"
)]
pub trait NeedsTelemetry {}

/// Implemented by nothing.
#[cfg(not(feature = "tower"))]
#[diagnostic::on_unimplemented(
    message = "this method needs the `tower` feature of `mcp-runtime`",
    label = "the feature `tower` is not enabled",
    note = "to enable it: cargo add mcp-runtime --features tower"
)]
pub trait NeedsTower {}

#[cfg(not(feature = "telemetry"))]
impl Server {
    #[doc(hidden)]
    pub fn on_span(self, _: impl NeedsTelemetry) -> Self {
        self
    }
}

#[cfg(not(feature = "tower"))]
impl Server {
    #[doc(hidden)]
    pub fn layer(self, _: impl NeedsTower) -> Self {
        self
    }

    #[doc(hidden)]
    pub fn layer_tool(self, _: impl Into<String>, _: impl NeedsTower) -> Self {
        self
    }
}
