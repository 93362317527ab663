//! Repeats recorded calls over a connection, using the recorded answers to questions.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::watch;

use super::compare::{Change, add_page, shown};
use super::read::{Answered, Outcome, Recorded};
use crate::hub::Hub;
use crate::session::{ConnectionOptions, Era, Session};
use crate::target::Target;

/// Maximum duration of the wait for a server's first message, and of each call.
const PATIENCE: Duration = Duration::from_mins(1);
/// Maximum number of rounds of questions in a call, and maximum number of pages in a list.
const MAX_ROUNDS: usize = 50;

/// A connection used for a replay. The server is stopped when this value is dropped.
pub(super) struct ReplayConnection {
    era: Era,
    session: Arc<Session>,
    hub: Arc<Hub>,
    events: broadcast::Receiver<Arc<str>>,
    /// The server's name.
    pub(super) server: Option<String>,
    /// Input schemas of tools whose arguments are mirrored in headers.
    mirrored: HashMap<String, Value>,
}

impl Drop for ReplayConnection {
    fn drop(&mut self) {
        self.session.end("the replay has ended");
    }
}

impl ReplayConnection {
    pub(super) async fn open(target: &Target, era: Era) -> Result<Self, String> {
        let hub = Arc::new(Hub::new("replay", false));
        let (_run, mut halted) = watch::channel(None);
        let options = ConnectionOptions {
            patience: PATIENCE,
            tasks: false,
        };
        let (session, status) = Session::open(target, era, &hub, options, &mut halted).await?;
        let events = hub.open().1;
        let mut connection = Self {
            era,
            session,
            hub,
            events,
            server: status["server"]["name"].as_str().map(str::to_owned),
            mirrored: HashMap::new(),
        };
        if era == Era::Modern && matches!(target, Target::Url { .. }) {
            connection.learn_headers().await;
        }
        Ok(connection)
    }

    /// Closes the connection and waits until the process has ended.
    pub(super) async fn close(self) {
        self.session.end("the replay has ended");
        self.session.gone().await;
    }

    async fn learn_headers(&mut self) {
        let tools = Recorded {
            era: self.era,
            method: "tools/list".into(),
            params: json!({}),
            outcome: None,
            answers: Vec::new(),
        };
        // Without a list of tools, calls that need headers fail and report the problem themselves.
        let Ok((outcome, _)) = self.play(&tools).await else {
            return;
        };
        for tool in outcome.value["tools"].as_array().into_iter().flatten() {
            let schema = &tool["inputSchema"];
            if let Some(name) = tool["name"].as_str()
                && schema.to_string().contains("x-mcp-header")
            {
                self.mirrored.insert(name.to_owned(), schema.clone());
            }
        }
    }

    /// Repeats a call. Returns its outcome and the differences in the questions that it asked.
    pub(super) async fn play(&mut self, call: &Recorded) -> Result<(Outcome, Vec<Change>), String> {
        let mut answers = Answers {
            left: call.answers.clone(),
            changes: Vec::new(),
        };
        let mut params = call.params.clone();
        let mut pages = None::<Value>;
        for _ in 0..MAX_ROUNDS {
            let round = self.round(call, params.clone(), &mut answers);
            let message = tokio::time::timeout(PATIENCE, round).await;
            let mut message =
                message.map_err(|_| format!("no response within {} s", PATIENCE.as_secs()))??;
            if let Some(error) = message.get_mut("error") {
                let outcome = Outcome {
                    kind: "error",
                    value: error.take(),
                };
                return Ok((outcome, answers.changes()));
            }
            let result = message["result"].take();
            if result["resultType"] == "input_required" {
                let questions = result["inputRequests"].as_object();
                let mut responses = json!({});
                for (key, question) in questions.into_iter().flatten() {
                    responses[key] = answers.take(Some(key), question);
                }
                params["inputResponses"] = responses;
                if let Some(state) = result.get("requestState") {
                    params["requestState"] = state.clone();
                }
                continue;
            }
            let cursor = result.get("nextCursor").filter(|_| call.is_list()).cloned();
            match &mut pages {
                Some(pages) => add_page(pages, result),
                None => pages = Some(result),
            }
            if let Some(cursor) = cursor.filter(Value::is_string) {
                params["cursor"] = cursor;
                continue;
            }
            let outcome = Outcome {
                kind: "result",
                value: pages.unwrap_or_default(),
            };
            return Ok((outcome, answers.changes()));
        }
        Err(format!("the call did not end after {MAX_ROUNDS} rounds"))
    }

