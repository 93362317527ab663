//! A call that runs: its context, the runs of its handler, which may be wrapped by middleware or have to wait for a
//! permit, and the table in which its owner (a channel, a session or a response) keeps it.
//!
//! Dropping a [`RunningCall`] drops the handler's future and cancels clones of its context. Removal from the table
//! resolves all races: a call whose entry has been removed does not send a response. Its other messages also stop by
//! the time it is dropped.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use crate::context::client_questions::{ClientQuestions, QuestionDelivery};
use crate::context::outbound::{CallLogBudget, CallMessages, CallStream, LogBudget, Sink};
use crate::context::request::CallContext;
use crate::context::rounds::{CallMemory, Round, RoundEnd};
use crate::context::{
    CallContinuation, Context, DeferredEffects, RequestContext, RequestInfo, RequestSource, current,
};
use crate::dispatch::Dispatcher;
use crate::dispatch::finish::{CallFinisher, CallOutcome, WrittenResponse};
use crate::dispatch::request::{Request, RequestSender};
use crate::dispatch::target::CallTarget;
use crate::fnv::FnvMap;
use crate::handler::decode::Decoder;
use crate::handler::handler_error::{HandlerError, HandlerErrorRepr};
use crate::handler::middleware::{
    BackgroundPermit, Call, InnermostStep, KeptMembers, PermitFuture,
};
use crate::handler::option::AttachedOption;
use crate::handler::run::{Blocking, Output, Running};
use crate::host::{Instant, Sleep, TaskHandle, sleep};
use crate::jsonrpc::{Member, RequestId};
use crate::observe::RequestRecording;
use crate::protocol::errors;
use crate::registry::{CallPermit, CallPermits, HandlerProgress};
use crate::sync::lock;
use crate::{host, observe, spawn};

/// The progress of a call that has been started.
#[allow(
    clippy::large_enum_variant,
    reason = "lives on the stack of the call's owner; boxing would cost an allocation"
)]
pub enum CallProgress {
    /// The response has been written.
    Answered(WrittenResponse),
    /// The call is still running and must be polled.
    Running(RunningCall),
}

/// A run of a handler, and the response that is written when it ends.
pub struct RunningCall {
    run: HandlerRun,
    finish: CallFinisher,
}

impl RunningCall {
    /// `waits` are the permits for which the call may have to wait, during which its clock is stopped.
    pub(super) fn new(
        future: Running,
        waits: Option<CallPermitWaits>,
        finish: CallFinisher,
        scope: CallScope,
    ) -> Self {
        let run = HandlerRun::new(future, waits, scope);
        Self { run, finish }
    }

    /// Polls the call, and appends its response to `out` once it has finished. Runs user code.
    pub fn poll_response(
        &mut self,
        task: &mut TaskContext<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<WrittenResponse> {
        let limit = || Some(self.finish.timeout());
        let polled = self.run.poll(Some(&self.finish.recording), limit, task);
        polled.map(|outcome| self.respond(outcome, out))
    }

    /// Polls the call for the first time. The caller must poll again immediately or drop the call, because this poll has no
    /// waker. A call that ends here does not need a timer.
    pub(super) fn first_poll(&mut self, out: &mut Vec<u8>) -> Poll<WrittenResponse> {
        let recording = Some(&self.finish.recording);
        // The poll is unconstrained because otherwise the call would be pending for no reason if a connection's task had
        // exhausted its budget.
        let polled = pin!(tokio::task::unconstrained(poll_fn(|task| {
            let poll = || self.run.poll_handler(recording, task);
            spawn::catch(poll).unwrap_or_else(|panic| Poll::Ready(CallOutcome::Panicked(panic)))
        })));
        let polled = polled.poll(&mut TaskContext::from_waker(Waker::noop()));
        polled.map(|outcome| self.respond(outcome, out))
    }

    /// Ends the run, and then writes the response.
    fn respond(&mut self, mut outcome: CallOutcome, out: &mut Vec<u8>) -> WrittenResponse {
        self.run.finish(&mut outcome, Some(&self.finish.recording));
        self.finish.respond(outcome, out)
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.run.abandon(Some(&self.finish.recording));
    }
}

/// A handler's future, and the state that is dropped together with it.
pub(super) struct HandlerRun {
    future: Option<Running>,
    scope: CallScope,
    clock: CallClock,
    /// The permits for which the call is waiting, if it needs any.
    waits: Option<CallPermitWaits>,
}

/// A call's context, if its handler uses one.
pub(super) struct CallScope(pub(super) Option<Arc<CallContext>>);

impl CallScope {
    /// Sends held-back notifications and closes the call's stream.
    pub(super) fn close(&mut self) {
        if let Some(context) = self.0.take() {
            context.close();
        }
    }

