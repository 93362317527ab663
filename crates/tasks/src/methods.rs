//! Answers requests about tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mcp_core::context::{AskError, Context, ServerHandle};
use mcp_core::extension::{BackgroundQuestion, ExtensionResult, QuestionAnswer};
use mcp_core::handler::decode::entries;
use mcp_core::handler::handler_error::{HandlerError, Result};
use mcp_protocol::jsonrpc::ErrorObject;
use mcp_stores::{StoredTask, TaskChange, TaskChanged, TaskId, TaskOutcome, TaskStatus};
use serde::Deserialize;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};

use crate::running::EXPIRED;
use crate::service::{
    TaskService, ask_again, is_unknown, may_reach, no_such_task, refused, to_the_end, unreadable,
};
use crate::wire;
use crate::wire::{CHANGED_LEGACY, RELATED_TASK, TaskQuestion, TaskState};

/// Maximum number of tasks on a page of a list.
const MAX_PAGE_TASKS: usize = 100;

/// Maximum time for which `tasks/result` waits for a store that fails.
const OUTAGE: Duration = Duration::from_mins(5);
/// Time between two attempts to store an answer while the store fails.
const STORE_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The message of the error for the result of a cancelled task.
const NO_RESULT: &str = "the task was cancelled and has no result";

/// The parameters of most methods.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskParams {
    task_id: String,
}

/// The parameters of `tasks/update`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UpdateParams {
    task_id: String,
    input_responses: BTreeMap<String, Value>,
}

/// The parameters of `tasks/list`.
#[derive(Deserialize)]
pub(super) struct TaskListParams {
    #[serde(default)]
    cursor: Option<String>,
}

/// Answers `tasks/get`.
pub(super) async fn get(
    service: Arc<TaskService>,
    params: TaskParams,
    context: Context,
) -> Result<ExtensionResult> {
    let task = service.find(&context, &params.task_id).await?;
    if is_core(&context) {
        return ExtensionResult::new(wire::LegacyTask::new(&task));
    }
    if task.is_sealed && task.status != TaskStatus::Working {
        return Err(unreadable(&task));
    }
    ExtensionResult::new(wire::Task::with_questions(&task))?.json_members(wire::outcome(&task))
}

/// Answers `tasks/cancel`. Cancelling a task that has ended is an error in 2025-11-25, but not in the extension.
pub(super) async fn cancel(
    service: Arc<TaskService>,
    params: TaskParams,
    context: Context,
) -> Result<ExtensionResult> {
    let task = service.find(&context, &params.task_id).await?;
    let cancelled = service.change(&task.id, context.server(), |_| {
        let cancelled = TaskChange::to(TaskStatus::Cancelled).message("cancelled by the client");
        // Even a full store has room for the message if the state is dropped.
        Some(cancelled.state(""))
    });
    match cancelled.await? {
        TaskChanged::Changed(task) if is_core(&context) => {
            ExtensionResult::new(wire::LegacyTask::new(&task))
        }
        _ if is_core(&context) => Err(refused("the task has already ended")),
        _ => ExtensionResult::new(Map::new()),
    }
}

/// Answers `tasks/update`: adds answers to a task's questions. The task continues once all questions have been
/// answered.
pub(super) async fn update(
    service: Arc<TaskService>,
    params: UpdateParams,
    context: Context,
) -> Result<ExtensionResult> {
    let task = service.find(&context, &params.task_id).await?;
    if task.is_sealed {
        return Err(unreadable(&task));
    }
    let answers = params.input_responses.iter().map(|(key, answer)| {
        let answer = to_raw_value(answer).map_err(|error| refused(error.to_string()))?;
        Ok((key.clone(), Ok(answer)))
    });
    let answers: Vec<(String, QuestionAnswer)> = answers.collect::<Result<_>>()?;
    service.answer(&task, &context, answers).await?;
    ExtensionResult::new(Map::new())
}

