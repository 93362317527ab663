//! Lets a handler leave its request, for calls that continue apart from it.

use std::any::Any;
use std::sync::{Arc, Mutex};

use crate::cancellation::CancellationToken;
use crate::context::on_commit::is_inside_commit;
use crate::context::once::is_inside_once;
use crate::context::{
    CallEnding, CallHandle, Context, NotificationSender, QuestionTransport, RequestContext,
};

impl Context {
    /// Leaves the request if the call can continue apart from it: the handler waits here until it is dropped. In all
    /// other calls, this does nothing. `method` is the method that the author has called.
    pub(crate) async fn leave_request(&self, method: &str) {
        if is_inside_once() || is_inside_commit() {
            tracing::error!(
                "`{method}` was called inside `once` or `on_commit`, where it does nothing"
            );
            return;
        }
        if let Some(leaving) = self.call().leaving() {
            leaving.cancel();
            std::future::pending::<()>().await;
        }
    }

    /// Returns a context for the same call with a token that is cancelled when the handler leaves the request.
    pub(crate) fn with_leaving(&self, leaving: CancellationToken) -> Self {
        Self::new(Arc::new(LeavingHandle {
            call: self.clone(),
            leaving,
        }))
    }
}

/// A call that can continue apart from its request.
struct LeavingHandle {
    call: Context,
    leaving: CancellationToken,
}

impl CallHandle for LeavingHandle {
    fn request(&self) -> &RequestContext {
        self.call.call().request()
    }

    fn outbound(&self) -> &dyn NotificationSender {
        self.call.call().outbound()
    }

    fn asking(&self) -> &dyn QuestionTransport {
        self.call.call().asking()
    }

    fn ending(&self) -> &CallEnding {
        self.call.call().ending()
    }

    fn leaving(&self) -> Option<&CancellationToken> {
        Some(&self.leaving)
    }

    fn prepared(&self) -> Option<&Mutex<Vec<Box<dyn Any + Send>>>> {
        self.call.call().prepared()
    }
}
