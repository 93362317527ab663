//! Calls that are wrapped by middleware or must wait for a permit from their handler.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::context::Context;
use crate::dispatch::Dispatcher;
use crate::dispatch::blocking::{CallPermitWaits, run_blocking};
use crate::dispatch::target::CallTarget;
use crate::handler::background_permit::BackgroundPermit;
use crate::handler::call::Running;
use crate::handler::decode::Decoder;
use crate::handler::handler_error::HandlerError;
use crate::handler::middleware::{Call, InnermostStep, KeptMembers, PermitFuture};
use crate::handler::option::AttachedOption;
use crate::lock::lock;
use crate::registry::{CallPermit, HandlerProgress};

/// The handler, which is wrapped by all middleware.
pub(super) struct WrappedHandler {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) target: CallTarget,
    pub(super) waits: CallPermitWaits,
    /// A permit that the call holds from the beginning until the handler takes it.
    permit: Mutex<Option<CallPermit>>,
    /// How long the result can be read, if the call has become a task by the time it ends.
    result_lifetime: Option<ResultLifetime>,
}

/// A function that returns how long the result of a task can be read, or `None` if there is no task.
pub(super) type ResultLifetime = Box<dyn Fn() -> Option<Duration> + Send + Sync>;

impl WrappedHandler {
    pub(super) fn new(
        dispatcher: &Arc<Dispatcher>,
        target: &CallTarget,
        permit: Option<CallPermit>,
    ) -> Self {
        Self {
            dispatcher: Arc::clone(dispatcher),
            target: target.clone(),
            waits: CallPermitWaits::default(),
            permit: Mutex::new(permit),
            result_lifetime: None,
        }
    }

    /// Makes the handler wait for its permits in `waits`, during which the clock of its call is stopped.
    pub(super) fn with_waits(mut self, waits: CallPermitWaits) -> Self {
        self.waits = waits;
        self
    }

    /// Sets how long the result can be read.
    pub(super) fn with_result_lifetime(mut self, lifetime: ResultLifetime) -> Self {
        self.result_lifetime = Some(lifetime);
        self
    }

    /// Returns the call in the form that middleware receives, or `None` if the call bypasses middleware. `members` are those of the
    /// request that add-ons read.
    pub(super) fn call(
        self: &Arc<Self>,
        arguments: &str,
        context: Context,
        round: u16,
        members: KeptMembers,
    ) -> Option<Call> {
        let (kind, name) = self.target.seen_by_middleware()?;
        let call = (kind, Arc::clone(name));
        Some(Call::new(
            call,
            arguments.into(),
            (context, round),
            members,
            Arc::clone(self) as Arc<dyn InnermostStep>,
        ))
    }

    /// Waits for a permit if the handler's concurrency is limited.
    async fn acquire_permit(&self) -> Result<Option<CallPermit>, HandlerError> {
        let guards = self.target.guards();
        let Some(permits) = guards.and_then(|guards| guards.permits.as_ref()) else {
            return Ok(None);
        };
        if let Some(permit) = lock(&self.permit).take() {
            return Ok(Some(permit));
        }
        let max = self.dispatcher.limits().calls.max_waiting;
        let permit = self.waits.acquire(permits, max, "of these calls");
        permit.await.map(Some)
    }
}

impl InnermostStep for WrappedHandler {
    fn completed_argument(&self) -> Option<&str> {
        self.target.completed_argument()
    }

    fn options(&self) -> &[AttachedOption] {
        self.target.options()
    }

    fn decoder(&self) -> Option<&Decoder> {
        self.target.callable()?.handler.decoder()
    }

    fn has_output_schema(&self) -> bool {
        self.target
            .tool()
            .is_some_and(|(tool, _)| tool.output_schema.is_some())
    }

    fn max_output(&self) -> Option<usize> {
        self.target.guards()?.max_output
    }

    fn fits_output(&self) -> bool {
        self.target
            .guards()
            .is_some_and(|guards| guards.fits_output)
    }

    fn result_lifetime(&self) -> Option<Duration> {
        self.result_lifetime.as_ref()?()
    }

    fn permit(self: Arc<Self>) -> PermitFuture {
        Box::pin(async move { self.acquire_permit().await.map(BackgroundPermit) })
    }

    fn run(self: Arc<Self>, arguments: Arc<str>, context: Context) -> Running {
        Box::pin(async move {
            let permit = self.acquire_permit().await?;
            // The run begins before the handler's parameters are awaited, because they may ask the client questions,
            // too.
            let _run = HandlerRunGuard::begin(context.clone());
            let context = match self.target.awaited(&self.dispatcher.settings.states) {
                Some(awaited) => awaited.prepare(context).await?,
                None => context,
            };
            let started = self.target.start(&arguments, &|| context.clone())?;
            let (dispatcher, waits) = (Arc::clone(&self.dispatcher), self.waits.clone());
            let output = match started {
                HandlerProgress::Done(output) => output,
                HandlerProgress::Running(running) => {
                    let output = running.await;
                    drop(permit);
                    output
                }
                HandlerProgress::Blocking(work) => {
                    run_blocking(dispatcher, work, waits, permit).await
                }
            };
            context.commit(output).await
        })
    }
}

/// A run of the handler, which ends when this value is dropped.
struct HandlerRunGuard(Context);

impl HandlerRunGuard {
    fn begin(context: Context) -> Self {
        context.asking().begin_run();
        context.ending().begin_run();
        Self(context)
    }
}

impl Drop for HandlerRunGuard {
    fn drop(&mut self) {
        self.0.asking().end_run();
        self.0.ending().end_run();
    }
}
