//! Follows a call to its end, including its questions and any task that it becomes.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::sleep;

use crate::client::Question;
use crate::extension::tasks::NOT_STARTED_AGAIN;
use crate::testing::chaos::life::{SentAnswer, UnreliableClient};

/// Number of questions after which a call is considered endless.
const MAX_QUESTIONS: usize = 100;
/// The initial and the maximum time between two polls of a task.
const POLL: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(16));

/// The end of a call as seen by its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallEnd {
    /// The text of the result.
    Completed(String),
    /// The text of the failure.
    Failed(String),
    /// The tool cannot be served in this way.
    NotServed(String),
    /// The process died, and a call of this kind cannot continue.
    Lost,
    /// A question was never answered.
    Unanswered,
    /// The call asks questions forever or does not end.
    Endless(&'static str),
}

impl CallEnd {
    /// Returns `true` if a task failed because it must not be started again.
    pub(super) fn is_not_started_again(&self) -> bool {
        matches!(self, Self::Failed(text) if text.contains(NOT_STARTED_AGAIN))
    }
}

impl fmt::Display for CallEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed(_) => f.write_str("the call completes"),
            Self::Failed(text) => write!(f, "the call fails: {text}"),
            Self::NotServed(text) => write!(f, "the call is refused: {text}"),
            Self::Lost => f.write_str("the call is lost with its process"),
            Self::Unanswered => f.write_str("the call waits for its answer"),
            Self::Endless(text) => f.write_str(text),
        }
    }
}

/// Follows a task in the extension to its end and answers its questions.
pub(super) async fn follow_task(
    client: &mut UnreliableClient<'_>,
    id: &Value,
    answered: &mut usize,
) -> CallEnd {
    let mut wait = POLL.0;
    loop {
        let mut task = match client.request("tasks/get", json!({"taskId": id})).await {
            Ok(task) => task,
            Err(error) => return CallEnd::Failed(error_text(&error)),
        };
        match task["status"].as_str() {
            Some("completed") => return end_of(&task["result"]),
            Some("failed") => return CallEnd::Failed(error_text(&task["error"])),
            Some("cancelled") => return CallEnd::Failed(error_text(&task)),
            Some("input_required") => {
                let asked = task["inputRequests"].take();
                let answered = answer_all(client, &asked, answered).await;
                let (answers, times) = match answered {
                    Ok(answered) => answered,
                    Err(end) => return end,
                };
                let params = json!({"taskId": id, "inputResponses": answers});
                for _ in 0..times {
                    if let Err(error) = client.request("tasks/update", params.clone()).await {
                        return CallEnd::Failed(error_text(&error));
                    }
                }
                wait = POLL.0;
            }
            _ => {}
        }
        sleep(wait).await;
        wait = POLL.1.min(wait * 2);
    }
}

/// Follows a task in 2025-11-25 to its end. The server asks questions while the client waits for the result.
pub(super) async fn follow_legacy_task(client: &mut UnreliableClient<'_>, id: &Value) -> CallEnd {
    let mut wait = POLL.0;
    loop {
        let task = match client.request("tasks/get", json!({"taskId": id})).await {
            Ok(task) => task,
            Err(error) => return CallEnd::Failed(error_text(&error)),
        };
        if task["status"] != "working" {
            let result = client.request("tasks/result", json!({"taskId": id})).await;
            return match result {
                Ok(result) => end_of(&result),
                Err(error) => CallEnd::Failed(error_text(&error)),
            };
        }
        sleep(wait).await;
        wait = POLL.1.min(wait * 2);
    }
}

/// Answers a round's questions. Returns the answers, and how many times to send them.
pub(super) async fn answer_all(
    client: &UnreliableClient<'_>,
    asked: &Value,
    answered: &mut usize,
) -> Result<(Map<String, Value>, usize), CallEnd> {
    let mut answers = Map::new();
    let mut times = 1;
    for (key, asked) in asked.as_object().into_iter().flatten() {
        *answered += 1;
        if *answered > MAX_QUESTIONS {
            return Err(CallEnd::Endless("it asks again and again"));
        }
        let method = asked["method"].as_str().unwrap_or_default().to_owned();
        let params = asked["params"].clone();
        let answer = match client.answer(&Question { method, params }).await {
            SentAnswer::Once(answer) => answer,
            SentAnswer::Twice(answer) => {
                times = 2;
                answer
            }
            SentAnswer::Never => return Err(CallEnd::Unanswered),
        };
        answers.insert(key.clone(), answer);
    }
    Ok((answers, times))
}

pub(super) fn end_of(result: &Value) -> CallEnd {
    let blocks = result["content"].as_array().into_iter().flatten();
    let texts: Vec<_> = blocks.filter_map(|block| block["text"].as_str()).collect();
    let text = texts.join("\n");
    if result["isError"] == true {
        CallEnd::Failed(text)
    } else {
        CallEnd::Completed(text)
    }
}

pub(super) fn error_text(value: &Value) -> String {
    let message = value["message"]
        .as_str()
        .or(value["statusMessage"].as_str());
    message.unwrap_or("no reason is given").to_owned()
}

/// Returns `true` for errors from tools that run only as tasks or never run as tasks.
pub(super) fn is_unserved(error: &Value) -> bool {
    !error["data"]["taskSupport"].is_null() || !error["data"]["requiredCapabilities"].is_null()
}
