//! Access to kept results, over HTTP.

use mcp_runtime::auth::{ProtectedResource, StaticTokens};
use mcp_runtime::http::HttpOptions;
use mcp_runtime::prelude::*;
use serde_json::{Value, json};
use tests::Version;
use tests::http::Request;

use super::{id_of, server, text};
use crate::http::support::{Served, initialize, serve_server};

const ALICE: &str = "a-token-of-alice-0123456789abcdef";
const BOB: &str = "a-token-of-bob-0123456789abcdef00";

/// A caller in one protocol version.
struct User<'a> {
    served: &'a Served,
    version: Version,
    token: Option<&'static str>,
    session: Option<String>,
}

impl<'a> User<'a> {
    async fn begin(served: &'a Served, version: Version, token: Option<&'static str>) -> Self {
        let mut user = Self {
            served,
            version,
            token,
            session: None,
        };
        if !version.is_modern() {
            let mut response = served.send(&user.authorized(initialize(version))).await;
            let session = response.header("mcp-session-id").unwrap().to_owned();
            response.message().await;
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            let ready = Request::legacy(&session, &ready, version);
            assert_eq!(served.send(&user.authorized(ready)).await.status, 202);
            user.session = Some(session);
        }
        user
    }

    fn authorized(&self, request: Request) -> Request {
        match self.token {
            Some(token) => request.with("Authorization", &format!("Bearer {token}")),
            None => request,
        }
    }

    async fn send(&self, method: &str, params: Value) -> Value {
        let request = match &self.session {
            None => Request::modern(1, method, params),
            Some(session) => {
                let message =
                    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
                Request::legacy(session, &message, self.version)
            }
        };
        self.served.message(&self.authorized(request)).await.1
    }

    async fn call(&self, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        self.send("tools/call", params).await["result"].clone()
    }

    /// Returns what the caller gets for an id from the tool and from the resource, without the id.
    async fn read(&self, id: &str) -> (Value, Value) {
        let part = self.call("read_result", json!({"result_id": id})).await;
        let uri = format!("mcp-result:///{id}");
        let read = self.send("resources/read", json!({"uri": uri})).await;
        let without = |value: &Value| serde_json::from_str(&value.to_string().replace(id, "ID"));
        (part, without(&read).unwrap())
    }
}

async fn protected() -> Served {
    let tokens = StaticTokens::new()
        .token(ALICE, Principal::new("alice"))
        .token(BOB, Principal::new("bob"));
    let resource = ProtectedResource::new("https://mcp.example.com/mcp", tokens);
    serve_server(server().http(HttpOptions::new().authenticate(resource))).await
}

#[tokio::test]
async fn a_result_belongs_to_its_caller() {
    for version in Version::ERAS {
        let served = protected().await;
        let alice = User::begin(&served, version, Some(ALICE)).await;
        let large = alice.call("report", json!({"count": 500})).await;
        let id = id_of(&large);
        let bob = User::begin(&served, version, Some(BOB)).await;
        let unknown = alice.read(&"A".repeat(32)).await;
        assert_eq!(unknown.0["isError"], true);
        assert!(unknown.1["error"].is_object());
        assert_eq!(bob.read(&id).await, unknown);
        // Alice reads it in any session and era.
        for version in Version::ERAS {
            let alice = User::begin(&served, version, Some(ALICE)).await;
            let (part, read) = alice.read(&id).await;
            assert!(text(&part, 0).starts_with("[{\"id\":0,"), "{part}");
            assert!(read["result"]["contents"][0]["text"].is_string(), "{read}");
        }
    }
}

#[tokio::test]
async fn an_anonymous_caller_needs_the_id() {
    for version in Version::ERAS {
        let served = serve_server(server()).await;
        let one = User::begin(&served, version, None).await;
        let id = id_of(&one.call("report", json!({"count": 500})).await);
        assert_eq!(id.len(), 32);
        let other = User::begin(&served, version, None).await;
        let (part, read) = other.read(&id).await;
        assert!(text(&part, 0).starts_with("[{\"id\":0,"), "{part}");
        assert!(read["result"]["contents"][0]["text"].is_string(), "{read}");
    }
}
