//! When live parts come and go.

use std::future::poll_fn;
use std::pin::Pin;

use hyper::body::Body as _;
use hyper::{Request, Response};
use tower_service::Service as _;

use crate::handler::dynamic::{DynamicResource, DynamicTool};
use crate::transport::http::{HttpBody, HttpService};
use crate::{Server, ServerHandle};

const SECOND: std::time::Duration = std::time::Duration::from_secs(1);

fn service() -> (HttpService, ServerHandle) {
    let server = Server::new("test", "1");
    let handle = server.handle();
    let schema = serde_json::json!({"type": "object"});
    let tool = DynamicTool::new("t", schema, async |_, _| "");
    handle.tools().insert(tool).unwrap();
    let resource = DynamicResource::new("a://a", "a", async |_| "");
    handle.resources().insert(resource).unwrap();
    (server.into_http_service().unwrap(), handle)
}

async fn send(
    service: &HttpService,
    verb: &str,
    session: &str,
    message: &str,
) -> Response<HttpBody> {
    let mut request = Request::builder()
        .method(verb)
        .header("host", "localhost")
        .header("content-type", "application/json");
    if !session.is_empty() {
        request = request.header("mcp-session-id", session);
    }
    let body = HttpBody::whole(message.as_bytes().to_vec());
    let request = request.body(body).unwrap();
    service.clone().call(request).await.unwrap()
}

async fn open(service: &HttpService) -> String {
    let shake = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let shaken = send(service, "POST", "", shake).await;
    let session = shaken.headers()["mcp-session-id"].to_str().unwrap();
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(send(service, "POST", session, ready).await.status(), 202);
    session.to_owned()
}

async fn next(stream: &mut Response<HttpBody>) -> String {
    let body = stream.body_mut();
    let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
    let bytes = frame.unwrap().unwrap().into_data().unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn live(service: &HttpService) -> usize {
    service.0.sessions.live().sessions.len()
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_is_its_record_and_hears_later_of_lists_that_changed() {
    let (service, handle) = service();
    let session = open(&service).await;
    assert_eq!(live(&service), 0);
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    assert_eq!(send(&service, "POST", &session, list).await.status(), 200);
    assert_eq!(live(&service), 1);
    tokio::time::sleep(12 * SECOND).await;
    assert_eq!(live(&service), 0);
    handle.notify().tools_changed();
    let mut stream = send(&service, "GET", &session, "").await;
    let told = next(&mut stream).await;
    assert!(told.contains("notifications/tools/list_changed"), "{told}");
    // Its stream stays as long as the session, for a client that comes back.
    drop(stream);
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(live(&service), 1);
    tokio::time::sleep(300 * SECOND).await;
    assert_eq!(live(&service), 0);
    assert_eq!(send(&service, "POST", &session, list).await.status(), 404);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_follows_a_resource_misses_no_change_of_it() {
    let (service, handle) = service();
    let session = open(&service).await;
    let follow =
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a://a"}}"#;
    assert_eq!(send(&service, "POST", &session, follow).await.status(), 200);
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(live(&service), 1);
    handle.notify().resource_updated("a://a");
    let mut stream = send(&service, "GET", &session, "").await;
    let mut told = next(&mut stream).await;
    if !told.contains("updated") {
        told = next(&mut stream).await;
    }
    assert!(told.contains("a://a"), "{told}");
    // An open stream keeps it for half an hour.
    for minutes in [29, 7] {
        let is_there = live(&service) == 1;
        assert!(is_there, "before {minutes} more minutes");
        tokio::time::sleep(60 * minutes * SECOND).await;
    }
    assert_eq!(live(&service), 0);
}
