//! Tool calls that run as tasks.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::client::InProcessClient;
use crate::client::message::Failure;
use crate::extension::tasks::{ID, NO_RESULT};
use crate::jsonrpc::ErrorObject;

/// Time between two polls of a task that does not say how often it may be polled.
const POLL: Duration = Duration::from_secs(1);

/// Returns the time that the server asks to wait between two polls of a task.
fn poll_interval(task: &Value) -> Duration {
    let interval = task["pollIntervalMs"].as_u64();
    let interval = interval.or_else(|| task["pollInterval"].as_u64());
    interval.map_or(POLL, Duration::from_millis)
}

/// The server's answer to a call that asks for a task.
pub(crate) enum StartedCall {
    /// The call runs as a task with this id.
    Task(String),
    /// The call did not become a task; this is its result.
    Finished(Value),
}

impl InProcessClient {
    /// Calls a tool and asks for a task.
    pub(crate) async fn start_task(&self, mut params: Value) -> Result<StartedCall, Failure> {
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
    pub(crate) async fn task_request(
        &self,
        method: &str,
        mut params: Value,
        id: &str,
    ) -> Result<Value, Failure> {
        params["taskId"] = id.into();
        self.request(method, self.with_tasks(params)).await
    }

    /// Waits for a task to end, answers its questions, and returns what the call would have returned without a task.
    /// Calls `watch` with each state that a modern server returns.
    pub(crate) async fn finish_task(
        &self,
        id: &str,
        watch: impl Fn(&Value),
    ) -> Result<Value, Failure> {
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
                        Failure::Broken("a failed task has no error"),
                        Failure::Refused,
                    ));
                }
                Some("cancelled") => {
                    let error = ErrorObject::new(ErrorObject::INVALID_PARAMS, NO_RESULT);
                    return Err(Failure::Refused(error));
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
    #[cfg(feature = "testing")]
    pub(crate) async fn wait_for_task(
        &self,
        id: &str,
        condition: impl Fn(&Value) -> bool,
    ) -> Result<Value, Failure> {
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
            capabilities["extensions"][ID] = json!({});
            params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": capabilities});
        }
        params
    }
}