    /// Returns `true` if effects wait for the call's result.
    #[inline]
    pub(super) fn has_deferred(&self) -> bool {
        let context = self.0.as_ref();
        context.is_some_and(|context| context.effects.has_deferred())
    }

    /// Returns the context if effects wait for the call's result.
    #[inline]
    fn with_deferred(&self) -> Option<Context> {
        let context = self.0.as_ref().filter(|_| self.has_deferred())?;
        Some(Context::new(Arc::clone(context)))
    }

    /// Ends the round if possible and returns its outcome. Called when the handler is pending.
    fn end_round(&self) -> Option<Box<RoundEnd>> {
        let context = self.0.as_ref();
        let context = context.filter(|context| !context.effects.is_committing())?;
        let end = context.asks.end_round()?;
        context.continuation.set_asked();
        Some(end)
    }

    fn as_part<T>(&self, work: impl FnOnce() -> T) -> T {
        as_part_of(self.0.as_ref(), work)
    }
}

/// Runs user code as part of a call, so that its events can be sent to the client.
pub(super) fn as_part_of<T>(context: Option<&Arc<CallContext>>, work: impl FnOnce() -> T) -> T {
    let context = context.filter(|_| current::is_forwarding());
    let call = context.map(|context| Context::new(Arc::clone(context)));
    current::within_call(call, work)
}

/// Runs work that belongs to the request, if the request is recorded here.
#[inline]
fn within<T>(recording: Option<&RequestRecording>, work: impl FnOnce() -> T) -> T {
    match recording {
        Some(recording) => recording.within(work),
        None => work(),
    }
}

impl HandlerRun {
    /// `waits` are the permits for which the call may have to wait, during which its clock is stopped.
    pub(super) fn new(future: Running, waits: Option<CallPermitWaits>, scope: CallScope) -> Self {
        Self {
            future: Some(future),
            scope,
            clock: CallClock::default(),
            waits,
        }
    }

    /// Polls the handler, and then its clock. `limit` returns the time that the handler has, if it is limited. A panic ends the
    /// run.
    #[inline]
    pub(super) fn poll(
        &mut self,
        recording: Option<&RequestRecording>,
        limit: impl FnOnce() -> Option<Duration>,
        task: &mut TaskContext<'_>,
    ) -> Poll<CallOutcome> {
        let poll = || match self.poll_handler(recording, task) {
            Poll::Pending if self.future.is_some() => self.poll_clock(limit(), task),
            polled => polled,
        };
        spawn::catch(poll).unwrap_or_else(|panic| Poll::Ready(CallOutcome::Panicked(panic)))
    }

    /// Polls only the handler.
    fn poll_handler(
        &mut self,
        recording: Option<&RequestRecording>,
        task: &mut TaskContext<'_>,
    ) -> Poll<CallOutcome> {
        // A run is never polled again after it has ended.
        let Some(future) = &mut self.future else {
            return Poll::Pending;
        };
        if let Some(context) = &self.scope.0 {
            context.asks.register(task);
        }
        let poll = || self.scope.as_part(|| future.as_mut().poll(task));
        match within(recording, poll) {
            Poll::Ready(output) => {
                let Some(context) = self.scope.with_deferred() else {
                    return Poll::Ready(CallOutcome::Output(output));
                };
                self.future = Some(Box::pin(async move { context.commit(output).await }));
                return self.poll_handler(recording, task);
            }
            Poll::Pending => {}
        }
        match self.scope.end_round() {
            Some(end) => Poll::Ready(CallOutcome::Input(end)),
            None => Poll::Pending,
        }
    }

