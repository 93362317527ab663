//! A client that answers late, twice or never, and tolerates the server's death.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::time::sleep;

use super::history::{CallHistory, Disruption};
use crate::client::Question;
use crate::protocol::ProtocolVersion;

/// Time that a user takes to answer a question.
const ANSWERING: Duration = Duration::from_secs(2);
/// Time that a late answer takes. Three late answers are still within the default limit.
const ANSWERING_LATE: Duration = Duration::from_secs(90);
/// The extension that clients declare to use tasks.
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Returns the result that answers a question, if any.
pub(super) type AnswerSource<'a> = &'a (dyn Fn(&Question) -> Option<Value> + Send + Sync);

/// An answer, and how many times it is sent.
pub(super) enum SentAnswer {
    Once(Value),
    Twice(Value),
    Never,
}

/// A client with a single connection to a single process.
pub(super) struct UnreliableClient<'a> {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    version: ProtocolVersion,
    capabilities: Value,
    next_id: u64,
    history: &'a CallHistory,
    answers: AnswerSource<'a>,
}

impl<'a> UnreliableClient<'a> {
    /// Connects a client.
    pub(super) async fn connect(
        stream: DuplexStream,
        version: ProtocolVersion,
        knows_tasks: bool,
        history: &'a CallHistory,
        answers: AnswerSource<'a>,
    ) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        let mut capabilities = json!({
            "elicitation": {"form": {}, "url": {}},
            "sampling": {"tools": {}, "context": {}},
            "roots": {},
        });
        if knows_tasks && version.is_modern() {
            capabilities["extensions"] = json!({TASKS: {}});
        }
        let mut client = Self {
            lines: BufReader::new(reader).lines(),
            writer,
            version,
            capabilities,
            next_id: 1,
            history,
            answers,
        };
        if !version.is_modern() {
            let params = json!({
                "protocolVersion": version.as_str(),
                "capabilities": client.capabilities,
                "clientInfo": {"name": "chaos", "version": "1"},
            });
            // If this fails, the failure is detected when the tool is called.
            let _ = client.request("initialize", params).await;
            let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            client.send(&initialized).await;
        }
        client
    }

    async fn send(&mut self, message: &Value) {
        // If the server has ended, this is detected when the answer is read.
        let _ = self
            .writer
            .write_all(format!("{message}\n").as_bytes())
            .await;
    }

    /// Sends a request and waits for its result or error. Answers the questions that the server sends in the meantime.
    pub(super) async fn request(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.next_id;
        self.next_id += 1;
        let params = self.with_meta(params);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&request).await;
        while let Ok(Some(line)) = self.lines.next_line().await {
            let Ok(mut message) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            if let Some(method) = message["method"].as_str().map(str::to_owned) {
                if !message["id"].is_null() {
                    let (id, params) = (message["id"].take(), message["params"].take());
                    self.answer_request(id, Question { method, params }).await;
                }
            } else if message["id"] == id {
                return match message["error"].take() {
                    Value::Null => Ok(message["result"].take()),
                    error => Err(error),
                };
            }
        }
        Err(json!({"message": "the server has closed the connection"}))
    }

    /// Answers a request from the server.
    async fn answer_request(&mut self, id: Value, question: Question) {
        let (result, times) = match &*question.method {
            "ping" => (json!({}), 1),
            _ => match self.answer(&question).await {
                SentAnswer::Once(result) => (result, 1),
                SentAnswer::Twice(result) => (result, 2),
                SentAnswer::Never => return,
            },
        };
        let message = json!({"jsonrpc": "2.0", "id": id, "result": result});
        for _ in 0..times {
            self.send(&message).await;
        }
    }

    /// Answers a question, either on time or late.
    pub(super) async fn answer(&self, question: &Question) -> SentAnswer {
        let text = match question.message() {
            "" => &*question.method,
            text => text,
        };
        let disruption = self.history.disruption_of_answer(text).await;
        let Some(answer) = (self.answers)(question) else {
            panic!(
                "the test has no answer to `{}` {}; give it one with `Chaos::answer` or `Chaos::answer_with`",
                question.method, question.params
            );
        };
        let (time, words) = match disruption {
            Some(Disruption::LateAnswer) => (ANSWERING_LATE, "late"),
            Some(Disruption::RepeatedAnswer) => (ANSWERING, "twice"),
            Some(Disruption::NoAnswer) => {
                self.history
                    .tell(format!("the client never answers `{text}`"));
                return SentAnswer::Never;
            }
            _ => (ANSWERING, ""),
        };
        sleep(time).await;
        let space = if words.is_empty() { "" } else { " " };
        self.history
            .tell(format!("the client answers `{text}`{space}{words}"));
        if disruption == Some(Disruption::RepeatedAnswer) {
            SentAnswer::Twice(answer)
        } else {
            SentAnswer::Once(answer)
        }
    }

    fn with_meta(&self, mut params: Value) -> Value {
        if self.version.is_modern()
            && let Some(members) = params.as_object_mut()
        {
            let mut meta = Map::new();
            for (name, value) in [
                ("protocolVersion", json!(self.version.as_str())),
                ("clientCapabilities", self.capabilities.clone()),
                ("clientInfo", json!({"name": "chaos", "version": "1"})),
            ] {
                meta.insert(format!("io.modelcontextprotocol/{name}"), value);
            }
            members.insert("_meta".into(), Value::Object(meta));
        }
        params
    }
}
