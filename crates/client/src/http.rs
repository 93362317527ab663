//! A connection to a server over HTTP, as the stream of lines that the client reads and writes.
//!
//! Each line that the client writes becomes a request, and each message of the responses becomes a line. A response that is not
//! an answer of the protocol becomes an error that has the status and the challenge in its data. Streams are not resumed.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::body::{Body as _, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use mcp_core::sync::lock;
use mcp_protocol::ProtocolVersion;
use mcp_protocol::jsonrpc::ErrorObject;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, JoinSet};

use crate::connection::ServerConnection;

static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Connects to the server at this URL, which must begin with `http://`. Every request has these headers. Nothing is sent
/// until the client sends something.
///
/// # Errors
///
/// Describes what is wrong with the URL or the headers.
pub fn connect_http(
    url: &str,
    headers: &[(String, String)],
    version: ProtocolVersion,
) -> Result<ServerConnection, String> {
    let uri = url.parse::<Uri>().ok();
    let uri = uri.filter(|uri| uri.scheme_str() == Some("http") && uri.host().is_some());
    let uri = uri.ok_or_else(|| format!("`{url}` is not a URL that begins with `http://`"))?;
    let mut all = HeaderMap::new();
    for (name, value) in headers {
        let parsed = (name.parse::<HeaderName>(), HeaderValue::from_str(value));
        let (Ok(parsed), Ok(value)) = parsed else {
            return Err(format!("the header `{name}` is not valid"));
        };
        all.append(parsed, value);
    }
    let (stream, own) = tokio::io::duplex(64 << 10);
    let (reader, writer) = tokio::io::split(own);
    let (received, lines) = unbounded_channel();
    tokio::spawn(write_lines(writer, lines));
    let bridge = HttpBridge {
        sender: Arc::new(HttpSender {
            client: Client::builder(TokioExecutor::new()).build_http(),
            uri,
            headers: all,
            version,
            received,
            schemas: Mutex::default(),
        }),
        session: None,
        exchanges: JoinSet::new(),
        requests: HashMap::new(),
    };
    tokio::spawn(bridge.run(BufReader::new(reader)));
    Ok(ServerConnection::remote(stream))
}

type ReadHalf = tokio::io::ReadHalf<DuplexStream>;
type WriteHalf = tokio::io::WriteHalf<DuplexStream>;

async fn write_lines(mut writer: WriteHalf, mut lines: UnboundedReceiver<Value>) {
    while let Some(line) = lines.recv().await {
        if writer
            .write_all(format!("{line}\n").as_bytes())
            .await
            .is_err()
        {
            break;
        }
    }
}

/// Carries one client's messages.
struct HttpBridge {
    sender: Arc<HttpSender>,
    session: Option<HeaderValue>,
    /// The requests whose responses are being read, and the stream of a session.
    exchanges: JoinSet<()>,
    requests: HashMap<u64, AbortHandle>,
}

impl HttpBridge {
    async fn run(mut self, reader: BufReader<ReadHalf>) {
        let mut lines = reader.lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if let Ok(message) = serde_json::from_str(&line) {
                self.send(message).await;
            }
            while self.exchanges.try_join_next().is_some() {}
        }
        if self.session.is_some() {
            let end = self.sender.request(Method::DELETE, self.session.as_ref());
            drop(self.sender.client.request(end).await);
        }
    }

    async fn send(&mut self, message: Value) {
        let sender = Arc::clone(&self.sender);
        let request = sender.post(&message, self.session.as_ref());
        let method = message["method"].as_str().unwrap_or_default();
        let id = message["id"].as_u64();
        match (method, id) {
            ("initialize", Some(id)) => {
                let response = sender.client.request(request).await;
                if let Ok(response) = &response {
                    self.session = response.headers().get(&SESSION).cloned();
                }
                sender.forward(id, response).await;
            }
            // In the modern era, the end of its connection cancels a request.
            ("notifications/cancelled", None) if sender.version.is_modern() => {
                let id = message["params"]["requestId"].as_u64();
                if let Some(exchange) = id.and_then(|id| self.requests.remove(&id)) {
                    exchange.abort();
                }
            }
            (method, Some(id)) if !method.is_empty() => {
                let exchange = async move {
                    let response = sender.client.request(request).await;
                    sender.forward(id, response).await;
                };
                self.requests.insert(id, self.exchanges.spawn(exchange));
            }
            _ => {
                drop(sender.client.request(request).await);
                if method == "notifications/initialized" && self.session.is_some() {
                    self.open_stream().await;
                }
            }
        }
    }

    /// Opens the stream for messages that belong to no request. Servers may have none.
    async fn open_stream(&mut self) {
        let sender = Arc::clone(&self.sender);
        let request = sender.request(Method::GET, self.session.as_ref());
        if let Ok(response) = sender.client.request(request).await
            && is_event_stream(&response)
        {
            self.exchanges.spawn(async move {
                sender.forward_events(response.into_body(), None).await;
            });
        }
    }
}

