//! Extensions over HTTP: status codes and the headers that mirror the body.

use serde_json::{Value, json};
use tests::Version;
use tests::http::{Request, Response};

use super::calls::{check_plan, plans};
use super::{GARDEN, server};
use crate::http::support::{Served, serve_server};

/// Creates a request from a client that declares the garden. `name` is the header `Mcp-Name`.
fn request(method: &str, mut params: Value, name: Option<&str>) -> Request {
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({"extensions": {GARDEN: {}}});
    let request = Request::modern(1, method, params).without("Mcp-Name");
    name.map_or(request.clone(), |name| request.header("Mcp-Name", name))
}

/// Returns the message that answers request 1, which may come after notifications.
async fn answer(mut response: Response) -> Value {
    if !response.is_events() {
        return response.message().await;
    }
    loop {
        let event = response.event().await.expect("an answer");
        let message: Value = serde_json::from_str(&event.data).unwrap_or_default();
        if message["id"] == 1 {
            return message;
        }
    }
}

async fn status(served: &Served, request: &Request) -> (u16, Value) {
    let response = served.send(request).await;
    let status = response.status;
    (status, answer(response).await["error"]["code"].clone())
}

// Covers: EXT-03, EXT-05, HDR-03
#[tokio::test]
async fn an_extension_method_has_the_usual_headers_and_status_codes() {
    let served = serve_server(server().trust_anonymous()).await;
    let roses = || json!({"bed": "roses"});
    for (request, expected) in [
        (
            request("garden/water", roses(), Some("roses")),
            (200, Value::Null),
        ),
        (
            request("garden/water", roses(), Some("tulips")),
            (400, json!(-32020)),
        ),
        (request("garden/water", roses(), None), (400, json!(-32020))),
        (
            request("garden/water", json!({}), None),
            // As for any call whose handler has started.
            (200, json!(-32602)),
        ),
        (
            request("garden/water", json!({"bed": 1}), Some("roses")),
            (400, json!(-32020)),
        ),
        (
            request("garden/water", roses(), Some("roses")).with("Mcp-Method", "garden/ask"),
            (400, json!(-32020)),
        ),
        // This method has no name, so the header is not compared.
        (
            request("garden/odd", json!({}), Some("anything")),
            (200, Value::Null),
        ),
        // A hidden method cannot be distinguished from a missing one, nor is it visible that it mirrors a name.
        (
            request("garden/secret", roses(), None),
            (404, json!(-32601)),
        ),
        (
            request("garden/secret", roses(), Some("tulips")),
            (404, json!(-32601)),
        ),
        (
            request("garden/missing", roses(), Some("tulips")),
            (404, json!(-32601)),
        ),
        // Nothing is compared for a client that does not declare the extension.
        (
            Request::modern(1, "garden/water", roses()).header("Mcp-Name", "roses"),
            (400, json!(-32021)),
        ),
        (
            Request::modern(1, "garden/water", roses()).header("Mcp-Name", "tulips"),
            (400, json!(-32021)),
        ),
        (
            Request::modern(1, "garden/water", roses()),
            (400, json!(-32021)),
        ),
        (
            Request::modern(1, "garden/new", json!({})),
            (200, Value::Null),
        ),
    ] {
        assert_eq!(status(&served, &request).await, expected, "{request:?}");
    }
}

#[tokio::test]
async fn a_large_result_arrives_whole() {
    let served = serve_server(server().trust_anonymous()).await;
    for (params, beds) in plans() {
        let response = served.send(&request("garden/plan", params, None)).await;
        check_plan(&answer(response).await["result"], beds);
    }
    for version in Version::LEGACY {
        let params = json!({
            "protocolVersion": version.date(),
            "capabilities": {"extensions": {GARDEN: {}}},
            "clientInfo": {"name": "tests", "version": "1"},
        });
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let response = served.send(&Request::bare(&message, version)).await;
        let session = response.header("mcp-session-id").unwrap().to_owned();
        for (params, beds) in plans() {
            let message =
                json!({"jsonrpc": "2.0", "id": 1, "method": "garden/plan", "params": params});
            let request = Request::legacy(&session, &message, version);
            check_plan(&answer(served.send(&request).await).await["result"], beds);
        }
    }
}

#[tokio::test]
async fn a_method_with_scopes_is_an_error_at_startup_without_authentication() {
    let error = server().serve_http("127.0.0.1:0").await.unwrap_err();
    assert!(error.to_string().contains("garden/empty"), "{error}");
}

// Covers: EXT-06
#[tokio::test]
async fn a_session_remembers_the_extensions_that_its_client_declared() {
    let served = serve_server(server().trust_anonymous()).await;
    for version in Version::LEGACY {
        for (extensions, works) in [(json!({GARDEN: {}}), true), (json!({}), false)] {
            let params = json!({
                "protocolVersion": version.date(),
                "capabilities": {"extensions": extensions},
                "clientInfo": {"name": "tests", "version": "1"},
            });
            let message =
                json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
            let mut response = served.send(&Request::bare(&message, version)).await;
            let session = response.header("mcp-session-id").unwrap().to_owned();
            let offered = response.message().await["result"]["capabilities"]["extensions"].clone();
            assert_eq!(offered, json!({GARDEN: {"unit": "litre"}}));
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": "garden/water", "params": {"bed": "roses"}});
            let response = served
                .send(&Request::legacy(&session, &message, version))
                .await;
            let answer = answer(response).await;
            assert_eq!(answer["result"]["bed"] == "roses", works, "{answer}");
            assert_eq!(answer["error"]["code"] == -32601, !works, "{answer}");
        }
    }
}
