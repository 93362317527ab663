//! A client's connection, which carries requests, responses, questions and notifications.
//!
//! One task reads and another writes; both are aborted when the client is dropped. Dropping a request's future cancels
//! the request.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use mcp_core::context::{Caller, Capability, Progress};
use mcp_core::dispatch::{BuiltServer, Dispatcher};
use mcp_core::spawn::boxed;
use mcp_core::sync::lock;
use mcp_protocol::jsonrpc::ErrorObject;
use mcp_protocol::types::{Implementation, LoggingLevel};
use mcp_protocol::{ClientNotification, Era, ProtocolVersion};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::requests::TASKS;

const GONE: RequestError = RequestError::Broken("the server has closed the connection");

/// A client's connection to a server.
pub struct ServerConnection {
    /// The client's end.
    pub stream: DuplexStream,
    /// The server, if it is in this process.
    local: Option<LocalServer>,
}

/// A server in this process, which can be asked what no request returns.
#[derive(Clone)]
struct LocalServer {
    dispatcher: Arc<Dispatcher>,
    /// The client's identity as seen by the server.
    caller: Caller,
}

#[cfg(feature = "http")]
impl ServerConnection {
    /// A connection to a server that may be in another process.
    pub(crate) fn remote(stream: DuplexStream) -> Self {
        Self {
            stream,
            local: None,
        }
    }
}

/// Starts a server for `clients` clients in this process, all of which act as the same caller. Returns the clients' ends of
/// the connections. The server stops when all connections are closed.
#[must_use]
pub fn serve(server: &BuiltServer, clients: usize, caller: &Caller) -> Vec<ServerConnection> {
    let dispatcher = server.dispatcher();
    let (transport, streams) = mcp_transport::memories(clients, caller.clone());
    let local = LocalServer {
        dispatcher: Arc::clone(dispatcher),
        caller: caller.clone(),
    };
    let of = |stream| ServerConnection {
        stream,
        local: Some(local.clone()),
    };
    let clients = streams.into_iter().map(of).collect();
    let (dispatcher, shutdown) = (Arc::clone(dispatcher), server.shutdown().clone());
    let serving = mcp_transport::serve(transport, dispatcher, shutdown);
    tokio::spawn(tracing::Instrument::in_current_span(serving));
    clients
}

/// A client with a single connection.
pub struct InProcessClient {
    version: ProtocolVersion,
    /// The capabilities that the client declares.
    capabilities: Value,
    /// The server's description of itself.
    pub server: ServerDetails,
    next_id: AtomicU64,
    shared: Arc<ConnectionShared>,
    local: Option<LocalServer>,
    /// The tasks that read and write, which are aborted when the client is dropped.
    _tasks: JoinSet<()>,
}

struct ConnectionShared {
    host: Arc<dyn ClientHost>,
    outgoing: mpsc::UnboundedSender<Value>,
    pending: Mutex<PendingRequests>,
}

/// The requests that are waiting for a response.
#[derive(Default)]
struct PendingRequests {
    waiting: HashMap<u64, oneshot::Sender<Result<Value, RequestError>>>,
    /// `true` once no more responses can arrive.
    gone: bool,
}

