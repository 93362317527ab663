//! A client for tests of servers, in both eras at the same time, with what a test wants to know of a server.
//!
//! **Internal to `mcp-runtime`.** Depend on that crate, which re-exports everything that servers need. Items in this
//! crate may change or disappear in any release, including patch releases.

#![forbid(unsafe_code)]
// The examples are servers: `tests/documentation` runs them, so that no test of this crate waits for `mcp-runtime`.
#![cfg(not(doctest))]

pub mod chaos;
mod check;
mod declarations;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "auth")]
mod issuer;
mod results;
mod script;
mod task;

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;

pub use check::{Check, check};
#[cfg(feature = "http")]
pub use http::TestServer;
#[cfg(feature = "auth")]
pub use issuer::Issuer;
use mcp_client::{ClientHost, InProcessClient, RequestError, ServerConnection};
#[doc(inline)]
pub use mcp_client::{Notification, Question};
use mcp_core::context::{Caller, Capability, Principal};
#[doc(inline)]
pub use mcp_core::dispatch::UnstartedServer;
use mcp_protocol::ProtocolVersion;
use mcp_protocol::jsonrpc::ErrorObject;
use mcp_protocol::types::{Completion, CompletionReference, GetPromptResult, ReadResourceResult};
pub use results::{CallResult, PromptResult, ReadResult};
pub use script::Response;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
pub use task::TestTask;

use crate::declarations::prepare;
use crate::script::{Answerer, OutcomeComparison, ScriptedClient, ScriptedHost};

/// A client that communicates with a server in this process over the full protocol.
///
/// [`both`](Self::both) creates two clients for the same server, one for each era. Both send every request, the legacy
/// client first, and must receive the same result; the modern client's result is returned. Each call therefore runs
/// *twice*. If the first run affects the second, use [`each`](Self::each), which gives each client its own server, or
/// [`legacy`](Self::legacy) or [`modern`](Self::modern), which create only one client.
///
/// The client requests log messages at every level. The client has no time limits, so paused time
/// (`#[tokio::test(start_paused = true)]`) advances no further than the handlers require. A request whose future is
/// dropped is cancelled. The server stops when the client is dropped.
///
/// # Panics
///
/// All methods panic if they cannot return a result because the eras disagree, a question has no answer, or the server
/// has stopped.
#[derive(Debug)]
pub struct TestClient {
    /// One side for each era under test, with the modern era last.
    sides: Vec<ScriptedClient>,
}

/// The newest protocol version of each era.
const ERAS: [ProtocolVersion; 2] = [ProtocolVersion::LATEST_LEGACY, ProtocolVersion::LATEST];

impl TestClient {
    /// Creates one client for each era, using 2025-11-25 and 2026-07-28, and connects both to the same server.
    pub fn both(server: impl UnstartedServer) -> Connect {
        Connect::new(vec![Box::new(server)], &ERAS)
    }

    /// Creates one client for each era, and calls `server` to create a separate server for each client.
    pub fn each<S: UnstartedServer>(server: impl Fn() -> S) -> Connect {
        Connect::new(vec![Box::new(server()), Box::new(server())], &ERAS)
    }

    /// Creates a client that uses 2025-11-25.
    pub fn legacy(server: impl UnstartedServer) -> Connect {
        Self::new(server, ProtocolVersion::LATEST_LEGACY)
    }

    /// Creates a client that uses 2026-07-28.
    pub fn modern(server: impl UnstartedServer) -> Connect {
        Self::new(server, ProtocolVersion::LATEST)
    }

