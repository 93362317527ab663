//! Starts calls: creates the context, decodes the arguments, and starts the handler.
//!
//! A transport runs a call by adding it to its owner's [`CallTable`](crate::dispatch::CallTable) and calling
//! [`PreparedCall::run`]. Most calls finish there, during their first poll, and never need a task. All other calls
//! continue wherever the owner polls them. In both cases, the response is always written to the owner's buffer,
//! also if user code panics.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::sync::Arc;
use std::task::Poll;

#[cfg(feature = "http")]
use crate::context::HttpParts;
use crate::context::outbound::{LogBudget, Sink};
use crate::context::request::CallContext;
use crate::context::rounds::{CallMemory, Journal};
use crate::context::{Context, RequestInfo, RequestSource};
use crate::dispatch::Dispatcher;
use crate::dispatch::admission::{CallToAdmit, CallToCount, TrustedHeader};
use crate::dispatch::call::{
    CallPermitWaits, CallProgress, CallScope, RunningCall, WrappedHandler, as_part_of, run_blocking,
};
use crate::dispatch::finish::{CallFinisher, CallOutcome};
use crate::dispatch::request::{ChannelId, Request};
use crate::dispatch::sources::SourcedTarget;
use crate::dispatch::target::CallTarget;
use crate::handler::decode::entries;
use crate::handler::handler_error::HandlerError;
use crate::handler::middleware::{InnermostStep as _, KeptMembers};
use crate::handler::run::{Output, Running};
use crate::jsonrpc::{ErrorObject, Member};
use crate::observe::RequestRecording;
use crate::protocol::{Era, errors};
use crate::registry::{FirstPollPace, HandlerProgress};
use crate::seal::SealError;
use crate::{seal, spawn};

/// A call that is ready to start. Its request has been validated, except for the arguments.
pub struct PreparedCall<'m> {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) request: Request<'m>,
    /// The session's log budget, if the session outlives this call.
    pub(super) logs: Option<Arc<LogBudget>>,
    pub(super) channel: ChannelId,
    pub(super) target: CallTarget,
    /// A JSON object.
    pub(super) arguments: Cow<'m, str>,
    pub(super) source: RequestSource,
}

impl PreparedCall<'_> {
    /// Attaches the HTTP request that contains the message, and the session to which it belongs, if any.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn with_http_request(mut self, parts: &Arc<HttpParts>, session: Option<Arc<str>>) -> Self {
        self.source = RequestSource::Http {
            parts: Arc::clone(parts),
            session,
        };
        self
    }

    /// Returns the record of first-poll durations. If first polls have been slow, the task that serves a connection
    /// must not perform the next first poll.
    #[must_use]
    pub fn pace(&self) -> Option<&Arc<FirstPollPace>> {
        self.target.pace()
    }

    /// Runs the call: decodes its arguments, starts the handler and polls it once. Appends the response to `out` if the handler
    /// has finished.
    ///
    /// A call that is still running must be polled again immediately, because its first poll has no waker.
    ///
    /// `sink`, which is called only if the call may send messages before the response, creates the stream for such
    /// messages.
    pub fn run(self, sink: &dyn Fn() -> Arc<dyn Sink>, out: &mut Vec<u8>) -> CallProgress {
        let recording = RequestRecording::begin(&self.dispatcher.settings.observers, || {
            self.request.attributes(self.target.called_item())
        });
        let mut finish = CallFinisher {
            dispatcher: self.dispatcher,
            id: Some(self.request.id.clone()),
            version: self.request.version,
            target: self.target,
            recording,
            caller: self.request.caller.clone(),
            #[cfg(feature = "http")]
            http_request: self.source.http_parts().cloned(),
        };
        let start = CallStart {
            finish: &finish,
            request: &self.request,
            arguments: &self.arguments,
            source: &self.source,
            channel: self.channel,
        };
        let made = OnceCell::new();
        let started = spawn::catch(|| start.start(&made, self.logs, sink));
        let mut scope = CallScope(made.into_inner());
        let outcome = match started {
            Ok(Ok((HandlerProgress::Done(output), _))) if !scope.has_deferred() => {
                CallOutcome::Output(output)
            }
            Ok(Ok((progress, waits))) => {
                let (future, waits): (Running, _) = match progress {
                    HandlerProgress::Running(future) => (future, waits),
                    HandlerProgress::Blocking(work) => {
                        let waits = CallPermitWaits::default();
                        let dispatcher = Arc::clone(&finish.dispatcher);
                        let future = run_blocking(dispatcher, work, waits.clone(), None);
                        (Box::pin(future), Some(waits))
                    }
                    HandlerProgress::Done(output) => (Box::pin(std::future::ready(output)), None),
                };
                let mut call = RunningCall::new(future, waits, finish, scope);
                return match call.first_poll(out) {
                    Poll::Ready(response) => CallProgress::Answered(response),
                    Poll::Pending => CallProgress::Running(call),
                };
            }
            Ok(Err(error)) => CallOutcome::Output(Err(error)),
            Err(panic) => CallOutcome::Panicked(panic),
        };
        scope.close();
        CallProgress::Answered(finish.respond(outcome, out))
    }
}

