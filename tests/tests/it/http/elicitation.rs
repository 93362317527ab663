//! Questions over HTTP: on the stream of the call in a session, and at the end of a round without a session.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tests::Version;
use tests::http::{Request, send};
use tokio::net::TcpListener;

use crate::asking::{able, server};

async fn serve() -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = server();
    tokio::spawn(server.serve_http_listener(listener));
    address
}

async fn session(address: SocketAddr, version: Version) -> String {
    let params = json!({
        "protocolVersion": version.date(),
        "capabilities": able(),
        "clientInfo": {"name": "t", "version": "1"},
    });
    let shake = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let response = send(address, &Request::bare(&shake, version)).await;
    let session = response.header("mcp-session-id").unwrap().to_owned();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let request = Request::legacy(&session, &ready, version);
    assert_eq!(send(address, &request).await.status, 202);
    session
}

// Covers: REQ-03
#[tokio::test]
async fn an_elicitation_uses_the_stream_of_its_call_and_a_separate_post() {
    let address = serve().await;
    for version in [Version::V2025_06_18, Version::V2025_11_25] {
        let session = session(address, version).await;
        let call =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "one"}});
        let mut stream = send(address, &Request::legacy(&session, &call, version)).await;
        assert!(stream.is_events());
        let question = stream.next().await.unwrap();
        assert_eq!(question["method"], "elicitation/create");
        let result = json!({"action": "accept", "content": {"name": "Ada"}});
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
        let request = Request::legacy(&session, &answer, version);
        assert_eq!(send(address, &request).await.status, 202);
        let answer = stream.next().await.unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "Hello, Ada!");
    }
}

// Covers: REQ-02
#[tokio::test]
async fn a_response_is_accepted_only_in_the_session_that_got_the_request() {
    let address = serve().await;
    let version = Version::V2025_11_25;
    let (asked, other) = (
        session(address, version).await,
        session(address, version).await,
    );
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "one"}});
    let mut stream = send(address, &Request::legacy(&asked, &call, version)).await;
    let question = stream.next().await.unwrap();
    for (session, name) in [(&other, "Mallory"), (&asked, "Ada")] {
        let result = json!({"action": "accept", "content": {"name": name}});
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
        send(address, &Request::legacy(session, &answer, version)).await;
    }
    let answer = stream.next().await.unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "Hello, Ada!");
}

// Covers: LHTTP-05, LHTTP-08, REQ-03
#[tokio::test]
async fn an_elicitation_can_be_answered_after_its_stream_broke() {
    let address = serve().await;
    let version = Version::V2025_11_25;
    let session = session(address, version).await;
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "one"}});
    let mut stream = send(address, &Request::legacy(&session, &call, version)).await;
    let (mut last, mut question) = (String::new(), Value::Null);
    while question.is_null() {
        let event = stream.event().await.unwrap();
        last = event.id.unwrap();
        question = serde_json::from_str(&event.data).unwrap_or_default();
    }
    drop(stream);
    let result = json!({"action": "accept", "content": {"name": "Ada"}});
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
    let answered = send(address, &Request::legacy(&session, &answer, version)).await;
    assert_eq!(answered.status, 202);
    let back = Request::new("GET", version)
        .header("Mcp-Session-Id", &session)
        .header("Last-Event-ID", &last)
        .answering("tools/call");
    let answer = send(address, &back).await.next().await.unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "Hello, Ada!");
}

fn modern(params: &Value, capabilities: &Value) -> Request {
    let mut params = params.clone();
    params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": capabilities});
    Request::modern(1, "tools/call", params)
}

// Covers: MRTR-13
#[tokio::test]
async fn each_elicitation_round_is_a_separate_http_request() {
    let address = serve().await;
    let mut params = json!({"name": "one", "arguments": {}});
    let mut response = send(address, &modern(&params, &able())).await;
    assert_eq!(response.status, 200);
    let asked = response.message().await;
    assert_eq!(asked["result"]["resultType"], "input_required");
    params["requestState"] = asked["result"]["requestState"].clone();
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    params["inputResponses"] = json!({"user_name": answer});
    let mut response = send(address, &modern(&params, &able())).await;
    let answer = response.message().await;
    assert_eq!(answer["result"]["content"][0]["text"], "Hello, Ada!");
    // An error before anything is sent: the status can indicate it.
    let params = json!({"name": "one", "arguments": {}});
    let mut response = send(address, &modern(&params, &json!({}))).await;
    assert_eq!(response.status, 400);
    assert_eq!(response.message().await["error"]["code"], -32021);
}
