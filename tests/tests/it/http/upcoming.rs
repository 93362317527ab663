//! Scenarios that are about to be added to the official conformance suite, as our own requests.
//!
//! | Scenario | Covered here | Source |
//! |---|---|---|
//! | `json-rpc-batch-rejection` | all of it: the same requests, and the same condition for success | the proposal in the suite's repository, as of August 2026 |
//! | `server-legacy-extensions` | extensions that the server declares in `initialize`, and a tool that echoes the client's | its description; the scenario could not be had |
//! | `sep-2350-server-scope-challenge` | the challenge for a tool, a static resource, a template and a prompt, and the retry with the full token | its description; the scenario could not be had |

use mcp_runtime::extension::Extension;
use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::{Value, json};
use tests::Version;
use tests::http::Request;

use crate::http::support::{Served, call, serve, serve_server, text};

/// Sends a batch, which must be answered with a status from 400 to 499 and a single error.
async fn rejected(served: &Served, request: &Request) {
    let (status, message) = served.message(request).await;
    assert!((400..500).contains(&status), "{status}: {message}");
    assert!(message["error"]["code"].is_i64(), "{message}");
    assert_eq!(message.get("result"), None);
}

// Covers: BATCH-05
#[tokio::test]
async fn batches_are_rejected_from_2025_06_18_on() {
    let served = serve().await;
    for version in [Version::V2025_06_18, Version::V2025_11_25] {
        let session = served.session(version).await;
        let ping = |id: i64| json!({"jsonrpc": "2.0", "id": id, "method": "ping", "params": {}});
        let batch = json!([ping(901), ping(902)]);
        rejected(&served, &Request::legacy(&session, &batch, version)).await;
        // The session continues.
        let (status, message) = served
            .message(&Request::legacy(&session, &ping(903), version))
            .await;
        assert_eq!((status, &message["result"]), (200, &json!({})));
    }
    let discover = Request::modern(1, "server/discover", json!({}));
    let list = Request::modern(2, "tools/list", json!({}));
    let body = |request: &Request| serde_json::from_slice::<Value>(&request.body).unwrap();
    let mut batch = discover.clone();
    batch.body = json!([body(&discover), body(&list)])
        .to_string()
        .into_bytes();
    rejected(&served, &batch).await;
}

const ECHO: &str = "com.example/echo";

/// Returns the extensions that the client declares.
#[tool(tags("upcoming"))]
fn echo_extensions(ctx: &Context) -> String {
    json!({"extensions": ctx.client_capabilities().extensions}).to_string()
}

// Covers: EXT-02, EXT-06
#[tokio::test]
async fn extensions_are_declared_by_both_sides_of_legacy_handshakes() {
    let extension = Extension::new(ECHO).settings(json!({"loud": true}));
    let echoing = Server::new("upcoming", "1")
        .only(Selected::tag("upcoming"))
        .with(extension);
    let served = serve_server(echoing).await;
    let version = Version::V2025_11_25;
    let declared = json!({ECHO: {"quiet": true}, "com.example/other": {}});
    let params = json!({
        "protocolVersion": version.date(),
        "capabilities": {"extensions": declared},
        "clientInfo": {"name": "tests", "version": "1"},
    });
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let mut response = served.send(&Request::bare(&initialize, version)).await;
    let session = response.header("mcp-session-id").unwrap().to_owned();
    let capabilities = response.message().await["result"]["capabilities"].take();
    assert_eq!(capabilities["extensions"], json!({ECHO: {"loud": true}}));
    let echo = call(&session, 1, "echo_extensions", json!({}), version);
    let (_, echoed) = served.message(&echo).await;
    assert_eq!(
        serde_json::from_str::<Value>(text(&echoed)).unwrap(),
        json!({"extensions": declared})
    );
}

mod scope_challenge {
    use mcp_runtime::auth::{AuthError, AuthFuture, Authenticator, Credentials, ProtectedResource};
    use mcp_runtime::http::HttpOptions;

    use super::*;

    const LOW: &str = "mcp-conformance-scope-low";
    const FULL: &str = "mcp-conformance-scope-full";
    const RESOURCE: &str = "https://mcp.example.com/mcp";
    const METADATA: &str = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";

    /// Needs two scopes.
    #[tool(tags("challenge"), scopes("files:read", "files:write"))]
    fn guarded_tool() -> &'static str {
        "done"
    }

    #[resource(
        "challenge://static",
        tags("challenge"),
        scopes("files:read", "files:write")
    )]
    fn guarded_resource() -> &'static str {
        "static"
    }

    #[resource_template(
        "challenge://item/{id}",
        tags("challenge"),
        scopes("files:read", "files:write")
    )]
    fn guarded_template(id: u32) -> String {
        format!("item {id}")
    }

    /// Needs two scopes.
    #[prompt(tags("challenge"), scopes("files:read", "files:write"))]
    fn guarded_prompt() -> &'static str {
        "ask"
    }

    /// Validates the tokens of the scenario.
    struct Tokens;

    impl Authenticator for Tokens {
        fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> AuthFuture<'a> {
            let scopes: &[&str] = match credentials.token {
                LOW => &["files:read"],
                FULL => &["files:read", "files:write"],
                _ => return Box::pin(async { Err(AuthError::invalid("the token is unknown")) }),
            };
            let principal = mcp_runtime::Principal::new("tests").with_scopes(scopes.to_vec());
            Box::pin(async { Ok(principal) })
        }
    }

    async fn served() -> Served {
        let protected = ProtectedResource::new(RESOURCE, Tokens)
            .authorization_server("https://login.example.com");
        let options = HttpOptions::new().authenticate(protected);
        let server = Server::new("challenge", "1").only(Selected::tag("challenge"));
        serve_server(server.http(options)).await
    }

    // Covers: AUTH-06, AUTH-13
    #[tokio::test]
    async fn every_kind_of_definition_is_challenged_for_all_its_scopes_at_once_and_the_retry_passes()
     {
        let served = served().await;
        let with = |request: Request, token: &str| {
            request.with("Authorization", &format!("Bearer {token}"))
        };
        let read = |uri: &str| ("resources/read", json!({"uri": uri}));
        for (method, params) in [
            ("tools/call", json!({"name": "guarded_tool"})),
            read("challenge://static"),
            read("challenge://item/7"),
            ("prompts/get", json!({"name": "guarded_prompt"})),
        ] {
            let mut requests = vec![Request::modern(1, method, params.clone())];
            for version in [Version::V2025_06_18, Version::V2025_11_25] {
                let shake = with(crate::http::support::initialize(version), LOW);
                let session = served
                    .send(&shake)
                    .await
                    .header("mcp-session-id")
                    .unwrap()
                    .to_owned();
                let message =
                    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
                requests.push(Request::legacy(&session, &message, version));
            }
            for request in requests {
                let response = served.send(&with(request.clone(), LOW)).await;
                let challenge = response.header("www-authenticate").unwrap_or_default();
                assert_eq!(response.status, 403, "{method}");
                assert!(
                    challenge.starts_with(r#"Bearer error="insufficient_scope""#),
                    "{challenge}"
                );
                assert!(
                    challenge.contains(r#"scope="files:read files:write""#),
                    "{challenge}"
                );
                assert!(
                    challenge.contains(&format!(r#"resource_metadata="{METADATA}""#)),
                    "{challenge}"
                );
                let (status, message) = served.message(&with(request, FULL)).await;
                assert_eq!(status, 200, "{message}");
                assert!(message["result"].is_object(), "{message}");
            }
        }
    }
}
