//! The connection that commands use: one era, requests that have a time limit and return their results, and questions
//! that are answered without a person.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use mcp_check::{ServerReader, read_all_pages};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use mcp_check::SurfaceList;

use crate::hub::Hub;
use crate::session::{ConnectionOptions, Era, Session};
use crate::target::Target;

/// Maximum number of rounds of questions in a request.
const MAX_ROUNDS: usize = 50;
/// Maximum number of lines that a server wrote to standard error and that are part of a message.
const MAX_LINES: usize = 20;

/// How to connect to a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectOptions {
    /// The era to use, or `None` for the newest that the server has.
    pub(crate) era: Option<Era>,
    /// Maximum time for the handshake and for each request.
    pub(crate) patience: Duration,
}

/// A connection to a server. The server is stopped when this value is dropped.
pub(crate) struct ServerClient {
    session: Arc<Session>,
    hub: Arc<Hub>,
    patience: Duration,
    /// The result of the handshake, as pages show it.
    pub(crate) status: Value,
    answering: JoinHandle<()>,
}

impl Drop for ServerClient {
    fn drop(&mut self) {
        self.answering.abort();
        self.session.end("the command has ended");
    }
}

impl ServerClient {
    /// Starts the server or connects to it: in the modern era and, if that fails, in the legacy era.
    pub(crate) async fn open(target: &Target, options: ConnectOptions) -> Result<Self> {
        let eras = match options.era {
            Some(era) => vec![era],
            None => Era::BOTH.to_vec(),
        };
        let mut reasons: Vec<(Era, String)> = Vec::new();
        for era in eras {
            match Self::open_in(target, era, options.patience).await {
                Ok(client) => return Ok(client),
                Err(reason) => reasons.push((era, reason)),
            }
        }
        Err(match reasons.as_slice() {
            [(_, one), others @ ..] if others.iter().all(|(_, other)| other == one) => {
                anyhow!("cannot connect to {target}: {one}")
            }
            reasons => {
                let reasons: Vec<_> = reasons
                    .iter()
                    .map(|(era, reason)| format!("\n  in the {} era: {reason}", era.name()))
                    .collect();
                anyhow!("cannot connect to {target}:{}", reasons.concat())
            }
        })
    }

    /// Connects to a program while a user waits for the shell.
    pub(crate) async fn for_completion(program: &[String]) -> Result<Self> {
        let options = ConnectOptions {
            era: None,
            patience: Duration::from_secs(5),
        };
        Self::open(&Target::Command(program.to_vec()), options).await
    }

    async fn open_in(target: &Target, era: Era, patience: Duration) -> Result<Self, String> {
        let hub = Arc::new(Hub::new("command", false));
        let mut events = hub.open().1;
        let (_run, mut halted) = watch::channel(None);
        let options = ConnectionOptions {
            patience,
            tasks: false,
        };
        match Session::open(target, era, &hub, options, &mut halted).await {
            Ok((session, status)) => {
                let answering = tokio::spawn(answer_questions(Arc::clone(&session), events));
                Ok(Self {
                    session,
                    hub,
                    patience,
                    status,
                    answering,
                })
            }
            Err(reason) => Err(with_lines(reason, &mut events)),
        }
    }

    /// Closes the connection and waits until the process has ended.
    pub(crate) async fn close(self) {
        self.session.end("the command has ended");
        self.session.gone().await;
    }

    /// Returns all items in a list, or no items if the server does not declare the list.
    pub(crate) async fn list(&self, list: SurfaceList) -> Result<Vec<Value>> {
        if self.status["capabilities"].get(list.capability()).is_none() {
            return Ok(Vec::new());
        }
        let items = read_all_pages(self, list.method(), list.member()).await;
        match items {
            Ok(items) => Ok(items),
            // Many servers declare resources and have no templates.
            Err(reason) if list == SurfaceList::Templates && reason.contains(NO_METHOD) => {
                Ok(Vec::new())
            }
            Err(reason) => bail!("{}: {reason}", list.method()),
        }
    }

