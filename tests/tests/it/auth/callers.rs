//! Other ways to identify callers: tokens that never change, queries to the authorization server, a closure, and
//! programs that identify callers themselves.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request as Incoming, State};
use axum::http::HeaderMap;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::post;
use mcp_runtime::auth::{AuthError, Introspection, ProtectedResource, StaticTokens};
use mcp_runtime::http::HttpOptions;
use mcp_runtime::server::Selected;
use mcp_runtime::{Limits, Principal};
use serde_json::{Value, json};
use tests::Version;
use tests::http::{Request, send};
use tokio::net::TcpListener;

use super::{RESOURCE, called_by, challenge, serve, status, who, with};
use crate::fixture::{self, Shared};
use crate::http::support::{call, initialize, serve_server, text};

// Covers: AUTH-02, AUTH-05
#[tokio::test]
async fn static_tokens_authenticate_their_principals() {
    let [a, b] = ["a", "b"].map(|letter| letter.repeat(40));
    let tokens = StaticTokens::new()
        .token(&a, Principal::new("alice").with_scopes(["x"]))
        .token(&b, Principal::new("bob").with_client_id("script"));
    let server =
        serve(HttpOptions::new().authenticate(ProtectedResource::new(RESOURCE, tokens))).await;
    assert_eq!(called_by(&server, &a).await, "alice  x");
    assert_eq!(called_by(&server, &b).await, "bob script ");
    assert_eq!(status(&server, &"c".repeat(40)).await, 401);
    // There is nowhere to get a token.
    let response = server.send(&who()).await;
    assert_eq!((response.status, challenge(&response)), (401, "Bearer"));
    let metadata =
        Request::new("GET", Version::V2026_07_28).to("/.well-known/oauth-protected-resource");
    assert_eq!(server.send(&metadata).await.status, 404);
}

