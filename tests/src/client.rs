//! A raw client: lines of JSON out, lines of JSON in, every line from the server judged by the schema of its revision.
//!
//! What a request should come to is left to the tests.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::time::timeout;

use crate::{Revision, schema};

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

/// A question of the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Its key in the modern era, its id in the legacy era.
    pub key: String,
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// Its parameters, or null.
    pub params: Value,
}

/// What is answered to a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// This result.
    Result(Value),
    /// This error. Nothing at all in the modern era, which has no errors here.
    Error(i64, String),
    /// Nothing.
    Silence,
}

impl Answer {
    /// A form filled in like this.
    #[must_use]
    pub fn accept(content: Value) -> Self {
        let mut accepted = json!({"action": "accept"});
        accepted["content"] = content;
        Self::Result(accepted)
    }

    /// No.
    #[must_use]
    pub fn decline() -> Self {
        Self::Result(json!({"action": "decline"}))
    }

    /// Neither yes nor no.
    #[must_use]
    pub fn cancel() -> Self {
        Self::Result(json!({"action": "cancel"}))
    }

    /// What a model says.
    #[must_use]
    pub fn said(text: &str) -> Self {
        let content = json!({"type": "text", "text": text});
        Self::Result(json!({"role": "assistant", "content": content, "model": "m"}))
    }
}

