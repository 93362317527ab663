//! A small protocol: `{"id": …, "method": …}`; methods are ways for a handler to behave.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream,
    ReadBuf, ReadHalf, WriteHalf,
};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::dispatch::Sink;
use crate::jsonrpc::{ErrorObject, RequestId};
use crate::limits::Limits;
use crate::transport::duplex;
use crate::transport::peer::{Begun, Parsed, Peer, Verdict, Wake};
use crate::transport::watchdog::Watchdog;

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

/// The server's side of the test.
pub(in crate::transport) struct Fake {
    limits: Limits,
    gate: Arc<Semaphore>,
    blocked: Arc<(Mutex<bool>, Condvar)>,
    under_way: Arc<AtomicUsize>,
    taken: Arc<AtomicBool>,
    wake: Mutex<Option<Wake>>,
    changed: Arc<AtomicBool>,
    idle: Arc<Notify>,
}

#[derive(Default)]
pub(in crate::transport) struct Session {
    batch: bool,
    changed: Arc<AtomicBool>,
}

#[derive(Clone)]
pub(in crate::transport) struct Request<'m> {
    id: Option<&'m str>,
    method: String,
    request: Option<String>,
    claim: bool,
}

pub(in crate::transport) struct Call<'m> {
    fake: Arc<Fake>,
    request: Request<'m>,
}

/// Counts calls that are not dropped.
struct UnderWay(Arc<AtomicUsize>, Arc<Notify>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
        self.1.notify_one();
    }
}

fn answer(id: &str, method: &str) -> String {
    format!("{{\"id\":{id},\"result\":\"{method}\"}}")
}

impl Peer for Fake {
    type Session = Session;
    type Message<'m> = Request<'m>;
    type Call<'m> = Call<'m>;
    type Running = Pin<Box<dyn Future<Output = String> + Send>>;
    type Finished = String;
    type Pace = ();

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn open(self: &Arc<Self>, wake: Wake) -> Session {
        *self.wake.lock().unwrap() = Some(wake);
        Session {
            batch: false,
            changed: Arc::clone(&self.changed),
        }
    }

