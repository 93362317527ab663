//! Runs calls that go on apart from their request.
//!
//! Such a call is always run in rounds, in both eras: a question ends the run, and the handler is run again from its
//! start with the answers. Between two runs, nothing of the call exists but its journal.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Sleep;

use crate::context::{
    CallHandle, Context, NotificationSender, Progress, QuestionTransport, RequestContext, watching,
};
use crate::dispatch::Dispatcher;
use crate::dispatch::ask::{ClientQuestions, QuestionDelivery};
use crate::dispatch::blocking::CallPermitWaits;
use crate::dispatch::call::run_user_code;
use crate::dispatch::finish::{CallFinisher, CallOutcome};
use crate::dispatch::journal::Journal;
use crate::dispatch::rounds::{CallMemory, Round, RoundEnd};
use crate::dispatch::stored_call;
use crate::dispatch::target::CallTarget;
use crate::dispatch::wrapped::WrappedHandler;
use crate::handler::background::{
    BackgroundFuture, BackgroundOutcome, BackgroundPermit, BackgroundQuestion, BackgroundRun,
    BackgroundRunner, QuestionAnswer,
};
use crate::handler::call::Running;
use crate::handler::middleware::Next;
use crate::handler::task_options::TaskOptions;
use crate::jsonrpc::{ErrorObject, RequestId};
use crate::protocol::Method;
use crate::registry::CallPermit;
use crate::telemetry::{RecordedOutcome, RequestAttributes, RequestRecording};
use crate::types::LoggingLevel;

/// Everything that runs of one call have in common.
pub(super) struct DetachedCall {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) target: CallTarget,
    pub(super) request: RequestContext,
}

/// The state behind a handler's context in one run.
struct DetachedContext {
    request: RequestContext,
    asks: ClientQuestions,
    on_progress: Box<dyn Fn(&Progress) + Send + Sync>,
}

impl CallHandle for DetachedContext {
    fn request(&self) -> &RequestContext {
        &self.request
    }

    fn outbound(&self) -> &dyn NotificationSender {
        self
    }

    fn asking(&self) -> &dyn QuestionTransport {
        &self.asks
    }
}

impl NotificationSender for DetachedContext {
    fn progress(&self, progress: &Progress) {
        (self.on_progress)(progress);
    }

    fn accepts_level(&self, _: LoggingLevel) -> bool {
        false
    }

    fn log(&self, _: LoggingLevel, _: Option<&str>, _: &str) {}
}

impl BackgroundRunner for DetachedCall {
    fn permit(self: Arc<Self>) -> Pin<Box<dyn Future<Output = Option<CallPermit>> + Send>> {
        Box::pin(async move { self.target.guards()?.permits.as_ref()?.wait().await })
    }

    fn try_permit(&self) -> Option<BackgroundPermit> {
        let guards = self.target.guards();
        let Some(permits) = guards.and_then(|guards| guards.permits.as_ref()) else {
            return Some(BackgroundPermit(None));
        };
        permits
            .try_acquire()
            .map(|permit| BackgroundPermit(Some(permit)))
    }

    fn task_options(&self) -> Option<&TaskOptions> {
        self.target.task_options()
    }

    fn request_size(&self) -> usize {
        self.request.size()
    }

    fn to_text(&self, arguments: &str) -> Option<String> {
        stored_call::to_text(&self.target, &self.request, arguments)
    }

    fn run(
        self: Arc<Self>,
        next: Next,
        arguments: Arc<str>,
        run: BackgroundRun,
    ) -> BackgroundFuture {
        Box::pin(async move { self.run_once(&next, &arguments, run).await })
    }
}