/// What is needed to start a call.
struct CallStart<'c, 'm> {
    finish: &'c CallFinisher,
    request: &'c Request<'m>,
    /// A JSON object.
    arguments: &'c str,
    source: &'c RequestSource,
    channel: ChannelId,
}

impl CallStart<'_, '_> {
    /// Starts the handler, or what is around it. Also returns the permits for which it may have to wait. `made` receives the
    /// call's context when that is first needed.
    #[inline]
    fn start(
        &self,
        made: &OnceCell<Arc<CallContext>>,
        logs: Option<Arc<LogBudget>>,
        sink: &dyn Fn() -> Arc<dyn Sink>,
    ) -> Result<(HandlerProgress, Option<CallPermitWaits>), HandlerError> {
        let (finish, request) = (self.finish, self.request);
        let bound = finish.target.bound_arguments(self.arguments);
        let resumed = read_call_memory(finish, request, bound).map_err(HandlerError::protocol)?;
        let trusted_header = |name: &str| {
            let source = finish.dispatcher.request_source(request, self.source);
            let info = RequestInfo::new(finish.version, source);
            info.trusted_header(name).ok().flatten().map(str::to_owned)
        };
        let uncounted = admit_by_rate(finish, (self.channel, &trusted_header), resumed.as_deref())?;
        let rounds = resumed.as_ref().map_or(0, |memory| memory.journal.round);
        let (resumed, logs) = (Cell::new(resumed), Cell::new(logs));
        let context = || {
            let made = made.get_or_init(|| {
                let asking = bound.map(|bound| (bound, resumed.take()));
                let source = (request, self.source);
                let dispatcher = &finish.dispatcher;
                Arc::new(dispatcher.call_context(source, logs.take(), sink, asking))
            });
            Context::new(Arc::clone(made))
        };
        if (uncounted.is_some() || finish.must_wrap())
            && let Some((future, waits)) = self.wrap(&context, (rounds, uncounted))
        {
            return Ok((HandlerProgress::Running(future), Some(waits)));
        }
        if crate::context::current::is_forwarding() {
            context();
        }
        let start = || finish.target.start(self.arguments, &context);
        let started = finish.recording.within(|| as_part_of(made.get(), start));
        Ok((started?, None))
    }

    /// Wraps a handler in its middleware and the steps before it, which run only when the future is polled, like the
    /// handler itself. Returns `None` if the call needs none of them. `rounds` is the number of earlier rounds, and `uncounted`
    /// is the call if it has yet to be counted elsewhere for rates.
    #[inline(never)]
    fn wrap(
        &self,
        context: &dyn Fn() -> Context,
        (rounds, uncounted): (u16, Option<CallToCount>),
    ) -> Option<(Running, CallPermitWaits)> {
        let (finish, arguments) = (self.finish, self.arguments);
        let member = |member| self.request.params.get(member);
        let middleware = &finish.dispatcher.settings.middleware;
        let round = rounds.saturating_add(1);
        let (running, waits): (Running, _) = if let CallTarget::Sourced(target) = &finish.target {
            let waits = CallPermitWaits::default();
            let kept = middleware.members();
            let kept = kept
                .filter_map(|kept| Some((kept, member(kept)?.into())))
                .collect();
            let call = SourcedCall {
                dispatcher: Arc::clone(&finish.dispatcher),
                target: Arc::clone(target),
                arguments: arguments.into(),
                context: context(),
                round,
                members: kept,
                source: self.source.clone(),
                waits: waits.clone(),
            };
            (Box::pin(call.run()), waits)
        } else {
            let wrapping = middleware.for_call((&member, self.source), &finish.target);
            if wrapping.around.is_handler() && uncounted.is_none() && !finish.must_wait() {
                return None;
            }
            let handler = WrappedHandler::new(&finish.dispatcher, &finish.target, None);
            let waits = handler.waits.clone();
            let handler = Arc::new(handler);
            let context = context();
            let members = wrapping.kept(&member);
            let call = handler.call(arguments, context.clone(), round, members);
            let running: Running = match call {
                Some(call) => {
                    let around = wrapping.around.clone();
                    Box::pin(async move { around.start(call).await })
                }
                None => handler.run(arguments.into(), context),
            };
            (running, waits)
        };
        let Some(uncounted) = uncounted else {
            return Some((running, waits));
        };
        let (dispatcher, target) = (Arc::clone(&finish.dispatcher), finish.target.clone());
        let admitted = async move {
            dispatcher.rates.count(uncounted, &target).await?;
            running.await
        };
        Some((Box::pin(admitted), waits))
    }
}

