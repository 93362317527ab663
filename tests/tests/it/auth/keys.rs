//! Keys of an issuer: found, renewed, and removed.

use std::time::Duration;

use mcp_runtime::auth::{Jwt, ProtectedResource};
use mcp_runtime::http::HttpOptions;
use serde_json::json;
use tests::http::send;

use super::issuer::{Issuer, Key};
use super::{RESOURCE, jwt, options, serve, status, who, with};
use crate::http::support::Served;

async fn serve_with(tokens: Jwt) -> Served {
    serve(HttpOptions::new().authenticate(ProtectedResource::new(RESOURCE, tokens))).await
}

// Covers: AUTH-02
#[tokio::test]
async fn an_unknown_key_is_fetched_and_a_withdrawn_one_is_dropped() {
    let issuer = Issuer::start().await;
    let server = serve(options(&issuer)).await;
    let old = issuer.token(&json!({}));
    assert_eq!(status(&server, &old).await, 200);
    assert_eq!(status(&server, &old).await, 200);
    assert_eq!(issuer.shared().asked, 1);
    issuer.shared().keys = vec![Key::ed25519()];
    let new = issuer.token(&json!({}));
    assert_eq!(status(&server, &new).await, 200);
    assert_eq!(issuer.shared().asked, 2);
    assert_eq!(status(&server, &old).await, 401);
}

// Covers: AUTH-02, AUTH-15
#[tokio::test]
async fn unknown_keys_cause_few_requests_to_the_issuer() {
    let issuer = Issuer::start().await;
    let server = serve_with(Jwt::issuer(issuer.url())).await;
    assert_eq!(status(&server, &issuer.token(&json!({}))).await, 200);
    for _ in 0..20 {
        let token = Key::ecdsa().sign(&issuer.claims(&json!({})), &json!({}));
        assert_eq!(status(&server, &token).await, 401);
    }
    assert_eq!(issuer.shared().asked, 1);
}

#[tokio::test]
async fn concurrent_requests_fetch_the_keys_of_the_issuer_once() {
    let issuer = Issuer::start().await;
    let server = serve(options(&issuer)).await;
    let token = issuer.token(&json!({}));
    let all: Vec<_> = (0..20)
        .map(|_| {
            let (address, request) = (server.address, with(who(), &token));
            tokio::spawn(async move { send(address, &request).await.status })
        })
        .collect();
    for status in all {
        assert_eq!(status.await.unwrap(), 200);
    }
    assert_eq!(issuer.shared().asked, 1);
}

// Covers: AUTH-02
#[tokio::test]
async fn while_the_issuer_is_down_the_last_keys_serve_for_a_while() {
    let issuer = Issuer::start().await;
    let kept = jwt(&issuer).keep_keys(Duration::ZERO, Duration::from_hours(1));
    let forgotten = jwt(&issuer).keep_keys(Duration::ZERO, Duration::ZERO);
    let [kept, forgotten] = [serve_with(kept).await, serve_with(forgotten).await];
    let token = issuer.token(&json!({}));
    assert_eq!(status(&kept, &token).await, 200);
    issuer.shared().is_down = true;
    assert_eq!(status(&kept, &token).await, 200);
    let unknown = Key::ecdsa().sign(&issuer.claims(&json!({})), &json!({}));
    assert_eq!(status(&kept, &unknown).await, 503);
    assert_eq!(status(&forgotten, &token).await, 503);
    issuer.shared().is_down = false;
    assert_eq!(
        status(&kept, &unknown).await,
        503,
        "keys that are never fresh"
    );
}

// Covers: AUTH-02
#[tokio::test]
async fn without_any_keys_every_token_is_refused() {
    let issuer = Issuer::start().await;
    let server = serve(options(&issuer)).await;
    let token = issuer.token(&json!({}));
    for instead in [
        &b"no json"[..],
        b"{}",
        br#"{"keys": []}"#,
        br#"{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}"#,
        " ".repeat((1 << 20) + 1).as_bytes(),
    ] {
        issuer.shared().instead = Some(instead.to_vec());
        assert_eq!(status(&server, &token).await, 503);
    }
    issuer.shared().instead = None;
    issuer.shared().is_down = true;
    assert_eq!(status(&server, &token).await, 503);
    issuer.shared().is_down = false;
    assert_eq!(status(&server, &token).await, 200);
}

// Covers: AUTH-15, SEC-07
#[tokio::test]
async fn keys_are_fetched_only_from_the_issuer() {
    let issuer = Issuer::start().await;
    let other = Issuer::start().await;
    let token = issuer.token(&json!({}));
    for (name, value) in [
        ("jwks_uri", format!("{}/keys", other.url())),
        ("jwks_uri", "http://169.254.169.254/keys".to_owned()),
        ("jwks_uri", "file:///etc/passwd".to_owned()),
        ("jwks_uri", format!("{}/moved", issuer.url())),
        ("issuer", other.url().to_owned()),
    ] {
        let good = issuer.shared().metadata.clone();
        issuer.shared().metadata[name] = json!(value);
        let server = serve(options(&issuer)).await;
        assert_eq!(status(&server, &token).await, 503, "{name}: {value}");
        assert_eq!((issuer.shared().asked, other.shared().asked), (0, 0));
        issuer.shared().metadata = good;
    }
    // Another host must be named by the operator.
    other.shared().keys = vec![issuer.key()];
    let named = jwt(&issuer).key_set_url(format!("{}/keys", other.url()));
    assert_eq!(status(&serve_with(named).await, &token).await, 200);
    assert_eq!((issuer.shared().asked, other.shared().asked), (0, 1));
    let given = jwt(&issuer).key_set(&json!({"keys": [issuer.key().public()]}));
    assert_eq!(status(&serve_with(given).await, &token).await, 200);
    assert_eq!((issuer.shared().asked, other.shared().asked), (0, 1));
}