    /// Creates one client for each era, and connects both over HTTP to the server at this URL, such as that of a
    /// [`TestServer`]. Use [`Connect::token`] if the server requires an access token, and [`Connect::version`] for a single
    /// client.
    ///
    /// The clients are other programs, as far as the server is concerned: nothing about it is changed for the test, it decides
    /// who they are, and its tool search and limits apply to them. Paused time does not work. Arguments that are repeated in
    /// headers are read from the list of tools, which the clients request when they connect.
    ///
    /// ```
    /// # use mcp_runtime::{prelude::*, testing::{TestClient, TestServer}};
    /// # use serde_json::json;
    /// # #[tool(read_only)] fn add(a: i64, b: i64) -> i64 { a + b }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let server = TestServer::start(new_server!().only(tool(add)).into_http_service().unwrap()).await;
    /// let client = TestClient::http(server.url()).await;
    /// assert_eq!(client.call("add", json!({"a": 1, "b": 2})).await.unwrap().text(), "3");
    /// # });
    /// ```
    ///
    /// A response that is not an answer of the protocol, such as one with status 403, is returned as an error whose data has
    /// `httpStatus` and, if there is a challenge, `wwwAuthenticate`.
    #[cfg(feature = "http")]
    pub fn http(url: impl Into<String>) -> Connect {
        let mut connect = Connect::new(Vec::new(), &ERAS);
        connect.url = Some(url.into());
        connect
    }

    /// As [`modern`](Self::modern), for a server whose type is not known.
    pub(crate) fn modern_boxed(server: Box<dyn UnstartedServer>) -> Connect {
        Connect::new(vec![server], &[ProtocolVersion::LATEST])
    }