impl InProcessClient {
    /// Connects a client and returns it once it knows the server's capabilities and can receive notifications about
    /// list changes.
    pub async fn connect(
        server: ServerConnection,
        version: ProtocolVersion,
        capabilities: Value,
        host: Arc<dyn ClientHost>,
    ) -> Result<Self, RequestError> {
        let (reader, writer) = tokio::io::split(server.stream);
        let (outgoing, lines) = mpsc::unbounded_channel();
        let shared = Arc::new(ConnectionShared {
            host,
            outgoing,
            pending: Mutex::default(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(boxed(read_messages(reader, Arc::clone(&shared))));
        tasks.spawn(boxed(write_messages(writer, lines)));
        let mut client = Self {
            version,
            capabilities,
            server: ServerDetails::default(),
            next_id: AtomicU64::new(1),
            _tasks: tasks,
            shared,
            local: server.local,
        };
        let result = match version.era() {
            Era::Legacy => client.initialize().await?,
            Era::Modern => client.request("server/discover", json!({})).await?,
        };
        client.server = ServerDetails::from_result(version.era(), result);
        client.ask_for_notifications().await?;
        Ok(client)
    }

    /// Returns the protocol version that the client speaks.
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// Returns the capabilities that the client declares.
    pub fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    /// Returns the definitions in a list, including disabled ones and excluding the resources that listing functions
    /// return. No request returns them, so the dispatcher is called directly.
    pub fn definitions(&self, list: Capability) -> Result<Vec<Value>, RequestError> {
        let LocalServer { dispatcher, caller } = self.local()?;
        let items = dispatcher.declared_items(list, caller, self.version);
        serde_json::from_str(&format!("[{items}]")).map_err(|_| {
            RequestError::Broken("the server wrote definitions that are not valid JSON")
        })
    }

    /// Returns all tools that the client can call, even if the server lists only a tool search. No request returns all
    /// of them, so the dispatcher is called directly.
    pub fn all_tools(&self) -> Result<Vec<Value>, RequestError> {
        let LocalServer { dispatcher, caller } = self.local()?;
        let items = dispatcher.all_tools(caller, self.version);
        serde_json::from_str(&format!("[{items}]"))
            .map_err(|_| RequestError::Broken("the server wrote tools that are not valid JSON"))
    }

    /// Returns `true` if only requests can return the tools of the author's sources.
    pub fn has_tool_sources(&self) -> bool {
        let local = self.local.as_ref();
        local.is_some_and(|local| local.dispatcher.has_tool_sources())
    }

    /// Returns the server's extensions, keyed by identifier, each with its settings and the names of its methods. No
    /// request returns the names, so the dispatcher is called directly.
    pub fn extensions(&self) -> Map<String, Value> {
        let local = self.local.as_ref();
        local.map_or_else(Map::new, |local| {
            local.dispatcher.described_extensions(self.version)
        })
    }

    fn local(&self) -> Result<&LocalServer, RequestError> {
        let local = self.local.as_ref();
        local.ok_or(RequestError::Broken(
            "only a server in this process tells this",
        ))
    }

    /// Returns the members of the server's surface: everything that it declares, including disabled definitions, which
    /// the server can enable at any time.
    ///
    /// Details that can change while the program remains the same are left out: the server's version, and the resources
    /// returned by the listing functions of templates. Such resources are data, possibly belonging to a single user, and
    /// listing them may require a database.
    pub fn surface(&self) -> Result<Map<String, Value>, RequestError> {
        let mut members = Map::new();
        if let Some(text) = &self.server.instructions {
            members.insert("instructions".into(), text.as_str().into());
        }
        let extensions = self.extensions();
        if !extensions.is_empty() {
            members.insert("extensions".into(), extensions.into());
        }
        for list in Capability::ALL {
            members.insert(list.member().into(), self.definitions(list)?.into());
        }
        Ok(members)
    }

    async fn initialize(&self) -> Result<Value, RequestError> {
        let params = json!({
            "protocolVersion": self.version.as_str(),
            "capabilities": self.capabilities,
            "clientInfo": client_info(),
        });
        let result = self.request("initialize", params).await?;
        self.notify(ClientNotification::Initialized.as_str(), &json!({}));
        Ok(result)
    }

    async fn ask_for_notifications(&self) -> Result<(), RequestError> {
        let offers = |name: &str| self.server.capabilities.get(name).is_some();
        match self.version.era() {
            Era::Legacy if offers("logging") => {
                let params = json!({"level": "debug"});
                self.request("logging/setLevel", params).await?;
            }
            Era::Modern if offers("tools") || offers("prompts") || offers("resources") => {
                self.listen(json!({
                    "toolsListChanged": true,
                    "promptsListChanged": true,
                    "resourcesListChanged": true,
                }))
                .await?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Opens a subscription and waits until the server acknowledges it. The subscription lasts as long as the client.
    pub(super) async fn listen(&self, wanted: Value) -> Result<(), RequestError> {
        let params = json!({"notifications": wanted});
        self.request("subscriptions/listen", params).await?;
        Ok(())
    }

    /// Calls a method and waits for its result. In modern protocol versions, the result may consist of questions.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, RequestError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        {
            let mut pending = self.shared.pending();
            if pending.gone {
                return Err(GONE);
            }
            pending.waiting.insert(id, sender);
        }
        let waiting = PendingRequestGuard { client: self, id };
        let params = self.with_request_meta(params, id);
        self.shared
            .send_message(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let outcome = answer.await.unwrap_or(Err(GONE));
        drop(waiting);
        outcome
    }

    pub(super) fn host(&self) -> &dyn ClientHost {
        &*self.shared.host
    }

    pub(super) async fn answer(&self, question: Question) -> Result<Value, String> {
        self.shared.answer(question).await
    }

    /// Waits until the server has read all messages sent so far, such as a cancellation.
    pub async fn settle(&self) -> Result<(), RequestError> {
        let method = match self.version.era() {
            Era::Legacy => "ping",
            Era::Modern => "server/discover",
        };
        self.request(method, json!({})).await.map(drop)
    }

    fn notify(&self, method: &str, params: &Value) {
        self.shared
            .send_message(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Adds the metadata that every request in this protocol version must have, except for entries that `params` already
    /// has.
    fn with_request_meta(&self, mut params: Value, id: u64) -> Value {
        let mut meta = Map::new();
        meta.insert("progressToken".into(), id.into());
        if self.version.is_modern() {
            let own = [
                ("protocolVersion", json!(self.version.as_str())),
                ("clientCapabilities", self.capabilities.clone()),
                ("clientInfo", client_info()),
                ("logLevel", json!("debug")),
            ];
            for (name, value) in own {
                meta.insert(format!("io.modelcontextprotocol/{name}"), value);
            }
        }
        if let Some(members) = params.as_object_mut() {
            if let Some(Value::Object(given)) = members.remove("_meta") {
                meta.extend(given);
            }
            members.insert("_meta".into(), Value::Object(meta));
        }
        params
    }
}

fn client_info() -> Value {
    json!({"name": "mcp-runtime", "version": env!("CARGO_PKG_VERSION")})
}

/// A guard for a request in progress. The request is cancelled if the guard is dropped before the response arrives.
struct PendingRequestGuard<'a> {
    client: &'a InProcessClient,
    id: u64,
}

impl Drop for PendingRequestGuard<'_> {
    fn drop(&mut self) {
        let waiting = self.client.shared.pending().waiting.remove(&self.id);
        if waiting.is_some() {
            let params = json!({"requestId": self.id});
            self.client
                .notify(ClientNotification::Cancelled.as_str(), &params);
        }
    }
}

impl ConnectionShared {
    fn pending(&self) -> MutexGuard<'_, PendingRequests> {
        lock(&self.pending)
    }

    fn send_message(&self, message: Value) {
        // Sending fails only after the server has closed the connection, which the reader detects.
        let _ = self.outgoing.send(message);
    }

    fn settle_request(&self, id: &Value, outcome: Result<Value, RequestError>) {
        let waiting = id
            .as_u64()
            .and_then(|id| self.pending().waiting.remove(&id));
        if let Some(waiting) = waiting {
            // Sending fails if the request has just been cancelled.
            let _ = waiting.send(outcome);
        }
    }

    fn fail_pending_requests(&self, failure: &RequestError) {
        let waiting = std::mem::take(&mut self.pending().waiting);
        for (_, waiting) in waiting {
            let _ = waiting.send(Err(failure.clone()));
        }
    }

    async fn answer(&self, question: Question) -> Result<Value, String> {
        if !self.host.blocks() {
            return self.host.answer_question(&question);
        }
        let host = Arc::clone(&self.host);
        let answered = tokio::task::spawn_blocking(move || host.answer_question(&question));
        answered
            .await
            .unwrap_or_else(|error| Err(error.to_string()))
    }

    async fn handle_message(self: &Arc<Self>, mut message: Value) {
        let (id, method) = (message["id"].clone(), message["method"].take());
        match (method.as_str(), id) {
            (Some("notifications/subscriptions/acknowledged"), _) => {
                let meta = &message["params"]["_meta"];
                self.settle_request(
                    &meta["io.modelcontextprotocol/subscriptionId"],
                    Ok(json!({})),
                );
            }
            (Some(method), Value::Null) => {
                if let Some(notification) = Notification::read(method, &message["params"]) {
                    self.host.handle_notification(notification);
                }
            }
            (Some(method), id) => {
                let (shared, method) = (Arc::clone(self), method.to_owned());
                let params = message["params"].take();
                let answered = async move { shared.answer_request(&method, &id, params).await };
                if self.host.blocks() {
                    // The call that asks the question can be cancelled in the meantime.
                    tokio::spawn(boxed(answered));
                } else {
                    answered.await;
                }
            }
            (None, id) => {
                let outcome = match message["error"].take() {
                    Value::Null => match message["result"].take() {
                        result @ Value::Object(_) => Ok(result),
                        _ => Err(RequestError::Broken("the server sent an invalid result")),
                    },
                    error => Err(serde_json::from_value::<ErrorObject>(error).map_or(
                        RequestError::Broken("the server sent an invalid error"),
                        RequestError::Refused,
                    )),
                };
                self.settle_request(&id, outcome);
            }
        }
    }

    /// Answers a request from the server. Called only in legacy protocol versions.
    async fn answer_request(&self, method: &str, id: &Value, params: Value) {
        let question = Question {
            method: method.to_owned(),
            params,
        };
        let answer = match method {
            "ping" => Ok(json!({})),
            _ => self.answer(question).await,
        };
        self.send_message(match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(reason) => {
                // The request does not identify the call to which it belongs, so all calls fail.
                self.fail_pending_requests(&RequestError::Unanswered(reason.clone()));
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": reason}})
            }
        });
    }
}

async fn read_messages(reader: ReadHalf<DuplexStream>, shared: Arc<ConnectionShared>) {
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Ok(message @ Value::Object(_)) = serde_json::from_str(&line) {
            shared.handle_message(message).await;
        }
    }
    shared.pending().gone = true;
    shared.fail_pending_requests(&GONE);
}

async fn write_messages(
    mut writer: WriteHalf<DuplexStream>,
    mut messages: mpsc::UnboundedReceiver<Value>,
) {
    while let Some(message) = messages.recv().await {
        let line = format!("{message}\n");
        if writer.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

// --- Messages other than responses that a server sends, and the reasons why a request can fail.

/// A question from the server, exactly as sent on the wire.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Question {
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// The parameters, or an empty object for `roots/list`.
    pub params: Value,
}

impl Question {
    #[doc(hidden)]
    #[must_use]
    pub fn new(method: impl Into<String>, params: Value) -> Self {
        Self {
            method: method.into(),
            params,
        }
    }

    /// Returns the text to show to the user, or an empty string if the question is not meant for a user.
    #[must_use]
    pub fn message(&self) -> &str {
        self.params["message"].as_str().unwrap_or_default()
    }
}

/// A notification from the server.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notification {
    /// A progress report from a call.
    Progress(Progress),
    /// A log message.
    #[non_exhaustive]
    Log {
        /// The severity.
        level: LoggingLevel,
        /// The name of the logger, if it has one.
        logger: Option<String>,
        /// The message.
        data: Value,
    },
    /// A list changed. The protocol does not distinguish resources from resource templates.
    ListChanged(Capability),
    /// The resource with this URI changed.
    ResourceUpdated(String),
}

impl Notification {
    /// Parses a notification. Returns `None` if this type cannot represent it.
    pub(super) fn read(method: &str, params: &Value) -> Option<Self> {
        let text = |name: &str| params[name].as_str().map(str::to_owned);
        Some(match method {
            "notifications/progress" => {
                let mut progress = Progress::from(params["progress"].as_f64()?);
                progress.total = params["total"].as_f64();
                progress.message = text("message");
                Self::Progress(progress)
            }
            "notifications/message" => Self::Log {
                level: LoggingLevel::from_wire(params["level"].as_str()?)?,
                logger: text("logger"),
                data: params["data"].clone(),
            },
            "notifications/tools/list_changed" => Self::ListChanged(Capability::Tools),
            "notifications/prompts/list_changed" => Self::ListChanged(Capability::Prompts),
            "notifications/resources/list_changed" => Self::ListChanged(Capability::Resources),
            "notifications/resources/updated" => Self::ResourceUpdated(text("uri")?),
            _ => return None,
        })
    }
}

/// A client's user, who answers questions and receives notifications.
pub trait ClientHost: Send + Sync + 'static {
    /// Returns the result that answers a question. If this returns an error, the call fails; the error states why the
    /// question was not answered.
    fn answer_question(&self, question: &Question) -> Result<Value, String>;

    /// Called for each notification from the server, in their order.
    fn handle_notification(&self, notification: Notification);

    /// Called when a call has returned questions, before they are answered. Not called in legacy protocol versions.
    fn begin_round(&self) {}

    /// Returns `true` if [`answer_question`](Self::answer_question) may block for a long time because it waits for a person.
    fn blocks(&self) -> bool {
        false
    }
}

/// The reason why a request failed.
#[derive(Clone, Debug)]
pub enum RequestError {
    /// The server answered with an error.
    Refused(ErrorObject),
    /// A question was not answered, for the given reason.
    Unanswered(String),
    /// The server closed the connection or sent invalid data.
    Broken(&'static str),
}

impl RequestError {
    /// Returns `true` if the server refused the call because its tool runs only as a task.
    #[must_use]
    pub fn requires_task(&self) -> bool {
        let Self::Refused(error) = self else {
            return false;
        };
        error.data.as_ref().is_some_and(|data| {
            data["taskSupport"] == "required"
                || data["requiredCapabilities"]["extensions"][TASKS].is_object()
        })
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => {
                write!(f, "{} ({}", error.message, error.code)?;
                // The log has the cause of an internal error under this reference.
                let data = error.data.as_ref();
                if let Some(reference) = data.and_then(|data| data["reference"].as_str()) {
                    write!(f, ", reference {reference}")?;
                }
                f.write_str(")")
            }
            Self::Unanswered(reason) => f.write_str(reason),
            Self::Broken(what) => f.write_str(what),
        }
    }
}

// --- The server's description of itself, which a client receives when it connects.

/// The result of `initialize` or `server/discover`.
#[derive(Default)]
pub struct ServerDetails {
    /// The capabilities that the server declares.
    pub(super) capabilities: Value,
    pub instructions: Option<String>,
    /// The server's name and version, as sent.
    implementation: Value,
}

impl ServerDetails {
    fn from_result(era: Era, mut result: Value) -> Self {
        let implementation = match era {
            Era::Legacy => result["serverInfo"].take(),
            Era::Modern => result["_meta"]["io.modelcontextprotocol/serverInfo"].take(),
        };
        Self {
            capabilities: result["capabilities"].take(),
            instructions: result["instructions"].as_str().map(str::to_owned),
            implementation,
        }
    }

    /// Returns the server's name and version.
    pub fn implementation(&self) -> Result<Implementation, RequestError> {
        serde_json::from_value(self.implementation.clone())
            .map_err(|_| RequestError::Broken("the server did not send its name and version"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_displayed_with_its_reference() {
        let error = ErrorObject::internal("internal error");
        assert_eq!(
            RequestError::Refused(error.clone()).to_string(),
            "internal error (-32603)"
        );
        let error = error.with_data(serde_json::json!({"reference": "00ff"}));
        assert_eq!(
            RequestError::Refused(error).to_string(),
            "internal error (-32603, reference 00ff)"
        );
    }
}
