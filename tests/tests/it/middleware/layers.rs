//! Tower layers around calls.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use mcp_runtime::middleware::{Call, CallOutput, Next};
use mcp_runtime::prelude::*;
use serde_json::json;
use tests::Version;
use tokio::time::advance;
use tower::limit::ConcurrencyLimitLayer;
use tower::timeout::TimeoutLayer;
use tower_service::Service;

use super::{Seen, noting, server};
use crate::fixture::Shared;
use crate::support::connect;

#[tokio::test(start_paused = true)]
async fn tower_layers_wrap_calls() {
    for version in Version::ERAS {
        let (shared, seen) = (Shared::default(), Seen::default());
        let server = server()
            .state(shared.clone())
            .middleware(noting(&seen, "around"))
            .layer(TimeoutLayer::new(Duration::from_secs(3)))
            .layer_tool("wait", ConcurrencyLimitLayer::new(1));
        let mut client = connect(server, version).await;
        client.text("greet", json!({"name": "Ada"})).await;
        // A layer sees failures of handlers as answers, and they arrive unchanged.
        assert_eq!(
            client.refused("fails", json!({})).await,
            "the secret is out"
        );
        seen.take();
        let first = client.start("tools/call", json!({"name": "wait"})).await;
        let second = client.start("tools/call", json!({"name": "wait"})).await;
        shared.started(1).await;
        client.text("greet", json!({"name": "Ada"})).await;
        shared.0.go_on.notify_waiters();
        client.response(&first).await.unwrap();
        shared.started(2).await;
        advance(Duration::from_secs(3)).await;
        // A layer's error appears only in the log.
        let result = client.response(&second).await.unwrap();
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("internal error"), "{result}");
        assert_eq!(seen.take().last().unwrap(), "around: false");
    }
}

/// A custom service that counts calls and repeats a call if it fails.
#[derive(Clone)]
struct Again<S>(S, Arc<AtomicUsize>);

impl<S> Service<Call> for Again<S>
where
    S: Service<Call, Response = Result<CallOutput>> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Result<CallOutput>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, task: &mut TaskContext<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(task)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let (mut service, counter) = (self.0.clone(), Arc::clone(&self.1));
        Box::pin(async move {
            counter.fetch_add(1, Ordering::SeqCst);
            let answer = service.call(call.clone()).await?;
            if answer.is_ok() {
                return Ok(answer);
            }
            counter.fetch_add(1, Ordering::SeqCst);
            service.call(call).await
        })
    }
}

#[tokio::test]
async fn a_layer_may_call_again() {
    let counter = Arc::new(AtomicUsize::new(0));
    let shared = Arc::clone(&counter);
    let layer = tower::layer::layer_fn(move |next: Next| Again(next, Arc::clone(&shared)));
    let mut client = connect(server().layer(layer), Version::V2026_07_28).await;
    client.refused("fails", json!({})).await;
    assert_eq!(counter.load(Ordering::SeqCst), 2);
    client.text("greet", json!({"name": "Ada"})).await;
    assert_eq!(counter.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_layer_around_a_tool_that_is_not_there_is_an_error_at_the_start() {
    let (transport, _client) = mcp_runtime::transport::memory();
    let server = server().layer_tool("greeet", ConcurrencyLimitLayer::new(1));
    let error = server.serve(transport).await.unwrap_err().to_string();
    assert!(error.contains("there is no tool `greeet`"), "{error}");
}
