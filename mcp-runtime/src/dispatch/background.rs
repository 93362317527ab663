//! Runs calls that continue separately from their request.
//!
//! In both eras, such a call always runs in rounds: a question ends the run, and the handler runs again from the
//! beginning with the answers. Between runs, only the call's journal exists.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::context::{CallEnding, Context, watching};
use crate::dispatch::ask::{ClientQuestions, QuestionDelivery};
use crate::dispatch::call_context::CallContext;
use crate::dispatch::detached_call::DetachedCall;
use crate::dispatch::detached_messages::DetachedMessages;
use crate::dispatch::finish::{CallFinisher, CallOutcome};
use crate::dispatch::handler_run::{CallScope, HandlerRun};
use crate::dispatch::journal::Journal;
use crate::dispatch::rounds::{CallMemory, Round, RoundEnd};
use crate::dispatch::stored_call;
use crate::dispatch::wrapped::WrappedHandler;
use crate::handler::background::{
    AttachedEnd, AttachedFuture, BackgroundCall, BackgroundFuture, BackgroundOutcome,
    BackgroundQuestion, BackgroundRun, BackgroundRunner, QuestionAnswer, WaitingRequest,
};
use crate::handler::background_permit::BackgroundPermit;
use crate::handler::middleware::{Call, KeptMembers, Next};
use crate::handler::option::AttachedOption;
use crate::jsonrpc::{ErrorObject, RequestId};
use crate::protocol::Method;
use crate::registry::CallPermit;
use crate::telemetry::{RecordedOutcome, RequestAttributes, RequestRecording};

// This method is defined here, rather than called through the innermost step's trait, so that programs without such
// calls do not contain the code for them.
impl Call {
    /// Detaches the call from its request, so that it can run, wrapped in `next`, after the response has been sent.
    #[must_use]
    #[allow(
        clippy::missing_panics_doc,
        reason = "the dispatcher creates all calls"
    )]
    pub fn into_background(self, next: Next) -> BackgroundCall {
        let handler = self.innermost().downcast_ref::<WrappedHandler>();
        let handler = handler.expect("the innermost step is a wrapped handler");
        let runner = Arc::new(DetachedCall {
            dispatcher: Arc::clone(&handler.dispatcher),
            target: handler.target.clone(),
            request: self.context().request_context().detached(),
        });
        let journal = self.context().asking().journal().into();
        let (name, arguments) = self.into_name_and_arguments();
        BackgroundCall {
            name,
            arguments,
            next,
            journal,
            runner,
        }
    }
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

    fn options(&self) -> &[AttachedOption] {
        self.target.options()
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
        Box::pin(async move {
            match self.run_once(&next, &arguments, run, None).await {
                Ok(ended) => self.outcome(ended),
                Err(what) => failed(what),
            }
        })
    }

    fn run_attached(
        self: Arc<Self>,
        next: Next,
        arguments: Arc<str>,
        run: BackgroundRun,
        request: WaitingRequest,
    ) -> AttachedFuture {
        Box::pin(async move {
            let waiting = Some(request.clone());
            match self.run_once(&next, &arguments, run, waiting).await {
                Ok(ended) if request.context().is_some() => self.attached_end(ended),
                Ok(ended) => AttachedEnd::Detached(self.outcome(ended)),
                Err(what) => AttachedEnd::Detached(failed(what)),
            }
        })
    }
}

/// A single run of a call. Dropping it cancels the run.
struct DetachedRun {
    run: HandlerRun<DetachedMessages>,
    /// `None` if the run is part of a request.
    recording: Option<RequestRecording>,
}

impl DetachedRun {
    fn poll(&mut self, limit: Option<Duration>, task: &mut TaskContext<'_>) -> Poll<CallOutcome> {
        self.run.poll(self.recording.as_ref(), || limit, task)
    }

    fn finish(&mut self, outcome: &mut CallOutcome) {
        self.run.finish(outcome, self.recording.as_ref());
    }
}

impl Drop for DetachedRun {
    fn drop(&mut self) {
        self.run.abandon(self.recording.as_ref());
    }
}

/// The end of a run.
struct EndedRun {
    outcome: CallOutcome,
    recording: Option<RequestRecording>,
    /// The names of the `once` results that the journal keeps if a store keeps all others.
    inherited: Option<BTreeSet<String>>,
}

