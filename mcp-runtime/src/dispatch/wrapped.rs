//! Calls that are wrapped by middleware or must wait for a permit from their handler.

use std::sync::Arc;

use crate::context::Context;
use crate::dispatch::Dispatcher;
use crate::dispatch::blocking::{Waits, on_a_thread};
use crate::dispatch::target::Target;
use crate::handler::call::Running;
use crate::handler::handler_error::HandlerError;
use crate::handler::middleware::{Call, Handling};
use crate::registry::{CallPermit, HandlerProgress};

/// The handler, which all middleware wraps.
pub(super) struct Innermost {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) target: Target,
    pub(super) waits: Waits,
}

impl Innermost {
    /// Returns the call in the form that middleware receives. Returns `None` for a list, since lists bypass middleware.
    pub(super) fn into_call(self, arguments: &str, context: Context, round: u16) -> Option<Call> {
        let (kind, name) = self.target.named()?;
        let call = (kind, Arc::clone(name));
        Some(Call::new(
            call,
            arguments.into(),
            context,
            round,
            Arc::new(self),
        ))
    }

    /// Waits for a permit if the handler's concurrent calls are limited.
    async fn permit(&self) -> Result<Option<CallPermit>, HandlerError> {
        let guards = self.target.guards();
        let Some(permits) = guards.and_then(|guards| guards.permits.as_ref()) else {
            return Ok(None);
        };
        let max = self.dispatcher.limits().calls.max_waiting;
        let permit = self.waits.permit(permits, max, "of these calls");
        permit.await.map(Some)
    }
}

impl Handling for Innermost {
    fn run(self: Arc<Self>, arguments: Arc<str>, context: Context) -> Running {
        Box::pin(async move {
            let permit = self.permit().await?;
            let started = self.target.start(&arguments, &|| context.clone())?;
            let (dispatcher, waits) = (Arc::clone(&self.dispatcher), self.waits.clone());
            match started {
                HandlerProgress::Done(output) => output,
                HandlerProgress::Running(running) => {
                    let output = running.await;
                    drop(permit);
                    output
                }
                HandlerProgress::Blocking(work) => {
                    on_a_thread(dispatcher, work, waits, permit).await
                }
            }
        })
    }
}