// Covers: AUTH-02, AUTH-06
// Limits: http.authentication_timeout, http.max_token_bytes
#[tokio::test]
async fn a_closure_can_authenticate_callers() {
    let check = async |token: String| match &*token {
        "alice" => Ok(Principal::new("alice")),
        "narrow" => Err(AuthError::insufficient(["x", "y"])),
        "later" => Err(AuthError::unavailable("the database is gone")),
        long if long.len() >= 19 => Ok(Principal::new("long")),
        "never" => std::future::pending().await,
        _ => Err(AuthError::invalid(format!("no {token}"))),
    };
    let protected =
        ProtectedResource::new(RESOURCE, check).authorization_server("https://login.example.com");
    let limits = Limits::default().with(|limits| {
        limits.http.authentication_timeout = Duration::from_millis(200);
        limits.http.max_token_bytes = 20;
    });
    let options = HttpOptions::new().authenticate(protected);
    let server = serve_server(
        fixture::server()
            .only(Selected::tag("auth"))
            .limits(limits)
            .http(options),
    )
    .await;
    assert_eq!(called_by(&server, "alice").await, "alice  ");
    assert_eq!(status(&server, "mallory").await, 401);
    let response = server.send(&with(who(), "narrow")).await;
    assert_eq!(response.status, 403);
    assert!(challenge(&response).contains(r#"error="insufficient_scope", scope="x y""#));
    for (length, expected) in [(19, 200), (20, 200), (21, 401)] {
        assert_eq!(status(&server, &"t".repeat(length)).await, expected);
    }
    for token in ["later", "never"] {
        let response = server.send(&with(who(), token)).await;
        assert_eq!(
            (response.status, response.header("retry-after")),
            (503, Some("10"))
        );
        assert_eq!(challenge(&response), "");
    }
}

/// The requests to an authorization server, and its response.
#[derive(Default)]
struct Asked {
    questions: Vec<(String, String)>,
    answer: Value,
}

async fn introspect(
    State(asked): State<Arc<Mutex<Asked>>>,
    headers: HeaderMap,
    body: String,
) -> String {
    let mut asked = asked.lock().unwrap();
    let credentials = headers["authorization"].to_str().unwrap().to_owned();
    asked.questions.push((credentials, body));
    asked.answer.to_string()
}

// Covers: AUTH-02
#[tokio::test]
async fn the_authorization_server_can_be_asked_about_each_token() {
    let asked = Arc::new(Mutex::new(Asked::default()));
    let app = Router::new()
        .route("/introspect", post(introspect))
        .with_state(Arc::clone(&asked));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = axum::serve(listener, app);
    let task = tokio::spawn(async move { serving.await.unwrap() });
    let introspection = || Introspection::new(&*url, format!("{url}/introspect"), "me", "se:cret");
    let protect =
        |tokens| HttpOptions::new().authenticate(ProtectedResource::new(RESOURCE, tokens));
    let server = serve(protect(introspection())).await;
    let good = json!({"active": true, "aud": RESOURCE, "sub": "alice", "client_id": "app", "scope": "a b"});
    asked.lock().unwrap().answer = good.clone();
    // The server is queried once, and its answer is kept for a while.
    for _ in 0..3 {
        assert_eq!(called_by(&server, "opaque+1").await, "alice app a b");
    }
    let questions = std::mem::take(&mut asked.lock().unwrap().questions);
    let credentials = "Basic bWU6c2UlM0FjcmV0".to_owned();
    let form = "token=opaque%2B1&token_type_hint=access_token".to_owned();
    assert_eq!(questions, [(credentials, form)]);
    for (index, (answer, expected)) in [
        (json!({"active": false}), 401),
        (json!({}), 401),
        (json!({"active": "true"}), 401),
        (
            super::issuer::merged(good.clone(), &json!({"aud": null})),
            401,
        ),
        (
            super::issuer::merged(good.clone(), &json!({"aud": "x"})),
            401,
        ),
        (super::issuer::merged(good.clone(), &json!({"exp": 1})), 401),
        (
            super::issuer::merged(good.clone(), &json!({"iss": "x"})),
            401,
        ),
        (
            super::issuer::merged(good.clone(), &json!({"iss": url})),
            200,
        ),
        (json!([]), 503),
    ]
    .into_iter()
    .enumerate()
    {
        asked.lock().unwrap().answer = answer.clone();
        assert_eq!(
            status(&server, &format!("t{index}")).await,
            expected,
            "{answer}"
        );
    }
    asked.lock().unwrap().answer = super::issuer::merged(good, &json!({"aud": null}));
    let trusting = serve(protect(
        introspection().trust_audience().keep(Duration::ZERO),
    ))
    .await;
    asked.lock().unwrap().questions.clear();
    for _ in 0..2 {
        assert_eq!(status(&trusting, "t").await, 200);
    }
    assert_eq!(asked.lock().unwrap().questions.len(), 2);
    task.abort();
    let _ = task.await;
    assert_eq!(
        status(&server, "opaque+1").await,
        200,
        "what it said still counts"
    );
    assert_eq!(status(&server, "opaque+2").await, 503);
}

/// Identifies the caller by a header, as authentication in the surrounding program might do.
async fn authenticated(mut request: Incoming, next: Next) -> Response {
    if let Some(name) = request.headers().get("x-user") {
        let name = name.to_str().unwrap().to_owned();
        request.extensions_mut().insert(Principal::new(name));
    }
    next.run(request).await
}

// Covers: AUTH-11
#[tokio::test]
async fn a_program_can_set_the_principal_in_its_own_middleware() {
    let shared = Shared::default();
    let server = fixture::server()
        .only(Selected::tag("auth"))
        .only(Selected::tag("http"))
        .state(shared);
    let service = server.into_http_service().unwrap();
    let app = Router::<()>::from(service).layer(from_fn(authenticated));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = axum::serve(listener, app);
    let task = tokio::spawn(async move { serving.await.unwrap() });
    let mut response = send(address, &who()).await;
    assert_eq!(text(&response.message().await), "anonymous");
    let mut response = send(address, &who().header("X-User", "alice")).await;
    assert_eq!(text(&response.message().await), "alice  ");
    let shake = initialize(Version::V2025_11_25).header("X-User", "alice");
    let response = send(address, &shake).await;
    let session = response.header("mcp-session-id").unwrap();
    let call = || call(session, 1, "whoami", json!({}), Version::V2025_11_25);
    for (user, status) in [(Some("alice"), 200), (Some("bob"), 404), (None, 404)] {
        let request = match user {
            Some(user) => call().header("X-User", user),
            None => call(),
        };
        assert_eq!(send(address, &request).await.status, status, "{user:?}");
    }
    task.abort();
}