impl DetachedCall {
    async fn run_once(
        &self,
        next: &Next,
        arguments: &str,
        run: BackgroundRun,
    ) -> BackgroundOutcome {
        let BackgroundRun {
            journal,
            answers,
            steps,
            on_progress,
            permit,
        } = run;
        watching::begin_run();
        let Some(mut journal) = Journal::from_json(journal.as_bytes()) else {
            return failed("the journal of a call cannot be read");
        };
        answer(&mut journal, answers);
        let rounds = journal.round;
        // The store has never seen the results from before the call went to the background.
        let inherited = journal.once_names();
        let memory = Box::new(CallMemory {
            journal,
            loose: BTreeMap::new(),
        });
        let keeps_steps = steps.is_some();
        let round = Round::new(Some(memory), arguments).with_steps(steps);
        let request = self.request.detached();
        let asks = ClientQuestions::new(
            &self.dispatcher,
            request.version,
            Arc::clone(&request.capabilities),
            QuestionDelivery::Rounds(round),
        );
        let context = Arc::new(DetachedContext {
            request,
            asks,
            on_progress,
        });
        let handler = WrappedHandler::new(&self.dispatcher, &self.target, permit);
        let waits = handler.waits.clone();
        let handed = Context::new(Arc::<DetachedContext>::clone(&context));
        let Some(call) = handler.into_call(arguments, handed, rounds.saturating_add(1), None)
        else {
            return failed("a list cannot run in the background");
        };
        let guards = self.target.guards();
        let next = next.clone();
        let mut running = DetachedRun {
            // Like the handler, middleware runs only when it is polled, where a panic is caught.
            future: Some(Box::pin(async move { next.start(call).await })),
            context,
            recording: Some(self.begin_recording()),
            waits,
            limit: guards.and_then(|guards| guards.timeout),
            deadline: None,
        };
        let outcome = poll_fn(|task| running.poll(task)).await;
        let outcome = match running.drop_future() {
            Err(panic) if matches!(outcome, CallOutcome::Output(_) | CallOutcome::Input(_)) => {
                CallOutcome::Panicked(panic)
            }
            _ => outcome,
        };
        running.context.asks.close();
        let recording = running.recording.take();
        let max = self.dispatcher.limits().elicitation.max_rounds;
        match outcome {
            CallOutcome::Input(end) if end.journal.round <= max => {
                if let Some(mut recording) = recording {
                    recording.end(RecordedOutcome::InputRequired);
                }
                asked(end, keeps_steps.then_some(&inherited))
            }
            CallOutcome::Input(_) => {
                let text = format!("asked the client {max} times in a row without finishing");
                let error = crate::HandlerError::exposed(text);
                self.rendered(CallOutcome::Output(Err(error)), recording)
            }
            outcome => self.rendered(outcome, recording),
        }
    }

    fn begin_recording(&self) -> RequestRecording {
        let id = RequestId::from_valid("0");
        RequestRecording::begin(&self.dispatcher.settings.hooks, || RequestAttributes {
            method: Some(Method::ToolsCall),
            id: &id,
            version: Some(self.request.version),
            meta: self.request.meta.as_deref(),
            called: self.target.telemetry_target(),
        })
    }

    fn finisher(&self, recording: Option<RequestRecording>) -> CallFinisher {
        let limits = self.dispatcher.limits();
        let max = limits.calls.max_result_bytes;
        let max_output = self.target.guards().and_then(|guards| guards.max_output);
        CallFinisher {
            dispatcher: Arc::clone(&self.dispatcher),
            id: RequestId::from_valid("0"),
            version: self.request.version,
            target: self.target.clone(),
            recording: recording.unwrap_or_else(|| self.begin_recording()),
            caller: self.request.caller.clone(),
            #[cfg(feature = "http")]
            http_request: None,
            max_output: max_output.map_or(max, |output| output.min(max)),
        }
    }