    /// Creates a client that uses this protocol version.
    #[expect(
        clippy::new_ret_no_self,
        reason = "the returned value becomes one when awaited"
    )]
    pub fn new(server: impl UnstartedServer, version: ProtocolVersion) -> Connect {
        Connect::new(vec![Box::new(server)], &[version])
    }

    /// Calls a tool. `arguments` is an object.
    ///
    /// # Errors
    ///
    /// Returns the protocol error sent by the server, for example if the tool is unknown. A failure reported by the
    /// tool is returned as a result instead; see [`CallResult::error_text`]. A missing client capability is a protocol
    /// error only in modern protocol versions.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<CallResult, ErrorObject> {
        let params = json!({"name": tool, "arguments": arguments});
        let result = self.call_and_compare("tools/call", params).await?;
        let result = parse_result("tools/call", result);
        let version = self.sides.last().map(|side| side.client.version());
        Ok(CallResult::new(
            tool,
            version.unwrap_or(ProtocolVersion::LATEST),
            result,
        ))
    }

    /// Gets a prompt. `arguments` is an object of strings.
    ///
    /// # Errors
    ///
    /// Returns the error sent by the server.
    pub async fn prompt(&self, name: &str, arguments: Value) -> Result<PromptResult, ErrorObject> {
        let params = json!({"name": name, "arguments": arguments});
        let result = self.call_and_compare("prompts/get", params).await?;
        Ok(PromptResult(parse_result::<GetPromptResult>(
            "prompts/get",
            result,
        )))
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// Returns the error sent by the server.
    pub async fn read(&self, uri: &str) -> Result<ReadResult, ErrorObject> {
        let result = self
            .call_and_compare("resources/read", json!({"uri": uri}))
            .await?;
        Ok(ReadResult(parse_result::<ReadResourceResult>(
            "resources/read",
            result,
        )))
    }

    /// Completes a prompt argument. The arguments entered earlier are given as an object of strings, which may be
    /// empty.
    ///
    /// # Errors
    ///
    /// Returns the error sent by the server.
    pub async fn complete_prompt(
        &self,
        prompt: &str,
        argument: &str,
        partial: &str,
        earlier: Value,
    ) -> Result<Completion, ErrorObject> {
        let name = prompt.to_owned();
        let reference = CompletionReference::Prompt { name };
        self.complete(&reference, argument, partial, &earlier).await
    }

    /// Completes a resource template variable. The variables entered earlier are given as an object of strings, which
    /// may be empty.
    ///
    /// # Errors
    ///
    /// Returns the error sent by the server.
    pub async fn complete_template(
        &self,
        uri_template: &str,
        variable: &str,
        partial: &str,
        earlier: Value,
    ) -> Result<Completion, ErrorObject> {
        let uri = uri_template.to_owned();
        let reference = CompletionReference::Resource { uri };
        self.complete(&reference, variable, partial, &earlier).await
    }

    async fn complete(
        &self,
        reference: &CompletionReference,
        argument: &str,
        partial: &str,
        earlier: &Value,
    ) -> Result<Completion, ErrorObject> {
        let mut settled = OutcomeComparison::new("completion/complete");
        for side in &self.sides {
            let completed =
                side.client
                    .complete(json!(reference), argument, partial, earlier.clone());
            settled.add(side, expect_server_outcome(side, completed.await));
        }
        let mut result = settled.outcome()?;
        Ok(parse_result(
            "completion/complete",
            result["completion"].take(),
        ))
    }

    /// Subscribes to changes to the resource with this URI, which are reported as [`Notification::ResourceUpdated`].
    ///
    /// # Errors
    ///
    /// Returns the error sent by the server.
    pub async fn subscribe(&self, uri: &str) -> Result<(), ErrorObject> {
        let mut settled = OutcomeComparison::new("the subscription");
        for side in &self.sides {
            let followed = side.client.subscribe(uri).await.map(|()| Value::Null);
            settled.add(side, expect_server_outcome(side, followed));
        }
        settled.outcome().map(drop)
    }

    /// Returns the number of times the last call returned questions before it returned its result. Always zero in
    /// legacy protocol versions.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.sides.last().map_or(0, |side| side.script.rounds())
    }

    /// Returns all notifications received since the last call to this method, which report progress, log messages and
    /// changes.
    ///
    /// Every progress report is included. Outside of tests, a client does not receive every report in a burst
    /// ([`limits.calls.max_progress_per_second`](mcp_core::limits::Limits)).
    pub async fn notifications(&self) -> Vec<Notification> {
        let mut settled = OutcomeComparison::new("notifications");
        let mut last = Vec::new();
        for side in &self.sides {
            // Once this request is answered, all messages sent before the response have arrived.
            let passed = side.client.request(side.harmless_method(), json!({}));
            drop(expect_server_outcome(side, passed.await));
            last = side.script.take_notifications();
            settled.add(side, Ok(json!(format!("{last:#?}"))));
        }
        drop(settled.outcome());
        last
    }

    /// Waits for the next notification from the server.
    ///
    /// # Panics
    ///
    /// Panics if the clients for the two eras receive different notifications.
    pub async fn notification(&self) -> Notification {
        let mut settled = OutcomeComparison::new("the next notification");
        let mut last = None;
        for side in &self.sides {
            let notification = side.script.next_notification().await;
            settled.add(side, Ok(json!(format!("{notification:#?}"))));
            last = Some(notification);
        }
        drop(settled.outcome());
        last.expect("a client has a side")
    }

    /// Calls a method by its wire name, answers any questions that the server asks, and returns the raw result.
    ///
    /// # Errors
    ///
    /// Returns the error sent by the server.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, ErrorObject> {
        self.call_and_compare(method, params).await
    }

    async fn call_and_compare(&self, method: &str, params: Value) -> Result<Value, ErrorObject> {
        let what = format!("{method} {params}");
        let mut settled = OutcomeComparison::new(&what);
        for side in &self.sides {
            side.script.begin_call();
            let outcome = side.client.call(method, params.clone()).await;
            settled.add(side, expect_server_outcome(side, outcome));
        }
        settled.outcome()
    }
}

/// Returns the server's errors so that the test can check them. Panics on any other failure.
fn expect_server_outcome<T>(
    side: &ScriptedClient,
    outcome: Result<T, RequestError>,
) -> Result<T, ErrorObject> {
    match outcome {
        Ok(result) => Ok(result),
        Err(RequestError::Refused(error)) => Err(error),
        Err(failure) => panic!("in {}: {failure}", side.version()),
    }
}

fn parse_result<T: DeserializeOwned>(what: &str, value: Value) -> T {
    match serde_json::from_value(value) {
        Ok(value) => value,
        Err(error) => panic!("the result of {what} cannot be read: {error}"),
    }
}

// --- The questions that the server asks the client of a test, and the answers to them.