    fn parse<'m>(
        &self,
        text: &'m [u8],
    ) -> Result<Parsed<'m, Request<'m>>, (Option<RequestId>, ErrorObject)> {
        #[derive(serde::Deserialize)]
        struct Wire<'a> {
            #[serde(borrow)]
            id: Option<&'a serde_json::value::RawValue>,
            method: String,
            request: Option<Value>,
            claim: Option<u8>,
        }
        let text = std::str::from_utf8(text).unwrap();
        if text.starts_with('[') {
            let elements: Vec<&serde_json::value::RawValue> = serde_json::from_str(text).unwrap();
            return Ok(Parsed::Batch(
                elements.into_iter().map(|element| element.get()).collect(),
            ));
        }
        let wire: Wire<'m> = serde_json::from_str(text)
            .map_err(|error| (None, ErrorObject::new(-32700, error.to_string())))?;
        Ok(Parsed::One(Request {
            id: wire.id.map(serde_json::value::RawValue::get),
            method: wire.method,
            request: wire.request.map(|id| id.to_string()),
            claim: wire.claim.is_some(),
        }))
    }

    fn request_id<'m>(message: &Self::Message<'m>) -> Option<&'m str> {
        message.id
    }

    fn has_claim(message: &Request<'_>) -> bool {
        message.claim
    }

    fn decide<'m>(
        self: &Arc<Self>,
        message: Self::Message<'m>,
        session: &mut Session,
        out: &mut Vec<u8>,
    ) -> Verdict<Self::Call<'m>> {
        match (message.id, message.method.as_str()) {
            (None, "cancel") => Verdict::Cancel(RequestId::from_valid(&message.request.unwrap())),
            (None, _) => Verdict::Silent,
            (Some(id), "ping" | "allow_batch") => {
                session.batch |= message.method == "allow_batch";
                out.extend_from_slice(answer(id, "pong").as_bytes());
                Verdict::Answered
            }
            (Some(_), _) => Verdict::Call(Call {
                fake: Arc::clone(self),
                request: message,
            }),
        }
    }

    fn error(&self, out: &mut Vec<u8>, id: Option<&RequestId>, error: &ErrorObject) {
        let id = id.map_or("null", RequestId::as_json);
        let error = serde_json::to_string(error).unwrap();
        out.extend_from_slice(format!("{{\"id\":{id},\"error\":{error}}}").as_bytes());
    }

    fn spawn_first(call: &Call<'_>) -> bool {
        call.request.method == "slow"
    }

    fn pace(_: &Call<'_>) {}

    fn observed(_pace: &(), _: Duration) {}

    fn start(call: Call<'_>, sink: &dyn Fn() -> Arc<dyn Sink>) -> Begun<Self::Running, String> {
        let Call { fake, request } = call;
        let id = request.id.unwrap().to_owned();
        let done = answer(&id, &request.method);
        fake.under_way.fetch_add(1, SeqCst);
        let under_way = UnderWay(Arc::clone(&fake.under_way), Arc::clone(&fake.idle));
        let running: Self::Running = match request.method.as_str() {
            "echo" => return Begun::Done(done),
            "panic" => panic!("on purpose"),
            "block" => {
                let (unblocked, condition) = &*fake.blocked;
                let guard =
                    condition.wait_while(unblocked.lock().unwrap(), |unblocked| !*unblocked);
                drop(guard);
                return Begun::Done(done);
            }
            "block_shortly" => {
                std::thread::sleep(Duration::from_millis(15));
                return Begun::Done(done);
            }
            "panic_in_poll" => Box::pin(async { panic!("on purpose") }),
            "panic_later" => Box::pin(async {
                tokio::task::yield_now().await;
                panic!("on purpose")
            }),
            "yield" | "slow" => Box::pin(async move {
                let _under_way = under_way;
                tokio::task::yield_now().await;
                done
            }),
            "sleep" | "sleep_short" => {
                let time = if request.method == "sleep" { 1_000 } else { 1 };
                Box::pin(async move {
                    let _under_way = under_way;
                    tokio::time::sleep(Duration::from_millis(time)).await;
                    done
                })
            }
            "gate" => {
                let gate = Arc::clone(&fake.gate);
                Box::pin(async move {
                    let _under_way = under_way;
                    drop(gate.acquire().await.unwrap());
                    done
                })
            }
            "pending" => Box::pin(async move {
                let _under_way = under_way;
                std::future::pending().await
            }),
            "progress" => {
                let sink = sink();
                Box::pin(async move {
                    let _under_way = under_way;
                    assert!(sink.send(b"{\"progress\":1}"));
                    done
                })
            }
            "progress_after" => {
                let sink = sink();
                assert!(sink.send(b"{\"progress\":1}"));
                let taken = Arc::clone(&fake.taken);
                taken.store(true, SeqCst);
                tokio::spawn(async move {
                    for _ in 0..10 {
                        tokio::task::yield_now().await;
                    }
                    taken.store(sink.send(b"{\"progress\":2}"), SeqCst);
                });
                return Begun::Done(done);
            }
            other => panic!("no method {other}"),
        };
        Begun::Running(running)
    }

    fn encode(finished: String, out: &mut Vec<u8>) {
        out.extend_from_slice(finished.as_bytes());
    }

    fn allows_batch(session: &Session) -> bool {
        session.batch
    }

    fn drain(session: &mut Session, out: &mut Vec<u8>, _: usize) -> bool {
        if session.changed.swap(false, SeqCst) {
            out.extend_from_slice(b"{\"notice\":1}\n");
        }
        true
    }

    fn cancel(_: &mut Session, _: &RequestId) -> bool {
        false
    }

    fn end(_: &mut Session, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"end\":true}\n");
    }
}

