//! Runs calls for all transports.
//!
//! A transport runs a call by adding it to its owner's [`CallTable`](crate::dispatch::CallTable) and calling
//! [`PreparedCall::run`]. Most calls finish there, during their first poll, and never need a task. All other calls
//! continue wherever the owner polls them. In both cases, the response is always written to the owner's buffer: the
//! call itself reports a panic in its handler, and any other panic becomes an internal error.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::dispatch::call::{CallProgress, RunningCall};
use crate::dispatch::finish::WrittenResponse;
use crate::dispatch::prepared::PreparedCall;
use crate::dispatch::stream::Sink;
use crate::jsonrpc::{ErrorObject, RequestId};
use crate::panics;

impl PreparedCall<'_> {
    /// Starts the call with this `id` and polls it once. Appends its response to `out` if it has finished.
    ///
    /// A call that is still running must be polled again immediately, because its first poll has no waker.
    ///
    /// `sink`, which is called only if the call may send messages before the response, creates the stream for such
    /// messages.
    pub(crate) fn run(
        self,
        id: &RequestId,
        sink: &dyn Fn() -> Arc<dyn Sink>,
        out: &mut Vec<u8>,
    ) -> CallProgress {
        let start = out.len();
        // The call is kept here rather than returned by the closure, because moving a call is expensive.
        let mut running = None;
        let response = panics::catch(|| {
            let running = match self.start(sink, out) {
                CallProgress::Running(call) => running.insert(call),
                CallProgress::Answered(response) => return Some(response),
            };
            // The poll is unconstrained because otherwise the call would be pending for no reason if a connection's
            // task had exhausted its budget.
            let first_poll = pin!(tokio::task::unconstrained(poll_fn(|cx| {
                running.first_poll(cx, out)
            })));
            match first_poll.poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(response) => Some(response),
                Poll::Pending => None,
            }
        });
        match (response, running) {
            (Ok(None), Some(running)) => CallProgress::Running(running),
            (Ok(Some(response)), _) => CallProgress::Answered(response),
            _ => CallProgress::Answered(internal_error(id, out, start)),
        }
    }
}

impl RunningCall {
    /// Polls the call with this `id` and appends its response to `out` once it has finished. Runs user code.
    pub(crate) fn poll_response(
        &mut self,
        id: &RequestId,
        cx: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Poll<WrittenResponse> {
        let start = out.len();
        panics::catch(|| self.poll(cx, out))
            .unwrap_or_else(|_| Poll::Ready(internal_error(id, out, start)))
    }
}

/// Replaces the bytes after `start` with an error.
fn internal_error(id: &RequestId, out: &mut Vec<u8>, start: usize) -> WrittenResponse {
    out.truncate(start);
    WrittenResponse::of_error(out, Some(id), ErrorObject::internal("internal error"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::Server;
    use crate::dispatch::Decision;
    use crate::dispatch::channel::ChannelMemory;
    use crate::handler::dynamic::DynamicTool;
    use crate::jsonrpc::{Incoming, parse};

    #[test]
    fn a_panic_of_the_transport_is_one_internal_error() {
        // With middleware, the stream for the call's messages is created before any user code runs.
        let server = Server::new("test", "1").middleware(async |call, next| next.run(call).await);
        let tool = DynamicTool::new("echo", json!({"type": "object"}), |_, _| async { "echo" });
        server.handle().tools().insert(tool).unwrap();
        let dispatcher = server.into_dispatcher().unwrap();
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
        let Decision::Call(call) = dispatcher.decide(&message, &mut memory, &mut out) else {
            panic!("the tool exists");
        };
        let id = RequestId::from_valid("7");
        let progress = call.run(&id, &|| panic!("no stream"), &mut out);
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
}
