//! A call that runs apart from its request.

use std::sync::Arc;

use crate::context::RequestContext;
use crate::dispatch::Dispatcher;
use crate::dispatch::target::CallTarget;

/// The data shared by all runs of a call.
pub(super) struct DetachedCall {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) target: CallTarget,
    pub(super) request: RequestContext,
}
