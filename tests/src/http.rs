//! A raw HTTP client that sends and receives bytes and checks every message against the schema of its protocol version.
//!
//! It implements only the parts of HTTP that are needed to read a server's responses: headers, content lengths, chunks
//! and events.

use std::fmt::Write as _;
use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::Version;
use crate::client::PATIENCE;
pub use crate::events::Event;
use crate::events::Events;
use crate::judge::Judge;
use crate::wait::{Since, in_time};

const META: &str = "io.modelcontextprotocol";

/// A request to send.
#[derive(Clone, Debug)]
pub struct Request {
    /// The HTTP method.
    pub verb: &'static str,
    /// The path and the query.
    pub path: String,
    /// The headers, exactly as they are sent.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The JSON-RPC method of the message, which determines how the answer is checked.
    method: Option<String>,
    version: Version,
}

impl Request {
    /// Creates a request without a body.
    #[must_use]
    pub fn new(verb: &'static str, version: Version) -> Self {
        let accept = if verb == "GET" {
            "text/event-stream"
        } else {
            "application/json, text/event-stream"
        };
        Self {
            verb,
            path: "/mcp".into(),
            headers: vec![("Accept".into(), accept.into())],
            body: Vec::new(),
            method: None,
            version,
        }
    }

    /// Creates a POST request for a message, with only the headers that every POST request needs.
    #[must_use]
    pub fn bare(message: &Value, version: Version) -> Self {
        let mut request = Self::new("POST", version).header("Content-Type", "application/json");
        request.body = message.to_string().into_bytes();
        request.method = message["method"].as_str().map(str::to_owned);
        request
    }

    /// Creates a modern request with all the required headers.
    #[must_use]
    pub fn modern(id: impl Into<Value>, method: &str, mut params: Value) -> Self {
        params["_meta"][format!("{META}/protocolVersion")] = json!("2026-07-28");
        if params["_meta"][format!("{META}/clientCapabilities")].is_null() {
            params["_meta"][format!("{META}/clientCapabilities")] = json!({});
        }
        let name = params["name"].as_str().or(params["uri"].as_str());
        let name = name.map(str::to_owned);
        let message =
            json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params});
        let mut request = Self::bare(&message, Version::V2026_07_28)
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", method);
        if let Some(name) = name {
            request = request.header("Mcp-Name", &name);
        }
        request
    }

    /// Creates a modern tool call.
    #[must_use]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "arguments are written where they are used"
    )]
    pub fn tool(name: &str, arguments: Value) -> Self {
        Self::modern(
            1,
            "tools/call",
            json!({"name": name, "arguments": arguments}),
        )
    }

    /// Creates a request in a session.
    #[must_use]
    pub fn legacy(session: &str, message: &Value, version: Version) -> Self {
        Self::bare(message, version)
            .header("Mcp-Session-Id", session)
            .header("MCP-Protocol-Version", version.date())
    }

    /// Adds a header, even if it exists already.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Removes a header.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    /// Replaces a header.
    #[must_use]
    pub fn with(self, name: &str, value: &str) -> Self {
        self.without(name).header(name, value)
    }

    /// Sets the JSON-RPC method that the response is checked against.
    #[must_use]
    pub fn answering(mut self, method: &str) -> Self {
        self.method = Some(method.into());
        self
    }

    /// Sets the path.
    #[must_use]
    pub fn to(mut self, path: &str) -> Self {
        self.path = path.into();
        self
    }

    /// Returns the bytes of the request line and the headers.
    #[must_use]
    pub fn head(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.verb, self.path);
        let has = |name: &str| {
            self.headers
                .iter()
                .any(|(other, _)| other.eq_ignore_ascii_case(name))
        };
        if !has("Host") {
            head += "Host: localhost\r\n";
        }
        if !has("Content-Length") && !self.body.is_empty() {
            let _ = write!(head, "Content-Length: {}\r\n", self.body.len());
        }
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head += "\r\n";
        head.into_bytes()
    }
}

/// The part of a body that has not been read yet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Left {
    Bytes(usize),
    Chunks,
    Nothing,
}

/// A response whose body may not have been read completely.
#[derive(Debug)]
pub struct Response<S = TcpStream> {
    /// The status code.
    pub status: u16,
    headers: Vec<(String, String)>,
    stream: BufReader<S>,
    left: Left,
    buffer: Vec<u8>,
    events: Events,
    judge: Judge,
    since: Since,
}

/// Connects to the server.
///
/// # Panics
///
/// Panics if no server is listening at the address.
pub async fn connect(address: SocketAddr) -> TcpStream {
    let connected = in_time(TcpStream::connect(address)).await;
    connected.expect("a server listens")
}

/// Sends a request over a new connection and reads the headers of the response.
pub async fn send(address: SocketAddr, request: &Request) -> Response {
    let mut stream = connect(address).await;
    write(&mut stream, request).await;
    response(stream, request).await.expect("the server answers")
}

/// Sends a request.
pub async fn write(stream: &mut (impl AsyncWrite + Unpin), request: &Request) {
    // Errors are ignored because a server that rejects the headers may close the connection before it has read the
    // body.
    let bytes = [request.head(), request.body.clone()].concat();
    let _ = timeout(PATIENCE, stream.write_all(&bytes)).await;
}

