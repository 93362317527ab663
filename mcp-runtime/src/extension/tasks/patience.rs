//! Calls from clients that do not support tasks: plain calls until the client's patience runs out, and tasks after
//! that.
//!
//! Until a client receives a handle, the work belongs to its request and ends with it, so it is not stored. From then
//! on, the work is a task that includes the completed steps. `handover` creates the task, and `jobs` contains the
//! handle and the tools for it.

use std::future::pending;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::ErrorObject;
use crate::context::{AskError, Context};
use crate::extension::tasks::call_steps::CallSteps;
use crate::extension::tasks::creation::local_task;
use crate::extension::tasks::handover::{BegunRun, Handover};
use crate::extension::tasks::heartbeat::{PERIOD, with_heartbeat};
use crate::extension::tasks::jobs;
use crate::extension::tasks::latest_report::LatestReport;
use crate::extension::tasks::run_queue::TaskPermit;
use crate::extension::tasks::service::TaskService;
use crate::extension::tasks::state::{TaskQuestion, TaskState};
use crate::extension::{
    BackgroundCall, BackgroundOutcome, BackgroundQuestion, BackgroundRun, QuestionAnswer,
};
use crate::handler::background::{AttachedEnd, WaitingRequest};
use crate::handler::call::CallOutput;
use crate::handler::handler_error::{HandlerError, Result};
use crate::handler::middleware::{BackgroundPermit, Call, Next};
use crate::stores::StoredTask;
use crate::types::CallToolResult;

/// Runs a call that could have been a task, and answers it with a handle if the client's patience runs out. In the
/// meantime, a client that wants progress receives reports even if the handler does not send any.
pub(super) async fn patiently(
    service: Arc<TaskService>,
    call: Call,
    next: Next,
) -> Result<CallOutput> {
    if service.limits.patience == Duration::MAX {
        return with_heartbeat(call, next).await;
    }
    let context = call.context().clone();
    let own = call.task_options().and_then(|options| options.patience);
    let patience = own.unwrap_or(service.limits.patience);
    let version = context.request().protocol_version();
    let is_first = !context.asking().is_continued();
    let patient = PatientCall {
        patience: Instant::now().checked_add(patience),
        // For such a tool, clients reject a successful result without structured content.
        is_handle_an_error: call.has_output_schema() && version.has_structured_content(),
        background: call.clone().into_background(next),
        steps: Arc::new(CallSteps::new(is_first, version.is_modern())),
        context: context.clone(),
        service,
        call,
    };
    tokio::select! {
        biased;
        output = patient.run() => output,
        output = context.keep_alive(PERIOD) => output,
    }
}

struct PatientCall {
    service: Arc<TaskService>,
    context: Context,
    call: Call,
    background: BackgroundCall,
    steps: Arc<CallSteps>,
    /// The time at which the client's patience runs out, or `None` if it never does.
    patience: Option<Instant>,
    is_handle_an_error: bool,
}

impl PatientCall {
    async fn run(self) -> Result<CallOutput> {
        let mut state = TaskState::new(self.background.journal(), self.steps.is_first());
        loop {
            let begun = tokio::select! {
                biased;
                permit = self.call.permit() => Some(self.begin(&state, permit?)),
                () = self.impatient() => None,
            };
            let end = if let Some(mut begun) = begun {
                tokio::select! {
                    biased;
                    end = &mut begun.running => end,
                    room = self.room() => {
                        begun.room = Some(room);
                        match self.leave(&state, Some(begun)).await? {
                            Ok(task) => return Ok(self.handle(&task)),
                            Err(Some(begun)) => begun.running.await,
                            Err(None) => return Err(HandlerError::framework_bug("a run was lost")),
                        }
                    }
                }
            } else {
                if let Ok(task) = self.leave(&state, None).await? {
                    return Ok(self.handle(&task));
                }
                let permit = self.call.permit().await?;
                self.begin(&state, permit).running.await
            };
            match end {
                AttachedEnd::Output(output) => return output,
                AttachedEnd::Panicked(panic) => resume_unwind(Box::new(panic)),
                AttachedEnd::Detached(outcome) => return detached_output(outcome),
                AttachedEnd::InputRequired { journal, questions } => {
                    if self.context.request().protocol_version().is_modern() {
                        let asking = self.context.asking();
                        let questions = questions.into_iter();
                        let questions =
                            questions.map(|asked| (asked.key, asked.method, asked.params));
                        if asking.end_round_with(&journal, questions.collect()) {
                            // The round ends, and the request ends with it.
                            return pending().await;
                        }
                        return Err(HandlerError::framework_bug(
                            "a call cannot query its client",
                        ));
                    }
                    state.ask(journal, questions);
                    while let Some((key, question)) = state.open.first_key_value() {
                        let (key, answer) = (key.clone(), ask(&self.context, question).await?);
                        state.answer(&key, answer);
                    }
                }
            }
        }
    }

