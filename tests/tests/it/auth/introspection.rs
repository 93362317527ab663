//! An authorization server that is asked about many tokens at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use mcp_runtime::auth::{Introspection, ProtectedResource};
use mcp_runtime::http::HttpOptions;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{RESOURCE, Served, serve, status};

/// An authorization server for which tokens that begin with `good` are active.
#[derive(Clone)]
struct AuthorizationServer {
    url: Arc<str>,
    /// The number of questions for each token.
    asked: Arc<Mutex<HashMap<String, usize>>>,
    /// `true` while it answers questions about other tokens.
    answers_others: Arc<watch::Sender<bool>>,
    answer_time: Duration,
}

impl AuthorizationServer {
    async fn start(answer_time: Duration) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let server = Self {
            url: format!("http://{}", listener.local_addr().unwrap()).into(),
            asked: Arc::default(),
            answers_others: Arc::new(watch::Sender::new(true)),
            answer_time,
        };
        let app = Router::new().route("/ask", post(Self::introspect));
        let app = app.with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        server
    }

    async fn introspect(State(server): State<Self>, form: String) -> String {
        let token = form.strip_prefix("token=").unwrap();
        let token = token.split('&').next().unwrap().to_owned();
        let is_good = token.starts_with("good");
        *server.asked.lock().unwrap().entry(token).or_default() += 1;
        if !is_good {
            let mut answers = server.answers_others.subscribe();
            answers.wait_for(|answers| *answers).await.unwrap();
        }
        // The time that an authorization server needs for an answer.
        tokio::time::sleep(server.answer_time).await;
        json!({"active": is_good, "aud": RESOURCE, "sub": "alice", "client_id": "app"}).to_string()
    }

    fn introspection(&self) -> Introspection {
        Introspection::new(&*self.url, format!("{}/ask", self.url), "me", "secret")
    }

    async fn protect(&self, introspection: Introspection) -> Served {
        let resource = ProtectedResource::new(RESOURCE, introspection);
        serve(HttpOptions::new().authenticate(resource)).await
    }

    fn asked(&self, token: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.get(token).copied().unwrap_or_default()
    }
}

/// Sends requests with made-up tokens over 90 connections until it is dropped.
fn make_up_tokens(served: &Arc<Served>) -> JoinSet<()> {
    let mut attackers = JoinSet::new();
    for attacker in 0..90 {
        let served = Arc::clone(served);
        attackers.spawn(async move {
            for number in 0_u32.. {
                let refused = status(&served, &format!("made-up-{attacker}-{number}")).await;
                assert!([401, 503].contains(&refused), "{refused}");
            }
        });
    }
    attackers
}

/// Sends one request with each token at once and returns their statuses.
async fn statuses(served: &Arc<Served>, tokens: impl Iterator<Item = String>) -> Vec<u16> {
    let requests: JoinSet<u16> = tokens
        .map(|token| {
            let served = Arc::clone(served);
            async move { status(&served, &token).await }
        })
        .collect();
    requests.join_all().await
}

#[tokio::test]
async fn concurrent_requests_with_one_token_introspect_it_once() {
    let issuer = AuthorizationServer::start(Duration::from_millis(300)).await;
    let served = Arc::new(issuer.protect(issuer.introspection()).await);
    let tokens = (0..120).map(|_| "good".to_owned());
    assert_eq!(statuses(&served, tokens).await, [200; 120]);
    assert_eq!(issuer.asked("good"), 1);
}

#[tokio::test]
async fn a_refused_token_is_not_introspected_again_at_once() {
    let issuer = AuthorizationServer::start(Duration::ZERO).await;
    let served = issuer.protect(issuer.introspection()).await;
    for _ in 0..3 {
        assert_eq!(status(&served, "revoked").await, 401);
    }
    assert_eq!(issuer.asked("revoked"), 1);
}

// Limits: http.authentication_timeout
#[tokio::test]
async fn invalid_tokens_do_not_block_valid_ones() {
    let issuer = AuthorizationServer::start(Duration::from_millis(200)).await;
    let served = Arc::new(issuer.protect(issuer.introspection()).await);
    let attackers = make_up_tokens(&served);
    tests::wait::until(async || issuer.asked.lock().unwrap().len() >= 48).await;
    let tokens = (0..40).map(|number| format!("good-{number}"));
    assert_eq!(statuses(&served, tokens).await, [200; 40]);
    drop(attackers);
}

#[tokio::test]
async fn known_active_tokens_do_not_wait_for_invalid_ones() {
    let issuer = AuthorizationServer::start(Duration::ZERO).await;
    // Each request is a question of its own.
    let introspection = issuer.introspection().keep(Duration::ZERO);
    let served = Arc::new(issuer.protect(introspection).await);
    let tokens = || (0..40).map(|number| format!("good-{number}"));
    assert_eq!(statuses(&served, tokens()).await, [200; 40]);
    // From now on, questions about made-up tokens are never answered.
    issuer.answers_others.send_replace(false);
    let attackers = make_up_tokens(&served);
    tests::wait::until(async || issuer.asked.lock().unwrap().len() >= 40 + 48).await;
    for _ in 0..3 {
        let answers = tokio::time::timeout(Duration::from_secs(4), statuses(&served, tokens()));
        let answers = answers
            .await
            .expect("no question waits for the made-up ones");
        assert_eq!(answers, [200; 40]);
    }
    drop(attackers);
}
