//! Tasks for clients that do not support tasks: a message that contains a handle, and two tools that accept the handle.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mcp_core::context::{AskError, Context};
use mcp_core::extension::BackgroundQuestion;
use mcp_core::handler::dynamic::{Arguments, DynamicTool};
use mcp_core::handler::handler_error::{HandlerError, Result};
use mcp_core::handler::middleware::{Call, Next};
use mcp_core::handler::run::CallOutput;
use mcp_protocol::jsonrpc::{ErrorObject, constant};
use mcp_protocol::types::CallToolResult;
use mcp_stores::{StoredTask, TaskChange, TaskChanged, TaskId, TaskOutcome, TaskStatus};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};

use crate::TaskCallExt as _;
use crate::methods::next_question;
use crate::service::{TaskService, is_unknown};
use crate::wire::{JOB_CANCEL, JOB_STATUS};

/// Time between two attempts to store an answer while the store fails.
const STORE_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Returns the answer to a call that continues as a task. If the answer is an error, it does not contain structured
/// content, which would have to match the tool's output schema.
pub(super) fn handle(task: &StoredTask, is_error: bool) -> CallToolResult {
    let (id, tool) = (task.id.as_str(), &task.tool);
    let text = format!(
        "This call to `{tool}` has not failed: it is taking longer than a call can last, and continues in the background as \
         job `{id}`. Call `{JOB_STATUS}` with {} to wait for its result. Do not call `{tool}` again: that would do the work a \
         second time. `{JOB_CANCEL}` stops it.",
        json!({"job_id": id})
    );
    if is_error {
        return CallToolResult::error(text);
    }
    with_state(CallToolResult::text(text), task)
}

/// Adds a job's state as structured content.
fn with_state(mut result: CallToolResult, task: &StoredTask) -> CallToolResult {
    let mut state = json!({"job_id": task.id.as_str(), "status": task.status.as_str()});
    if let Some(message) = &task.message {
        state["message"] = (**message).into();
    }
    result.structured_content = to_raw_value(&state).ok();
    result
}

/// The input schema of both tools.
const JOB_INPUT: &str = r#"{
    "type": "object",
    "properties": {
        "job_id": {
            "type": "string",
            "description": "The job's id, from the result of the call that continues in the background",
            "maxLength": 128
        }
    },
    "required": ["job_id"],
    "additionalProperties": false
}"#;

/// Creates the two tools.
pub(super) fn tools(service: &Arc<TaskService>) -> [DynamicTool; 2] {
    let input = constant(JOB_INPUT);
    let of_status = Arc::clone(service);
    let status = move |arguments: Arguments, context: Context| {
        let service = Arc::clone(&of_status);
        async move {
            let id: String = arguments.get("job_id")?;
            tokio::select! {
                biased;
                result = service.job_status(&id, &context) => result,
                result = context.keep_alive(PERIOD) => result,
            }
        }
    };
    let of_cancel = Arc::clone(service);
    let cancel = move |arguments: Arguments, context: Context| {
        let service = Arc::clone(&of_cancel);
        async move {
            let id: String = arguments.get("job_id")?;
            service.job_cancel(&id, &context).await
        }
    };
    let status = DynamicTool::new(JOB_STATUS, input.clone(), status)
        .description(
            "Waits for a job: a call to another tool that continues in the background. Returns the result of that call or, if \
             the job is still running after a while, its state. In that case, call this tool again.",
        )
        .read_only(true)
        .open_world(false);
    let cancel = DynamicTool::new(JOB_CANCEL, input, cancel)
        .description("Stops a job: a call to another tool that continues in the background.")
        .destructive(true)
        .idempotent(true)
        .open_world(false);
    [status, cancel]
}

impl TaskService {
    /// Returns one of this caller's jobs.
    async fn job(&self, id: &str, context: &Context) -> Result<StoredTask> {
        let found = self.look_up(context, id).await?;
        found.ok_or_else(|| HandlerError::exposed("no job has this id; it may have expired"))
    }