/// Reads the headers of a response; returns `None` if the connection is closed first.
pub async fn response<S: AsyncRead + Unpin>(stream: S, request: &Request) -> Option<Response<S>> {
    response_on(BufReader::new(stream), request).await
}

/// Reads the headers of a response on a connection that has been used before.
///
/// # Panics
///
/// Panics if the headers do not arrive in time.
pub async fn response_on<S: AsyncRead + Unpin>(
    mut stream: BufReader<S>,
    request: &Request,
) -> Option<Response<S>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        let read = timeout(PATIENCE, stream.read_line(&mut line)).await;
        match read.expect("the head comes in time") {
            Ok(0) | Err(_) => return None,
            Ok(_) if line.trim_end().is_empty() => break,
            Ok(_) => lines.push(line.trim_end().to_owned()),
        }
    }
    let status = lines.first()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .iter()
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let find = |wanted: &str| {
        let found = headers.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_str())
    };
    let left = if find("transfer-encoding").is_some() {
        Left::Chunks
    } else {
        match find("content-length").and_then(|length| length.parse().ok()) {
            Some(length) if length > 0 => Left::Bytes(length),
            _ => Left::Nothing,
        }
    };
    Some(Response {
        status,
        headers,
        stream,
        left,
        buffer: Vec::new(),
        events: Events::default(),
        since: Since::now(),
        judge: Judge::of(
            request.version,
            status,
            request.method.clone(),
            &request.body,
        ),
    })
}

impl<S: AsyncRead + Unpin> Response<S> {
    /// Returns the value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns `true` if the body is an event stream.
    #[must_use]
    pub fn is_events(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    /// Reads the next part of the body; returns `false` at the end of the body.
    async fn more(&mut self) -> bool {
        self.since.check();
        let read = async {
            match self.left {
                Left::Nothing => false,
                Left::Bytes(length) => {
                    let mut bytes = vec![0; length];
                    let all = self.stream.read_exact(&mut bytes).await.is_ok();
                    self.buffer.extend(bytes);
                    self.left = Left::Nothing;
                    all
                }
                Left::Chunks => {
                    let mut line = String::new();
                    if self.stream.read_line(&mut line).await.is_err() {
                        return false;
                    }
                    let length = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
                    let mut bytes = vec![0; length + 2];
                    if self.stream.read_exact(&mut bytes).await.is_err() || length == 0 {
                        self.left = Left::Nothing;
                        return false;
                    }
                    bytes.truncate(length);
                    self.buffer.extend(bytes);
                    true
                }
            }
        };
        timeout(PATIENCE, read)
            .await
            .expect("the body comes in time")
    }

    /// Reads the whole body.
    pub async fn text(&mut self) -> String {
        while self.more().await {}
        String::from_utf8(std::mem::take(&mut self.buffer)).expect("a body is UTF-8")
    }

    /// Reads the whole body as a single message and checks it.
    ///
    /// # Panics
    ///
    /// Panics if the body is not a valid message.
    pub async fn message(&mut self) -> Value {
        let text = self.text().await;
        let message = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: not JSON ({error}): {text}", self.status));
        self.judge(&message);
        message
    }

    /// Returns the connection, so that it can be used for the next request.
    #[must_use]
    pub fn into_stream(self) -> BufReader<S> {
        self.stream
    }

    /// Returns the next event, or `None` at the end of the body. Checks the event's message, unless the message answers
    /// another request.
    pub async fn event(&mut self) -> Option<Event> {
        loop {
            self.events.push(&std::mem::take(&mut self.buffer));
            if let Some(event) = self.events.pop() {
                // In the transport of 2024-11-05, the first event contains the URL for messages.
                if !event.data.is_empty() && event.name != "endpoint" {
                    let message: Value = serde_json::from_str(&event.data).expect("a message");
                    if self.judge.knows_method() || message["method"].is_string() {
                        self.judge(&message);
                    }
                }
                return Some(event);
            }
            if !self.more().await && self.buffer.is_empty() {
                return None;
            }
        }
    }

    /// Checks and returns the next message in the event stream.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            let event = self.event().await?;
            if !event.data.is_empty() {
                let message = serde_json::from_str(&event.data).expect("a message");
                self.judge(&message);
                return Some(message);
            }
        }
    }

    /// Returns all remaining messages in the event stream.
    pub async fn all(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(message) = self.next().await {
            all.push(message);
        }
        all
    }

    fn judge(&self, message: &Value) {
        self.judge.check(message);
    }
}

/// Creates the first message of a handshake.
#[must_use]
pub fn initialize(version: Version) -> Request {
    let params = json!({
        "protocolVersion": version.date(),
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    });
    Request::bare(
        &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}),
        version,
    )
}

/// Creates a tool call in a session.
#[must_use]
#[allow(
    clippy::needless_pass_by_value,
    reason = "tests pass literals, which nobody else needs"
)]
pub fn call(session: &str, id: i64, name: &str, arguments: Value, version: Version) -> Request {
    let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": id}});
    let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    Request::legacy(session, &message, version)
}

/// Returns the text of a tool's result.
#[must_use]
pub fn text(message: &Value) -> &str {
    message["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text in {message}"))
}
