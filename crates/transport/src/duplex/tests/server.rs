//! A server whose tools behave in all the ways that matter to a channel.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use mcp_core::context::{Context, ServerHandle};
use mcp_core::dispatch::Dispatcher;
use mcp_core::handler::dynamic::DynamicTool;
use mcp_core::limits::Limits;
use mcp_runtime::Server;
use serde_json::json;
use tokio::sync::{Notify, Semaphore};

const TOOLS: [&str; 17] = [
    "echo",
    "panic",
    "panic_later",
    "block",
    "block_shortly",
    "block_and_wait",
    "yield",
    "slow",
    "sleep",
    "sleep_short",
    "gate",
    "big",
    "pending",
    "progress",
    "flood",
    "progress_later",
    "progress_after",
];

/// A request in the latest protocol version, which needs no handshake, and its answer.
pub(crate) const ECHO: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{},\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}}\n";

/// Returns `true` if a line is the answer to [`ECHO`].
pub(crate) fn is_echo(line: &str) -> bool {
    line.starts_with("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{") && line.contains("\"echo\"")
}

/// A server and the state that its tools share with the test.
pub(crate) struct TestServer {
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(super) handle: ServerHandle,
    pub(super) shared: Arc<Shared>,
}

#[derive(Default)]
pub(super) struct Shared {
    pub(super) gate: Gate,
    pub(super) blocked: (Mutex<bool>, Condvar),
    pub(super) under_way: AtomicUsize,
    pub(super) idle: Notify,
    /// Set once `progress_after` has sent a message after its answer.
    pub(super) has_sent_late: AtomicBool,
}

pub(super) struct Gate(pub(super) Semaphore);

impl Default for Gate {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

/// Counts calls that have not been dropped.
struct UnderWay(Arc<Shared>);

impl UnderWay {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.under_way.fetch_add(1, SeqCst);
        Self(Arc::clone(shared))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, SeqCst);
        self.0.idle.notify_one();
    }
}

impl TestServer {
    pub(crate) fn new(limits: Limits) -> Self {
        let server = Server::new("test", "1").limits(limits);
        let (handle, shared) = (server.handle(), Arc::<Shared>::default());
        for name in TOOLS {
            let shared = Arc::clone(&shared);
            let schema = json!({"type": "object"});
            let tool = DynamicTool::new(name, schema, move |_, ctx| run(name, &shared, ctx));
            handle.tools().insert(tool).unwrap();
        }
        Self {
            dispatcher: Arc::clone(server.build().unwrap().dispatcher()),
            handle,
            shared,
        }
    }
}

fn run(
    name: &'static str,
    shared: &Arc<Shared>,
    ctx: Context,
) -> Pin<Box<dyn Future<Output = String> + Send>> {
    let (shared, under_way) = (Arc::clone(shared), UnderWay::new(shared));
    Box::pin(async move {
        let _under_way = under_way;
        match name {
            "panic" => panic!("on purpose"),
            "panic_later" => {
                tokio::task::yield_now().await;
                panic!("on purpose")
            }
            "block" | "block_and_wait" => {
                let (unblocked, condition) = &shared.blocked;
                // The wait has a time limit so that the test ends even if it fails.
                drop(condition.wait_timeout_while(
                    unblocked.lock().unwrap(),
                    Duration::from_secs(10),
                    |unblocked| !*unblocked,
                ));
                if name == "block_and_wait" {
                    std::future::pending::<()>().await;
                }
            }
            "block_shortly" => std::thread::sleep(Duration::from_millis(15)),
            "yield" => tokio::task::yield_now().await,
            // Later calls are started in a task because the first poll takes so long.
            "slow" => {
                std::thread::sleep(Duration::from_micros(300));
                tokio::task::yield_now().await;
            }
            "sleep" => tokio::time::sleep(Duration::from_secs(1)).await,
            "sleep_short" => tokio::time::sleep(Duration::from_millis(1)).await,
            "gate" => drop(shared.gate.0.acquire().await.unwrap()),
            "big" => {
                drop(shared.gate.0.acquire().await.unwrap());
                return "x".repeat(1_700);
            }
            "pending" => std::future::pending().await,
            "progress" => ctx.progress(1),
            "progress_later" => {
                tokio::task::yield_now().await;
                ctx.progress(1);
            }
            "flood" => {
                drop(shared.gate.0.acquire().await.unwrap());
                for _ in 0..1_000 {
                    ctx.info("flood");
                }
            }
            "progress_after" => {
                ctx.progress(1);
                tokio::spawn(async move {
                    for _ in 0..10 {
                        tokio::task::yield_now().await;
                    }
                    ctx.progress(2);
                    shared.has_sent_late.store(true, SeqCst);
                });
            }
            _ => {}
        }
        name.to_owned()
    })
}
