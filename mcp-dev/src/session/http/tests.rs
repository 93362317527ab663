use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State as Shared;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use tokio::net::TcpListener;

use super::*;
use crate::hub::Hub;
use crate::target::Target;

const HELLO: &str =
    r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;

const DISCOVERED: &str =
    r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#;

fn events(text: &str) -> Response {
    (
        [(header::CONTENT_TYPE, "text/event-stream")],
        text.to_owned(),
    )
        .into_response()
}

fn json(text: &str) -> Response {
    (
        [(header::CONTENT_TYPE, "application/json")],
        text.to_owned(),
    )
        .into_response()
}

/// A legacy server with a tool for each way in which a stream can end.
async fn answer(
    Shared(resumed): Shared<Arc<AtomicU32>>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let message: Value = serde_json::from_str(&body).unwrap();
    let is_modern = headers
        .get("mcp-protocol-version")
        .is_some_and(|version| version == "2026-07-28");
    let has_session = is_modern || headers.get("mcp-session-id").is_some_and(|id| id == "s");
    match (
        message["method"].as_str().unwrap(),
        message["params"]["name"].as_str(),
    ) {
        ("server/discover", _) => json(DISCOVERED),
        ("initialize", _) => ([("mcp-session-id", "s")], json(HELLO)).into_response(),
        (_, Some("forgotten")) => {
            let unknown =
                json(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"unknown"}}"#);
            (StatusCode::NOT_FOUND, unknown).into_response()
        }
        _ if !has_session => StatusCode::BAD_REQUEST.into_response(),
        (_, Some("broken")) => events("id: 7\ndata:\n\n"),
        (_, Some("silent")) => events(": nothing\n\n"),
        (_, Some("page")) => ([(header::CONTENT_TYPE, "text/html")], "<h1>hi</h1>").into_response(),
        (_, Some("unread")) => {
            let refused =
                json(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#);
            (StatusCode::BAD_REQUEST, refused).into_response()
        }
        _ => {
            resumed.fetch_add(100, Ordering::Relaxed);
            StatusCode::ACCEPTED.into_response()
        }
    }
}

async fn resume(Shared(resumed): Shared<Arc<AtomicU32>>, headers: HeaderMap) -> Response {
    if headers.get("last-event-id").is_some_and(|id| id == "7") {
        resumed.fetch_add(1, Ordering::Relaxed);
        return events("id: 8\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n");
    }
    StatusCode::METHOD_NOT_ALLOWED.into_response()
}

async fn open(era: Era) -> (Arc<Session>, Arc<AtomicU32>) {
    let resumed = Arc::new(AtomicU32::new(0));
    let routes = Router::new()
        .route("/mcp", post(answer).get(resume))
        .with_state(Arc::clone(&resumed));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let hub = Arc::new(Hub::new("server", false));
    let target = Target::Url {
        url,
        headers: Vec::new(),
    };
    let (_run, mut halted) = tokio::sync::watch::channel(None);
    let options = crate::session::ConnectionOptions {
        patience: Duration::from_secs(10),
        tasks: true,
    };
    let opened = Session::open(&target, era, &hub, options, &mut halted).await;
    (opened.unwrap().0, resumed)
}

async fn call(session: &Arc<Session>, name: &str) -> Result<crate::session::Reply, String> {
    let params = json!({"name": name});
    let mut pending = session.send("tools/call", params, Vec::new()).await?;
    session.reply(&mut pending).await
}

#[tokio::test]
async fn a_stream_of_the_modern_era_is_not_resumed() {
    let (session, resumed) = open(Era::Modern).await;
    let broken = call(&session, "broken").await.unwrap_err();
    assert!(broken.contains("without an answer"), "{broken}");
    assert_eq!(resumed.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_resumed() {
    let (session, resumed) = open(Era::Legacy).await;
    call(&session, "broken").await.unwrap();
    assert_eq!(resumed.load(Ordering::Relaxed) % 100, 1);
}

#[tokio::test]
async fn a_response_without_a_message_is_an_error_that_describes_it() {
    let (session, _) = open(Era::Legacy).await;
    let silent = call(&session, "silent").await.unwrap_err();
    assert!(silent.contains("without an answer"), "{silent}");
    let page = call(&session, "page").await.unwrap_err();
    assert!(
        page.contains("text/html") && page.contains("<h1>hi</h1>"),
        "{page}"
    );
    call(&session, "unread").await.unwrap();
    assert!(session.ended().is_none());
    let forgotten = call(&session, "forgotten").await.unwrap_err();
    assert!(
        forgotten.contains("no longer knows the session"),
        "{forgotten}"
    );
    assert!(session.ended().is_some());
}

#[test]
fn text_that_a_header_cannot_hold_is_sent_as_base64() {
    let of = |text| header_value(text).unwrap();
    assert_eq!(of("get_weather"), "get_weather");
    assert_eq!(of("größe"), "=?base64?Z3LDtsOfZQ==?=");
    assert_eq!(of(" padded"), "=?base64?IHBhZGRlZA==?=");
    assert_eq!(of("=?base64?eA==?="), "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
}