impl TestClient {
    /// Adds an answer to a question in a later call. To answer a form, pass a value of the form's type; to answer any
    /// other question, pass a [`Response`]. Answers are considered in the order in which they were added, and each
    /// answer is used for the first question that it can answer. With clients for both eras, each client uses every
    /// answer.
    pub fn answer(&self, answer: impl Into<Response>) {
        let answer = answer.into();
        for side in &self.sides {
            side.script.add_answer(answer.clone());
        }
    }

    /// Sets a function that answers all questions for which no [`answer`](Self::answer) is left. If the function
    /// returns `None`, the test fails.
    pub fn answer_with(
        &self,
        answerer: impl Fn(&Question) -> Option<Response> + Send + Sync + 'static,
    ) {
        let answerer: Answerer = Arc::new(answerer);
        for side in &self.sides {
            side.script.set_answerer(Arc::clone(&answerer));
        }
    }

    /// Returns the questions asked since the last call to this method, in order. With clients for both eras, returns
    /// the modern client's questions.
    ///
    /// # Panics
    ///
    /// Panics if the clients for the two eras received different questions.
    #[must_use]
    #[track_caller]
    pub fn asked(&self) -> Vec<Question> {
        let mut all = self.sides.iter().map(|side| side.script.take_asked());
        let mut last = all.next().unwrap_or_default();
        for next in all {
            let texts = |questions: &[Question]| -> Vec<_> {
                let questions = questions.iter();
                questions
                    .map(|question| (question.method.clone(), question.message().to_owned()))
                    .collect()
            };
            assert_eq!(
                texts(&last),
                texts(&next),
                "the server asked different questions in the two eras"
            );
            last = next;
        }
        last
    }
}

// --- Connects the clients for a test.

/// Clients that have not been connected yet. Configure the clients, and then await this value to connect them.
#[must_use = "clients connect when this is awaited"]
#[derive(Debug)]
pub struct Connect {
    /// One server for all protocol versions, or one server for each version.
    servers: Vec<Box<dyn UnstartedServer>>,
    /// The URL of the server to connect to over HTTP.
    #[cfg(feature = "http")]
    url: Option<String>,
    versions: Vec<ProtocolVersion>,
    capabilities: Value,
    caller: Caller,
    headers: Vec<(String, String)>,
}

