//! A client for the tests' small protocol, and its server.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, ReadHalf,
    WriteHalf,
};
use tokio::task::JoinHandle;

use super::fake::Fake;
use crate::cancellation::CancellationToken;
use crate::limits::Limits;
use crate::transport::watchdog::Watchdog;
use crate::transport::{Connection, duplex};

pub(super) fn call(id: i64, method: &str) -> String {
    format!("{{\"id\":{id},\"method\":\"{method}\"}}")
}

pub(super) fn cancel(id: i64) -> String {
    format!("{{\"method\":\"cancel\",\"request\":{id}}}")
}

pub(super) fn ids(answers: &[Value]) -> Vec<i64> {
    answers
        .iter()
        .filter_map(|answer| answer["id"].as_i64())
        .collect()
}

/// The client's side of the test.
pub(super) struct Client {
    fake: Arc<Fake>,
    reader: Reader,
    writer: Writer,
    server: JoinHandle<io::Result<()>>,
    shutdown: CancellationToken,
}

pub(super) struct Reader {
    lines: BufReader<ReadHalf<DuplexStream>>,
    /// The server, kept alive as long as the halves of a split client.
    server_of_halves: Option<(Arc<Fake>, JoinHandle<io::Result<()>>)>,
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
        let mut line = String::new();
        let reading = self.lines.read_line(&mut line);
        let length = tokio::time::timeout(Duration::from_secs(20), reading)
            .await
            .expect("no answer")
            .unwrap();
        assert!(length == 0 || line.ends_with('\n'), "{line:?}");
        (length > 0).then(|| {
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
        })
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
    pub(super) fn new(limits: Limits) -> Self {
        Self::with_buffer(limits, 1 << 20)
    }

    pub(super) fn with_buffer(limits: Limits, size: usize) -> Self {
        let fake = Fake::new(limits);
        let shutdown = CancellationToken::default();
        let (ours, theirs) = tokio::io::duplex(size);
        let (reader, writer) = tokio::io::split(theirs);
        let server = tokio::spawn(serve(Arc::clone(&fake), reader, writer, shutdown.clone()));
        let (reader, half) = tokio::io::split(ours);
        let reader = Reader {
            lines: BufReader::new(reader),
            server_of_halves: None,
        };
        let writer = Writer {
            half,
            cancelled: Vec::new(),
        };
        Self {
            fake,
            reader,
            writer,
            server,
            shutdown,
        }
    }

    pub(super) fn split(mut self) -> (Reader, Writer) {
        self.reader.server_of_halves = Some((self.fake, self.server));
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
        self.fake.gate.add_permits(1);
    }

    pub(super) fn unblock(&self) {
        *self.fake.blocked.0.lock().unwrap() = true;
        self.fake.blocked.1.notify_all();
    }

    pub(super) fn notify(&self) {
        self.fake.changed.store(true, SeqCst);
        let wake = self.fake.wake.lock().unwrap().clone().unwrap();
        wake();
    }

    pub(super) fn shut_down(&self) {
        self.shutdown.cancel();
    }

    pub(super) fn abort(&self) {
        self.server.abort();
    }

    pub(super) fn under_way(&self) -> usize {
        self.fake.under_way.load(SeqCst)
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
            .expect("another number of calls is under way");
    }

    /// Waits until every call has been dropped.
    pub(super) async fn until_idle(&self) {
        let idle = async {
            while self.under_way() > 0 {
                self.fake.idle.notified().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(2), idle)
            .await
            .expect("a call was not dropped");
    }

    pub(super) fn last_send_was_taken(&self) -> bool {
        self.fake.taken.load(SeqCst)
    }
}

pub(super) async fn serve(
    fake: Arc<Fake>,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let watchdog = Watchdog::start(tokio::runtime::Handle::current(), None)?;
    let connection = Connection::new(reader, writer).local();
    duplex::serve(fake, connection, Arc::clone(watchdog.waking()), shutdown).await
}
