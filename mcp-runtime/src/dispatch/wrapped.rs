//! Calls that are wrapped by middleware or must wait for a permit from their handler.

use std::sync::{Arc, Mutex};

use crate::context::Context;
use crate::dispatch::Dispatcher;
use crate::dispatch::background::DetachedCall;
use crate::dispatch::blocking::{CallPermitWaits, run_blocking};
use crate::dispatch::target::CallTarget;
use crate::handler::background::{BackgroundPermit, BackgroundRunner};
use crate::handler::call::Running;
use crate::handler::handler_error::HandlerError;
use crate::handler::middleware::{Call, InnermostStep, PermitFuture};
use crate::handler::task_options::TaskOptions;
use crate::lock::lock;
use crate::registry::{CallPermit, HandlerProgress};

/// The handler, which is wrapped by all middleware.
pub(super) struct WrappedHandler {
    dispatcher: Arc<Dispatcher>,
    target: CallTarget,
    pub(super) waits: CallPermitWaits,
    /// A permit that the call has held from the beginning, until the handler takes it.
    permit: Mutex<Option<CallPermit>>,
}

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
        }
    }

    /// Returns the call in the form that middleware receives. Returns `None` for a list, since lists bypass middleware.
    /// `task` is the raw JSON of the request's member `task`.
    pub(super) fn into_call(
        self,
        arguments: &str,
        context: Context,
        round: u16,
        task: Option<&str>,
    ) -> Option<Call> {
        let (kind, name) = self.target.kind_and_name()?;
        let call = (kind, Arc::clone(name));
        Some(Call::new(
            call,
            arguments.into(),
            (context, round),
            task,
            Arc::new(self),
        ))
    }

    /// Waits for a permit if the handler's concurrent calls are limited.
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

    fn task_options(&self) -> Option<&TaskOptions> {
        self.target.task_options()
    }

    fn has_output_schema(&self) -> bool {
        self.target
            .tool()
            .is_some_and(|(tool, _)| tool.output_schema.is_some())
    }

    fn permit(self: Arc<Self>) -> PermitFuture {
        Box::pin(async move { self.acquire_permit().await.map(BackgroundPermit) })
    }

    fn detach(&self, context: &Context) -> Arc<dyn BackgroundRunner> {
        Arc::new(DetachedCall {
            dispatcher: Arc::clone(&self.dispatcher),
            target: self.target.clone(),
            request: context.request_context().detached(),
        })
    }

    fn run(self: Arc<Self>, arguments: Arc<str>, context: Context) -> Running {
        Box::pin(async move {
            let permit = self.acquire_permit().await?;
            // The run begins before the handler's parameters are awaited, because they may ask the client questions,
            // too.
            let _run = HandlerRun::begin(context.clone());
            let context = match self.target.awaited(&self.dispatcher.settings.states) {
                Some(awaited) => awaited.prepare(context).await?,
                None => context,
            };
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
                    run_blocking(dispatcher, work, waits, permit).await
                }
            }
        })
    }
}

/// A run of the handler, which ends when this value is dropped.
struct HandlerRun(Context);

impl HandlerRun {
    fn begin(context: Context) -> Self {
        context.asking().begin_run();
        Self(context)
    }
}

impl Drop for HandlerRun {
    fn drop(&mut self) {
        self.0.asking().end_run();
    }
}
