//! The span in which a request arrives is current for the whole life of its handler, in every way of running it; with
//! or without feature `telemetry`, and also if a filter disables the spans of this crate.
#![cfg(feature = "http")]
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that goes wrong may panic, and handlers take what they are given"
)]

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use mcp_runtime::prelude::*;
use mcp_runtime::{
    http::{HttpOptions, HttpService, HttpSessions},
    transport::memory,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::time::timeout;
use tower_service::Service as _;
use tracing::field::{Field, Visit};
use tracing::{Event, Instrument as _, Subscriber, info_span};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Context as LayerContext, Layer};
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry::LookupSpan;

/// Logs an event before and after a wait longer than `limits.http.silence_timeout`.
#[tool]
async fn work(case: String) -> &'static str {
    tracing::info!("{case} began");
    tokio::time::sleep(Duration::from_secs(20)).await;
    tracing::info!("{case} went on");
    "done"
}

/// Fails after a while.
#[tool]
async fn fail(case: String) -> Result<()> {
    tokio::time::sleep(Duration::from_secs(20)).await;
    Err(anyhow::anyhow!("{case} failed").into())
}

/// Logs an event on a separate thread.
#[tool(blocking)]
fn sit(case: String) {
    tracing::info!("{case} sat");
}

/// A log message, and the spans around it, innermost first.
type Said = (String, Vec<&'static str>);

#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<Said>>>);

struct Text<'a>(&'a mut String);

impl Visit for Text<'_> {
    fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
        let _ = write!(self.0, "{value:?} ");
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Listener {
    fn on_event(&self, event: &Event<'_>, context: LayerContext<'_, S>) {
        let mut text = String::new();
        event.record(&mut Text(&mut text));
        let around = context.event_scope(event).into_iter().flatten();
        let names = around.map(|span| span.name()).collect();
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        said.push((text, names));
    }
}

/// Installs a subscriber for all tests of this program, which ignores the spans of the framework.
fn listener() -> &'static Listener {
    static LISTENER: std::sync::OnceLock<Listener> = std::sync::OnceLock::new();
    static BEGUN: Once = Once::new();
    let listener = LISTENER.get_or_init(Listener::default);
    BEGUN.call_once(|| {
        let is_wanted = |metadata: &tracing::Metadata<'_>| {
            metadata.is_event() || !metadata.target().starts_with("mcp_runtime")
        };
        tracing_subscriber::registry()
            .with(filter_fn(is_wanted))
            .with(listener.clone())
            .init();
    });
    listener
}

/// Checks that each of these messages of a case was logged once, inside the span `caller`.
#[track_caller]
fn check(case: &str, words: &[&str]) {
    let said = listener().0.lock().unwrap_or_else(PoisonError::into_inner);
    for word in words {
        let text = format!("{case} {word}");
        let of: Vec<_> = said.iter().filter(|said| said.0.contains(&text)).collect();
        assert_eq!(of.len(), 1, "{text}: {of:?}");
        assert_eq!(of[0].1, ["caller"], "{text}");
    }
}

fn tool_call(id: u64, name: &str, case: &str, is_modern: bool) -> Value {
    let meta = if is_modern {
        json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        })
    } else {
        json!({})
    };
    let params = json!({"name": name, "arguments": {"case": case}, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn hello(version: &str) -> Value {
    let info = json!({"name": "c", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": info});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

async fn post(
    service: &mut HttpService,
    headers: &[(&str, &str)],
    message: &Value,
) -> (Option<String>, String) {
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::from(message.to_string())).unwrap();
    // As middleware does: the span wraps the service and its future, not the body.
    let caller = info_span!("caller");
    let responding = caller.in_scope(|| service.call(request));
    let response = responding.instrument(caller).await.unwrap();
    let session = response.headers().get("mcp-session-id");
    let session = session.map(|id| id.to_str().unwrap().to_owned());
    let body = to_bytes(Body::new(response.into_body()), 1 << 20).await;
    (session, String::from_utf8(body.unwrap().to_vec()).unwrap())
}

async fn over_http(sessions: HttpSessions, case: &str) {
    listener();
    let options = HttpOptions::new().sessions(sessions);
    let mut service = new_server!().http(options).into_http_service().unwrap();
    let is_modern = case == "modern";
    let version = if is_modern {
        "2026-07-28"
    } else {
        "2025-11-25"
    };
    let mut session = None;
    if !is_modern {
        (session, _) = post(&mut service, &[], &hello(version)).await;
    }
    for (id, name) in ["work", "fail", "sit"].into_iter().enumerate() {
        let message = tool_call(id as u64, name, case, is_modern);
        let mut headers = vec![("mcp-protocol-version", version)];
        headers.extend(session.as_deref().map(|id| ("mcp-session-id", id)));
        if is_modern {
            headers.extend([("mcp-method", "tools/call"), ("mcp-name", name)]);
        }
        let (_, body) = post(&mut service, &headers, &message).await;
        assert!(body.contains("result"), "{body}");
    }
    check(case, &["began", "went on", "failed", "sat"]);
}

#[tokio::test(start_paused = true)]
async fn a_modern_call_over_http_keeps_the_callers_span() {
    over_http(HttpSessions::Memory, "modern").await;
}

#[tokio::test(start_paused = true)]
async fn a_call_of_an_http_session_keeps_the_callers_span() {
    over_http(HttpSessions::Memory, "session").await;
}

#[tokio::test(start_paused = true)]
async fn a_stateless_call_keeps_the_callers_span() {
    over_http(HttpSessions::None, "stateless").await;
}

/// Sends lines, and reads this many responses.
async fn exchange(client: &mut BufReader<DuplexStream>, lines: &[Value], answers: usize) {
    for line in lines {
        let line = format!("{line}\n");
        client.get_mut().write_all(line.as_bytes()).await.unwrap();
    }
    for _ in 0..answers {
        let mut line = String::new();
        // A day of the paused clock, which moves on while the calls wait.
        let read = timeout(Duration::from_hours(24), client.read_line(&mut line)).await;
        read.expect("a response comes in time").unwrap();
        assert!(line.contains("result"), "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_connection_keep_the_span_of_the_serve_future() {
    listener();
    for (case, version) in [
        ("modern lines", None),
        ("legacy lines", Some("2025-11-25")),
        ("array", Some("2025-03-26")),
    ] {
        let (transport, client) = memory();
        let serving = new_server!().serve(transport);
        tokio::spawn(serving.instrument(info_span!("caller")));
        let mut client = BufReader::new(client);
        if let Some(version) = version {
            exchange(&mut client, &[hello(version)], 1).await;
        }
        let calls: Vec<_> = ["work", "fail", "sit"].into_iter().enumerate().collect();
        let calls = calls.iter().map(|(id, name)| {
            let is_modern = version.is_none();
            tool_call(*id as u64 + 1, name, case, is_modern)
        });
        if case == "array" {
            exchange(&mut client, &[calls.collect()], 1).await;
        } else {
            exchange(&mut client, &calls.collect::<Vec<_>>(), 3).await;
        }
        check(case, &["began", "went on", "failed", "sat"]);
    }
}