    /// Waits until a job ends or its client's patience runs out, and forwards the job's questions to the client in the
    /// meantime.
    async fn job_status(self: &Arc<Self>, id: &str, context: &Context) -> Result<CallToolResult> {
        let until = Instant::now().checked_add(self.patience_for(id));
        // The keys of questions that cannot be sent to this client.
        let mut foreign = BTreeSet::new();
        loop {
            let task = match self.job(id, context).await {
                Ok(task) => task,
                // A failure to learn how the job ended must not look like its end.
                Err(error) if is_unknown(&error) => {
                    if until.is_some_and(|until| until <= Instant::now()) {
                        return Ok(CallToolResult::text(unknown(id)));
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            if task.is_sealed && task.status != TaskStatus::Working {
                return Ok(CallToolResult::text(unknown(id)));
            }
            if task.status.is_final() {
                return result(&task);
            }
            let question = match task.status {
                TaskStatus::InputRequired => next_question(&task, &foreign),
                _ => None,
            };
            if question.is_none() && task.status == TaskStatus::InputRequired {
                return Ok(with_state(CallToolResult::text(unanswered(&task)), &task));
            }
            let changed = self.changed(&task);
            let impatient = async {
                match until {
                    Some(until) => sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            let Some((key, question)) = question else {
                tokio::select! {
                    biased;
                    () = changed => {}
                    () = impatient => {
                        return Ok(with_state(CallToolResult::text(unfinished(&task)), &task));
                    }
                }
                continue;
            };
            let asked = BackgroundQuestion::new(
                // A key is never reused during a task's lifetime, so that an answer is never mistaken for the answer to
                // a later question.
                key.clone(),
                question.method.as_str(),
                question.params,
            );
            let answer = tokio::select! {
                biased;
                () = changed => continue,
                answer = context.forward_question(&asked) => answer,
            };
            let answer = match answer {
                Ok(answer) => Ok(answer),
                Err(AskError::TimedOut(_)) => {
                    return Ok(with_state(CallToolResult::text(unfinished(&task)), &task));
                }
                Err(AskError::Unsupported(_)) => {
                    foreign.insert(key);
                    continue;
                }
                Err(AskError::Failed { code, message }) => {
                    let code = i32::try_from(code).unwrap_or(ErrorObject::INTERNAL_ERROR);
                    Err(ErrorObject::new(code, message))
                }
                Err(error) => return Err(error.into()),
            };
            loop {
                let answers = vec![(key.clone(), answer.clone())];
                match self.answer(&task, context, answers).await {
                    Err(error) if is_unknown(&error) => {}
                    answered => break answered?,
                }
                if until.is_some_and(|until| until <= Instant::now()) {
                    return Ok(CallToolResult::text(unknown(id)));
                }
                sleep(STORE_RETRY_INTERVAL).await;
            }
        }
    }

    /// Returns how long `job_status` waits.
    fn patience_for(&self, id: &str) -> Duration {
        let local = TaskId::parse(id).and_then(|id| self.local.get(&id));
        let own = local.and_then(|local| local.call.task_options()?.patience);
        own.unwrap_or(self.limits.patience)
    }

    async fn job_cancel(&self, id: &str, context: &Context) -> Result<CallToolResult> {
        let not_cancelled = |error: HandlerError| {
            if !is_unknown(&error) {
                return error;
            }
            HandlerError::exposed(format!(
                "it is not known whether job `{id}` was cancelled, because the server cannot reach its jobs at the moment; \
                 call `{JOB_CANCEL}` again"
            ))
        };
        let task = self.job(id, context).await.map_err(not_cancelled)?;
        let cancelled = self.change(&task.id, context.server(), |_| {
            let cancelled =
                TaskChange::to(TaskStatus::Cancelled).message("cancelled by the client");
            Some(cancelled.state(""))
        });
        let (id, tool) = (task.id.as_str(), &task.tool);
        Ok(match cancelled.await.map_err(not_cancelled)? {
            TaskChanged::Changed(task) => {
                let text = format!("Job `{id}`, a call to `{tool}`, was cancelled.");
                with_state(CallToolResult::text(text), &task)
            }
            _ => CallToolResult::text(format!(
                "Job `{id}`, a call to `{tool}`, had already ended. `{JOB_STATUS}` returns its result."
            )),
        })
    }
}

/// Returns the result that the call would have had.
fn result(task: &StoredTask) -> Result<CallToolResult> {
    match &task.outcome {
        Some(TaskOutcome::Result { json, .. }) => Ok(serde_json::from_str(json)?),
        Some(TaskOutcome::Error { json }) => {
            let error: ErrorObject = serde_json::from_str(json)?;
            Err(HandlerError::protocol(error))
        }
        None => {
            let why = task.message.as_deref().unwrap_or("cancelled");
            let (id, tool) = (task.id.as_str(), &task.tool);
            Err(HandlerError::exposed(format!(
                "job `{id}`, a call to `{tool}`, has no result: {why}"
            )))
        }
    }
}

/// Says that nothing is known about a job.
fn unknown(id: &str) -> String {
    format!(
        "The state of job `{id}` is not known at the moment, because the server cannot read its jobs. The job is not affected. \
         Call `{JOB_STATUS}` again to keep waiting."
    )
}

/// Describes a job that is still running.
fn unfinished(task: &StoredTask) -> String {
    let (id, tool) = (task.id.as_str(), &task.tool);
    let state = match &task.message {
        Some(message) => format!(" ({message})"),
        None => String::new(),
    };
    format!(
        "Job `{id}`, a call to `{tool}`, is still running{state}. Call `{JOB_STATUS}` again to keep waiting."
    )
}

/// Describes a job that is waiting for an answer that this client cannot give.
fn unanswered(task: &StoredTask) -> String {
    let (id, tool) = (task.id.as_str(), &task.tool);
    let question = next_question(task, &BTreeSet::new());
    let message = question
        .as_ref()
        .and_then(|(_, question)| question.params["message"].as_str());
    let asked = message.map_or_else(String::new, |message| format!(": {}", Value::from(message)));
    format!(
        "Job `{id}`, a call to `{tool}`, is waiting for an answer that cannot be requested from this client{asked}. \
         It continues when another client of the same caller answers. `{JOB_CANCEL}` stops it."
    )
}

// --- Keep-alive reports for clients that are waiting for a plain call and would otherwise give up.

/// Maximum time without a report. Clients give up after 60 seconds at the earliest.
pub(super) const PERIOD: Duration = Duration::from_secs(15);

/// Runs a call that could have been a task. While the handler does not report progress, sends reports to a client that
/// wants them.
pub(super) async fn with_heartbeat(call: Call, next: Next) -> Result<CallOutput> {
    let context = call.context().clone();
    tokio::select! {
        biased;
        output = next.run(call) => output,
        output = context.keep_alive(PERIOD) => output,
    }
}