/// Answers `tasks/list`. The list contains only the tasks that the request may reach, so pages may be short.
pub(super) async fn list(
    service: Arc<TaskService>,
    params: TaskListParams,
    context: Context,
) -> Result<ExtensionResult> {
    let mut cursor = params.cursor;
    loop {
        let page = service
            .store
            .list(context.caller().key(), cursor.as_deref(), MAX_PAGE_TASKS);
        let page = page.await.map_err(ask_again)?;
        let page = page.ok_or_else(|| refused("`cursor` is invalid"))?;
        let tasks = page.tasks.iter();
        let tasks = tasks.filter(|task| matches!(may_reach(task, &context), Ok(true)));
        let tasks: Vec<_> = tasks.map(wire::LegacyTask::new).collect();
        // Clients may take an empty page for the last one.
        if tasks.is_empty() && page.next.is_some() {
            cursor = page.next;
            continue;
        }
        let mut members = json!({"tasks": tasks});
        if let Some(next) = page.next {
            members["nextCursor"] = next.into();
        }
        return ExtensionResult::new(members);
    }
}

/// Answers `tasks/result`: waits until the task has ended, and forwards the task's questions to the client in the
/// meantime.
///
/// Clients take the answer for the outcome of the call, so a store that fails is waited for. If that takes too long, the
/// error says to ask again.
pub(super) async fn result(
    service: Arc<TaskService>,
    params: TaskParams,
    context: Context,
) -> Result<ExtensionResult> {
    // The keys of questions that cannot be sent to this client; another of the caller's sessions may answer them.
    let mut foreign = BTreeSet::new();
    let mut known = KnownTask::default();
    loop {
        let found = service.look_up(&context, &params.task_id).await;
        let task = match known.look(found) {
            Ok(Some(task)) => task,
            Ok(None) => continue,
            Err(error) => return Err(error),
        };
        if task.status.is_final() {
            return payload(&task);
        }
        context.notify(CHANGED_LEGACY, wire::LegacyTask::new(&task));
        let question = match task.status {
            TaskStatus::InputRequired => next_question(&task, &foreign),
            _ => None,
        };
        let changed = service.changed(&task);
        let Some((key, question)) = question else {
            changed.await;
            continue;
        };
        let asked = forwarded(&task, question);
        let answer = tokio::select! {
            biased;
            () = changed => continue,
            answer = context.forward_question(&asked) => answer,
        };
        let answer = match answer {
            Ok(answer) => Ok(answer),
            // The client may still answer, so the question is sent again.
            Err(AskError::TimedOut(_)) => continue,
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
            match service.answer(&task, &context, answers).await {
                Err(error) if is_unknown(&error) => known.failed(error)?,
                answered => break answered?,
            }
            sleep(STORE_RETRY_INTERVAL).await;
        }
    }
}

/// What a request that waits for a task knows about it.
#[derive(Default)]
struct KnownTask {
    /// The end of the task's time to live.
    expires: Option<Instant>,
    /// The time since which the store has failed.
    failing_since: Option<Instant>,
}

impl KnownTask {
    /// Considers the latest look at the task. Returns `None` if the store must be asked again, and an error if the task
    /// no longer exists or the store has failed for too long.
    fn look(&mut self, found: Result<Option<StoredTask>>) -> Result<Option<StoredTask>> {
        let now = Instant::now();
        match found {
            Ok(Some(task)) => {
                self.failing_since = None;
                self.expires.get_or_insert_with(|| {
                    let age = task.created_at.elapsed().unwrap_or_default();
                    let left = task.ttl.saturating_sub(age);
                    now.checked_add(left).unwrap_or(now)
                });
                Ok(Some(task))
            }
            // The clock of the store may differ a little.
            Ok(None)
                if self
                    .expires
                    .is_some_and(|end| end <= now + STORE_RETRY_INTERVAL) =>
            {
                Err(refused(format!("{NO_RESULT}: {EXPIRED}")))
            }
            Ok(None) => Err(no_such_task()),
            Err(error) if is_unknown(&error) => self.failed(error).map(|()| None),
            Err(error) => Err(error),
        }
    }

    /// Considers a failure of the store. Returns the error once the store has failed for too long.
    fn failed(&mut self, error: HandlerError) -> Result<()> {
        let now = Instant::now();
        let since = *self.failing_since.get_or_insert(now);
        if now.duration_since(since) >= OUTAGE {
            return Err(error);
        }
        Ok(())
    }
}

