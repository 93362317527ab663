//! A client that completes a handshake, and its server.

use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use mcp_core::dispatch::Dispatcher;
use mcp_core::limits::Limits;
use mcp_core::sync::CancellationToken;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, ReadHalf,
    WriteHalf,
};
use tokio::task::JoinHandle;

use super::server::{Shared, TestServer};
use crate::watchdog::Watchdog;
use crate::{Connection, duplex};

/// A protocol version with batches.
const VERSION: &str = "2025-03-26";

/// A call to a tool. `id` is JSON.
pub(super) fn call(id: impl Display, tool: &str) -> String {
    request(
        id,
        "tools/call",
        &format!("{{\"name\":\"{tool}\",\"_meta\":{{\"progressToken\":0}}}}"),
    )
}

/// A request. `id` and `params` are JSON.
pub(super) fn request(id: impl Display, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}")
}

/// A notification that cancels a request. `id` is JSON.
pub(super) fn cancel(id: impl Display) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id}}}}}"
    )
}

/// Returns the part of a message that matters here: the id with the text of the result or with the error, or the kind
/// of a notification. Returns `None` for the answer to the request of [`Client::listen`].
fn essence(message: Value) -> Option<Value> {
    if let Value::Array(messages) = message {
        return Some(messages.into_iter().filter_map(essence).collect());
    }
    match message["method"].as_str() {
        None if message["id"] == "listen" => None,
        None => {
            let text = &message["result"]["content"][0]["text"];
            let mut essence = json!({ "id": message["id"] });
            match &message["error"] {
                Value::Null => essence["result"] = text.clone(),
                error => essence["error"] = error.clone(),
            }
            Some(essence)
        }
        Some("notifications/progress") => {
            Some(json!({ "progress": message["params"]["progress"] }))
        }
        Some("notifications/cancelled") => Some(json!({ "end": true })),
        Some("notifications/subscriptions/acknowledged") => Some(json!({ "listening": true })),
        Some(method) => Some(json!({ "notification": method })),
    }
}

pub(super) fn ids(answers: &[Value]) -> Vec<i64> {
    answers
        .iter()
        .filter_map(|answer| answer["id"].as_i64())
        .collect()
}

/// The client's side of the test.
pub(super) struct Client {
    test: TestServer,
    reader: Reader,
    writer: Writer,
    server: JoinHandle<io::Result<()>>,
    shutdown: CancellationToken,
}

pub(super) struct Reader {
    lines: BufReader<ReadHalf<DuplexStream>>,
    /// The server, which is kept alive while the halves of a split client exist.
    server_of_halves: Option<(TestServer, JoinHandle<io::Result<()>>)>,
}

pub(super) struct Writer {
    half: WriteHalf<DuplexStream>,
    pub(super) cancelled: Vec<i64>,
}

impl Reader {
    pub(super) async fn receive(&mut self) -> Value {
        self.try_receive().await.expect("an answer")
    }

    pub(super) async fn try_receive(&mut self) -> Option<Value> {
        loop {
            let line = self.try_receive_line().await?;
            let message = serde_json::from_str(&line);
            let message = message.unwrap_or_else(|error| panic!("{error}: {line:?}"));
            if let Some(essence) = essence(message) {
                return Some(essence);
            }
        }
    }

    pub(super) async fn try_receive_line(&mut self) -> Option<String> {
        let mut line = String::new();
        let reading = self.lines.read_line(&mut line);
        let length = tokio::time::timeout(Duration::from_secs(20), reading)
            .await
            .expect("no answer")
            .unwrap();
        assert!(length == 0 || line.ends_with('\n'), "{line:?}");
        (length > 0).then_some(line)
    }
}

impl Writer {
    pub(super) async fn send(&mut self, line: &str) {
        self.send_raw(format!("{line}\n").as_bytes()).await;
    }

    pub(super) async fn send_raw(&mut self, bytes: &[u8]) {
        self.half.write_all(bytes).await.unwrap();
    }

    pub(super) async fn end(&mut self) {
        self.half.shutdown().await.unwrap();
    }
}

impl Client {
    pub(super) async fn new(limits: Limits) -> Self {
        Self::with_buffer(limits, 1 << 20).await
    }

    pub(super) async fn with_buffer(limits: Limits, size: usize) -> Self {
        Self::open(limits, size, VERSION).await
    }