impl DetachedCall {
    /// Runs the call. The error is the reason why it cannot run.
    async fn run_once(
        &self,
        next: &Next,
        arguments: &str,
        run: BackgroundRun,
        waiting: Option<WaitingRequest>,
    ) -> Result<EndedRun, &'static str> {
        let BackgroundRun {
            journal,
            answers,
            steps,
            on_progress,
            permit,
            results_for,
        } = run;
        watching::begin_run();
        let Some(mut journal) = Journal::from_json(journal.as_bytes()) else {
            return Err("a call's journal cannot be read");
        };
        answer(&mut journal, answers);
        let rounds = journal.round;
        // The store does not contain the results from before the call was moved to the background.
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
        let context = Arc::new(CallContext {
            request,
            messages: DetachedMessages {
                on_progress,
                waiting: waiting.clone(),
            },
            asks,
            ending: CallEnding::default(),
        });
        let handler = WrappedHandler::new(&self.dispatcher, &self.target, permit);
        let request_of_run = waiting.clone();
        let handler = handler.with_result_lifetime(Box::new(move || {
            // While its request waits, the call is not a task.
            let is_plain = request_of_run
                .as_ref()
                .is_some_and(|it| it.context().is_some());
            results_for.filter(|_| !is_plain)
        }));
        let waits = handler.waits.clone();
        let handed = Context::new(Arc::<CallContext<DetachedMessages>>::clone(&context));
        let handler = Arc::new(handler);
        let Some(call) = handler.call(
            arguments,
            handed,
            rounds.saturating_add(1),
            KeptMembers::new(),
        ) else {
            return Err("a list cannot run in the background");
        };
        let guards = self.target.guards();
        let next = next.clone();
        // Like the handler, middleware runs only when it is polled, and polling catches panics.
        let future = Box::pin(async move { next.start(call).await });
        let mut running = DetachedRun {
            run: HandlerRun::new(future, Some(waits), CallScope(Some(context))),
            // A waiting request is recorded separately.
            recording: waiting.is_none().then(|| self.begin_recording()),
        };
        let limit = guards.and_then(|guards| guards.timeout);
        let mut outcome = poll_fn(|task| running.poll(limit, task)).await;
        running.finish(&mut outcome);
        if let CallOutcome::Input(end) = &outcome {
            let max = self.dispatcher.limits().elicitation.max_rounds;
            if let Err(error) = end.check_rounds(max) {
                outcome = CallOutcome::Output(Err(error));
            }
        }
        Ok(EndedRun {
            outcome,
            recording: running.recording.take(),
            inherited: keeps_steps.then_some(inherited),
        })
    }

    /// Returns the outcome of a run for the request that is waiting for it.
    fn attached_end(&self, ended: EndedRun) -> AttachedEnd {
        match ended.outcome {
            CallOutcome::Output(output) => AttachedEnd::Output(output),
            CallOutcome::Panicked(panic) => AttachedEnd::Panicked(panic),
            // The request also receives the `once` results, because they are not in any store yet.
            CallOutcome::Input(end) => match asked(*end, None) {
                BackgroundOutcome::InputRequired { journal, questions } => {
                    AttachedEnd::InputRequired { journal, questions }
                }
                outcome => AttachedEnd::Detached(outcome),
            },
            outcome @ CallOutcome::TimedOut(_) => {
                AttachedEnd::Detached(self.rendered(outcome, None))
            }
        }
    }

    /// Returns a run's outcome.
    fn outcome(&self, ended: EndedRun) -> BackgroundOutcome {
        let EndedRun {
            outcome,
            recording,
            inherited,
        } = ended;
        match outcome {
            CallOutcome::Input(end) => {
                if let Some(mut recording) = recording {
                    recording.end(RecordedOutcome::InputRequired);
                }
                asked(*end, inherited.as_ref())
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
        CallFinisher {
            dispatcher: Arc::clone(&self.dispatcher),
            id: None,
            version: self.request.version,
            target: self.target.clone(),
            recording: recording.unwrap_or_else(|| self.begin_recording()),
            caller: self.request.caller.clone(),
            #[cfg(feature = "http")]
            http_request: None,
        }
    }

    /// Returns the outcome as the result of a request.
    fn rendered(
        &self,
        outcome: CallOutcome,
        recording: Option<RequestRecording>,
    ) -> BackgroundOutcome {
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
        let text = String::from_utf8(out).ok();
        let Some(result) = text.and_then(|text| RawValue::from_string(text).ok()) else {
            return failed("a call's result cannot be read");
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

/// Adds the answers to the journal's open questions.
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

/// Returns the questions with which a run has ended. If a store keeps the `once` results, the journal keeps only those
/// whose names are in `inherited`.
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
