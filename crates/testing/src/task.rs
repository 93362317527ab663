//! Tool calls that run as tasks.

use mcp_client::StartedCall;
use mcp_protocol::ProtocolVersion;
use mcp_protocol::jsonrpc::ErrorObject;
use serde_json::{Value, json};

use crate::script::{OutcomeComparison, ScriptedClient};
use crate::{CallResult, TestClient, expect_server_outcome, parse_result};

/// A call that runs as a task, started with [`TestClient::start_task`].
///
/// With clients for both eras, there is one task for each era.
#[derive(Debug)]
pub struct TestTask<'c> {
    client: &'c TestClient,
    tool: String,
    /// The id of each side's task.
    ids: Vec<String>,
}

impl TestClient {
    /// Calls a tool as a task and returns as soon as the task exists. `arguments` is an object.
    ///
    /// With clients for both eras, each client starts its own task, so the work is done *twice*. In 2026-07-28, the
    /// requests for this task declare the tasks extension. Other calls do not, so [`call`](Self::call) never becomes a
    /// task.
    ///
    /// ```standalone_crate
    /// # use mcp_runtime::{prelude::*, testing::TestClient};
    /// /// Imports a file.
    /// #[tool(task)]
    /// async fn import(name: String) -> String {
    ///     format!("imported {name}")
    /// }
    ///
    /// # async fn test() {
    /// let client = TestClient::both(new_server!()).await;
    /// let task = client.start_task("import", json!({"name": "a.csv"})).await.unwrap();
    /// assert_eq!(task.result().await.unwrap().text(), "imported a.csv");
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test());
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error sent by the server, for example if the tool is unknown.
    ///
    /// # Panics
    ///
    /// Panics if the call did not become a task: because the tool does not have the `task` option, it finished before
    /// it started a task (`task(manual)`), or the protocol version is older than 2025-11-25.
    pub async fn start_task(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<TestTask<'_>, ErrorObject> {
        let params = json!({"name": tool, "arguments": arguments});
        let mut settled = OutcomeComparison::new("the start of the task");
        let mut ids = Vec::new();
        for side in &self.sides {
            side.script.begin_call();
            let started = side.client.start_task(params.clone()).await;
            let started = expect_server_outcome(side, started).map(|started| match started {
                StartedCall::Task(id) => ids.push(id),
                StartedCall::Finished(result) => panic!(
                    "in {}: the call to `{tool}` is not a task; its result is {result}",
                    side.version()
                ),
            });
            settled.add(side, started.map(|()| Value::Null));
        }
        settled.outcome()?;
        Ok(TestTask {
            client: self,
            tool: tool.to_owned(),
            ids,
        })
    }
}

impl TestTask<'_> {
    /// Waits for the task to end, answers its questions as [`TestClient::answer`] and [`TestClient::answer_with`] say, and
    /// returns its result. May be called more than once.
    ///
    /// # Errors
    ///
    /// Returns the protocol error with which the task ended, or an error if it was cancelled. A failure reported by the
    /// tool is returned as a result instead; see [`CallResult::error_text`].
    pub async fn result(&self) -> Result<CallResult, ErrorObject> {
        let mut settled = OutcomeComparison::new("the task");
        let mut version = ProtocolVersion::LATEST;
        for (side, id) in self.sides() {
            version = side.client.version();
            let ended = side.client.finish_task(id, |_| {}).await;
            settled.add(side, expect_server_outcome(side, ended));
        }
        let result = parse_result("the task", settled.outcome()?);
        Ok(CallResult::new(&self.tool, version, result))
    }

    /// Returns the task in its current state, as the server describes it: an object with at least `taskId` and `status`
    /// (`working`, `input_required`, `completed`, `failed` or `cancelled`), and with `statusMessage` once the task has
    /// reported progress. With clients for both eras, returns the modern client's task.
    ///
    /// # Errors
    ///
    /// Returns the error sent by the server, for example if the task has expired.
    pub async fn state(&self) -> Result<Value, ErrorObject> {
        let mut state = Ok(Value::Null);
        for (side, id) in self.sides() {
            let current = side.client.task_request("tasks/get", json!({}), id).await;
            state = expect_server_outcome(side, current);
        }
        state
    }

    /// Waits until the task's [`state`](Self::state) meets a condition, for example until its `statusMessage` contains a
    /// certain progress report, and returns that state. The task's questions are not answered meanwhile. With clients
    /// for both eras, waits for each task in turn, and returns the modern client's task.
    ///
    /// ```standalone_crate
    /// # use mcp_runtime::{prelude::*, testing::TestClient};
    /// /// Counts forever.
    /// #[tool(task)]
    /// async fn count(ctx: &Context) {
    ///     for n in 1.. {
    ///         ctx.progress((n, "counting"));
    ///         tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    ///     }
    /// }
    ///
    /// # async fn test() {
    /// let client = TestClient::both(new_server!()).await;
    /// let task = client.start_task("count", json!({})).await.unwrap();
    /// task.wait_until(|state| state["statusMessage"].is_string()).await.unwrap();
    /// task.cancel().await.unwrap();
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test());
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error sent by the server, for example if the task has expired.
    ///
    /// # Panics
    ///
    /// Panics if the task ends before it meets the condition.
    pub async fn wait_until(
        &self,
        condition: impl Fn(&Value) -> bool,
    ) -> Result<Value, ErrorObject> {
        let mut state = Ok(Value::Null);
        for (side, id) in self.sides() {
            let reached = side.client.wait_for_task(id, &condition).await;
            state = expect_server_outcome(side, reached);
            if let Ok(state) = &state {
                let status = state["status"].as_str();
                assert!(
                    condition(state),
                    "in {}: `{}` ended as {status:?} before it met the condition: {state}",
                    side.version(),
                    self.tool
                );
            }
        }
        state
    }

    /// Cancels the task.
    ///
    /// # Errors
    ///
    /// Returns the error sent by the server, for example if the task has already ended, which is an error only in
    /// 2025-11-25.
    pub async fn cancel(&self) -> Result<(), ErrorObject> {
        for (side, id) in self.sides() {
            let cancelled = side
                .client
                .task_request("tasks/cancel", json!({}), id)
                .await;
            expect_server_outcome(side, cancelled)?;
        }
        Ok(())
    }

    fn sides(&self) -> impl Iterator<Item = (&ScriptedClient, &str)> {
        let ids = self.ids.iter().map(String::as_str);
        self.client.sides.iter().zip(ids)
    }
}
