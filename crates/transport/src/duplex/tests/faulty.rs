//! Streams that do as little as the contract allows.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll};

use mcp_core::context::current;
use mcp_core::dispatch::{CallProgress, ChannelMemory, Decision, RequestDecision};
use mcp_core::handler::dynamic::DynamicTool;
use mcp_core::limits::Limits;
use mcp_core::sync::CancellationToken;
use mcp_protocol::jsonrpc::{Incoming, parse};
use mcp_runtime::Server;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

use super::client::{handshake, serve};
use super::server::TestServer;

/// Serves the input through streams that move one byte at a time and are not ready every `step`th time.
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
        TestServer::new(Limits::default()).dispatcher,
        reader,
        writer,
        CancellationToken::default(),
    )
    .await
    .unwrap();
    let mut text = String::new();
    ours.read_to_string(&mut text).await.unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Serves this input. Returns `true` if a stream was written to as part of a call.
pub(super) async fn written_within_a_call(input: &str) -> bool {
    current::enable_forwarding();
    let (mut ours, theirs) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(theirs);
    let within = Arc::new(AtomicBool::new(false));
    let writer = Nosy(writer, Arc::clone(&within));
    let dispatcher = TestServer::new(Limits::default()).dispatcher;
    let shutdown = CancellationToken::default();
    let server = tokio::spawn(serve(dispatcher, reader, writer, shutdown));
    let input = format!("{}\n{input}", handshake("2025-03-26").join("\n"));
    ours.write_all(input.as_bytes()).await.unwrap();
    ours.shutdown().await.unwrap();
    server.await.unwrap().unwrap();
    within.load(SeqCst)
}

/// A writer that detects whether it is used as part of a call.
struct Nosy<W>(W, Arc<AtomicBool>);

impl<W> Nosy<W> {
    fn look(&self) {
        self.1.fetch_or(current::current_call().is_some(), SeqCst);
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Nosy<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.look();
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.look();
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

struct Faulty<T> {
    inner: T,
    step: usize,
    calls: usize,
}

impl<T> Faulty<T> {
    fn is_ready(&mut self, cx: &Context<'_>) -> bool {
        self.calls += 1;
        let ready =
            !self.calls.is_multiple_of(self.step) || self.step == 1 && self.calls.is_multiple_of(2);
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
        if self.calls.is_multiple_of(5) {
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
        if self.calls.is_multiple_of(5) {
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

#[test]
fn a_panic_of_the_transport_is_one_internal_error() {
    // With middleware, the stream for the call's messages is created before any user code runs.
    let server = Server::new("test", "1").middleware(async |call, next| next.run(call).await);
    let tool = DynamicTool::new("echo", json!({"type": "object"}), |_, _| async { "echo" });
    server.handle().tools().insert(tool).unwrap();
    let dispatcher = Arc::clone(server.build().unwrap().dispatcher());
    let mut memory = ChannelMemory::new(&dispatcher, Arc::new(|| {}));
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "echo",
        "_meta": {
            "progressToken": 1,
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }})
    .to_string();
    let limits = dispatcher.limits().message.parse_limits();
    let Ok(Incoming::Message(message)) = parse(message.as_bytes(), &limits) else {
        panic!("the message is valid");
    };
    let mut out = b"earlier\n".to_vec();
    let decision = dispatcher.decide(&message, &mut memory, &mut out);
    let Decision::Request(RequestDecision::Call(call)) = decision else {
        panic!("the tool exists");
    };
    let progress = call.run(&|| panic!("no stream"), &mut out);
    let CallProgress::Answered(response) = progress else {
        panic!("the call has not ended");
    };
    assert!(response.error.is_some());
    let response = out.strip_prefix(b"earlier\n").unwrap();
    let response: Value = serde_json::from_slice(response).unwrap();
    assert_eq!(
        (&response["id"], &response["error"]["code"]),
        (&json!(7), &json!(-32603))
    );
}
