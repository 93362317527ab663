//! Handlers whose caller has to authorize again: the challenge comes with the response, or with the next one.

use mcp_runtime::prelude::*;
use mcp_runtime::server::Selected;
use serde_json::json;
use tests::Version;
use tests::http::Request;

use super::issuer::Issuer;
use super::{METADATA, challenge, options, session, with};
use crate::fixture;
use crate::http::support::{Served, call, initialize, serve_server, text};

/// Uses a token for another service, which is no longer accepted or lacks scopes. Reports progress first if asked to.
#[tool(tags("reauthorize"))]
async fn upstream(ctx: &Context, lacks: Option<Vec<String>>, says: bool) -> Result<String> {
    if says {
        ctx.progress(1);
    }
    tokio::task::yield_now().await;
    Err(match lacks {
        Some(scopes) => HandlerError::insufficient_scope(scopes),
        None => HandlerError::invalid_token(),
    })
}

/// Always works.
#[tool(tags("reauthorize"))]
fn works() -> &'static str {
    "works"
}

/// Needs another authorization, too.
#[resource("reauthorize:it", tags("reauthorize"))]
fn unreadable() -> Result<String> {
    Err(HandlerError::invalid_token())
}

async fn serve(issuer: &Issuer) -> Served {
    let server = fixture::server().only(Selected::tag("reauthorize"));
    serve_server(server.http(options(issuer))).await
}

/// Calls a tool in both eras.
async fn calls(
    server: &Served,
    token: &str,
    name: &str,
    arguments: serde_json::Value,
) -> [Request; 2] {
    let session = session(server, token, Version::V2025_11_25).await;
    let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": 1}});
    let modern = Request::modern(1, "tools/call", params);
    let legacy = call(&session, 1, name, arguments, Version::V2025_11_25);
    [with(modern, token), with(legacy, token)]
}