    fn poll_clock(
        &mut self,
        limit: Option<Duration>,
        task: &mut TaskContext<'_>,
    ) -> Poll<CallOutcome> {
        let Some(limit) = limit else {
            return Poll::Pending;
        };
        if self.is_waiting() {
            // Time spent waiting for the client or for a permit does not count toward the handler's timeout.
            self.clock.stop();
            return Poll::Pending;
        }
        self.clock.start(limit);
        let context = self.scope.0.as_ref();
        if context.is_some_and(|context| context.messages.is_inside_request()) {
            // The request enforces the timeout.
            return Poll::Pending;
        }
        self.clock.poll(task).map(|()| {
            if let Some(context) = context {
                context.request.cancel();
            }
            CallOutcome::TimedOut(limit)
        })
    }

    /// Returns `true` while the handler is waiting for the client or for a permit.
    fn is_waiting(&self) -> bool {
        let context = self.scope.0.as_ref();
        self.waits.as_ref().is_some_and(CallPermitWaits::is_waiting)
            || context.is_some_and(|context| context.asks.is_waiting())
    }

    /// Ends a run with this outcome by dropping its future and closing its context. The outcome becomes a panic if
    /// dropping the future panics.
    pub(super) fn finish(
        &mut self,
        outcome: &mut CallOutcome,
        recording: Option<&RequestRecording>,
    ) {
        if let Err(panic) = self.drop_future(recording)
            && matches!(outcome, CallOutcome::Output(_) | CallOutcome::Input(_))
        {
            *outcome = CallOutcome::Panicked(panic);
        }
        self.scope.close();
    }

    /// Cancels the run if it has not ended. Called when its owner is dropped.
    pub(super) fn abandon(&mut self, recording: Option<&RequestRecording>) {
        if self.future.is_none() {
            return;
        }
        if let Some(context) = &self.scope.0 {
            context.abandon();
        }
        if let Err(panic) = self.drop_future(recording) {
            tracing::error!(panic, "a cancelled handler panicked while being dropped");
        }
        if let Some(context) = &self.scope.0 {
            context.asks.close();
        }
    }

    fn drop_future(&mut self, recording: Option<&RequestRecording>) -> Result<(), String> {
        let future = self.future.take();
        spawn::catch(|| within(recording, || self.scope.as_part(|| drop(future))))
    }
}

/// The clock of a call's timeout. It runs only while the handler itself is working.
#[derive(Default)]
pub(super) enum CallClock {
    #[default]
    NotStarted,
    /// Stopped, with this much time left.
    Stopped(Duration),
    Running(Pin<Box<Sleep>>),
}

impl CallClock {
    /// Stops the clock. The time that is left counts from the next start.
    pub(super) fn stop(&mut self) {
        if let Self::Running(sleep) = self {
            let left = sleep.deadline().saturating_duration_since(Instant::now());
            *self = Self::Stopped(left);
        }
    }

    /// Starts the clock if it is not running, with the time that is left of `limit`.
    pub(super) fn start(&mut self, limit: Duration) {
        let left = match self {
            Self::NotStarted => limit,
            Self::Stopped(left) => *left,
            Self::Running(_) => return,
        };
        *self = Self::Running(Box::pin(sleep(left)));
    }