fn is_core(context: &Context) -> bool {
    context.request().protocol_version().has_tasks()
}

/// Returns the first unanswered question that is not in `foreign`.
pub(super) fn next_question(
    task: &StoredTask,
    foreign: &BTreeSet<String>,
) -> Option<(String, TaskQuestion)> {
    let open = TaskState::read(&task.state)?.open;
    open.into_iter().find(|(key, _)| !foreign.contains(key))
}

/// Returns a task's question in the form used for 2025-11-25 clients.
fn forwarded(task: &StoredTask, question: TaskQuestion) -> BackgroundQuestion {
    let mut params = question.params;
    if let Some(params) = params.as_object_mut() {
        let meta = params.entry("_meta").or_insert_with(|| json!({}));
        meta[RELATED_TASK] = related(task);
    }
    BackgroundQuestion::new(String::new(), question.method.as_str(), params)
}

fn related(task: &StoredTask) -> Value {
    json!({"taskId": task.id.as_str()})
}

/// Returns the result that the request would have had if it had not become a task.
fn payload(task: &StoredTask) -> Result<ExtensionResult> {
    if task.is_sealed {
        return Err(unreadable(task));
    }
    match &task.outcome {
        Some(TaskOutcome::Result { json, .. }) => {
            let members = entries(json)
                .map_err(|_| HandlerError::opaque("a task's result cannot be read"))?;
            let (meta, members): (Vec<_>, Vec<_>) =
                members.into_iter().partition(|(name, _)| name == "_meta");
            let mut result = Map::new();
            for (_, meta) in meta {
                result.insert("_meta".into(), serde_json::from_str(meta)?);
            }
            let members = members.iter().map(|(name, json)| (&**name, *json));
            let result = ExtensionResult::new(result)?.json_members(members)?;
            Ok(result.meta(RELATED_TASK, related(task)))
        }
        Some(TaskOutcome::Error { json }) => {
            let error: ErrorObject = serde_json::from_str(json)?;
            Err(HandlerError::protocol(error))
        }
        None => Err(refused(NO_RESULT)),
    }
}

impl TaskService {
    /// Adds answers to a task's questions and runs the task once all of them have been answered. Answers to questions
    /// that are not open are ignored, and so are all answers if the request may no longer reach the task, for which this
    /// fails.
    pub(super) async fn answer(
        self: &Arc<Self>,
        task: &StoredTask,
        context: &Context,
        answers: Vec<(String, QuestionAnswer)>,
    ) -> Result<()> {
        if !may_reach(task, context)? {
            return Err(no_such_task());
        }
        let (service, id, server) = (Arc::clone(self), task.id.clone(), context.server().clone());
        to_the_end(async move { service.answer_and_resume(&id, &server, &answers).await }).await
    }

    async fn answer_and_resume(
        self: &Arc<Self>,
        id: &TaskId,
        server: &ServerHandle,
        answers: &[(String, QuestionAnswer)],
    ) -> Result<()> {
        let max = self.limits.max_state_bytes;
        let mut is_too_large = false;
        let answered = self.change(id, server, |task| {
            if task.status != TaskStatus::InputRequired {
                return None;
            }
            let mut state = TaskState::read(&task.state)?;
            let before = state.open.len();
            for (key, answer) in answers {
                state.answer(key, answer.clone());
            }
            if state.open.len() == before {
                return None;
            }
            let status = if state.open.is_empty() {
                TaskStatus::Working
            } else {
                TaskStatus::InputRequired
            };
            let state = state.to_text();
            is_too_large = state.len() > max;
            (!is_too_large).then(|| TaskChange::to(status).state(state))
        });
        let answered = answered.await?;
        if is_too_large {
            return Err(refused(format!(
                "a task can keep at most {max} bytes of answers"
            )));
        }
        match answered {
            TaskChanged::Changed(task) if task.status == TaskStatus::Working => {
                self.resume(&task.id).await;
                Ok(())
            }
            TaskChanged::Full => Err(refused("the server has no room for more answers")),
            TaskChanged::Changed(_) | TaskChanged::Unchanged => Ok(()),
        }
    }
}
