//! Tests that valid tokens are accepted and that all others are rejected.

use mcp_runtime::Limits;
use mcp_runtime::http::HttpOptions;
use mcp_runtime::server::Selected;
use serde_json::json;
use tests::Version;
use tests::http::Request;

use super::issuer::{Issuer, Key, confused, seconds, unsigned};
use super::{METADATA, called_by, challenge, options, serve, status, who, with};
use crate::fixture;
use crate::http::support::{initialize, serve_server};

// Covers: AUTH-01, AUTH-02, AUTH-11
#[tokio::test]
async fn a_valid_token_identifies_its_principal() {
    let issuer = Issuer::start().await;
    issuer.shared().keys.insert(0, Key::ed25519());
    let server = serve(options(&issuer)).await;
    let other = issuer.shared().keys[0].clone();
    for (token, who) in [
        (issuer.token(&json!({})), "alice app a b"),
        (
            other.sign(
                &issuer.claims(&json!({"scp": ["c"], "scope": null})),
                &json!({}),
            ),
            "alice app c",
        ),
        (
            issuer.token(&json!({"aud": ["x", super::RESOURCE], "nbf": seconds(-9)})),
            "alice app a b",
        ),
        (issuer.token(&json!({"exp": seconds(-30)})), "alice app a b"),
        (
            issuer.key().sign(
                &issuer.claims(&json!({})),
                &json!({"typ": "JWT", "kid": null}),
            ),
            "alice app a b",
        ),
    ] {
        assert_eq!(called_by(&server, &token).await, who);
    }
    // The scheme name is case-insensitive, and the server can be addressed by its public name.
    let token = issuer.token(&json!({}));
    let request = who()
        .with("Authorization", &format!("bearer {token}"))
        .with("Host", "mcp.example.com");
    assert_eq!(server.send(&request).await.status, 200);
}

// Covers: AUTH-02, AUTH-05, AUTH-10
#[tokio::test]
async fn an_invalid_token_is_refused_without_a_reason() {
    let issuer = Issuer::start().await;
    let server = serve(options(&issuer)).await;
    let claims = issuer.claims(&json!({}));
    let good = issuer.token(&json!({}));
    let (message, signature) = good.rsplit_once('.').unwrap();
    let (header, _) = message.split_once('.').unwrap();
    let others = issuer.token_of("mallory");
    let others_claims = others.split('.').nth(1).unwrap();
    let token = |changes| issuer.token(&changes);
    for (what, token) in [
        (
            "another audience",
            token(json!({"aud": "https://other.example.com/mcp"})),
        ),
        (
            "an audience with a slash",
            token(json!({"aud": format!("{}/", super::RESOURCE)})),
        ),
        ("no audience", token(json!({"aud": null}))),
        (
            "another issuer",
            token(json!({"iss": "https://evil.example.com"})),
        ),
        ("no issuer", token(json!({"iss": null}))),
        ("expired", token(json!({"exp": seconds(-90)}))),
        ("never expires", token(json!({"exp": null}))),
        ("not yet", token(json!({"nbf": seconds(90)}))),
        ("anonymous", token(json!({"sub": null, "client_id": null}))),
        ("unsigned", unsigned(&claims)),
        (
            "signed with the public key",
            confused(&claims, &issuer.key()),
        ),
        (
            "signed with another key",
            Key::ecdsa().sign(&claims, &json!({"kid": issuer.key().id})),
        ),
        ("an unknown key", Key::ecdsa().sign(&claims, &json!({}))),
        (
            "a key of its own",
            Key::ecdsa().sign(&claims, &json!({"jwk": Key::ecdsa().public()})),
        ),
        (
            "another algorithm",
            issuer.key().sign(&claims, &json!({"alg": "RS256"})),
        ),
        (
            "not for access",
            issuer.key().sign(&claims, &json!({"typ": "logout+jwt"})),
        ),
        (
            "claims of another",
            format!("{header}.{others_claims}.{signature}"),
        ),
        ("cut", good[..good.len() - 4].to_owned()),
        ("no token", "abc".to_owned()),
        (
            "too long",
            "a".repeat(Limits::default().http.max_token_bytes + 1),
        ),
    ] {
        let mut response = server.send(&with(who(), &token)).await;
        assert_eq!(response.status, 401, "{what}");
        let said = format!(r#"Bearer error="invalid_token", resource_metadata="{METADATA}""#);
        assert_eq!(challenge(&response), said, "{what}");
        let body = response.text().await;
        let expected = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"unauthorized"}}"#;
        assert_eq!(body, expected, "{what}");
    }
}