    /// Polls a running clock, which is ready once no time is left.
    pub(super) fn poll(&mut self, task: &mut TaskContext<'_>) -> Poll<()> {
        match self {
            Self::Running(sleep) => sleep.as_mut().poll(task),
            Self::NotStarted | Self::Stopped(_) => Poll::Pending,
        }
    }
}

impl Dispatcher {
    /// Creates a call's state when the handler's context is first requested. `asking` is `Some` if the call may ask the
    /// client questions.
    pub(super) fn call_context(
        &self,
        (request, source): (&Request<'_>, &RequestSource),
        logs: Option<Arc<LogBudget>>,
        sink: &dyn Fn() -> Arc<dyn Sink>,
        asking: Option<(&str, Option<Box<CallMemory>>)>,
    ) -> CallContext {
        let sink = sink();
        let capabilities = request.sender.capabilities();
        let delivery = match (asking, &request.sender) {
            (None, _) => QuestionDelivery::None,
            (Some(_), RequestSender::Legacy(client)) => QuestionDelivery::Requests {
                pending: Arc::clone(&client.pending),
                sink: Arc::clone(&sink),
                waiting: Mutex::default(),
            },
            (Some((arguments, memory)), RequestSender::Modern(_)) => {
                QuestionDelivery::Rounds(Round::new(memory, arguments))
            }
        };
        let version = request.version;
        let own_logs = || CallLogBudget::Own(OnceLock::new());
        CallContext {
            effects: DeferredEffects::default(),
            continuation: CallContinuation::default(),
            asks: ClientQuestions::new(
                &self.questions,
                version,
                Arc::clone(&capabilities),
                delivery,
            ),
            messages: CallMessages::Stream(CallStream {
                sink,
                version,
                token: request.progress_token().map(Into::into),
                level: request.sender.log_level(),
                longest: self.limits().log.max_message_bytes,
                logs: logs.map_or_else(own_logs, CallLogBudget::Session),
                log_rate: self.limits().log.max_per_second,
                rate: self.limits().calls.max_progress_per_second,
                state: Mutex::default(),
            }),
            request: RequestContext {
                client: request.sender.client(),
                info: RequestInfo::new(version, self.request_source(request, source)),
                caller: request.caller.clone(),
                selection: request.selection.clone(),
                version,
                capabilities,
                meta: request.params.get(Member::Meta).map(Into::into),
                cancelled: OnceLock::new(),
                states: Arc::clone(&self.settings.states),
                server: self.handle(),
            },
        }
    }
}

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
        context.effects().begin_run();
        Self(context)
    }
}

impl Drop for HandlerRunGuard {
    fn drop(&mut self) {
        self.0.asking().end_run();
        self.0.effects().end_run();
    }
}

/// The number of permits for which a call is waiting. The call's timeout is paused during the wait.
#[derive(Clone, Debug, Default)]
pub(super) struct CallPermitWaits(Arc<AtomicUsize>);

impl CallPermitWaits {
    pub(super) fn is_waiting(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// Waits for a permit to call `what`.
    pub(super) async fn acquire(
        &self,
        permits: &CallPermits,
        max_waiting: usize,
        what: &str,
    ) -> Result<CallPermit, HandlerError> {
        let entered = self.count_wait(permits.acquire(max_waiting)).await;
        entered.ok_or_else(|| {
            let error = errors::too_many_at_once(what, errors::RETRY_AFTER);
            HandlerError(HandlerErrorRepr::Busy(error))
        })
    }

    async fn count_wait<T>(&self, waiting: impl Future<Output = T>) -> T {
        struct Leave<'a>(&'a AtomicUsize);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.0.fetch_add(1, Ordering::Relaxed);
        let _leave = Leave(&self.0);
        waiting.await
    }
}

/// Runs blocking work on a separate thread once a permit is available. Because a thread cannot be cancelled, abandoned
/// work runs to completion and holds its permit and `held` until then.
pub(super) async fn run_blocking(
    dispatcher: Arc<Dispatcher>,
    work: Blocking,
    waits: CallPermitWaits,
    held: Option<CallPermit>,
) -> Output {
    let max = dispatcher.limits().calls.max_blocking_queued;
    let permit = waits.acquire(&dispatcher.blocking, max, "calls that block a thread");
    let permit = permit.await?;
    let work = observe::in_current_span(work);
    let work = move || {
        // Catching the panic on this thread contains it even if the call was abandoned.
        let output = spawn::catch(work);
        drop((permit, held));
        output
    };
    match host::run_blocking(work).await {
        Ok(Ok(output)) => output,
        // Resumes the panic so that it is caught in the same place as all other handler panics.
        Ok(Err(panic)) => std::panic::resume_unwind(Box::new(panic)),
        Err(error) => Err(HandlerError::from(error)),
    }
}

/// The in-flight calls that belong to an owner. `T` is the owner's data for each call, such as the stream for its
/// response.
#[derive(Debug)]
pub struct CallTable<T> {
    serials: u64,
    calls: FnvMap<RequestId, TableEntry<T>>,
    /// The calls in their first poll. Most calls finish during it, so they never enter the map.
    polling: Vec<PolledCall>,
}

