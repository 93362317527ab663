//! Access to kept results, over HTTP.

use mcp_runtime::Caller;
use mcp_runtime::auth::{ProtectedResource, StaticTokens};
use mcp_runtime::http::HttpOptions;
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::Version;
use tests::http::Request;

use super::{id_of, server, text};
use crate::http::support::{Served, initialize, serve_server};

const ALICE: &str = "a-token-of-alice-0123456789abcdef";
const BOB: &str = "a-token-of-bob-0123456789abcdef00";
const NARROW: &str = "a-narrow-token-of-alice-0123456789abcdef";

/// Reports secrets, for those who have the scope.
#[tool(tags("spill-access"), scopes("admin"), max_output = "4KB", spill)]
fn secrets() -> String {
    "secret\n".repeat(2_000)
}

/// Reports what only the staff knows.
#[tool(tags("spill-access"), visible_if = is_staff, max_output = "4KB", spill)]
fn gossip() -> String {
    "gossip\n".repeat(2_000)
}

fn is_staff(caller: &Caller) -> bool {
    caller.has_scope("admin")
}

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
        .token(ALICE, Principal::new("alice").with_scopes(["admin"]))
        .token(NARROW, Principal::new("alice"))
        .token(BOB, Principal::new("bob"));
    let resource = ProtectedResource::new("https://mcp.example.com/mcp", tokens);
    let server = server().only(Selected::tag("spill-access"));
    serve_server(server.http(HttpOptions::new().authenticate(resource))).await
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

#[tokio::test]
async fn a_token_without_the_scope_reaches_no_result_of_the_tool() {
    for version in Version::ERAS {
        let served = protected().await;
        let wide = User::begin(&served, version, Some(ALICE)).await;
        let narrow = User::begin(&served, version, Some(NARROW)).await;
        let id = id_of(&wide.call("secrets", json!({})).await);
        let requests = [
            (
                "tools/call",
                json!({"name": "read_result", "arguments": {"result_id": id}}),
            ),
            (
                "resources/read",
                json!({"uri": format!("mcp-result:///{id}")}),
            ),
        ];
        for (method, params) in requests {
            let error = &narrow.send(method, params.clone()).await["error"];
            assert_eq!(error["code"], 403, "{error}");
            assert_eq!(error["data"]["scopes"], json!(["admin"]));
            let request = match &narrow.session {
                None => Request::modern(1, method, params),
                Some(session) => {
                    let message =
                        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
                    Request::legacy(session, &message, version)
                }
            };
            let response = served.send(&narrow.authorized(request)).await;
            let challenge = response.header("www-authenticate").unwrap_or_default();
            assert_eq!(response.status, 403);
            assert!(challenge.contains(r#"scope="admin""#), "{challenge}");
        }
        // What the caller cannot see is answered like an unknown id.
        let id = id_of(&wide.call("gossip", json!({})).await);
        assert_eq!(narrow.read(&id).await, narrow.read(&"A".repeat(32)).await);
        let (part, read) = wide.read(&id).await;
        assert!(text(&part, 0).starts_with("gossip"), "{part}");
        assert!(read["result"]["contents"][0]["text"].is_string(), "{read}");
        // A tool that has been removed has left nothing that anybody could read.
        served.handle.tools().remove("gossip");
        assert_eq!(wide.read(&id).await, wide.read(&"A".repeat(32)).await);
    }
}