fn invalid() -> String {
    format!(r#"Bearer error="invalid_token", resource_metadata="{METADATA}""#)
}

#[tokio::test]
async fn before_the_headers_the_response_is_the_challenge() {
    let issuer = Issuer::start().await;
    let server = serve(&issuer).await;
    let token = issuer.token(&json!({}));
    for request in calls(&server, &token, "upstream", json!({"says": false})).await {
        let mut response = server.send(&request).await;
        assert_eq!((response.status, challenge(&response)), (401, &*invalid()));
        let message = response.message().await;
        assert_eq!(
            (&message["error"]["code"], &message["id"]),
            (&json!(401), &json!(1))
        );
    }
    let arguments = json!({"says": false, "lacks": ["repo:write", "repo\" evil"]});
    for request in calls(&server, &token, "upstream", arguments).await {
        let mut response = server.send(&request).await;
        let expected = format!(
            r#"Bearer error="insufficient_scope", scope="repo:write", resource_metadata="{METADATA}""#
        );
        assert_eq!((response.status, challenge(&response)), (403, &*expected));
        let error = &response.message().await["error"];
        assert_eq!(
            (&error["code"], &error["data"]["scopes"]),
            (&json!(403), &json!(["repo:write"]))
        );
    }
    let read = Request::modern(1, "resources/read", json!({"uri": "reauthorize:it"}));
    let response = server.send(&with(read, &token)).await;
    assert_eq!((response.status, challenge(&response)), (401, &*invalid()));
    // Nothing is left for the next request.
    for request in calls(&server, &token, "works", json!({})).await {
        assert_eq!(text(&server.message(&request).await.1), "works");
    }
}

#[tokio::test]
async fn after_the_headers_the_stream_ends_with_an_error_and_a_later_challenge() {
    let issuer = Issuer::start().await;
    let server = serve(&issuer).await;
    let token = issuer.token(&json!({"sub": "alice"}));
    let others = issuer.token(&json!({"sub": "bob"}));
    let works = calls(&server, &token, "works", json!({})).await;
    let of_others = calls(&server, &others, "works", json!({})).await;
    for request in calls(&server, &token, "upstream", json!({"says": true})).await {
        let mut response = server.send(&request).await;
        assert_eq!((response.status, response.is_events()), (200, true));
        let messages = response.all().await;
        assert_eq!(messages.last().unwrap()["error"]["code"], 401);
        for request in &of_others {
            assert_eq!(server.send(request).await.status, 200);
        }
        for (position, request) in works.iter().enumerate() {
            let response = server.send(request).await;
            if position == 0 {
                assert_eq!((response.status, challenge(&response)), (401, &*invalid()));
            } else {
                assert_eq!(response.status, 200);
            }
        }
    }
}

/// Mounts the server in a program whose gateway uses a separate token and names the user in a header.
async fn mounted(layered: bool) -> std::net::SocketAddr {
    let server = fixture::server().only(Selected::tag("reauthorize"));
    let mut app = axum::Router::from(server.into_http_service().unwrap());
    if layered {
        app = app.layer(axum::middleware::from_fn(
            async |mut request: axum::extract::Request, next: axum::middleware::Next| {
                let user = request.headers()["x-user"].to_str().unwrap();
                let principal = mcp_runtime::Principal::new(user);
                request.extensions_mut().insert(principal);
                next.run(request).await
            },
        ));
    }
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

#[tokio::test]
async fn with_own_authentication_the_challenge_is_for_the_same_user_and_token() {
    for layered in [true, false] {
        let address = mounted(layered).await;
        let of = |request: Request, user: &str, token: &str| {
            with(request.with("X-User", user), &token.repeat(40))
        };
        let send = async |request: &Request| tests::http::send(address, request).await;
        for version in Version::ERAS {
            let request = async |name, arguments, user| {
                if version.is_modern() {
                    let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": 1}});
                    return Request::modern(1, "tools/call", params);
                }
                let opened = send(&of(initialize(version), user, "a")).await;
                let session = opened.header("mcp-session-id").unwrap().to_owned();
                call(&session, 1, name, arguments, version)
            };
            let works = request("works", json!({}), "alice").await;
            let of_bob = of(request("works", json!({}), "bob").await, "bob", "a");
            let failing = request("upstream", json!({"says": true}), "alice").await;
            let mut response = send(&of(failing, "alice", "a")).await;
            assert_eq!(response.all().await.last().unwrap()["error"]["code"], 401);
            // Another user of the same gateway, and the same user with another token, are not affected.
            assert_eq!(send(&of_bob).await.status, 200, "{layered} {version:?}");
            let status = send(&of(works.clone(), "alice", "b")).await.status;
            assert_eq!(status, 200, "{layered} {version:?}");
            // A server without authentication cannot distinguish its callers.
            let status = send(&of(works, "alice", "a")).await.status;
            assert_eq!(status, if layered { 401 } else { 200 }, "{version:?}");
        }
    }
}

#[tokio::test]
async fn a_batch_is_answered_normally_and_the_next_request_is_challenged() {
    let issuer = Issuer::start().await;
    let server = serve(&issuer).await;
    let token = issuer.token(&json!({}));
    let version = Version::V2025_03_26;
    let id = session(&server, &token, version).await;
    let element = |id: u32, name: &str| {
        let params = json!({"name": name, "arguments": {"says": false}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let works =
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "works"}});
    let batch = json!([element(1, "upstream"), works]);
    let mut response = server
        .send(&with(Request::legacy(&id, &batch, version), &token))
        .await;
    assert_eq!(response.status, 200);
    let answers: serde_json::Value = serde_json::from_str(&response.text().await).unwrap();
    let codes: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| answer["error"]["code"].as_i64())
        .collect();
    assert!(
        codes.contains(&Some(401)) && codes.contains(&None),
        "{answers}"
    );
    let next = with(call(&id, 3, "works", json!({}), version), &token);
    assert_eq!(server.send(&next).await.status, 401);
    assert_eq!(server.send(&next).await.status, 200);
}

#[tokio::test]
async fn without_http_reauthorization_is_an_error_with_the_same_code() {
    for version in Version::ALL {
        let mut client = crate::support::connect(
            fixture::server().only(Selected::tag("reauthorize")),
            version,
        )
        .await;
        let params = |arguments| json!({"name": "upstream", "arguments": arguments});
        client
            .fails("tools/call", params(json!({"says": false})), 401)
            .await;
        let lacks = json!({"says": false, "lacks": ["a"]});
        let failure = client.fails("tools/call", params(lacks), 403).await;
        assert_eq!(failure.data["scopes"], json!(["a"]));
    }
}