/// A call to a tool that is yet to be found, with the parts of its request that middleware needs.
struct SourcedCall {
    dispatcher: Arc<Dispatcher>,
    target: Arc<SourcedTarget>,
    arguments: Arc<str>,
    context: Context,
    round: u16,
    members: KeptMembers,
    source: RequestSource,
    waits: CallPermitWaits,
}

impl SourcedCall {
    /// Finds the tool and calls it like any other.
    async fn run(self) -> Output {
        let target = CallTarget::Named(self.target.find(&self.context).await?);
        let dispatcher = &self.dispatcher;
        let member = |member| self.members.get(member);
        let middleware = &dispatcher.settings.middleware;
        let wrapping = middleware.for_call((&member, &self.source), &target);
        let members = wrapping.kept(&member);
        let handler = WrappedHandler::new(dispatcher, &target, None).with_waits(self.waits.clone());
        let handler = Arc::new(handler);
        let context = self.context.clone();
        match handler.call(&self.arguments, context, self.round, members) {
            Some(call) => wrapping.around.start(call).await,
            None => Err(HandlerError::framework_bug(
                "a tool bypassed its middleware",
            )),
        }
    }
}

impl CallFinisher {
    /// Returns `false` if nothing can come between the request and the handler, which is the usual case.
    #[inline]
    fn must_wrap(&self) -> bool {
        let middleware = &self.dispatcher.settings.middleware;
        self.must_wait() || !middleware.is_empty_for(&self.target)
    }

    /// Returns `true` if the call must wait for a permit or for a value before its handler starts.
    #[inline]
    fn must_wait(&self) -> bool {
        let guards = self.target.guards();
        let states = &self.dispatcher.settings.states;
        guards.is_some_and(|guards| guards.permits.is_some())
            || self.target.awaited(states).is_some()
    }
}

/// Reads the state and the answers in a modern request. A state that this server did not issue is an error even if the
/// call does not need a state.
///
/// Returns `None` if the request has neither a state nor answers, which is the usual case.
fn read_call_memory(
    finish: &CallFinisher,
    request: &Request<'_>,
    bound: Option<&str>,
) -> Result<Option<Box<CallMemory>>, ErrorObject> {
    let Some(bound) = bound.filter(|_| request.version.era() == Era::Modern) else {
        return Ok(None);
    };
    let has = |member| request.params.get(member).is_some();
    if !has(Member::InputResponses) && !has(Member::RequestState) {
        return Ok(None);
    }
    let mut memory = Box::<CallMemory>::default();
    if let Some(json) = request.params.get(Member::InputResponses) {
        let given = Some(json).filter(|json| json.starts_with('{'));
        let name = Member::InputResponses.as_str();
        let given = given.ok_or_else(|| errors::invalid_member(name, "an object"))?;
        // Two answers to the same question would be ambiguous.
        entries(given)
            .map_err(|_| errors::invalid_member(name, "an object with one answer for each name"))?;
        let loose = serde_json::from_str(given).ok();
        memory.loose = loose.ok_or_else(|| errors::invalid_member(name, "an object"))?;
    }
    if request.params.get(Member::RequestState).is_some() {
        let limits = finish.dispatcher.limits();
        let state = request.string(Member::RequestState, limits.elicitation.max_state_bytes)?;
        let binding = finish.binding(bound).digest();
        let sealed = finish
            .dispatcher
            .settings
            .seal
            .open(&binding, &state, seal::now());
        let sealed = sealed.map_err(|refused| {
            tracing::warn!(
                ?refused,
                called = finish.target.name(),
                "a `requestState` was refused"
            );
            refused.into_error()
        })?;
        let journal = Journal::from_json(&sealed);
        memory.journal = journal.ok_or_else(|| SealError::Malformed.into_error())?;
        let mut responses = std::mem::take(&mut memory.loose);
        // Only answers to open questions are used.
        memory.journal.add_answers(&mut responses);
    }
    Ok(Some(memory))
}

/// Admits a call if its caller's rate limits currently allow it. Returns the call if it has to be counted
/// elsewhere, too.
fn admit_by_rate(
    finish: &CallFinisher,
    (channel, trusted_header): (ChannelId, &TrustedHeader<'_>),
    resumed: Option<&CallMemory>,
) -> Result<Option<CallToCount>, HandlerError> {
    let call = CallToAdmit {
        principal: finish.caller.principal(),
        channel,
        trusted_header,
        earlier: resumed.and_then(|memory| Some((memory.journal.call_id()?, memory.journal.round))),
        is_completion: matches!(finish.target, CallTarget::Completion(_)),
        callable: finish.target.callable(),
    };
    let rates = &finish.dispatcher.rates;
    rates.admit(&call, || finish.target.name())
}
