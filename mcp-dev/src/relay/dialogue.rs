//! Passes messages between a host, which has a single connection, and the successive servers behind it.
//!
//! Messages are passed on unchanged, with three exceptions: servers' requests are given ids that no other server has
//! used, the capabilities declare that lists can change, and a new server receives the messages with which the host set
//! up the first server, although the host already has the responses.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde_json::{Value, json};

/// Maximum number of messages from the host that may wait for a server.
const MAX_WAITING: usize = 1_000;
/// Maximum number of requests in each direction that may await a response.
const MAX_OPEN: usize = 10_000;
/// Maximum number of cancelled requests that may still be answered.
const MAX_CANCELLED: usize = 100;
/// Maximum length of the compiler output in an error, in characters.
const MAX_REASON: usize = 4_000;
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
const LISTS: [&str; 3] = ["tools", "prompts", "resources"];

/// A line to write.
#[derive(Debug, PartialEq)]
pub(super) enum OutgoingLine {
    Host(String),
    Server(String),
}

/// The state of the connection.
#[derive(Default)]
pub(super) struct Dialogue {
    server: Server,
    /// The number of the current server.
    number: u64,
    /// The messages with which the host opened the connection in the legacy era: its request, once answered, and its
    /// notification.
    initialize: Option<Value>,
    initialized: Option<String>,
    /// Lists for which the host expects change notifications in the legacy era.
    lists: Vec<&'static str>,
    /// Requests that must be sent again to a new server because they have a lasting effect, keyed by subject: the log
    /// level and subscriptions.
    lasting: BTreeMap<String, Value>,
    /// Unanswered requests from the host, keyed by id.
    open: HashMap<String, Value>,
    /// Ids of open requests that the host has cancelled, oldest first. Few servers still answer such requests.
    cancelled: VecDeque<String>,
    /// The ids that servers gave to their unanswered requests, keyed by the ids that the host knows.
    asked: HashMap<String, Value>,
    last_asked: u64,
    waiting: VecDeque<Value>,
}

#[derive(Default, PartialEq)]
enum Server {
    /// No server has been started yet.
    #[default]
    Expected,
    /// No server is running for this reason, and none will be started before the next change.
    Failed(String),
    /// The server has ended.
    Ended,
    /// The request with which the host opened the connection was sent to the server, which has not answered it yet.
    Opening,
    Ready,
}

fn method(message: &Value) -> Option<&str> {
    message["method"].as_str()
}

fn error(id: &Value, reason: &str) -> OutgoingLine {
    let reason: String = reason.chars().take(MAX_REASON).collect();
    OutgoingLine::Host(
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": reason}})
            .to_string(),
    )
}

impl Dialogue {
    /// Handles a line from the host.
    pub(super) fn host(&mut self, line: &str) -> Vec<OutgoingLine> {
        match serde_json::from_str(line) {
            Ok(Value::Array(batch)) => {
                let each = batch.into_iter().map(|message| self.host_message(message));
                each.collect::<Vec<_>>().into_iter().flatten().collect()
            }
            Ok(message) => self.host_message(message),
            Err(problem) => {
                let error = json!({"code": -32700, "message": format!("not JSON: {problem}")});
                vec![OutgoingLine::Host(
                    json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string(),
                )]
            }
        }
    }

    fn host_message(&mut self, message: Value) -> Vec<OutgoingLine> {
        let id = message["id"].clone();
        if method(&message).is_none() {
            return self.answer_server(message).into_iter().collect();
        }
        if self.server == Server::Ready {
            return vec![self.forward(message)];
        }
        if let (Server::Failed(reason), false) = (&self.server, id.is_null())
            && method(&message) != Some("initialize")
        {
            return vec![error(&id, reason)];
        }
        if self.waiting.len() >= MAX_WAITING {
            let full = error(&id, "too many messages are waiting for the server");
            return if id.is_null() { Vec::new() } else { vec![full] };
        }
        self.waiting.push_back(message);
        Vec::new()
    }