/// A call that has a task, will have a task, or is queued.
#[derive(Debug)]
struct TableEntry<T> {
    /// Distinguishes this call from an earlier call with the same id.
    serial: u64,
    task: Option<TaskHandle>,
    detail: T,
}

/// A call in its first poll, which cannot be interrupted.
#[derive(Debug)]
struct PolledCall {
    id: RequestId,
    serial: u64,
    cancelled: bool,
}

/// A call that was removed from the table before it was answered.
#[derive(Debug)]
pub struct RemovedCall<T> {
    pub id: RequestId,
    pub serial: u64,
    /// The owner's data. `None` if the call is still in its first poll.
    pub detail: Option<T>,
    task: Option<TaskHandle>,
}

impl<T> Default for CallTable<T> {
    fn default() -> Self {
        Self {
            serials: 0,
            calls: FnvMap::default(),
            polling: Vec::new(),
        }
    }
}

impl<T> CallTable<T> {
    /// Returns the number of calls that have not been answered or cancelled.
    #[must_use]
    pub fn len(&self) -> usize {
        let polling = self.polling.iter().filter(|call| !call.cancelled).count();
        self.calls.len().saturating_add(polling)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.polling.iter().all(|call| call.cancelled)
    }

    /// Returns `true` if a request with this id has not been answered yet.
    #[must_use]
    pub fn holds(&self, id: &RequestId) -> bool {
        let is_polled = |call: &PolledCall| call.id == *id && !call.cancelled;
        self.calls.contains_key(id) || self.polling.iter().any(is_polled)
    }

    /// Returns `true` if the call with this id and serial number may still send messages.
    #[must_use]
    pub fn is_live(&self, id: &RequestId, serial: u64) -> bool {
        let is_polled = |call: &PolledCall| call.serial == serial && !call.cancelled;
        self.calls.get(id).is_some_and(|call| call.serial == serial)
            || self.polling.iter().any(is_polled)
    }

    /// Adds a call that is about to be polled for the first time. Returns its serial number.
    pub fn enter(&mut self, id: &RequestId) -> u64 {
        let serial = self.next_serial();
        self.polling.push(PolledCall {
            id: id.clone(),
            serial,
            cancelled: false,
        });
        serial
    }

    /// Ends a call's first poll. Returns `false` if the call was cancelled in the meantime.
    pub fn leave(&mut self, serial: u64) -> bool {
        let position = self.polling.iter().position(|call| call.serial == serial);
        position.is_some_and(|position| !self.polling.swap_remove(position).cancelled)
    }

    /// Adds a call that is queued or will have a task. Returns its serial number.
    pub fn add(&mut self, id: &RequestId, detail: T) -> u64 {
        let serial = self.next_serial();
        self.keep(id, serial, detail);
        serial
    }

    /// Keeps a call that is still running after its first poll.
    pub fn keep(&mut self, id: &RequestId, serial: u64, detail: T) {
        let entry = TableEntry {
            serial,
            task: None,
            detail,
        };
        self.calls.insert(id.clone(), entry);
    }

    /// Records a call's task. If the call has ended in the meantime, ends the task as well.
    pub fn set_task_or_abort(&mut self, id: &RequestId, serial: u64, task: TaskHandle) {
        match self.calls.get_mut(id) {
            Some(call) if call.serial == serial => call.task = Some(task),
            _ => task.abort(),
        }
    }

    /// Returns the owner's data for a call.
    #[must_use]
    pub fn detail(&self, id: &RequestId) -> Option<&T> {
        Some(&self.calls.get(id)?.detail)
    }

    /// Removes a call that has been answered. Returns `None` if it was cancelled.
    pub fn finish(&mut self, id: &RequestId, serial: u64) -> Option<T> {
        let (id, call) = self.calls.remove_entry(id)?;
        if call.serial != serial {
            // The entry belongs to a later call with the same id.
            self.calls.insert(id, call);
            return None;
        }
        Some(call.detail)
    }

