//! A raw client: lines of JSON out, lines of JSON in, every line from the server judged by the schema of its revision.
//!
//! What a request should come to is left to the tests.

mod asked;
mod expect;
mod outputs;
mod read;

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::time::timeout;

use crate::Revision;
use crate::client::asked::Answerer;
pub use crate::client::asked::{Answer, Question};
use crate::client::outputs::Outputs;

/// How long the client waits for anything before the test fails.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A JSON-RPC error, as the client reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The code.
    pub code: i64,
    /// The message.
    pub message: String,
    /// The data, or null.
    pub data: Value,
}

/// A request under way.
struct Pending {
    method: String,
    revision: Revision,
    /// The tool that is called.
    tool: Option<String>,
}

/// A client of one connection.
pub struct Client {
    reader: BufReader<Pin<Box<dyn AsyncRead + Send>>>,
    writer: Option<Pin<Box<dyn AsyncWrite + Send>>>,
    revision: Revision,
    /// What modern requests say the client can do.
    pub capabilities: Value,
    /// More members for `_meta` of every request, such as a log level.
    pub meta: Map<String, Value>,
    next_id: i64,
    /// Each request under way, by its id as JSON.
    pending: HashMap<String, Pending>,
    /// What tools promised, and what they gave.
    outputs: Outputs,
    /// Notifications that came while something else was awaited.
    notifications: VecDeque<Value>,
    /// Responses that came while something else was awaited.
    responses: Vec<Value>,
    /// What `initialize` came to.
    pub initialized: Value,
    /// Says what is answered to the server's questions.
    answerer: Option<Answerer>,
    /// Every question that came, in both eras.
    pub asked: Vec<Question>,
    /// How many results so far asked for input.
    pub rounds: usize,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client that has said nothing yet.
    pub fn new(
        reader: impl AsyncRead + Send + 'static,
        writer: impl AsyncWrite + Send + 'static,
        revision: Revision,
    ) -> Self {
        Self {
            reader: BufReader::new(Box::pin(reader)),
            writer: Some(Box::pin(writer)),
            revision,
            capabilities: json!({}),
            meta: Map::new(),
            next_id: 0,
            pending: HashMap::new(),
            outputs: Outputs::default(),
            notifications: VecDeque::new(),
            responses: Vec::new(),
            initialized: Value::Null,
            answerer: None,
            asked: Vec::new(),
            rounds: 0,
        }
    }

    /// Shakes hands in a legacy revision; nothing to do in the modern era.
    #[must_use]
    pub async fn connect(mut self) -> Self {
        if !self.revision.is_modern() {
            let params = json!({
                "protocolVersion": self.revision.date(),
                "capabilities": self.capabilities,
                "clientInfo": {"name": "tests", "version": "1"},
            });
            self.initialized = self.ok("initialize", params).await;
            assert_eq!(self.initialized["protocolVersion"], self.revision.date());
            self.notify("notifications/initialized", json!({})).await;
        }
        self
    }

    /// The revision it speaks.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Judges what comes from now on by another revision.
    pub fn speak(&mut self, revision: Revision) {
        self.revision = revision;
    }

    /// Sends bytes as they are.
    pub async fn bytes(&mut self, bytes: &[u8]) {
        self.try_bytes(bytes).await.expect("the server reads");
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    ///
    /// If the server has gone, or does not read in time.
    pub async fn try_bytes(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let writer = self.writer.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?;
        timeout(PATIENCE, async {
            writer.write_all(bytes).await?;
            writer.flush().await
        })
        .await
        .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
    }

    /// Sends one line.
    pub async fn line(&mut self, line: &str) {
        self.bytes(format!("{line}\n").as_bytes()).await;
    }

    /// Sends one message as it is, remembering which method awaits an answer.
    pub async fn send(&mut self, message: &Value) {
        self.remember(message);
        self.line(&message.to_string()).await;
    }

    /// Remembers what a message (or a batch of them) will be answered as.
    pub fn remember(&mut self, message: &Value) {
        if let Some(batch) = message.as_array() {
            for message in batch {
                self.remember(message);
            }
        } else if let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) {
            let claim = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
            let revision = match claim.is_null() {
                false => Revision::E,
                // Without a claim it is a legacy request, whoever sends it.
                true if self.revision.is_modern() => Revision::D,
                true => self.revision,
            };
            let name = message["params"]["name"].as_str();
            let tool = name.filter(|_| method == "tools/call");
            let pending = Pending {
                method: method.to_owned(),
                revision,
                tool: tool.map(str::to_owned),
            };
            self.pending.insert(id.to_string(), pending);
        }
    }

    /// The parameters with what every request of this revision carries.
    #[must_use]
    pub fn dress(&self, mut params: Value) -> Value {
        let mut meta = self.meta.clone();
        if self.revision.is_modern() {
            meta.insert(
                "io.modelcontextprotocol/protocolVersion".into(),
                json!(self.revision.date()),
            );
            meta.insert(
                "io.modelcontextprotocol/clientCapabilities".into(),
                self.capabilities.clone(),
            );
            meta.insert(
                "io.modelcontextprotocol/clientInfo".into(),
                json!({"name": "tests", "version": "1"}),
            );
        }
        if let Some(members) = params.as_object_mut() {
            if let Some(own) = members.get("_meta").and_then(Value::as_object) {
                meta.extend(own.clone());
            }
            if !meta.is_empty() {
                members.insert("_meta".into(), Value::Object(meta));
            }
        }
        params
    }

    /// Sends a request without awaiting its answer; gives its id.
    pub async fn start(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = json!(self.next_id);
        let params = self.dress(params);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    /// Sends a notification.
    pub async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    /// Cancels a request.
    pub async fn cancel(&mut self, id: &Value) {
        self.notify(
            "notifications/cancelled",
            json!({"requestId": id, "reason": "test"}),
        )
        .await;
    }

    /// Calls a method and awaits what it comes to.
    ///
    /// # Errors
    ///
    /// The error the server answered with.
    pub async fn request(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        let id = self.start(method, params).await;
        let response = self.response(&id).await;
        self.judge_outputs().await;
        response
    }
}
