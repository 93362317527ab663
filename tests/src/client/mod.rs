//! A raw client that sends and receives lines of JSON and checks every line from the server against the schema of its
//! protocol version.
//!
//! Apart from that, the tests decide which outcome of a request they expect.

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

use crate::Version;
use crate::client::asked::Answerer;
pub use crate::client::asked::{Answer, Question};
use crate::client::outputs::Outputs;
use crate::wait::Since;

/// Maximum time for which the client waits before the test fails.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A JSON-RPC error received by the client.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The code.
    pub code: i64,
    /// The message.
    pub message: String,
    /// The data, or null.
    pub data: Value,
}

/// A request that has not been answered yet.
struct Pending {
    method: String,
    version: Version,
    /// The name of the called tool.
    tool: Option<String>,
}

/// A client with a single connection.
pub struct Client {
    reader: BufReader<Pin<Box<dyn AsyncRead + Send>>>,
    writer: Option<Pin<Box<dyn AsyncWrite + Send>>>,
    version: Version,
    /// The client capabilities that modern requests declare.
    pub capabilities: Value,
    /// Additional members for `_meta` in every request, such as a log level.
    pub meta: Map<String, Value>,
    next_id: i64,
    /// The requests that have not been answered yet, by id as JSON.
    pending: HashMap<String, Pending>,
    /// The output schemas of tools, and the results that have not been checked yet.
    outputs: Outputs,
    /// Notifications received while waiting for another message.
    notifications: VecDeque<Value>,
    /// Responses received while waiting for another message.
    responses: Vec<Value>,
    /// The result of `initialize`.
    pub initialized: Value,
    /// The function that answers the server's questions.
    answerer: Option<Answerer>,
    /// All questions received, in both eras.
    pub asked: Vec<Question>,
    /// The number of results received so far that asked for input.
    pub rounds: usize,
    since: Since,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("revision", &self.version)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Creates a client that has not sent any messages yet.
    pub fn new(
        reader: impl AsyncRead + Send + 'static,
        writer: impl AsyncWrite + Send + 'static,
        version: Version,
    ) -> Self {
        Self {
            reader: BufReader::new(Box::pin(reader)),
            writer: Some(Box::pin(writer)),
            version,
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
            since: Since::now(),
        }
    }

    /// Completes the handshake in the legacy era; does nothing in the modern era.
    #[must_use]
    pub async fn connect(mut self) -> Self {
        if !self.version.is_modern() {
            let params = json!({
                "protocolVersion": self.version.date(),
                "capabilities": self.capabilities,
                "clientInfo": {"name": "tests", "version": "1"},
            });
            self.initialized = self.ok("initialize", params).await;
            assert_eq!(self.initialized["protocolVersion"], self.version.date());
            self.notify("notifications/initialized", json!({})).await;
        }
        self
    }

    /// Returns the protocol version of this client.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Switches to another protocol version for all further messages.
    pub fn speak(&mut self, version: Version) {
        self.version = version;
    }

    /// Sends unmodified bytes.
    pub async fn bytes(&mut self, bytes: &[u8]) {
        self.try_bytes(bytes).await.expect("the server reads");
    }

    /// Sends unmodified bytes.
    ///
    /// # Errors
    ///
    /// Fails if the server has exited or does not read the bytes in time.
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

    /// Sends an unmodified message and remembers its method, so that the answer can be checked.
    pub async fn send(&mut self, message: &Value) {
        self.remember(message);
        self.line(&message.to_string()).await;
    }

    /// Remembers the method of each request in a message or batch, so that the answers can be checked.
    pub fn remember(&mut self, message: &Value) {
        if let Some(batch) = message.as_array() {
            for message in batch {
                self.remember(message);
            }
        } else if let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) {
            let claim = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
            let version = match claim.is_null() {
                false => Version::V2026_07_28,
                // A request that does not specify a protocol version is a legacy request, even if a modern client sends
                // it.
                true if self.version.is_modern() => Version::V2025_11_25,
                true => self.version,
            };
            let name = message["params"]["name"].as_str();
            let tool = name.filter(|_| method == "tools/call");
            let pending = Pending {
                method: method.to_owned(),
                version,
                tool: tool.map(str::to_owned),
            };
            self.pending.insert(id.to_string(), pending);
        }
    }

    /// Returns the parameters with the members that this protocol version requires in every request.
    #[must_use]
    pub fn dress(&self, mut params: Value) -> Value {
        let mut meta = self.meta.clone();
        if self.version.is_modern() {
            meta.insert(
                "io.modelcontextprotocol/protocolVersion".into(),
                json!(self.version.date()),
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

    /// Sends a request without waiting for its answer; returns its id.
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

    /// Calls a method and waits for its result.
    ///
    /// # Errors
    ///
    /// Returns the error that the server answered with.
    pub async fn request(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        let id = self.start(method, params).await;
        let response = self.response(&id).await;
        self.judge_outputs().await;
        response
    }
}
