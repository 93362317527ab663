//! The context of one call.

use std::sync::Arc;

use crate::context::{ServerHandle, States};
use crate::protocol::ProtocolVersion;
use crate::types::{ClientCapabilities, Implementation, LoggingLevel};

/// The context of one call: progress, logging, who is asking, the running server. Cheap to clone.
#[derive(Clone)]
pub struct Context(Arc<RequestContext>);

/// What dispatch knows about a request when a handler asks for its context.
pub(crate) struct RequestContext {
    pub(crate) version: ProtocolVersion,
    pub(crate) client: Option<Arc<Implementation>>,
    pub(crate) capabilities: Arc<ClientCapabilities>,
    /// The raw JSON of `params._meta`.
    pub(crate) meta: Option<Box<str>>,
    pub(crate) outbound: Arc<dyn Outbound>,
    pub(crate) cancelled: tokio_util::sync::CancellationToken,
    pub(crate) states: Arc<States>,
    pub(crate) server: ServerHandle,
}

/// Where a call's notifications go; implemented by `dispatch`, which encodes them and limits their rate.
pub(crate) trait Outbound: Send + Sync {
    fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>);
    /// Whether a message of this level would be sent; check before rendering one.
    fn logs(&self, level: LoggingLevel) -> bool;
    fn log(&self, level: LoggingLevel, logger: Option<&str>, data: &serde_json::Value);
}

impl Context {
    pub(crate) fn new(request: RequestContext) -> Self {
        Self(Arc::new(request))
    }

    pub(crate) fn states(&self) -> &States {
        &self.0.states
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("version", &self.0.version)
            .finish_non_exhaustive()
    }
}