type Answerer = Box<dyn FnMut(&Question) -> Answer + Send>;

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
    /// The method and the revision of each request under way, by its id as JSON.
    pending: HashMap<String, (String, Revision)>,
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
            self.pending
                .insert(id.to_string(), (method.to_owned(), revision));
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
        self.response(&id).await
    }

    /// From now on, this is answered to the server's questions.
    pub fn answer(&mut self, answerer: impl FnMut(&Question) -> Answer + Send + 'static) {
        self.answerer = Some(Box::new(answerer));
    }

    /// Calls a method, answers what is asked on the way, and awaits what it comes to.
    ///
    /// # Errors
    ///
    /// The error the server answered with.
    pub async fn ask(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        let mut next = params.clone();
        for _ in 0..100 {
            let result = self.request(method, next).await?;
            if result["resultType"] != "input_required" {
                return Ok(result);
            }
            next = self.retry(&params, &result);
        }
        panic!("{method} asks for ever");
    }

    /// The parameters that go on with a call that asked for input.
    pub fn retry(&mut self, params: &Value, result: &Value) -> Value {
        self.rounds += 1;
        let mut responses = Map::new();
        for (key, request) in result["inputRequests"].as_object().into_iter().flatten() {
            let question = Question {
                key: key.clone(),
                method: request["method"].as_str().unwrap_or_default().to_owned(),
                params: request["params"].clone(),
            };
            if let Answer::Result(answer) = self.say(question) {
                responses.insert(key.clone(), answer);
            }
        }
        let mut next = params.clone();
        next["inputResponses"] = Value::Object(responses);
        if let Some(state) = result.get("requestState") {
            next["requestState"] = state.clone();
        }
        next
    }

    fn say(&mut self, question: Question) -> Answer {
        let answer = match &mut self.answerer {
            Some(answerer) => answerer(&question),
            None => Answer::Silence,
        };
        self.asked.push(question);
        answer
    }

    /// Waits until the server has asked that many questions (legacy era), or the call is answered.
    pub async fn until_asked(&mut self, questions: usize) {
        while self.asked.len() < questions {
            self.take().await;
        }
    }

    /// Calls a method that must go well.
    pub async fn ok(&mut self, method: &str, params: Value) -> Value {
        match self.request(method, params).await {
            Ok(result) => result,
            Err(failure) => panic!("{method} in {}: {failure:?}", self.revision.date()),
        }
    }

    /// Calls a method that must fail with this code.
    pub async fn fails(&mut self, method: &str, params: Value, code: i64) -> Failure {
        match self.request(method, params.clone()).await {
            Err(failure) => {
                assert_eq!(
                    failure.code,
                    code,
                    "{method} {params} in {}: {failure:?}",
                    self.revision.date()
                );
                failure
            }
            Ok(result) => panic!(
                "{method} {params} in {} went well: {result}",
                self.revision.date()
            ),
        }
    }

    /// Calls a tool and gives its result, whether or not it is an error to the model.
    pub async fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.ok("tools/call", json!({"name": name, "arguments": arguments}))
            .await
    }

    /// Calls a tool and gives the text of its only content block.
    pub async fn text(&mut self, name: &str, arguments: Value) -> String {
        let result = self.tool(name, arguments).await;
        assert_ne!(result["isError"], json!(true), "{name}: {result}");
        result["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("no text in {result}"))
            .to_owned()
    }

    /// Calls a tool that must fail so that the model can read why; gives that text.
    pub async fn refused(&mut self, name: &str, arguments: Value) -> String {
        let result = self.tool(name, arguments).await;
        assert_eq!(result["isError"], json!(true), "{name}: {result}");
        result["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("no text in {result}"))
            .to_owned()
    }

    /// Walks a list to its end; gives the items and the number of pages.
    pub async fn list(&mut self, method: &str, member: &str) -> (Vec<Value>, usize) {
        let (mut items, mut pages, mut cursor) = (Vec::new(), 0, None::<Value>);
        loop {
            let params = cursor
                .take()
                .map_or(json!({}), |cursor| json!({"cursor": cursor}));
            let page = self.ok(method, params).await;
            items.extend(page[member].as_array().expect("a list").iter().cloned());
            pages += 1;
            assert!(pages < 1_000, "{method} does not end");
            match page.get("nextCursor") {
                Some(next) => cursor = Some(next.clone()),
                None => return (items, pages),
            }
        }
    }

    /// Awaits the answer to a request.
    ///
    /// # Errors
    ///
    /// The error the server answered with.
    pub async fn response(&mut self, id: &Value) -> Result<Value, Failure> {
        loop {
            let found = self
                .responses
                .iter()
                .position(|message| message.get("id") == Some(id));
            if let Some(index) = found {
                return outcome(&self.responses.swap_remove(index));
            }
            self.take().await;
        }
    }

    /// Awaits an answer without an id, which is always an error.
    pub async fn anonymous(&mut self) -> Failure {
        loop {
            let found = self
                .responses
                .iter()
                .position(|message| message.get("id").is_none());
            if let Some(index) = found {
                match outcome(&self.responses.swap_remove(index)) {
                    Err(failure) => return failure,
                    Ok(result) => panic!("a result without an id: {result}"),
                }
            }
            self.take().await;
        }
    }

    /// Awaits a notification of this method, keeping others.
    pub async fn notification(&mut self, method: &str) -> Value {
        loop {
            let found = self
                .notifications
                .iter()
                .position(|message| message["method"] == method);
            if let Some(message) = found.and_then(|index| self.notifications.remove(index)) {
                return message["params"].clone();
            }
            self.take().await;
        }
    }

    /// Awaits the answer to a harmless request, then gives every notification that came before it and was not asked for.
    pub async fn drain(&mut self) -> Vec<Value> {
        self.pass().await;
        self.notifications.drain(..).collect()
    }

    /// A harmless request, to see that the server still serves and that everything sent before has been read.
    pub async fn pass(&mut self) {
        if self.revision.is_modern() {
            self.ok("server/discover", json!({})).await;
        } else {
            self.ok("ping", json!({})).await;
        }
    }

    /// Whether an answer to this request has come already.
    #[must_use]
    pub fn answered(&self, id: &Value) -> bool {
        self.responses
            .iter()
            .any(|message| message.get("id") == Some(id))
    }

    /// Reads one line as it is; `None` at the end.
    pub async fn read_line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let read = timeout(PATIENCE, self.reader.read_until(b'\n', &mut line))
            .await
            .expect("the server answers in time");
        match read {
            Ok(0) | Err(_) => None,
            Ok(_) => {
                assert_eq!(line.pop(), Some(b'\n'), "a line ends");
                Some(String::from_utf8(line).expect("a line is UTF-8"))
            }
        }
    }

    /// Reads one message, judges it, and gives it; `None` at the end.
    pub async fn read(&mut self) -> Option<Value> {
        let line = self.read_line().await?;
        let message: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {line}"));
        if let Some(batch) = message.as_array() {
            assert!(!batch.is_empty(), "an empty batch");
            for message in batch {
                self.judge(message);
            }
        } else {
            self.judge(&message);
        }
        Some(message)
    }

    /// Ends the input of the server.
    pub async fn close(&mut self) {
        if let Some(mut writer) = self.writer.take() {
            // A server that has gone already has seen the end of its input.
            let _ = writer.shutdown().await;
        }
    }

    /// Ends the input and reads all that still comes.
    pub async fn finish(mut self) -> Vec<Value> {
        self.close().await;
        let mut rest = Vec::new();
        while let Some(message) = self.read().await {
            rest.push(message);
        }
        rest
    }

    async fn take(&mut self) {
        let message = self.read().await.expect("the server is still there");
        let messages = match message {
            Value::Array(batch) => batch,
            message => vec![message],
        };
        for message in messages {
            if message.get("method").is_some() && message.get("id").is_some() {
                self.asked_by_request(&message).await;
            } else if message.get("method").is_some() {
                self.notifications.push_back(message);
            } else {
                self.responses.push(message);
            }
        }
    }

    async fn asked_by_request(&mut self, message: &Value) {
        let question = Question {
            key: message["id"].to_string(),
            method: message["method"].as_str().unwrap_or_default().to_owned(),
            params: message["params"].clone(),
        };
        let response = match self.say(question) {
            Answer::Result(result) => {
                json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
            }
            Answer::Error(code, text) => {
                json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": text}})
            }
            Answer::Silence => return,
        };
        self.line(&response.to_string()).await;
    }

    fn judge(&mut self, message: &Value) {
        let request = message
            .get("id")
            .filter(|_| message.get("method").is_none())
            .and_then(|id| self.pending.remove(&id.to_string()));
        let modern = message["params"]["_meta"]
            .get("io.modelcontextprotocol/subscriptionId")
            .is_some();
        let revision = match &request {
            Some((_, revision)) => *revision,
            None if modern => Revision::E,
            None => self.revision,
        };
        let method = request.map(|(method, _)| method);
        let is_result = message.get("result").is_some();
        assert!(
            !is_result || method.is_some(),
            "an answer nobody awaits: {message}"
        );
        if let Err(faults) = schema::check(revision, message, method.as_deref()) {
            panic!("{faults}");
        }
    }
}

fn outcome(message: &Value) -> Result<Value, Failure> {
    match message.get("result") {
        Some(result) => Ok(result.clone()),
        None => Err(Failure {
            code: message["error"]["code"].as_i64().unwrap_or_default(),
            message: message["error"]["message"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            data: message["error"]["data"].clone(),
        }),
    }
}