    /// Begins a run with the call's state.
    fn begin(&self, state: &TaskState, permit: BackgroundPermit) -> BegunRun {
        let request = WaitingRequest::new(self.context.clone());
        let reports = Arc::new(LatestReport::default());
        let latest = Arc::clone(&reports);
        let run = BackgroundRun::new(&*state.journal)
            .answers(state.clone().take_answers())
            .own_steps(self.steps.for_run())
            .permit(permit)
            .on_progress(move |progress| latest.set(progress));
        BegunRun {
            running: self.background.run_attached(run, request.clone()),
            request,
            reports,
            room: None,
        }
    }

    /// Waits until the client's patience runs out.
    async fn impatient(&self) {
        match self.patience {
            Some(end) => sleep_until(end).await,
            None => pending().await,
        }
    }

    /// Waits until the client's patience has run out and one more task can run. Returns the permit.
    async fn room(&self) -> TaskPermit {
        self.impatient().await;
        let owner: Arc<str> = self.context.caller().key().into();
        loop {
            if let Some(permit) = self.service.queue.turn(&owner).await.take() {
                return permit;
            }
        }
    }

    /// Turns the call into a task. Returns the run if there is no room for the task.
    async fn leave(
        &self,
        state: &TaskState,
        begun: Option<BegunRun>,
    ) -> Result<std::result::Result<StoredTask, Option<BegunRun>>> {
        let mut task = match self.service.new_task(&self.background, &self.context, None) {
            Ok(task) => task,
            Err(error) => {
                tracing::warn!(?error, "a call cannot continue in the background");
                return Ok(Err(begun));
            }
        };
        task.state = state.to_text();
        let local = local_task(self.background.clone(), self.context.server(), task.ttl);
        let handover = Handover {
            task,
            local,
            steps: Arc::clone(&self.steps),
            begun,
        };
        self.service.hand_over(handover).await
    }

    fn handle(&self, task: &StoredTask) -> CallOutput {
        self.context.ending().set_continues();
        CallOutput::Tool(jobs::handle(task, self.is_handle_an_error))
    }
}

/// Forwards a run's question to a legacy client. A failure also counts as an answer, which the handler receives.
async fn ask(context: &Context, question: &TaskQuestion) -> Result<QuestionAnswer> {
    let question = BackgroundQuestion {
        key: String::new(),
        method: question.method.as_str(),
        params: question.params.clone(),
    };
    match context.forward_question(&question).await {
        Ok(answer) => Ok(Ok(answer)),
        Err(AskError::Failed { code, message }) => {
            let code = i32::try_from(code).unwrap_or(ErrorObject::INTERNAL_ERROR);
            Ok(Err(ErrorObject::new(code, message)))
        }
        Err(AskError::Gone) => Err(AskError::Gone.into()),
        Err(error) => Ok(Err(ErrorObject::internal(error.to_string()))),
    }
}

/// Returns the output of a run that has ended as if no request were waiting for it.
fn detached_output(outcome: BackgroundOutcome) -> Result<CallOutput> {
    match outcome {
        BackgroundOutcome::Done { result, .. } => {
            let result: CallToolResult = serde_json::from_str(result.get())?;
            Ok(CallOutput::Tool(result))
        }
        BackgroundOutcome::Failed(error) => Err(HandlerError::protocol(error)),
        BackgroundOutcome::InputRequired { .. } => Err(HandlerError::framework_bug(
            "a call cannot query its client",
        )),
    }
}
