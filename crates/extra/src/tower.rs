//! Tower layers as middleware: a layer wraps [`Next`], which is a service, in another service that handles calls.

use std::error::Error as StdError;
use std::future::poll_fn;
use std::sync::Arc;

use mcp_core::handler::handler_error::{HandlerError, Result};
use mcp_core::handler::middleware::{Call, Next, UnlinkedMiddleware};
use mcp_core::handler::run::{CallOutput, Running};
pub use tower_layer::Layer;
use tower_service::Service;

/// Creates middleware from a tower layer. The layer wraps only the calls for which `applies` returns `true`.
pub fn layer<L>(
    layer: L,
    applies: impl Fn(&Call) -> bool + Send + Sync + 'static,
) -> UnlinkedMiddleware
where
    L: Layer<Next, Service: CallService> + Send + Sync + 'static,
{
    let applies = Arc::new(applies);
    Box::new(move |next| {
        let applies = Arc::clone(&applies);
        let service = layer.layer(next.clone());
        Next::link(move |call| {
            if applies(&call) {
                service.answer(call)
            } else {
                next.start(call)
            }
        })
    })
}

/// A service that a tower layer creates from [`Next`]. The service has the same response type, can be cloned, and may
/// have any error type.
///
/// This trait is implemented for all such services. Errors from the layer itself are handled like errors from a
/// handler: the client receives an id, and the cause is logged.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot wrap calls",
    label = "not a `Service` for calls",
    note = "a layer for a server must produce a `Service<Call, Response = mcp_runtime::Result<CallOutput>>` that is `Clone + \
            Send + Sync`, whose future is `Send` and whose error converts into `Box<dyn Error + Send + Sync>`"
)]
pub trait CallService: sealed::Sealed + Send + Sync + 'static {
    #[doc(hidden)]
    fn answer(&self, call: Call) -> Running;
}

mod sealed {
    pub trait Sealed {}
}

impl<S> sealed::Sealed for S where S: Service<Call, Response = Result<CallOutput>> {}

impl<S> CallService for S
where
    S: Service<Call, Response = Result<CallOutput>> + Clone + Send + Sync + 'static,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    S::Future: Send,
{
    fn answer(&self, call: Call) -> Running {
        let mut service = self.clone();
        Box::pin(async move {
            let failed = |error: S::Error| HandlerError::opaque(error);
            poll_fn(|task| service.poll_ready(task))
                .await
                .map_err(failed)?;
            service.call(call).await.map_err(failed)?
        })
    }
}