    pub(super) async fn open(limits: Limits, size: usize, version: &str) -> Self {
        let test = TestServer::new(limits);
        let shutdown = CancellationToken::default();
        let (ours, theirs) = tokio::io::duplex(size);
        let (reader, writer) = tokio::io::split(theirs);
        let server = tokio::spawn(serve(
            Arc::clone(&test.dispatcher),
            reader,
            writer,
            shutdown.clone(),
        ));
        let (reader, half) = tokio::io::split(ours);
        let reader = Reader {
            lines: BufReader::new(reader),
            server_of_halves: None,
        };
        let writer = Writer {
            half,
            cancelled: Vec::new(),
        };
        let mut client = Self {
            test,
            reader,
            writer,
            server,
            shutdown,
        };
        for line in handshake(version) {
            client.send(&line).await;
        }
        client.receive().await;
        client
    }

    /// Opens a request that ends as soon as the channel drains, which is received as `{"end": true}`.
    pub(super) async fn listen(&mut self) {
        let meta = "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{},\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}";
        let params = format!("{{\"notifications\":{{}},\"_meta\":{meta}}}");
        self.send(&request("\"listen\"", "subscriptions/listen", &params))
            .await;
        assert_eq!(self.receive().await["listening"], true);
    }

    pub(super) fn split(mut self) -> (Reader, Writer) {
        self.reader.server_of_halves = Some((self.test, self.server));
        (self.reader, self.writer)
    }

    pub(super) async fn send_raw(&mut self, bytes: &[u8]) {
        self.writer.send_raw(bytes).await;
    }

    pub(super) async fn send(&mut self, line: &str) {
        self.writer.send(line).await;
    }

    pub(super) async fn receive(&mut self) -> Value {
        self.reader.receive().await
    }

    /// Receives the given number of answers and returns their ids, sorted.
    pub(super) async fn receive_ids(&mut self, count: usize) -> Vec<i64> {
        let mut found = Vec::new();
        for _ in 0..count {
            found.extend(ids(&[self.receive().await]));
        }
        found.sort_unstable();
        found
    }

    pub(super) async fn send_all_and_end(&mut self, lines: &[String]) -> Vec<Value> {
        let text: String = lines.iter().map(|line| line.clone() + "\n").collect();
        self.send_raw_and_end(text.as_bytes()).await
    }

    /// Sends the bytes, ends the input and returns all answers.
    pub(super) async fn send_raw_and_end(&mut self, bytes: &[u8]) -> Vec<Value> {
        let sending = async {
            self.writer.send_raw(bytes).await;
            self.writer.end().await;
        };
        let receiving = async {
            let mut all = Vec::new();
            while let Some(answer) = self.reader.try_receive().await {
                all.push(answer);
            }
            all.retain(|answer| answer["end"].is_null());
            all
        };
        tokio::join!(sending, receiving).1
    }

    /// Ends the input and waits for the server.
    pub(super) async fn finish(mut self) -> io::Result<()> {
        self.writer.end().await;
        self.ended().await
    }

    pub(super) async fn ended(&mut self) -> io::Result<()> {
        (&mut self.server).await.unwrap()
    }

    pub(super) fn open_gate(&self) {
        self.shared().gate.0.add_permits(1);
    }

    pub(super) fn unblock(&self) {
        *self.shared().blocked.0.lock().unwrap() = true;
        self.shared().blocked.1.notify_all();
    }

    pub(super) fn notify(&self) {
        self.test.handle.notify().tools_changed();
    }

    pub(super) fn shut_down(&self) {
        self.shutdown.cancel();
    }

    pub(super) fn abort(&self) {
        self.server.abort();
    }

    pub(super) fn under_way(&self) -> usize {
        self.shared().under_way.load(SeqCst)
    }

    /// Waits until `count` calls are in progress.
    pub(super) async fn until_under_way(&self, count: usize) {
        let reached = async {
            while self.under_way() != count {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), reached)
            .await
            .expect("a different number of calls is in progress");
    }

    /// Waits until every call has been dropped.
    pub(super) async fn until_idle(&self) {
        let idle = async {
            while self.under_way() > 0 {
                self.shared().idle.notified().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(2), idle)
            .await
            .expect("a call was not dropped");
    }

    pub(super) fn has_sent_late(&self) -> bool {
        self.shared().has_sent_late.load(SeqCst)
    }

    fn shared(&self) -> &Shared {
        &self.test.shared
    }
}

/// The messages with which a client begins a session.
pub(super) fn handshake(version: &str) -> [String; 2] {
    let params = format!(
        "{{\"protocolVersion\":\"{version}\",\"capabilities\":{{}},\"clientInfo\":{{\"name\":\"c\",\"version\":\"1\"}}}}"
    );
    let initialized = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";
    [request(0, "initialize", &params), initialized.to_owned()]
}

pub(super) async fn serve(
    dispatcher: Arc<Dispatcher>,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let watchdog = Watchdog::start(tokio::runtime::Handle::current(), None)?;
    let connection = Connection::new(reader, writer).local();
    duplex::serve(
        dispatcher,
        connection,
        Arc::clone(watchdog.waker()),
        shutdown,
    )
    .await
}