    /// Returns the instructions and all lists, each under its name in results.
    pub(crate) async fn declarations(&self) -> Result<Map<String, Value>> {
        let mut members = Map::new();
        if let Some(text) = self.status["instructions"].as_str() {
            members.insert("instructions".into(), text.into());
        }
        for list in SurfaceList::ALL {
            let items = self.list(list).await?;
            members.insert(list.member().into(), items.into());
        }
        Ok(members)
    }

    async fn result_of(&self, method: &str, mut params: Value) -> Result<Value> {
        for _ in 0..MAX_ROUNDS {
            let mut message = self.exchange(method, params.clone()).await?;
            if let Some(error) = message.get("error") {
                let text = error["message"].as_str().unwrap_or("an error");
                bail!("{text} ({})", error["code"]);
            }
            let Some(mut result) = message.get_mut("result").map(Value::take) else {
                bail!("the response has no result");
            };
            if result["resultType"] != "input_required" {
                return Ok(result);
            }
            let mut responses = json!({});
            for (key, question) in result["inputRequests"].as_object().into_iter().flatten() {
                let method = question["method"].as_str().unwrap_or_default();
                let Some(answer) = declined(method) else {
                    bail!("the server asks for `{method}`, which nobody can answer here");
                };
                responses[key] = answer;
            }
            params["inputResponses"] = responses;
            if let Some(state) = result.get_mut("requestState") {
                params["requestState"] = state.take();
            }
        }
        bail!("it has not ended after {MAX_ROUNDS} rounds of questions")
    }

    async fn exchange(&self, method: &str, params: Value) -> Result<Value> {
        let exchange = async {
            let mut pending = self.session.send(method, params, Vec::new()).await?;
            self.session.reply(&mut pending).await
        };
        let reply = tokio::time::timeout(self.patience, exchange).await;
        let Ok(reply) = reply else {
            bail!("no response within {} s", self.patience.as_secs());
        };
        let reply = reply.map_err(|reason| anyhow!(reason))?;
        let text = self.hub.text(reply.response);
        let text = text.context("the response is no longer available")?;
        serde_json::from_str(&text).context("the response is not JSON")
    }
}

/// The end of the reason if a server does not have a method.
const NO_METHOD: &str = "(-32601)";

impl ServerReader for ServerClient {
    async fn request(&self, method: &str, params: Value) -> Result<Value, String> {
        let result = self.result_of(method, params).await;
        result.map_err(|error| format!("{error:#}"))
    }
}

/// Declines all questions that the server asks as requests.
async fn answer_questions(session: Arc<Session>, mut events: Receiver<Arc<str>>) {
    loop {
        match events.recv().await {
            Ok(event) if event.starts_with(r#"{"type":"question""#) => {
                let question: Value = serde_json::from_str(&event).unwrap_or_default();
                let method = question["method"].as_str().unwrap_or_default();
                let answer = match declined(method) {
                    Some(result) => json!({"result": result}),
                    None => {
                        json!({"error": {"code": -32603, "message": "nobody can answer this here"}})
                    }
                };
                if let Some(seq) = question["seq"].as_u64() {
                    // The server may have withdrawn the question.
                    let _ = session.answer(seq, answer).await;
                }
            }
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// Returns the answer of a client without a person, or `None` if there is no such answer.
fn declined(method: &str) -> Option<Value> {
    match method {
        "elicitation/create" => Some(json!({"action": "decline"})),
        "roots/list" => Some(json!({"roots": []})),
        _ => None,
    }
}

/// Adds the last lines that the server wrote to standard error to the reason why it does not answer.
fn with_lines(mut reason: String, events: &mut Receiver<Arc<str>>) -> String {
    let mut lines = Vec::new();
    loop {
        match events.try_recv() {
            Ok(event) if event.starts_with(r#"{"type":"line""#) => {
                let line: Value = serde_json::from_str(&event).unwrap_or_default();
                lines.push(line["text"].as_str().unwrap_or_default().to_owned());
            }
            Ok(_) | Err(TryRecvError::Lagged(_)) => {}
            Err(TryRecvError::Empty | TryRecvError::Closed) => break,
        }
    }
    let first = lines.len().saturating_sub(MAX_LINES);
    for line in &lines[first..] {
        reason.push_str("\n    ");
        reason.push_str(line);
    }
    reason
}