/// Sends requests, and hands the messages of their responses to the client.
struct HttpSender {
    client: Client<HttpConnector, String>,
    uri: Uri,
    headers: HeaderMap,
    version: ProtocolVersion,
    received: UnboundedSender<Value>,
    /// The input schemas of the tools listed so far. They tell which arguments are repeated in headers.
    schemas: Mutex<HashMap<String, Value>>,
}

impl HttpSender {
    fn request(&self, method: Method, session: Option<&HeaderValue>) -> Request<String> {
        let accept = match method {
            Method::GET => "text/event-stream",
            _ => "application/json, text/event-stream",
        };
        let mut request = Request::new(String::new());
        *request.method_mut() = method;
        *request.uri_mut() = self.uri.clone();
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if let Some(session) = session {
            headers.insert(&SESSION, session.clone());
        }
        if session.is_some() || self.version.is_modern() {
            let version = HeaderValue::from_static(self.version.as_str());
            headers.insert("mcp-protocol-version", version);
        }
        headers.extend(self.headers.clone());
        request
    }

    fn post(&self, message: &Value, session: Option<&HeaderValue>) -> Request<String> {
        let mut request = self.request(Method::POST, session);
        *request.body_mut() = message.to_string();
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.version.is_modern() {
            let (method, params) = (message["method"].as_str(), &message["params"]);
            let name = match method {
                Some("tools/call" | "prompts/get") => params["name"].as_str(),
                Some("resources/read") => params["uri"].as_str(),
                Some(method) if method.starts_with("tasks/") => params["taskId"].as_str(),
                _ => None,
            };
            let method = method.and_then(|method| HeaderValue::from_str(method).ok());
            headers.extend(method.map(|method| (HeaderName::from_static("mcp-method"), method)));
            let value = name.and_then(header_value);
            headers.extend(value.map(|name| (HeaderName::from_static("mcp-name"), name)));
            let schemas = lock(&self.schemas);
            if let Some(schema) = name.and_then(|name| schemas.get(name)) {
                repeat_arguments(schema, &params["arguments"], headers);
            }
        }
        request
    }

