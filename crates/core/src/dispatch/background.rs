//! Runs calls that continue separately from their request.
//!
//! In both eras, such a call always runs in rounds: a question ends the run, and the handler runs again from the
//! beginning with the answers. Between runs, only the call's journal exists.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::context::client_questions::{ClientQuestions, QuestionDelivery};
use crate::context::outbound::{BackgroundMessages, CallMessages};
use crate::context::request::CallContext;
use crate::context::rounds::{CallMemory, Journal, Round, RoundEnd};
use crate::context::{
    CallContinuation, CallerRecord, ClientIdentity, Context, DeferredEffects, Progress,
    RequestContext, RequestInfo, ServerHandle, watching,
};
use crate::dispatch::Dispatcher;
use crate::dispatch::call::{CallScope, HandlerRun, WrappedHandler};
use crate::dispatch::finish::{CallFinisher, CallOutcome};
use crate::dispatch::target::CallTarget;
use crate::handler::background::{
    AttachedEnd, AttachedFuture, BackgroundCall, BackgroundFuture, BackgroundOutcome,
    BackgroundQuestion, BackgroundRun, BackgroundRunner, QuestionAnswer, WaitingRequest,
};
use crate::handler::middleware::{BackgroundPermit, Call, KeptMembers, Next};
use crate::handler::option::AttachedOption;
use crate::handler::tags::TagSelection;
use crate::jsonrpc::{ErrorObject, RequestId};
use crate::observe::{RecordedOutcome, RequestAttributes, RequestRecording};
use crate::protocol::{Method, ProtocolVersion};
use crate::registry::CallPermit;
use crate::types::{ClientCapabilities, Implementation};

// This method is defined here, rather than called through the innermost step's trait, so that programs without such
// calls do not contain the code for them.
impl Call {
    /// Detaches the call from its request, so that it can run, wrapped in `next`, after the response has been sent.
    #[must_use]
    #[allow(
        clippy::missing_panics_doc,
        reason = "the dispatcher creates all calls"
    )]
    #[doc(hidden)]
    pub fn into_background(self, next: Next) -> BackgroundCall {
        let handler = self.innermost().downcast_ref::<WrappedHandler>();
        let handler = handler.expect("the innermost step is a wrapped handler");
        let runner = Arc::new(CallRunner {
            dispatcher: Arc::clone(&handler.dispatcher),
            target: handler.target.clone(),
            request: self.context().request_context().for_background(),
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

impl BackgroundRunner for CallRunner {
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
        stored_form(&self.target, &self.request, arguments)
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
                Ok(ended) => AttachedEnd::Background(self.outcome(ended)),
                Err(what) => AttachedEnd::Background(failed(what)),
            }
        })
    }
}

