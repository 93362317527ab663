//! Servers with many tools: selections of definitions by tags, instructions by tag, and search.

mod prefixes;
mod search;
mod search_calls;
mod search_pages;
mod server_tags;
mod tags;

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use mcp_runtime::types::Resource;
use serde_json::{Value, json};
use tests::Version;
use tests::http::Request;

use crate::http::support::{Served, initialize, serve_server};

/// Lists the open issues.
#[tool(tags("many", "issues"))]
fn list_issues() -> &'static str {
    "no issues"
}

/// Closes an issue.
#[tool(tags("many", "issues", "admin"))]
fn close_issue(
    /// The number of the issue
    number: u32,
) -> String {
    format!("closed {number}")
}

/// Searches the documents.
#[tool(tags("many", "docs"), scopes("docs:read"))]
fn search_docs() -> &'static str {
    "nothing"
}

/// Is visible to no caller.
#[tool(tags("many", "secret"), visible_if = nobody)]
fn secret() -> &'static str {
    "secret"
}

fn nobody(_: &mcp_runtime::Caller) -> bool {
    false
}

/// Explains an issue.
#[prompt(tags("many", "issues"))]
fn explain(#[complete(["short", "long"])] length: String) -> String {
    length
}

/// Has no tag beside the one that selects this server.
#[resource("many:readme", tags("many"))]
fn readme() -> &'static str {
    "read me"
}

#[resource_template("issue:///{number}", tags("many", "issues"), list = all_issues)]
fn issue(#[complete(["1"])] number: u32) -> String {
    format!("issue {number}")
}

async fn all_issues() -> Vec<Resource> {
    vec![Resource::new("issue:///1", "first")]
}

pub(crate) fn server() -> Server {
    Server::new("many", "1").only(Selected::tag("many"))
}

/// A client over HTTP, whose requests all go to the same URL with the same headers, as configured in a host.
struct HttpHost<'s> {
    served: &'s Served,
    version: Version,
    session: Option<String>,
    path: String,
    headers: Vec<(&'static str, String)>,
}

impl<'s> HttpHost<'s> {
    /// Connects in this protocol version. Returns the message that refuses the handshake if it is refused.
    async fn connect(
        served: &'s Served,
        version: Version,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, Value> {
        let headers = headers.iter();
        let mut host = Self {
            served,
            version,
            session: None,
            path: path.to_owned(),
            headers: headers
                .map(|(name, value)| (*name, (*value).to_owned()))
                .collect(),
        };
        if version.is_modern() {
            let (status, message) = served
                .message(&host.to(Request::modern(0, "server/discover", json!({}))))
                .await;
            return if status == 200 {
                Ok(host)
            } else {
                Err(message)
            };
        }
        let mut response = served.send(&host.to(initialize(version))).await;
        if response.status != 200 {
            assert_eq!(response.status, 400);
            return Err(response.message().await);
        }
        host.session = response.header("mcp-session-id").map(str::to_owned);
        response.message().await;
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        served.send(&host.request(&ready)).await;
        Ok(host)
    }

    fn to(&self, request: Request) -> Request {
        let request = request.to(&self.path);
        let headers = self.headers.iter();
        headers.fold(request, |request, (name, value)| {
            request.header(name, value)
        })
    }

    fn request(&self, message: &Value) -> Request {
        self.to(match &self.session {
            Some(session) => Request::legacy(session, message, self.version),
            None => Request::modern(
                message["id"].clone(),
                message["method"].as_str().unwrap(),
                message["params"].clone(),
            ),
        })
    }

    async fn call(&self, method: &str, params: Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut response = self.served.send(&self.request(&message)).await;
        if !response.is_events() {
            return response.message().await;
        }
        crate::http::support::next_in_time(&mut response).await
    }

    /// Returns the names or URIs in a list.
    async fn list(&self, method: &str) -> Vec<String> {
        let answer = self.call(method, json!({})).await;
        let result = answer["result"]
            .as_object()
            .unwrap_or_else(|| panic!("{answer}"));
        let items = result.values().find_map(Value::as_array).unwrap();
        let key = |item: &Value| {
            let mut keys = ["uri", "uriTemplate", "name"].iter();
            keys.find_map(|key| item[key].as_str()).unwrap().to_owned()
        };
        items.iter().map(key).collect()
    }
}

async fn serve(server: Server) -> Served {
    serve_server(server.trust_anonymous()).await
}
