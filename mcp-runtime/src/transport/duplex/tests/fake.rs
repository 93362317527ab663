//! A small protocol with messages of the form `{"id": …, "method": …}`. Each method makes the handler behave in a
//! different way.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};

use crate::context::{Caller, current};
use crate::dispatch::{CallProgress, Sink, Wake};
use crate::jsonrpc::{ErrorObject, Incoming, RequestId};
use crate::limits::Limits;
use crate::registry::fixture::context;
use crate::transport::peer::{MessageVerdict, Peer};

/// The server side of the test.
pub(in crate::transport) struct Fake {
    pub(super) limits: Limits,
    pub(super) gate: Arc<Semaphore>,
    pub(super) blocked: Arc<(Mutex<bool>, Condvar)>,
    pub(super) under_way: Arc<AtomicUsize>,
    pub(super) taken: Arc<AtomicBool>,
    pub(super) wake: Mutex<Option<Wake>>,
    pub(super) changed: Arc<AtomicBool>,
    pub(super) idle: Arc<Notify>,
}

#[derive(Default)]
pub(in crate::transport) struct Session {
    batch: bool,
    changed: Arc<AtomicBool>,
}

#[derive(Clone)]
pub(in crate::transport) struct Request {
    id: Option<RequestId>,
    method: String,
    taken_back: Option<String>,
    claim: bool,
}

pub(in crate::transport) struct Call<'m> {
    fake: Arc<Fake>,
    request: &'m Request,
}

/// Counts calls that have not been dropped.
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

/// Sends messages as long as they are accepted, and then answers with the number sent.
async fn flood(
    gate: Arc<Semaphore>,
    sink: Arc<dyn Sink>,
    id: String,
    _under_way: UnderWay,
) -> String {
    drop(gate.acquire().await.unwrap());
    let mut taken = 0;
    while taken < 1_000 && sink.send(b"{\"progress\":1}") {
        taken += 1;
    }
    answer(&id, &taken.to_string())
}

impl Peer for Fake {
    type Session = Session;
    type Message<'m> = Request;
    type ParseCache = ();
    type Call<'m> = Call<'m>;
    type Running = Pin<Box<dyn Future<Output = String> + Send>>;
    type Finished = String;
    type Pace = ();

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn is_blocking(&self) -> bool {
        false
    }

    fn open(self: &Arc<Self>, _: Caller, wake: Wake) -> Session {
        *self.wake.lock().unwrap() = Some(wake);
        Session {
            batch: false,
            changed: Arc::clone(&self.changed),
        }
    }

    fn parse<'m>(
        &self,
        text: &'m [u8],
        (): &mut (),
    ) -> Result<Incoming<'m, Request>, (Option<RequestId>, ErrorObject)> {
        #[derive(serde::Deserialize)]
        struct Wire<'a> {
            #[serde(borrow)]
            id: Option<&'a serde_json::value::RawValue>,
            method: String,
            #[serde(borrow)]
            request: Option<&'a serde_json::value::RawValue>,
            claim: Option<u8>,
        }
        let text = std::str::from_utf8(text).unwrap();
        if text.starts_with('[') {
            let elements: Vec<&serde_json::value::RawValue> = serde_json::from_str(text).unwrap();
            return Ok(Incoming::Batch(
                elements
                    .into_iter()
                    .map(serde_json::value::RawValue::get)
                    .collect(),
            ));
        }
        let wire: Wire<'m> = serde_json::from_str(text)
            .map_err(|error| (None, ErrorObject::new(-32700, error.to_string())))?;
        Ok(Incoming::Message(Request {
            id: wire.id.map(|id| RequestId::from_valid(id.get())),
            method: wire.method,
            taken_back: wire.request.map(|id| id.get().to_owned()),
            claim: wire.claim.is_some(),
        }))
    }

    fn request_id<'c>(message: &'c Self::Message<'_>) -> Option<&'c RequestId> {
        message.id.as_ref()
    }

    fn has_claim(message: &Request) -> bool {
        message.claim
    }

    fn decide<'c, 'm: 'c>(
        self: &Arc<Self>,
        message: &'c Self::Message<'m>,
        session: &mut Session,
        out: &mut Vec<u8>,
    ) -> MessageVerdict<Self::Call<'c>> {
        match (&message.id, message.method.as_str()) {
            (None, "cancel") => MessageVerdict::Cancel(RequestId::from_valid(
                message.taken_back.as_deref().unwrap(),
            )),
            (None, _) => MessageVerdict::Silent,
            (Some(id), "ping" | "allow_batch") => {
                session.batch |= message.method == "allow_batch";
                out.extend_from_slice(answer(id.as_json(), "pong").as_bytes());
                MessageVerdict::Answered
            }
            (Some(_), _) => MessageVerdict::Call(Call {
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

    fn record_first_poll(_pace: &(), _: Duration) {}

    fn start(
        call: Call<'_>,
        sink: &dyn Fn() -> Arc<dyn Sink>,
    ) -> CallProgress<Self::Running, String> {
        let Call { fake, request } = call;
        let id = request.id.as_ref().unwrap().as_json().to_owned();
        let done = answer(&id, &request.method);
        fake.under_way.fetch_add(1, SeqCst);
        let under_way = UnderWay(Arc::clone(&fake.under_way), Arc::clone(&fake.idle));
        let running: Self::Running = match request.method.as_str() {
            "echo" => return CallProgress::Done(done),
            "panic" => panic!("on purpose"),
            "block" => {
                let (unblocked, condition) = &*fake.blocked;
                // The wait has a time limit so that the test ends even if it fails.
                let guard = condition.wait_timeout_while(
                    unblocked.lock().unwrap(),
                    Duration::from_secs(10),
                    |unblocked| !*unblocked,
                );
                drop(guard);
                return CallProgress::Done(done);
            }
            "block_shortly" => {
                std::thread::sleep(Duration::from_millis(15));
                return CallProgress::Done(done);
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
            "big" => {
                let gate = Arc::clone(&fake.gate);
                let done = answer(&id, &"x".repeat(2_000));
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
            "flood" => Box::pin(flood(Arc::clone(&fake.gate), sink(), id, under_way)),
            "progress_within" => {
                let sink = sink();
                Box::pin(async move {
                    let _under_way = under_way;
                    tokio::task::yield_now().await;
                    let sent =
                        current::within_call(Some(context()), || sink.send(b"{\"progress\":1}"));
                    assert!(sent);
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
                return CallProgress::Done(done);
            }
            other => panic!("no method {other}"),
        };
        CallProgress::Running(running)
    }

    fn encode(finished: String, out: &mut Vec<u8>) {
        out.extend_from_slice(finished.as_bytes());
    }

    fn allows_batch(session: &Session) -> bool {
        session.batch
    }

    fn drain(session: &mut Session, out: &mut Vec<u8>, _: usize) -> bool {
        if session.changed.swap(false, SeqCst) {
            out.extend_from_slice(b"{\"notification\":1}\n");
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