    /// Hands the messages of a response to the client. If none of them answers the request, the client gets an error.
    async fn forward(
        &self,
        id: u64,
        response: Result<Response<Incoming>, hyper_util::client::legacy::Error>,
    ) {
        let (response, problem) = match response {
            Ok(response) => (response, "the response has no answer to the request"),
            Err(error) => {
                let error = format!("the server cannot be reached: {error}");
                return self.fail(id, &ErrorObject::new(ErrorObject::INTERNAL_ERROR, error));
            }
        };
        if is_event_stream(&response) {
            if !self.forward_events(response.into_body(), Some(id)).await {
                let error = ErrorObject::new(ErrorObject::INTERNAL_ERROR, problem);
                self.fail(id, &error);
            }
            return;
        }
        let status = response.status();
        let challenge = response.headers().get(WWW_AUTHENTICATE);
        let challenge = challenge.and_then(|value| value.to_str().ok());
        let challenge = challenge.map(str::to_owned);
        let body = read_body(response.into_body()).await;
        let message = serde_json::from_slice::<Value>(&body).unwrap_or_default();
        if message["id"] == id && challenge.is_none() {
            return self.receive(message);
        }
        let error = serde_json::from_value::<ErrorObject>(message["error"].clone());
        let mut error = error.unwrap_or_else(|_| {
            ErrorObject::new(ErrorObject::INTERNAL_ERROR, format!("HTTP status {status}"))
        });
        let mut data = error.data.take().unwrap_or_default();
        if !data.is_object() {
            data = json!({});
        }
        data["httpStatus"] = status.as_u16().into();
        if let Some(challenge) = challenge {
            data["wwwAuthenticate"] = challenge.into();
        }
        self.fail(id, &error.with_data(data));
    }

    /// Hands all messages of an event stream to the client. Returns `true` if one of them is the response to this request.
    async fn forward_events(&self, mut body: Incoming, id: Option<u64>) -> bool {
        let (mut line, mut data, mut is_answered) = (Vec::new(), Vec::new(), false);
        while let Some(bytes) = next_bytes(&mut body).await {
            for byte in bytes {
                match byte {
                    b'\r' => {}
                    b'\n' if line.is_empty() => {
                        let message = serde_json::from_slice::<Value>(&data).unwrap_or_default();
                        data.clear();
                        is_answered |=
                            id.is_some_and(|id| message["id"] == id) && message["method"].is_null();
                        if message.is_object() {
                            self.receive(message);
                        }
                    }
                    b'\n' => {
                        if let Some(more) = line.strip_prefix(b"data:") {
                            data.extend_from_slice(more);
                        }
                        line.clear();
                    }
                    byte => line.push(byte),
                }
            }
        }
        is_answered
    }

    fn receive(&self, message: Value) {
        if let Some(tools) = message["result"]["tools"].as_array() {
            let mut schemas = lock(&self.schemas);
            for tool in tools {
                let name = tool["name"].as_str().unwrap_or_default();
                schemas.insert(name.to_owned(), tool["inputSchema"].clone());
            }
        }
        // The client may be gone.
        let _ = self.received.send(message);
    }

    fn fail(&self, id: u64, error: &ErrorObject) {
        self.receive(json!({"jsonrpc": "2.0", "id": id, "error": json!(error)}));
    }
}

fn is_event_stream(response: &Response<Incoming>) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE);
    content_type.is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
}

async fn next_bytes(body: &mut Incoming) -> Option<Vec<u8>> {
    let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await?;
    let data = frame.ok()?.into_data().ok();
    Some(data.map(Vec::from).unwrap_or_default())
}

async fn read_body(mut body: Incoming) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(bytes) = next_bytes(&mut body).await {
        all.extend(bytes);
    }
    all
}

/// Adds the headers that repeat arguments.
fn repeat_arguments(schema: &Value, arguments: &Value, headers: &mut HeaderMap) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let Some(value) = arguments.get(name).filter(|value| !value.is_null()) else {
            continue;
        };
        if let Some(header) = property["x-mcp-header"].as_str() {
            let text = value.as_str();
            let text = text.map_or_else(|| value.to_string(), str::to_owned);
            let header = format!("mcp-param-{header}").parse::<HeaderName>();
            if let (Ok(header), Some(value)) = (header, header_value(&text)) {
                headers.insert(header, value);
            }
        }
        repeat_arguments(property, value, headers);
    }
}

/// Returns a value in the form used in a header: encoded in Base64 unless it is plain text.
fn header_value(text: &str) -> Option<HeaderValue> {
    let is_plain = text.bytes().all(|byte| matches!(byte, 0x20..=0x7e))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if is_plain {
        HeaderValue::from_str(text).ok()
    } else {
        HeaderValue::from_str(&format!("=?base64?{}?=", STANDARD.encode(text))).ok()
    }
}
