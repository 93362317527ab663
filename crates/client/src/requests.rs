//! Requests that take several steps or differ between eras: lists with several pages, calls with several rounds, and
//! subscriptions.

use std::time::Duration;

use mcp_core::context::Capability;
use mcp_protocol::Era;
use mcp_protocol::jsonrpc::ErrorObject;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use crate::connection::{InProcessClient, Question, RequestError};

/// Maximum number of pages in a list, and of rounds in a call. Only a server that never finishes would exceed this
/// number.
const MOST_STEPS: usize = 10_000;

impl InProcessClient {
    /// Returns `true` if the server declares the capability for this list.
    pub fn server_offers(&self, list: Capability) -> bool {
        self.server.capabilities.get(list.server_member()).is_some()
    }

    /// Returns the capabilities that the server declares.
    pub fn server_capabilities(&self) -> &Value {
        &self.server.capabilities
    }

    /// Returns all items in a list. Returns no items if the server does not offer the list.
    pub async fn fetch_list(&self, list: Capability) -> Result<Vec<Value>, RequestError> {
        if !self.server_offers(list) {
            return Ok(Vec::new());
        }
        self.fetch_all_pages(list.list_method(), list.member())
            .await
    }

    /// Returns the items on all pages of a method's result.
    pub async fn fetch_all_pages(
        &self,
        method: &str,
        member: &str,
    ) -> Result<Vec<Value>, RequestError> {
        let mut items = Vec::new();
        let mut params = json!({});
        for _ in 0..MOST_STEPS {
            let mut page = self.request(method, params).await?;
            if let Value::Array(more) = page[member].take() {
                items.extend(more);
            }
            match page["nextCursor"].take() {
                Value::Null => return Ok(items),
                cursor => params = json!({"cursor": cursor}),
            }
        }
        Err(RequestError::Broken("the list never ends"))
    }

    /// Calls a method, answers any questions that the server asks, and returns the result.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, RequestError> {
        let mut next = params.clone();
        for _ in 0..MOST_STEPS {
            let mut result = self.request(method, next).await?;
            if result["resultType"] != "input_required" {
                return Ok(result);
            }
            self.host().begin_round();
            next = params.clone();
            next["inputResponses"] = self.answer_all(result["inputRequests"].take()).await?;
            if let Some(state) = result.get_mut("requestState") {
                next["requestState"] = state.take();
            }
        }
        Err(RequestError::Broken("the call does not end"))
    }

    /// Answers the questions in a modern result, and returns the answers by key.
    pub async fn answer_all(&self, questions: Value) -> Result<Value, RequestError> {
        let mut responses = Map::new();
        if let Value::Object(questions) = questions {
            for (key, mut question) in questions {
                let question = Question {
                    method: question["method"].as_str().unwrap_or_default().to_owned(),
                    params: question["params"].take(),
                };
                let answer = self.answer(question).await;
                responses.insert(key, answer.map_err(RequestError::Unanswered)?);
            }
        }
        Ok(Value::Object(responses))
    }

    /// Subscribes to changes to the resource with this URI.
    pub async fn subscribe(&self, uri: &str) -> Result<(), RequestError> {
        match self.version().era() {
            Era::Legacy => {
                let params = json!({"uri": uri});
                self.request("resources/subscribe", params).await?;
            }
            Era::Modern => {
                self.listen(json!({"resourceSubscriptions": [uri]})).await?;
            }
        }
        Ok(())
    }

    /// Completes a prompt argument or a resource template variable, given the values entered earlier.
    pub async fn complete(
        &self,
        reference: Value,
        argument: &str,
        partial: &str,
        earlier: Value,
    ) -> Result<Value, RequestError> {
        let mut params =
            json!({"ref": reference, "argument": {"name": argument, "value": partial}});
        // Earlier protocol versions do not support a completion context.
        if self.version().has_completion_context()
            && earlier
                .as_object()
                .is_some_and(|earlier| !earlier.is_empty())
        {
            params["context"] = json!({"arguments": earlier});
        }
        self.request("completion/complete", params).await
    }
}

