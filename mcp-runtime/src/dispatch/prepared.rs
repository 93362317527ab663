//! Starts calls: creates the context, decodes the arguments, and starts the handler.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::sync::Arc;

#[cfg(feature = "http")]
use crate::context::HttpParts;
use crate::context::{Context, RequestSource};
use crate::dispatch::Dispatcher;
use crate::dispatch::blocking::{CallPermitWaits, run_blocking};
use crate::dispatch::call::{CallProgress, RunningCall};
use crate::dispatch::call_context::CallContext;
use crate::dispatch::finish::{CallFinisher, CallOutcome};
use crate::dispatch::handler_run::{CallScope, run_user_code};
use crate::dispatch::journal::Journal;
use crate::dispatch::origin::ChannelId;
use crate::dispatch::rates::{CallToAdmit, CallToCount};
use crate::dispatch::request::Request;
use crate::dispatch::rounds::CallMemory;
use crate::dispatch::seal::{self, SealError};
use crate::dispatch::sourced::SourcedTarget;
use crate::dispatch::stream::{LogBudget, Sink};
use crate::dispatch::target::CallTarget;
use crate::dispatch::wrapped::WrappedHandler;
use crate::handler::call::{Output, Running};
use crate::handler::decode::entries;
use crate::handler::handler_error::HandlerError;
use crate::handler::middleware::{InnermostStep as _, KeptMembers};
use crate::jsonrpc::{ErrorObject, Member};
use crate::observe::RequestRecording;
use crate::protocol::{Era, errors};
use crate::registry::{FirstPollPace, HandlerProgress};

/// A call that is ready to start. Its request has been validated, except for the arguments.
pub(crate) struct PreparedCall<'m> {
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
    pub(crate) fn with_http_request(
        mut self,
        parts: &Arc<HttpParts>,
        session: Option<Arc<str>>,
    ) -> Self {
        self.source = RequestSource::Http {
            parts: Arc::clone(parts),
            session,
        };
        self
    }

    /// Returns the record of first-poll durations. If first polls have been slow, the task that serves a connection
    /// must not perform the next first poll.
    pub(crate) fn pace(&self) -> Option<&Arc<FirstPollPace>> {
        self.target.pace()
    }

    /// Starts the call: decodes its arguments and, if the handler is synchronous, runs it to completion and appends its
    /// response to `out`.
    ///
    /// `sink`, which is called only if the call may send messages before the response, creates the stream for such
    /// messages.
    #[inline]
    pub(super) fn start(self, sink: &dyn Fn() -> Arc<dyn Sink>, out: &mut Vec<u8>) -> CallProgress {
        let Self {
            dispatcher,
            request,
            logs,
            channel,
            target,
            arguments,
            source,
        } = self;
        let recording = RequestRecording::begin(&dispatcher.settings.observers, || {
            request.attributes(target.called_item())
        });
        let mut finish = CallFinisher {
            dispatcher,
            id: Some(request.id.clone()),
            version: request.version,
            target,
            recording,
            caller: request.caller.clone(),
            #[cfg(feature = "http")]
            http_request: source.http_parts().cloned(),
        };
        let bound = finish.target.bound_arguments(&arguments);
        let resumed = read_call_memory(&finish, &request, bound).map_err(HandlerError::protocol);
        let admitted = resumed.and_then(|resumed| {
            let uncounted = admit_by_rate(&finish, channel, resumed.as_deref())?;
            Ok((resumed, uncounted))
        });
        let (resumed, uncounted) = match admitted {
            Ok(resumed) => resumed,
            Err(error) => {
                let outcome = CallOutcome::Output(Err(error));
                return CallProgress::Answered(finish.respond(outcome, out));
            }
        };
        let rounds = resumed.as_ref().map_or(0, |memory| memory.journal.round);
        let (resumed, logs) = (Cell::new(resumed), Cell::new(logs));
        let made = OnceCell::new();
        let context = || {
            let made = made.get_or_init(|| {
                let asking = bound.map(|bound| (bound, resumed.take()));
                let dispatcher = &finish.dispatcher;
                Arc::new(CallContext::new(
                    dispatcher,
                    (&request, &source),
                    logs.take(),
                    sink,
                    asking,
                ))
            });
            Context::new(Arc::<CallContext>::clone(made))
        };
        if (uncounted.is_some() || finish.must_wrap())
            && let Some((future, waits)) = wrap(
                &finish,
                (&request, &source),
                &arguments,
                &context,
                (rounds, uncounted),
            )
        {
            let scope = CallScope(made.into_inner());
            return CallProgress::Running(RunningCall::new(future, Some(waits), finish, scope));
        }
        if crate::context::current::is_forwarding() {
            context();
        }
        let start = || finish.target.start(&arguments, &context);
        let started = finish.recording.within(|| run_user_code(made.get(), start));
        let mut scope = CallScope(made.into_inner());
        let outcome = match started {
            Ok(Ok(HandlerProgress::Done(output))) if !scope.has_deferred() => {
                CallOutcome::Output(output)
            }
            Ok(Ok(progress)) => {
                let (future, waits): (Running, _) = match progress {
                    HandlerProgress::Running(future) => (future, None),
                    HandlerProgress::Blocking(work) => {
                        let waits = CallPermitWaits::default();
                        let dispatcher = Arc::clone(&finish.dispatcher);
                        let future = run_blocking(dispatcher, work, waits.clone(), None);
                        (Box::pin(future), Some(waits))
                    }
                    HandlerProgress::Done(output) => (Box::pin(std::future::ready(output)), None),
                };
                let call = RunningCall::new(future, waits, finish, scope);
                return CallProgress::Running(call);
            }
            Ok(Err(refusal)) => CallOutcome::Output(Err(refusal.into())),
            Err(panic) => CallOutcome::Panicked(panic),
        };
        scope.close();
        CallProgress::Answered(finish.respond(outcome, out))
    }
}

/// Wraps a handler in its middleware and the steps before it, which run only when the future is polled, like the
/// handler itself. Returns `None` if the call needs none of them. `rounds` is the number of earlier rounds, and `uncounted`
/// is the call if it has yet to be counted elsewhere for rates.
#[inline(never)]
fn wrap(
    finish: &CallFinisher,
    (request, source): (&Request<'_>, &RequestSource),
    arguments: &str,
    context: &dyn Fn() -> Context,
    (rounds, uncounted): (u16, Option<CallToCount>),
) -> Option<(Running, CallPermitWaits)> {
    let member = |member| request.params.get(member);
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
            source: source.clone(),
            waits: waits.clone(),
        };
        (Box::pin(call.run()), waits)
    } else {
        let wrapping = middleware.for_call((&member, source), &finish.target);
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
    channel: ChannelId,
    resumed: Option<&CallMemory>,
) -> Result<Option<CallToCount>, HandlerError> {
    let call = CallToAdmit {
        principal: finish.caller.principal(),
        channel,
        earlier: resumed.and_then(|memory| Some((memory.journal.call_id()?, memory.journal.round))),
        is_completion: matches!(finish.target, CallTarget::Completion(_)),
        callable: finish.target.callable(),
    };
    let rates = &finish.dispatcher.rates;
    rates.admit(&call, || finish.target.name())
}
