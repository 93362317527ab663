//! What runs when a server begins to serve, and not otherwise.

use std::sync::{Arc, Mutex};

use mcp_runtime::prelude::*;
use mcp_runtime::server::ErrorKind;
use mcp_runtime::server::Selected;
use mcp_runtime::testing::TestClient;
use serde_json::json;
use tests::Version;
use tests::http::Request;

use crate::http::support::text;

#[derive(Clone, Default)]
struct Ran(Arc<Mutex<Vec<String>>>);

impl Ran {
    fn push(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[tool(tags("on_serve"))]
fn ran(ran: &State<Ran>) -> usize {
    ran.0.lock().unwrap().len()
}

/// Runs functions of every kind.
fn server(ran: &Ran) -> Server {
    let (plain, awaited, owned) = (ran.clone(), ran.clone(), ran.clone());
    let made = ran.clone();
    Server::new("on_serve", "1")
        .only(Selected::tag("on_serve"))
        .on_serve(move || plain.push("plain"))
        .on_serve(async move || {
            tokio::task::yield_now().await;
            awaited.push("async");
        })
        .on_serve(async move |name: State<String>, ran: Arc<Ran>| {
            ran.push(name.as_str());
            drop(owned);
            Ok::<_, std::io::Error>(())
        })
        .state_with(move || {
            made.push("state");
            async { Ok::<_, std::io::Error>("with state".to_owned()) }
        })
        .state(ran.clone())
}

const ALL: [&str; 4] = ["state", "plain", "async", "with state"];

#[tokio::test]
async fn functions_run_in_order_after_the_state_and_before_the_first_request() {
    for version in Version::ERAS {
        let ran = Ran::default();
        let mut client = crate::support::connect(server(&ran), version).await;
        assert_eq!(client.text("ran", json!({})).await, "4");
        assert_eq!(ran.take(), ALL);
    }
}

#[tokio::test]
async fn a_function_that_fails_stops_the_start() {
    let ran = Ran::default();
    let failing = || {
        let later = ran.clone();
        let failing = server(&ran).on_serve(|| {
            let port = std::io::Error::other("port 9000 is taken");
            Err::<(), _>(port)
        });
        failing.on_serve(move || later.push("too late"))
    };
    let (transport, _client) = mcp_runtime::transport::memory();
    let error = failing().serve(transport).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Serve);
    let error = error.to_string();
    assert!(
        error.starts_with("the function of `on_serve` at ")
            && error.contains("on_serve.rs:")
            && error.ends_with(" failed: port 9000 is taken"),
        "{error}"
    );
    assert_eq!(ran.take(), ALL);
    let error = failing().serve_http("127.0.0.1:0").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Serve);
    assert_eq!(ran.take(), ALL);
}

#[tokio::test]
async fn nothing_runs_for_a_server_that_cannot_start() {
    let ran = Ran::default();
    let (transport, _client) = mcp_runtime::transport::memory();
    let lacking = server(&ran).on_serve(|_missing: State<u128>| ());
    let error = lacking.serve(transport).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    let expected =
        "takes the state of type `u128`, which the server does not have; add `.state(…)`";
    assert!(error.to_string().contains(expected), "{error}");
    assert!(ran.take().is_empty());
}

#[tokio::test]
async fn nothing_runs_for_tests() {
    let ran = Ran::default();
    let client = TestClient::both(server(&ran)).await;
    assert_eq!(client.call("ran", json!({})).await.unwrap().text(), "0");
    assert!(ran.take().is_empty());
}

#[tokio::test]
async fn in_another_program_functions_run_with_the_first_request() {
    for version in Version::ERAS {
        let ran = Ran::default();
        let built = server(&ran).build().unwrap();
        tokio::task::yield_now().await;
        assert!(ran.take().is_empty(), "{version:?}");
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
        built.handle(ping.as_bytes()).await.unwrap();
        tests::wait::until(async || ran.0.lock().unwrap().len() == ALL.len()).await;
        assert_eq!(ran.take(), ["plain", "async", "state", "with state"]);
    }
}

#[tokio::test]
async fn in_another_program_a_function_that_fails_stops_the_server() {
    let (log, _guard) = crate::results::Log::begin();
    let server = server(&Ran::default()).on_serve(|| Err::<(), _>("no queue"));
    let built = server.build().unwrap();
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    tests::wait::until(async || {
        let answer = built.handle(ping.as_bytes()).await.unwrap();
        String::from_utf8(answer).unwrap().contains("shutting down")
    })
    .await;
    let log = log.take();
    assert!(log.contains("failed: no queue"), "{log}");
}

#[tokio::test]
async fn a_mounted_service_runs_functions_with_the_first_request() {
    let ran = Ran::default();
    let service = server(&ran).into_http_service().unwrap();
    let address = crate::request::mount(service).await;
    let request = Request::tool("ran", json!({}));
    tests::http::send(address, &request).await;
    tests::wait::until(async || {
        let mut response = tests::http::send(address, &request).await;
        text(&response.message().await) == "4"
    })
    .await;
}