impl Connect {
    fn new(servers: Vec<Box<dyn UnstartedServer>>, versions: &[ProtocolVersion]) -> Self {
        Self {
            servers,
            #[cfg(feature = "http")]
            url: None,
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
    /// Handlers read it with `RequestInfo::header` or
    /// `trusted_header`. The clients do not use HTTP, so the methods of
    /// `RequestInfo` that return anything else about an HTTP request, such as all of its headers, still return `None`.
    ///
    /// ```
    /// # use mcp_runtime::handler::RequestInfo;
    /// # use mcp_runtime::prelude::*;
    /// # use mcp_runtime::testing::TestClient;
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

    /// Sends this access token with all requests. Requires [`TestClient::http`]; other clients act as a user with
    /// [`as_principal`](Self::as_principal).
    ///
    /// ```
    /// # use mcp_runtime::{auth::{Jwt, ProtectedResource}, http::HttpOptions, prelude::*};
    /// # use mcp_runtime::testing::{Issuer, TestClient, TestServer};
    /// # use serde_json::json;
    /// # #[tool(read_only)] fn whoami(ctx: &Context) -> String { ctx.principal().unwrap().subject().to_owned() }
    /// # const URL: &str = "https://mcp.example.com/mcp";
    /// # fn server(tokens: Jwt) -> Server {
    /// #     new_server!().only(tool(whoami)).http(HttpOptions::new().authenticate(ProtectedResource::new(URL, tokens)))
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let issuer = Issuer::start(URL).await;
    /// let server = TestServer::start(server(Jwt::issuer(issuer.url())).into_http_service().unwrap()).await;
    /// let token = issuer.mint("alice", ["notes:read"], json!({"tenant": "acme"}));
    /// let client = TestClient::http(server.url()).token(token).await;
    /// assert_eq!(client.call("whoami", json!({})).await.unwrap().text(), "alice");
    ///
    /// let expired = issuer.mint("alice", ["notes:read"], json!({"exp": 0}));
    /// let refused = TestClient::http(server.url()).token(expired).refused().await;
    /// assert_eq!(refused.data.unwrap()["httpStatus"], 401);
    /// # });
    /// ```
    #[cfg(feature = "http")]
    pub fn token(self, token: impl AsRef<str>) -> Self {
        self.header("Authorization", format!("Bearer {}", token.as_ref()))
    }

    /// Connects a single client that uses this protocol version.
    pub fn version(mut self, version: ProtocolVersion) -> Self {
        self.versions = vec![version];
        self.servers.truncate(1);
        self
    }

    /// Sets the capabilities that the clients declare, in the form of the schema's `ClientCapabilities`. Defaults to
    /// all capabilities of the core protocol, without extensions.
    pub fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Starts to connect, and returns the error with which the server refuses to let the clients in.
    ///
    /// # Panics
    ///
    /// Panics if a client can connect, or if the clients for the two eras receive different errors.
    #[cfg(feature = "http")]
    pub async fn refused(mut self) -> ErrorObject {
        let connections = self.connections();
        let capabilities = self.capabilities;
        let mut settled = OutcomeComparison::new("the refusal");
        for (connection, version) in connections {
            match connect_side(connection, version, capabilities.clone(), true).await {
                Ok(_) => panic!("the client for {} can connect", version.as_str()),
                Err(RequestError::Refused(error)) => settled.add_version(version, Err(error)),
                Err(failure) => panic!("in {}: {failure}", version.as_str()),
            }
        }
        settled.outcome().expect_err("each client was refused")
    }

    async fn connect(mut self) -> TestClient {
        #[cfg(feature = "http")]
        let uses_http = self.url.is_some();
        #[cfg(not(feature = "http"))]
        let uses_http = false;
        let connections = self.connections();
        let capabilities = self.capabilities;
        let mut sides = Vec::new();
        for (connection, version) in connections {
            match connect_side(connection, version, capabilities.clone(), uses_http).await {
                Ok(side) => sides.push(side),
                Err(failure) => panic!(
                    "the client for {} cannot connect: {failure}",
                    version.as_str()
                ),
            }
        }
        TestClient { sides }
    }

    /// Starts the servers, and returns a connection for each version.
    fn connections(&mut self) -> Vec<(ServerConnection, ProtocolVersion)> {
        #[cfg(feature = "http")]
        if let Some(url) = &self.url {
            assert!(
                self.caller.is_trusted(),
                "over HTTP, the server decides who calls: use `token` or `header`"
            );
            let versions = self.versions.iter();
            let connections = versions.map(|version| {
                match mcp_client::connect_http(url, &self.headers, *version) {
                    Ok(connection) => (connection, *version),
                    Err(problem) => panic!("{problem}"),
                }
            });
            return connections.collect();
        }
        let servers = std::mem::take(&mut self.servers);
        let clients = self.versions.len().div_ceil(servers.len());
        let mut connections = Vec::new();
        for mut server in servers {
            prepare(&mut *server);
            if !self.headers.is_empty() {
                server.set_headers(self.headers.clone(), self.caller.is_trusted());
            }
            match server.start() {
                Ok(server) => {
                    connections.extend(mcp_client::serve(&server, clients, &self.caller));
                }
                Err(error) => panic!("the server does not start:\n{error}"),
            }
        }
        let versions = self.versions.iter().copied();
        connections.into_iter().zip(versions).collect()
    }
}

async fn connect_side(
    connection: ServerConnection,
    version: ProtocolVersion,
    capabilities: Value,
    uses_http: bool,
) -> Result<ScriptedClient, RequestError> {
    let script = Arc::new(ScriptedHost::default());
    let host = Arc::clone(&script) as Arc<dyn ClientHost>;
    let client = InProcessClient::connect(connection, version, capabilities, host).await?;
    if uses_http && version.is_modern() {
        // The list tells which arguments are repeated in headers.
        client.fetch_list(Capability::Tools).await?;
    }
    Ok(ScriptedClient::new(client, script))
}

impl IntoFuture for Connect {
    type Output = TestClient;
    type IntoFuture = Pin<Box<dyn Future<Output = TestClient> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.connect())
    }
}