// Covers: AUTH-02, AUTH-04, AUTH-05
#[tokio::test]
async fn every_request_of_every_era_needs_a_token() {
    let issuer = Issuer::start().await;
    let server = serve(options(&issuer).legacy_sse(true)).await;
    let requests = [
        who(),
        initialize(Version::V2025_03_26),
        initialize(Version::V2025_11_25),
        Request::new("GET", Version::V2025_11_25).header("Mcp-Session-Id", &"a".repeat(43)),
        Request::new("DELETE", Version::V2025_11_25).header("Mcp-Session-Id", &"a".repeat(43)),
        Request::new("GET", Version::V2024_11_05),
        Request::new("GET", Version::V2024_11_05).to("/sse"),
        Request::bare(&json!({}), Version::V2024_11_05).to("/mcp?connection=x"),
        // Mistakes in the rest of the request are detected later.
        Request::new("POST", Version::V2026_07_28),
    ];
    for request in requests {
        for credentials in [None, Some("Basic YWxpY2U6cGFzcw==")] {
            let request = match credentials {
                Some(credentials) => request.clone().with("Authorization", credentials),
                None => request.clone(),
            };
            let mut response = server.send(&request).await;
            assert_eq!(response.status, 401, "{request:?}");
            let said = format!(r#"Bearer resource_metadata="{METADATA}""#);
            assert_eq!(challenge(&response), said);
            assert!(response.text().await.contains("unauthorized"));
        }
    }
    // Callers that use a host that is not served learn nothing about tokens.
    let foreign = who().with("Host", "evil.example.com");
    assert_eq!(server.send(&foreign).await.status, 403);
    let page = who().with("Origin", "https://evil.example.com");
    assert_eq!(server.send(&page).await.status, 403);
    assert_eq!(
        server
            .send(&Request::new("PUT", Version::V2026_07_28))
            .await
            .status,
        405
    );
    assert_eq!(server.send(&who().to("/other")).await.status, 404);
}

// Covers: AUTH-02, AUTH-06
#[tokio::test]
async fn malformed_credentials_and_tokens_in_the_query_are_bad_requests() {
    let issuer = Issuer::start().await;
    let server = serve(options(&issuer)).await;
    let token = issuer.token(&json!({}));
    let requests = [
        who().with("Authorization", "Bearer"),
        who().with("Authorization", "Bearer a b"),
        who().with("Authorization", "Bearer \"a\""),
        who().to(&format!("/mcp?access_token={token}")),
        with(who(), &token).to(&format!("/mcp?a=b&access_token={token}")),
    ];
    for request in requests {
        let response = server.send(&request).await;
        assert_eq!(response.status, 400, "{request:?}");
        assert!(challenge(&response).starts_with(r#"Bearer error="invalid_request""#));
    }
    let twice = with(who(), &token).header("Authorization", "Bearer b");
    assert_eq!(server.send(&twice).await.status, 400);
    // A server without authentication never looks at either.
    let open = serve(HttpOptions::new()).await;
    assert_eq!(
        open.send(&who().with("Authorization", "Bearer a b"))
            .await
            .status,
        200
    );
}

// Covers: AUTH-06, AUTH-07, SEC-10
#[tokio::test]
async fn scopes_that_every_request_needs_are_challenged_at_once() {
    let issuer = Issuer::start().await;
    let protected = mcp_runtime::auth::ProtectedResource::new(super::RESOURCE, super::jwt(&issuer));
    let protected = protected.require_scopes(["mcp", "a"]);
    let server = fixture::server()
        .only(Selected::tag("auth"))
        .only(Selected::tag("auth-scopes"))
        .scope_implies("all", ["mcp", "a"])
        .http(HttpOptions::new().authenticate(protected));
    let server = serve_server(server).await;
    let response = server.send(&who()).await;
    let said = format!(r#"Bearer scope="mcp a", resource_metadata="{METADATA}""#);
    assert_eq!((response.status, challenge(&response)), (401, &*said));
    let response = server.send(&with(who(), &issuer.token(&json!({})))).await;
    let said = format!(
        r#"Bearer error="insufficient_scope", scope="mcp a", resource_metadata="{METADATA}""#
    );
    assert_eq!((response.status, challenge(&response)), (403, &*said));
    // A tool that needs another scope names all of them, because clients request exactly those that are named.
    let both = issuer.token(&json!({"scope": "mcp a"}));
    let response = server
        .send(&with(Request::tool("write_note", json!({})), &both))
        .await;
    let all = r#"scope="mcp a notes:read notes:write""#;
    assert_eq!(response.status, 403);
    assert!(challenge(&response).contains(all), "{response:?}");
    for scope in ["mcp a", "x a mcp", "all"] {
        let token = issuer.token(&json!({"scope": scope}));
        assert_eq!(status(&server, &token).await, 200, "{scope}");
    }
}