// --- Tool calls that run as tasks.

/// The identifier of the extension.
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";

/// What is said of a cancelled task in the place of its result.
const CANCELLED: &str = "the task was cancelled and has no result";

/// Time between two polls of a task that does not say how often it may be polled.
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Returns the time that the server asks to wait between two polls of a task.
fn poll_interval(task: &Value) -> Duration {
    let interval = task["pollIntervalMs"].as_u64();
    let interval = interval.or_else(|| task["pollInterval"].as_u64());
    interval.map_or(DEFAULT_POLL_INTERVAL, Duration::from_millis)
}

/// The server's answer to a call that asks for a task.
pub enum StartedCall {
    /// The call runs as a task with this id.
    Task(String),
    /// The call did not become a task; this is its result.
    Finished(Value),
}

impl InProcessClient {
    /// Calls a tool and asks for a task.
    pub async fn start_task(&self, mut params: Value) -> Result<StartedCall, RequestError> {
        let is_modern = self.version().is_modern();
        if !is_modern {
            params["task"] = json!({});
        }
        let mut result = self.call("tools/call", self.with_tasks(params)).await?;
        let task = if is_modern { &result } else { &result["task"] };
        Ok(match task["taskId"].as_str() {
            Some(id) => StartedCall::Task(id.to_owned()),
            None => StartedCall::Finished(result.take()),
        })
    }

    /// Sends a request about a task and returns its result.
    pub async fn task_request(
        &self,
        method: &str,
        mut params: Value,
        id: &str,
    ) -> Result<Value, RequestError> {
        params["taskId"] = id.into();
        self.request(method, self.with_tasks(params)).await
    }

    /// Waits for a task to end, answers its questions, and returns what the call would have returned without a task.
    /// Calls `watch` with each state that a modern server returns.
    pub async fn finish_task(
        &self,
        id: &str,
        watch: impl Fn(&Value),
    ) -> Result<Value, RequestError> {
        if !self.version().is_modern() {
            // The server asks the task's questions while the client waits for its result.
            return self.task_request("tasks/result", json!({}), id).await;
        }
        loop {
            let mut task = self.task_request("tasks/get", json!({}), id).await?;
            watch(&task);
            let interval = poll_interval(&task);
            match task["status"].as_str() {
                Some("completed") => return Ok(task["result"].take()),
                Some("failed") => {
                    let error = serde_json::from_value::<ErrorObject>(task["error"].take());
                    return Err(error.map_or(
                        RequestError::Broken("a failed task has no error"),
                        RequestError::Refused,
                    ));
                }
                Some("cancelled") => {
                    let error = ErrorObject::new(ErrorObject::INVALID_PARAMS, CANCELLED);
                    return Err(RequestError::Refused(error));
                }
                Some("input_required") => {
                    let answers = self.answer_all(task["inputRequests"].take()).await?;
                    let params = json!({"inputResponses": answers});
                    self.task_request("tasks/update", params, id).await?;
                }
                _ => {}
            }
            sleep(interval).await;
        }
    }

    /// Waits until a task meets a condition or ends, and returns its state.
    pub async fn wait_for_task(
        &self,
        id: &str,
        condition: impl Fn(&Value) -> bool,
    ) -> Result<Value, RequestError> {
        loop {
            let task = self.task_request("tasks/get", json!({}), id).await?;
            let is_running = matches!(task["status"].as_str(), Some("working" | "input_required"));
            if !is_running || condition(&task) {
                return Ok(task);
            }
            sleep(poll_interval(&task)).await;
        }
    }

    /// Declares the tasks extension for a modern request.
    fn with_tasks(&self, mut params: Value) -> Value {
        if self.version().is_modern() {
            let mut capabilities = self.capabilities().clone();
            capabilities["extensions"][TASKS] = json!({});
            params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": capabilities});
        }
        params
    }
}