    /// Passes a request or a notification to the server.
    fn forward(&mut self, message: Value) -> OutgoingLine {
        let text = message.to_string();
        let params = &message["params"];
        match method(&message) {
            Some("notifications/initialized") => self.initialized = Some(text.clone()),
            Some(name @ "logging/setLevel") => {
                self.lasting.insert(name.to_owned(), message.clone());
            }
            Some("resources/subscribe") if self.lasting.len() < MAX_OPEN => {
                let about = format!("resource {}", params["uri"]);
                self.lasting.insert(about, message.clone());
            }
            Some("resources/unsubscribe") => {
                self.lasting.remove(&format!("resource {}", params["uri"]));
            }
            Some("notifications/cancelled") => {
                let id = params["requestId"].to_string();
                // Cancelling ends a subscription, whereas a call may still be answered.
                match self.open.get(&id).and_then(method) {
                    Some("subscriptions/listen") => drop(self.open.remove(&id)),
                    Some(_) if !self.cancelled.contains(&id) => {
                        self.cancelled.push_back(id);
                        if self.cancelled.len() > MAX_CANCELLED
                            && let Some(oldest) = self.cancelled.pop_front()
                        {
                            self.open.remove(&oldest);
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        if !message["id"].is_null() {
            if self.open.len() >= MAX_OPEN {
                return error(&message["id"], "too many requests are open");
            }
            let id = message["id"].clone();
            // Other requests are kept only until they are answered, without their arguments, which can be large.
            let is_needed = matches!(
                method(&message),
                Some("initialize" | "server/discover" | "subscriptions/listen")
            );
            let kept = if is_needed {
                message
            } else {
                json!({"id": id, "method": message["method"]})
            };
            self.open.insert(id.to_string(), kept);
        }
        OutgoingLine::Server(text)
    }

    /// Passes a response from the host to the server that sent the request.
    fn answer_server(&mut self, mut message: Value) -> Option<OutgoingLine> {
        let id = self.asked.remove(message["id"].as_str()?)?;
        message["id"] = id;
        Some(OutgoingLine::Server(message.to_string()))
    }

    /// Handles a line from the current server.
    pub(super) fn server(&mut self, line: &str) -> Vec<OutgoingLine> {
        match serde_json::from_str(line) {
            Ok(Value::Array(batch)) => {
                let each = batch
                    .into_iter()
                    .map(|message| self.server_message(message.to_string(), message));
                each.collect::<Vec<_>>().into_iter().flatten().collect()
            }
            Ok(message) => self.server_message(line.to_owned(), message),
            Err(_) => {
                eprintln!(
                    "mcp-dev: the server wrote a line that is not an MCP message: {line:.200}"
                );
                Vec::new()
            }
        }
    }

    fn server_message(&mut self, line: String, mut message: Value) -> Vec<OutgoingLine> {
        let id = message["id"].clone();
        match method(&message) {
            Some(_) if !id.is_null() => {
                if self.asked.len() >= MAX_OPEN {
                    let error = json!({"code": -32000, "message": "too many questions are open"});
                    let refused = json!({"jsonrpc": "2.0", "id": id, "error": error});
                    return vec![OutgoingLine::Server(refused.to_string())];
                }
                self.last_asked += 1;
                let known = format!("mcp-dev-{}", self.last_asked);
                message["id"] = json!(known);
                self.asked.insert(known, id);
                vec![OutgoingLine::Host(message.to_string())]
            }
            Some("notifications/cancelled") => {
                let id = &message["params"]["requestId"];
                let known = self.asked.iter().find(|(_, asked)| *asked == id);
                let Some(known) = known.map(|(known, _)| known.clone()) else {
                    // The id belongs to a subscription, or the host does not know the request.
                    return vec![OutgoingLine::Host(line)];
                };
                self.asked.remove(&known);
                message["params"]["requestId"] = json!(known);
                vec![OutgoingLine::Host(message.to_string())]
            }
            Some(_) => vec![OutgoingLine::Host(line)],
            None if id == json!(self.opening_id()) && self.server == Server::Opening => {
                match message.get("error") {
                    Some(problem) => {
                        let reason = format!("the new server refuses the host: {problem}");
                        eprintln!("mcp-dev: {reason}");
                        let out = self.ended(&reason);
                        // The server is still running, so requests are refused until another server is started.
                        self.server = Server::Failed(reason);
                        out
                    }
                    None => self.ready(true),
                }
            }
            None => {
                let id = id.to_string();
                let Some(request) = self.open.remove(&id) else {
                    return Vec::new();
                };
                self.cancelled.retain(|cancelled| *cancelled != id);
                vec![OutgoingLine::Host(self.response(&request, line, message))]
            }
        }
    }

    /// Returns a response in the form in which the host receives it.
    fn response(&mut self, request: &Value, line: String, mut message: Value) -> String {
        let opens = matches!(method(request), Some("initialize" | "server/discover"));
        if !opens || !message["result"]["capabilities"].is_object() {
            return line;
        }
        let legacy = method(request) == Some("initialize");
        if legacy {
            self.lists.clear();
        }
        for list in LISTS {
            let capability = &mut message["result"]["capabilities"][list];
            if capability.is_object() {
                // A different build may have different lists.
                capability["listChanged"] = json!(true);
                if legacy {
                    self.lists.push(list);
                }
            } else if let Some(all) = message["result"]["capabilities"].as_object_mut() {
                all.shift_remove(list);
            }
        }
        if legacy {
            self.initialize = Some(request.clone());
        }
        message.to_string()
    }

    fn opening_id(&self) -> String {
        format!("mcp-dev-opening-{}", self.number)
    }

    /// Records that a server was started.
    pub(super) fn started(&mut self, number: u64) -> Vec<OutgoingLine> {
        self.number = number;
        match &self.initialize {
            Some(initialize) => {
                let mut again = initialize.clone();
                again["id"] = json!(self.opening_id());
                self.server = Server::Opening;
                vec![OutgoingLine::Server(again.to_string())]
            }
            None => self.ready(number > 1),
        }
    }

    /// Returns all lines to send now that the server is ready. `again` is `true` unless this is the first server.
    fn ready(&mut self, again: bool) -> Vec<OutgoingLine> {
        self.server = Server::Ready;
        let mut out = Vec::new();
        if again {
            out.extend(self.initialized.clone().map(OutgoingLine::Server));
            for (number, lasting) in self.lasting.values().enumerate() {
                let mut lasting = lasting.clone();
                lasting["id"] = json!(format!("mcp-dev-lasting-{}-{number}", self.number));
                out.push(OutgoingLine::Server(lasting.to_string()));
            }
            let listening = self.open.values();
            let listening = listening.filter(|open| method(open) == Some("subscriptions/listen"));
            for subscription in listening {
                out.push(OutgoingLine::Server(subscription.to_string()));
                for list in LISTS {
                    let filter = &subscription["params"]["notifications"];
                    if filter[format!("{list}ListChanged")] == true {
                        out.push(list_changed(list, Some(&subscription["id"])));
                    }
                }
            }
            out.extend(self.lists.iter().map(|list| list_changed(list, None)));
        }
        for waiting in std::mem::take(&mut self.waiting) {
            out.push(self.forward(waiting));
        }
        out
    }

    /// Records that the server has ended. Calls in progress fail with the reason.
    pub(super) fn ended(&mut self, reason: &str) -> Vec<OutgoingLine> {
        let mut out = Vec::new();
        self.cancelled.clear();
        self.open.retain(|_, request| {
            let lasts = method(request) == Some("subscriptions/listen");
            if !lasts {
                out.push(error(&request["id"], reason));
            }
            lasts
        });
        if self.server == Server::Opening {
            // The next server would end for the same reason.
            out.extend(self.refuse(reason));
        }
        for known in std::mem::take(&mut self.asked).into_keys() {
            let params = json!({"requestId": known, "reason": reason});
            let cancelled =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
            out.push(OutgoingLine::Host(cancelled.to_string()));
        }
        self.server = Server::Ended;
        out
    }

    /// Fails all requests that are waiting for a server.
    pub(super) fn refuse(&mut self, reason: &str) -> Vec<OutgoingLine> {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let requests = waiting.filter(|message| !message["id"].is_null());
        requests
            .map(|request| error(&request["id"], reason))
            .collect()
    }

    /// Records that a build has failed. A running server continues to run.
    pub(super) fn cannot_start(&mut self, reason: &str) -> Vec<OutgoingLine> {
        if !matches!(self.server, Server::Expected | Server::Failed(_)) {
            return Vec::new();
        }
        let reason = format!("the server cannot be built:\n{reason}");
        let mut out = Vec::new();
        // Hosts give up when `initialize` fails, so this request waits for the next build.
        self.waiting.retain(|message| {
            let waits = message["id"].is_null() || method(message) == Some("initialize");
            if !waits {
                out.push(error(&message["id"], &reason));
            }
            waits
        });
        self.server = Server::Failed(reason);
        out
    }

    /// Returns `true` if a request is waiting even though the server has ended.
    pub(super) fn needs_server(&self) -> bool {
        self.server == Server::Ended && self.waiting.iter().any(|message| !message["id"].is_null())
    }
}

fn list_changed(list: &str, subscription: Option<&Value>) -> OutgoingLine {
    let method = format!("notifications/{list}/list_changed");
    let mut message = json!({"jsonrpc": "2.0", "method": method});
    if let Some(id) = subscription {
        message["params"] = json!({"_meta": {SUBSCRIPTION: id}});
    }
    OutgoingLine::Host(message.to_string())
}