impl Fake {
    pub(in crate::transport) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            gate: Arc::new(Semaphore::new(0)),
            blocked: Arc::default(),
            under_way: Arc::default(),
            taken: Arc::default(),
            wake: Mutex::new(None),
            changed: Arc::default(),
            idle: Arc::default(),
        })
    }
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
    /// Ends the server when dropped, when the client was split.
    _server: Option<(Arc<Fake>, JoinHandle<io::Result<()>>)>,
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

async fn serve(
    fake: Arc<Fake>,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let watchdog = Watchdog::start(tokio::runtime::Handle::current())?;
    let streams: (
        Box<dyn AsyncRead + Send + Unpin>,
        Box<dyn AsyncWrite + Send + Unpin>,
    ) = (Box::new(reader), Box::new(writer));
    duplex::serve(fake, streams, Arc::clone(watchdog.waking()), shutdown).await
}

impl Client {
    pub(super) fn new(limits: Limits) -> Self {
        Self::with_buffer(limits, 1 << 20)
    }

    pub(super) fn with_buffer(limits: Limits, size: usize) -> Self {
        let fake = Fake::new(limits);
        let shutdown = CancellationToken::new();
        let (ours, theirs) = tokio::io::duplex(size);
        let (reader, writer) = tokio::io::split(theirs);
        let server = tokio::spawn(serve(Arc::clone(&fake), reader, writer, shutdown.clone()));
        let (reader, half) = tokio::io::split(ours);
        let reader = Reader {
            lines: BufReader::new(reader),
            _server: None,
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
        self.reader._server = Some((self.fake, self.server));
        (self.reader, self.writer)
    }

    pub(super) async fn send(&mut self, line: &str) {
        self.writer.send(line).await;
    }

    pub(super) async fn receive(&mut self) -> Value {
        self.reader.receive().await
    }

    /// The ids of that many answers, sorted.
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

    /// All that is answered until the end.
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

    /// Waits until every call is dropped.
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

/// Serves what comes through streams that move one byte at a time and are not ready every `step`th time.
pub(super) async fn through_faulty_streams(input: &[u8], step: usize) -> Vec<Value> {
    let (mut ours, theirs) = tokio::io::duplex(1 << 16);
    let reader = Faulty {
        inner: io::Cursor::new(input.to_vec()),
        step,
        calls: 0,
    };
    let writer = Faulty {
        inner: theirs,
        step,
        calls: 0,
    };
    serve(
        Fake::new(Limits::default()),
        reader,
        writer,
        CancellationToken::new(),
    )
    .await
    .unwrap();
    let mut text = String::new();
    ours.read_to_string(&mut text).await.unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

struct Faulty<T> {
    inner: T,
    step: usize,
    calls: usize,
}

impl<T> Faulty<T> {
    fn is_ready(&mut self, cx: &Context<'_>) -> bool {
        self.calls += 1;
        let ready = self.calls % self.step != 0 || self.step == 1 && self.calls % 2 == 0;
        if !ready {
            cx.waker().wake_by_ref();
        }
        ready
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Faulty<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.is_ready(cx) {
            return Poll::Pending;
        }
        if self.calls % 5 == 0 {
            return Poll::Ready(Err(io::ErrorKind::Interrupted.into()));
        }
        let mut byte = [0];
        let mut one = ReadBuf::new(&mut byte);
        std::task::ready!(Pin::new(&mut self.inner).poll_read(cx, &mut one))?;
        out.put_slice(one.filled());
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Faulty<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !self.is_ready(cx) {
            return Poll::Pending;
        }
        if self.calls % 5 == 0 {
            return Poll::Ready(Err(io::ErrorKind::Interrupted.into()));
        }
        Pin::new(&mut self.inner).poll_write(cx, &bytes[..1])
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_ready(cx) {
            return Poll::Pending;
        }
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