    /// Returns the outcome in the form in which a request would have been answered.
    fn rendered(
        &self,
        outcome: CallOutcome,
        recording: Option<RequestRecording>,
    ) -> BackgroundOutcome {
        #[derive(Deserialize)]
        struct Response {
            result: Box<RawValue>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Flag {
            #[serde(default)]
            is_error: bool,
        }
        let mut out = Vec::new();
        let mut written = self.finisher(recording).respond(outcome, &mut out);
        written.complete(&mut out);
        if let Some(error) = written.error {
            return BackgroundOutcome::Failed(*error);
        }
        let response = serde_json::from_slice::<Response>(&out);
        let Ok(Response { result }) = response else {
            return failed("the result of a call cannot be read");
        };
        let flag = serde_json::from_str::<Flag>(result.get());
        BackgroundOutcome::Done {
            is_error: flag.is_ok_and(|flag| flag.is_error),
            result,
        }
    }
}

fn failed(what: &str) -> BackgroundOutcome {
    tracing::error!("{what}");
    BackgroundOutcome::Failed(ErrorObject::internal("internal error"))
}

/// Adds the answers to the questions that the journal has open.
fn answer(journal: &mut Journal, answers: BTreeMap<String, QuestionAnswer>) {
    let mut results = BTreeMap::new();
    for (key, answer) in answers {
        match answer {
            Ok(result) => drop(results.insert(key, result)),
            Err(error) => journal.add_failure(&key, i64::from(error.code), error.message),
        }
    }
    journal.add_answers(&mut results);
}

/// Returns the questions of a run that has ended with them. If a store keeps the results of `once`, the journal keeps only
/// those with the names in `inherited`.
fn asked(end: RoundEnd, inherited: Option<&BTreeSet<String>>) -> BackgroundOutcome {
    let RoundEnd {
        mut journal, open, ..
    } = end;
    if let Some(inherited) = inherited {
        journal.keep_once_results(inherited);
    }
    let questions = open.into_iter().map(|question| BackgroundQuestion {
        key: question.identity.key,
        method: question.method,
        params: question.params,
    });
    BackgroundOutcome::InputRequired {
        journal: journal.to_text(),
        questions: questions.collect(),
    }
}

/// One run of a call. Dropping it cancels the run.
struct DetachedRun {
    future: Option<Running>,
    context: Arc<DetachedContext>,
    /// `None` once the run has ended.
    recording: Option<RequestRecording>,
    waits: CallPermitWaits,
    limit: Option<std::time::Duration>,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl DetachedRun {
    fn poll(&mut self, task: &mut TaskContext<'_>) -> Poll<CallOutcome> {
        let Some(future) = &mut self.future else {
            return Poll::Pending;
        };
        self.context.asks.register(task);
        let mut poll = || run_user_code(None, || future.as_mut().poll(task));
        let polled = match &self.recording {
            Some(recording) => recording.within(poll),
            None => poll(),
        };
        match polled {
            Ok(Poll::Ready(output)) => return Poll::Ready(CallOutcome::Output(output)),
            Err(panic) => return Poll::Ready(CallOutcome::Panicked(panic)),
            Ok(Poll::Pending) => {}
        }
        if let Some(end) = self.context.asks.end_round() {
            return Poll::Ready(CallOutcome::Input(end));
        }
        let Some(limit) = self.limit else {
            return Poll::Pending;
        };
        // As in the foreground, the time spent waiting for a permit does not count.
        if self.waits.is_waiting() {
            self.deadline = None;
            return Poll::Pending;
        }
        let new = || Box::pin(tokio::time::sleep(limit));
        let deadline = self.deadline.get_or_insert_with(new);
        deadline.as_mut().poll(task).map(|()| {
            self.context.request.cancel();
            CallOutcome::TimedOut(limit)
        })
    }

    fn drop_future(&mut self) -> Result<(), String> {
        let future = self.future.take();
        let drop = || run_user_code(None, || drop(future));
        match &self.recording {
            Some(recording) => recording.within(drop),
            None => drop(),
        }
    }
}

impl Drop for DetachedRun {
    fn drop(&mut self) {
        if self.future.is_none() {
            return;
        }
        self.context.request.cancel();
        if let Err(panic) = self.drop_future() {
            tracing::error!(panic, "a cancelled handler panicked while it was dropped");
        }
        self.context.asks.close();
    }
}
