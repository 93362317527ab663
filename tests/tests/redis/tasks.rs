//! Tasks of both eras, whose instance is killed.

use serde_json::{Value, json};
use tests::Version;
use tests::http::Request;
use tests::wait::until;

use crate::instance::{Group, Instance, request};

const TASKS: &str = "io.modelcontextprotocol/tasks";

/// A client of tasks, which may ask any instance.
pub(crate) enum TaskClient {
    Legacy(String),
    Modern,
}

impl TaskClient {
    pub(crate) async fn ask(&self, instance: &Instance, method: &str, mut params: Value) -> Value {
        let request = match self {
            Self::Legacy(session) => request(session, method, &params),
            Self::Modern => {
                params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
                    json!({"extensions": {TASKS: {}}});
                let named = params["taskId"].as_str().map(str::to_owned);
                let request = Request::modern(1, method, params);
                named
                    .into_iter()
                    .fold(request, |request, id| request.with("Mcp-Name", &id))
            }
        };
        let (status, message) = instance.message(&request).await;
        assert_eq!(status, 200, "{message}");
        message["result"].clone()
    }

    /// Starts the task, and returns its id.
    pub(crate) async fn start(&self, instance: &Instance) -> String {
        let params = json!({"name": "import", "arguments": {}});
        self.start_with(instance, params).await
    }

    /// Makes a call that becomes a task, and returns the task's id.
    pub(crate) async fn start_with(&self, instance: &Instance, mut params: Value) -> String {
        if let Self::Legacy(_) = self {
            params["task"] = json!({});
        }
        let result = self.ask(instance, "tools/call", params).await;
        let task = match self {
            Self::Legacy(_) => &result["task"],
            Self::Modern => &result,
        };
        task["taskId"]
            .as_str()
            .unwrap_or_else(|| panic!("{result}"))
            .to_owned()
    }

    pub(crate) async fn status(&self, instance: &Instance, id: &str) -> Value {
        let task = self.ask(instance, "tasks/get", json!({"taskId": id})).await;
        task["status"].clone()
    }
}

#[tokio::test]
#[ignore = "needs a redis-server: tests/redis/run"]
async fn a_task_of_a_killed_instance_finishes_at_another_with_each_step_once() {
    for version in Version::ERAS {
        let group = Group::start();
        let (one, other) = (group.instance().await, group.instance().await);
        let client = if version.is_modern() {
            TaskClient::Modern
        } else {
            TaskClient::Legacy(one.session().await)
        };
        let id = client.start(&one).await;
        until(async || group.done().len() >= 2).await;
        assert_eq!(client.status(&other, &id).await, "working");
        one.kill().await;
        group.go_on();
        until(async || client.status(&other, &id).await == "completed").await;
        // Had the first instance been slow, the other would have begun before, so what is outside of `once` may be done
        // more often.
        let mut done = group.done();
        let all = done.len();
        done.retain(|step| step != "between");
        assert_eq!(done, ["first", "second"]);
        assert!(all >= 4, "the task was begun again");
    }
}