    /// Sends a request once and answers questions that arrive as requests in the meantime.
    async fn round(
        &mut self,
        call: &Recorded,
        params: Value,
        answers: &mut Answers,
    ) -> Result<Value, String> {
        let session = Arc::clone(&self.session);
        let name = params["name"].as_str().unwrap_or_default();
        let schema = self
            .mirrored
            .get(name)
            .filter(|_| call.method == "tools/call");
        let mut headers = Vec::new();
        if let Some(schema) = schema {
            mirror(schema, &params["arguments"], &mut headers);
        }
        let mut pending = session.send(&call.method, params, headers).await?;
        loop {
            let event = tokio::select! {
                reply = session.reply(&mut pending) => {
                    let text = self.hub.text(reply?.response).ok_or("the response is no longer available")?;
                    return serde_json::from_str(&text).map_err(|error| error.to_string());
                }
                event = self.events.recv() => event,
            };
            match event {
                Ok(event) if event.starts_with(r#"{"type":"question""#) => {
                    let question: Value = serde_json::from_str(&event).unwrap_or_default();
                    let answer = answers.take(None, &question);
                    if let Some(seq) = question["seq"].as_u64() {
                        session.answer(seq, json!({"result": answer})).await?;
                    }
                }
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Err("the connection ended".into()),
            }
        }
    }
}

/// A recorded call's answers that have not been used yet.
struct Answers {
    left: Vec<Answered>,
    changes: Vec<Change>,
}

impl Answers {
    /// Returns the answer to a question: the answer with the question's key or, failing that, the next answer of the
    /// same kind.
    fn take(&mut self, key: Option<&str>, question: &Value) -> Value {
        let method = question["method"].as_str().unwrap_or_default();
        let fits = |answer: &Answered| {
            let kind = match method {
                "elicitation/create" => "action",
                "roots/list" => "roots",
                _ => "model",
            };
            answer.result.get(kind).is_some()
        };
        let same = |answer: &Answered| key.is_some() && answer.key.as_deref() == key;
        let left = &self.left;
        let at = left.iter().position(|answer| same(answer) && fits(answer));
        if let Some(at) = at.or_else(|| left.iter().position(fits)) {
            return self.left.remove(at).result;
        }
        let message = &question["params"]["message"];
        self.changes.push(Change {
            place: format!("a `{method}` question"),
            before: None,
            now: Some(shown(message)),
        });
        match method {
            "roots/list" => json!({"roots": []}),
            "elicitation/create" => json!({"action": "cancel"}),
            _ => {
                json!({"role": "assistant", "content": {"type": "text", "text": ""}, "model": "none"})
            }
        }
    }

    /// Returns the differences, including questions that are no longer asked.
    fn changes(self) -> Vec<Change> {
        let mut changes = self.changes;
        changes.extend(self.left.into_iter().map(|answer| Change {
            place: "a question".into(),
            before: Some(format!("answered with {}", shown(&answer.result))),
            now: None,
        }));
        changes
    }
}

/// Adds the headers that mirror arguments.
fn mirror(schema: &Value, values: &Value, headers: &mut Vec<(String, String)>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let Some(value) = values.get(name).filter(|value| !value.is_null()) else {
            continue;
        };
        if let Some(header) = property["x-mcp-header"].as_str() {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            headers.push((format!("Mcp-Param-{header}"), text));
        }
        if value.is_object() {
            mirror(property, value, headers);
        }
    }
}