/// A single run of a call. Dropping it cancels the run.
struct DetachedRun {
    run: HandlerRun,
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

impl CallRunner {
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
        let request = self.request.for_background();
        let asks = ClientQuestions::new(
            &self.dispatcher.questions,
            request.version,
            Arc::clone(&request.capabilities),
            QuestionDelivery::Rounds(round),
        );
        let context = Arc::new(CallContext {
            request,
            messages: CallMessages::Background(Box::new(WaitingRequestMessages {
                on_progress,
                waiting: waiting.clone(),
            })),
            asks,
            effects: DeferredEffects::default(),
            continuation: CallContinuation::default(),
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
        let handed = Context::new(Arc::clone(&context));
        let handler = Arc::new(handler);
        let Some(call) = handler.call(
            arguments,
            handed,
            rounds.saturating_add(1),
            KeptMembers::default(),
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
                outcome => AttachedEnd::Background(outcome),
            },
            outcome @ CallOutcome::TimedOut(_) => {
                AttachedEnd::Background(self.rendered(outcome, None))
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
        RequestRecording::begin(&self.dispatcher.settings.observers, || RequestAttributes {
            method: Some(Method::ToolsCall),
            id: &id,
            version: Some(self.request.version),
            meta: self.request.meta.as_deref(),
            called: self.target.called_item(),
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
            Err(error) => journal.add_failure(&key, i64::from(error.code), &error.message),
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

/// The data shared by all runs of a call.
pub(super) struct CallRunner {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) target: CallTarget,
    pub(super) request: RequestContext,
}

/// Passes a call's messages to the request that is waiting for the call. If there is none, only progress is reported.
pub(super) struct WaitingRequestMessages {
    pub(super) on_progress: Box<dyn Fn(&Progress) + Send + Sync>,
    pub(super) waiting: Option<WaitingRequest>,
}

impl BackgroundMessages for WaitingRequestMessages {
    fn report(&self, progress: &Progress) {
        (self.on_progress)(progress);
    }

    fn waiting(&self, send: &mut dyn FnMut(&CallMessages)) -> bool {
        let request = self.waiting.as_ref().and_then(WaitingRequest::context);
        let is_waiting = request.is_some();
        if let Some(request) = request {
            send(request.outbound());
        }
        is_waiting
    }
}

// Calls in their stored form, which contains all the data that another process needs to run a tool call again.
//
// A call's journal, which keeps its state between runs, is stored separately because it changes.

/// The format that this build reads and writes.
const FORMAT: u32 = 1;

/// The part of a stored call that all formats have in common.
#[derive(Deserialize)]
struct StoredFormat {
    format: u32,
}

/// A call in its stored form.
#[derive(Serialize, Deserialize)]
struct StoredCall {
    format: u32,
    tool: String,
    arguments: Box<RawValue>,
    protocol_version: String,
    caller: CallerRecord,
    capabilities: ClientCapabilities,
    /// The client's name and version, if they are not in `_meta`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<Implementation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    meta: Option<Box<RawValue>>,
    /// The lists of tags that select the definitions for the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
}

/// Returns a call with these arguments as text, or `None` if it is not a tool call.
fn stored_form(target: &CallTarget, request: &RequestContext, arguments: &str) -> Option<String> {
    let (tool, _) = target.tool()?;
    let raw = |json: &str| RawValue::from_string(json.to_owned()).ok();
    let client = match &request.client {
        ClientIdentity::Known(client) => client.as_deref().cloned(),
        ClientIdentity::Claimed(_) => None,
    };
    let call = StoredCall {
        format: FORMAT,
        tool: tool.name.clone(),
        arguments: raw(arguments)?,
        protocol_version: request.version.as_str().to_owned(),
        caller: CallerRecord::of(&request.caller),
        capabilities: (*request.capabilities).clone(),
        client,
        meta: request.meta.as_deref().and_then(raw),
        tags: request
            .selection
            .as_ref()
            .map(TagSelection::lists)
            .unwrap_or_default(),
    };
    serde_json::to_string(&call).ok()
}

// This method is defined here, rather than called through the handle's trait, so that programs that restore no calls do
// not contain the code for it.
impl ServerHandle {
    /// Recreates a call from its [text](BackgroundCall::to_text), for as many runs as it needs. Its tool must still
    /// exist, and the caller must be allowed to use it. Its runs pass through all middleware, also through the middleware
    /// that let the call continue in the background.
    ///
    /// # Errors
    ///
    /// Returns a sentence for the client that explains why the call cannot run.
    #[doc(hidden)]
    pub fn restore_call(&self, text: &str) -> Result<BackgroundCall, String> {
        let dispatcher = self.0.dispatcher().ok_or("the server does not serve")?;
        let dispatcher = dispatcher.downcast::<Dispatcher>();
        dispatcher
            .map_err(|_| "the server does not serve")?
            .restore_call(text)
    }
}

impl Dispatcher {
    fn restore_call(self: Arc<Self>, text: &str) -> Result<BackgroundCall, String> {
        let call = read_stored(text)?;
        let version = ProtocolVersion::from_wire(&call.protocol_version).ok_or_else(|| {
            format!(
                "this server no longer speaks protocol version {}",
                call.protocol_version
            )
        })?;
        let selection = call
            .tags
            .iter()
            .try_fold(None, |all: Option<TagSelection>, list| {
                let list = TagSelection::parse(list)?;
                Ok::<_, String>(Some(all.map_or(list.clone(), |all| all.and(&list))))
            });
        let selection = selection?;
        let caller = self.settings.admission.admit(call.caller.into_caller());
        let snapshot = self.registry.snapshot();
        let view = snapshot.seen_by(&caller).narrowed_to(selection.as_ref());
        let callable = view.tool(&call.tool).map_err(|_| {
            format!(
                "the tool `{}` no longer exists, or its caller may no longer use it",
                call.tool
            )
        })?;
        let next = self.settings.middleware.for_runs(callable);
        let target = CallTarget::Named(Arc::clone(callable));
        let name = Arc::clone(&callable.name);
        let meta = call.meta.map(Box::<str>::from);
        let request = RequestContext {
            client: if version.is_modern() {
                ClientIdentity::Claimed(OnceLock::new())
            } else {
                ClientIdentity::Known(call.client.map(Arc::new))
            },
            info: RequestInfo::new(version, self.message_source(&caller)),
            caller: caller.clone(),
            selection: selection.clone(),
            version,
            capabilities: Arc::new(call.capabilities),
            meta,
            cancelled: OnceLock::new(),
            states: Arc::clone(&self.settings.states),
            server: self.handle(),
        };
        let runner = CallRunner {
            dispatcher: Arc::clone(&self),
            target,
            request,
        };
        let arguments: Box<str> = call.arguments.into();
        Ok(BackgroundCall {
            name,
            arguments: arguments.into(),
            next,
            journal: "".into(),
            runner: Arc::new(runner),
        })
    }
}

fn read_stored(text: &str) -> Result<StoredCall, String> {
    let format = serde_json::from_str::<StoredFormat>(text);
    match format {
        Ok(StoredFormat { format: FORMAT }) => {}
        Ok(StoredFormat { format }) => {
            return Err(format!(
                "the call was stored in format {format}, which this build of the server cannot read; it reads format {FORMAT}"
            ));
        }
        Err(_) => return Err("the stored call cannot be read".into()),
    }
    serde_json::from_str(text).map_err(|error| {
        tracing::error!(%error, "a stored call cannot be read");
        "the stored call cannot be read".into()
    })
}