    /// Removes a call because the client has cancelled it.
    pub fn cancel(&mut self, id: &RequestId) -> Option<RemovedCall<T>> {
        if let Some((id, call)) = self.calls.remove_entry(id) {
            return Some(RemovedCall::from_entry(id, call));
        }
        let is_polled = |call: &&mut PolledCall| call.id == *id && !call.cancelled;
        self.polling
            .iter_mut()
            .find(is_polled)
            .map(RemovedCall::from_polled)
    }

    /// Removes all calls because their owner has ended.
    pub fn cancel_all(&mut self) -> Vec<RemovedCall<T>> {
        let polling = self.polling.iter_mut().filter(|call| !call.cancelled);
        let polling = polling.map(RemovedCall::from_polled);
        let calls = self.calls.drain();
        polling
            .chain(calls.map(|(id, call)| RemovedCall::from_entry(id, call)))
            .collect()
    }

    /// Returns a serial number that has not been used in this table before.
    pub fn next_serial(&mut self) -> u64 {
        self.serials = self.serials.wrapping_add(1);
        self.serials
    }
}

impl<T> RemovedCall<T> {
    /// Ends the call's task. The runtime drops the handler's future, so this may be called while holding a lock.
    pub fn abort(&self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }

    fn from_entry(id: RequestId, call: TableEntry<T>) -> Self {
        Self {
            id,
            serial: call.serial,
            detail: Some(call.detail),
            task: call.task,
        }
    }

    fn from_polled(call: &mut PolledCall) -> Self {
        call.cancelled = true;
        Self {
            id: call.id.clone(),
            serial: call.serial,
            detail: None,
            task: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::dispatch::call::*;

    fn id(text: &str) -> RequestId {
        RequestId::from_valid(text)
    }

    #[test]
    fn a_call_is_answered_or_cancelled_but_never_both() {
        let mut table = CallTable::default();
        let polled = table.enter(&id("1"));
        assert!(table.holds(&id("1")) && table.is_live(&id("1"), polled));
        assert!(
            table
                .cancel(&id("1"))
                .is_some_and(|call| call.detail.is_none())
        );
        assert!(!table.holds(&id("1")) && !table.is_live(&id("1"), polled));
        assert!(table.cancel(&id("1")).is_none());
        assert!(!table.leave(polled));

        let kept = table.enter(&id("1"));
        assert!(table.leave(kept));
        table.keep(&id("1"), kept, "detail");
        assert_eq!(table.detail(&id("1")), Some(&"detail"));
        assert_eq!(table.finish(&id("1"), kept), Some("detail"));
        assert!(table.finish(&id("1"), kept).is_none() && table.cancel(&id("1")).is_none());
        assert!(table.is_empty());
    }

    #[test]
    fn an_earlier_call_does_not_end_a_later_one_with_its_id() {
        let mut table = CallTable::default();
        let earlier = table.add(&id("1"), ());
        assert!(table.cancel(&id("1")).is_some());
        let later = table.add(&id("1"), ());
        assert!(table.finish(&id("1"), earlier).is_none());
        assert!(!table.is_live(&id("1"), earlier) && table.is_live(&id("1"), later));
        assert!(table.finish(&id("1"), later).is_some());
    }

    #[tokio::test]
    async fn a_task_registered_after_its_call_ended_is_aborted() {
        let mut table = CallTable::default();
        let serial = table.add(&id("1"), ());
        assert!(table.cancel(&id("1")).is_some());
        let task = tokio::spawn(std::future::pending::<()>());
        table.set_task_or_abort(&id("1"), serial, task.abort_handle());
        assert!(task.await.unwrap_err().is_cancelled());
    }

    #[tokio::test]
    async fn the_end_of_the_owner_ends_all_calls() {
        let mut table = CallTable::default();
        let polled = table.enter(&id("1"));
        let serial = table.add(&id("2"), 2);
        let task = tokio::spawn(std::future::pending::<()>());
        table.set_task_or_abort(&id("2"), serial, task.abort_handle());
        assert_eq!(table.len(), 2);
        let removed = table.cancel_all();
        assert_eq!(removed.len(), 2);
        assert!(table.is_empty() && !table.leave(polled));
        removed.iter().for_each(RemovedCall::abort);
        assert!(task.await.unwrap_err().is_cancelled());
    }
}
