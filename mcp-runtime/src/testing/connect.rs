//! Connects the clients for a test.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::Server;
use crate::client::{ClientHost, InProcessClient};
use crate::context::{Caller, Principal};
use crate::protocol::ProtocolVersion;
use crate::testing::TestClient;
use crate::testing::script::{ScriptedClient, ScriptedHost};

/// Clients that have not been connected yet. Configure the clients, and then await this value to connect them.
#[must_use = "clients connect when this is awaited"]
#[derive(Debug)]
pub struct Connect {
    /// One server for all protocol versions, or one server for each version.
    servers: Vec<Server>,
    versions: Vec<ProtocolVersion>,
    capabilities: Value,
    caller: Caller,
    headers: Vec<(String, String)>,
}

impl Connect {
    pub(super) fn new(servers: Vec<Server>, versions: &[ProtocolVersion]) -> Self {
        Self {
            servers,
            versions: versions.to_vec(),
            capabilities: json!({
                "elicitation": {"form": {}, "url": {}},
                "sampling": {"tools": {}, "context": {}},
                "roots": {},
            }),
            caller: Caller::trusted(),
            headers: Vec::new(),
        }
    }

    /// Connects the clients as this principal, so that they can see and use only definitions that its scopes allow. By
    /// default, clients are trusted and scopes do not apply to them.
    ///
    /// ```
    /// # use mcp_runtime::{Principal, prelude::*, testing::TestClient};
    /// # #[tool] fn add() {}
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let alice = Principal::new("alice").with_scopes(["notes:read"]);
    /// let client = TestClient::both(new_server!().only(tool(add))).as_principal(alice).await;
    /// # });
    /// ```
    pub fn as_principal(mut self, principal: Principal) -> Self {
        self.caller = principal.into();
        self
    }

    /// Connects the clients as anonymous callers, like HTTP clients without credentials.
    pub fn as_anonymous(mut self) -> Self {
        self.caller = Caller::anonymous();
        self
    }

    /// Sets a header on all of the clients' requests, as if a trusted proxy had set it. By default, requests have no
    /// headers.
    ///
    /// Handlers read it with [`RequestInfo::header`](crate::request::RequestInfo::header) or
    /// [`trusted_header`](crate::request::RequestInfo::trusted_header). The clients do not use HTTP, so the methods of
    /// `RequestInfo` that return anything else about an HTTP request, such as all of its headers, still return `None`.
    ///
    /// ```
    /// # use mcp_runtime::{prelude::*, request::RequestInfo, testing::TestClient};
    /// # use serde_json::json;
    /// #[tool(read_only)]
    /// fn tenant(request: &RequestInfo) -> Result<String> {
    ///     Ok(request.trusted_header("x-tenant")?.unwrap_or("none").to_owned())
    /// }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let client = TestClient::both(new_server!().only(tool(tenant))).header("x-tenant", "acme").await;
    /// assert_eq!(client.call("tenant", json!({})).await.unwrap().text(), "acme");
    /// # });
    /// ```
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the capabilities that the clients declare, in the form of the schema's `ClientCapabilities`. Defaults to
    /// all capabilities of the core protocol, without extensions.
    pub fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    async fn connect(self) -> TestClient {
        let clients = self.versions.len().div_ceil(self.servers.len());
        let mut connections = Vec::new();
        for mut server in self.servers {
            server.prepare_for_tests();
            server.use_test_headers(self.headers.clone(), &self.caller);
            match server.serve_in_process(clients, &self.caller) {
                Ok(connected) => connections.extend(connected),
                Err(error) => panic!("the server does not start:\n{error}"),
            }
        }
        let mut sides = Vec::new();
        for (connection, version) in connections.into_iter().zip(self.versions) {
            let script = Arc::new(ScriptedHost::default());
            let host = Arc::clone(&script) as Arc<dyn ClientHost>;
            match InProcessClient::connect(connection, version, self.capabilities.clone(), host)
                .await
            {
                Ok(client) => sides.push(ScriptedClient::new(client, script)),
                Err(failure) => panic!(
                    "the client for {} cannot connect: {failure}",
                    version.as_str()
                ),
            }
        }
        TestClient { sides }
    }
}

impl IntoFuture for Connect {
    type Output = TestClient;
    type IntoFuture = Pin<Box<dyn Future<Output = TestClient> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.connect())
    }
}
