//! An in-process token issuer, with its metadata, its keys and the tokens that it signs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::RESOURCE;

/// An issuer. It stops when this is dropped.
pub(super) struct Issuer {
    url: String,
    shared: Arc<Mutex<Shared>>,
    task: JoinHandle<()>,
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The responses that it serves.
pub(super) struct Shared {
    pub(super) metadata: Value,
    pub(super) keys: Vec<Key>,
    /// A body to serve instead of the keys.
    pub(super) instead: Option<Vec<u8>>,
    pub(super) is_down: bool,
    /// The number of requests for its keys.
    pub(super) asked: u32,
}

/// A key that the issuer signs with.
#[derive(Clone)]
pub(super) struct Key {
    pub(super) id: String,
    pair: Arc<Pair>,
}

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Key {
    pub(super) fn ecdsa() -> Self {
        let (how, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(how, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(how, document.as_ref(), &random).unwrap();
        Self::new(Pair::Ecdsa(pair))
    }

    pub(super) fn ed25519() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::new(Pair::Ed25519(
            Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap(),
        ))
    }

    fn new(pair: Pair) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: format!("key-{}", NEXT.fetch_add(1, Ordering::Relaxed)),
            pair: Arc::new(pair),
        }
    }

    pub(super) fn public(&self) -> Value {
        match &*self.pair {
            Pair::Ecdsa(pair) => {
                let point = pair.public_key().as_ref();
                let (x, y) = (encode(&point[1..33]), encode(&point[33..]));
                json!({"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": self.id, "use": "sig"})
            }
            Pair::Ed25519(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": encode(pair.public_key().as_ref()), "kid": self.id})
            }
        }
    }

    /// Signs a token with these claims. Members of `header` are added to the usual ones or replace them.
    pub(super) fn sign(&self, claims: &Value, header: &Value) -> String {
        let algorithm = match &*self.pair {
            Pair::Ecdsa(_) => "ES256",
            Pair::Ed25519(_) => "EdDSA",
        };
        let usual = json!({"alg": algorithm, "typ": "at+jwt", "kid": self.id});
        let message = message(&merged(usual, header), claims);
        let signature = match &*self.pair {
            Pair::Ecdsa(pair) => {
                let signed = pair.sign(&SystemRandom::new(), message.as_bytes());
                encode(signed.unwrap().as_ref())
            }
            Pair::Ed25519(pair) => encode(pair.sign(message.as_bytes()).as_ref()),
        };
        format!("{message}.{signature}")
    }
}

pub(super) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn message(header: &Value, claims: &Value) -> String {
    let [header, claims] = [header, claims].map(|part| encode(part.to_string().as_bytes()));
    format!("{header}.{claims}")
}

/// Returns a token without a signature.
pub(super) fn unsigned(claims: &Value) -> String {
    format!("{}.", message(&json!({"alg": "none"}), claims))
}

/// Returns a token signed with a public key as if it were a secret.
pub(super) fn confused(claims: &Value, key: &Key) -> String {
    let point = match &*key.pair {
        Pair::Ecdsa(pair) => pair.public_key().as_ref(),
        Pair::Ed25519(pair) => pair.public_key().as_ref(),
    };
    let secret = hmac::Key::new(hmac::HMAC_SHA256, point);
    let message = message(&json!({"alg": "HS256", "kid": key.id}), claims);
    let signature = hmac::sign(&secret, message.as_bytes());
    format!("{message}.{}", encode(signature.as_ref()))
}

/// Returns the object with these members added or replaced; `null` removes a member.
pub(super) fn merged(mut object: Value, changes: &Value) -> Value {
    for (name, value) in changes.as_object().unwrap() {
        object[name] = value.clone();
    }
    let members = object.as_object_mut().unwrap();
    members.retain(|_, value| !value.is_null());
    object
}

/// Returns the number of seconds since 1970, plus `more`.
pub(super) fn seconds(more: i64) -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap() + more
}

impl Issuer {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Mutex::new(Shared {
            metadata: json!({"issuer": url, "jwks_uri": format!("{url}/keys")}),
            keys: vec![Key::ecdsa()],
            instead: None,
            is_down: false,
            asked: 0,
        }));
        let app = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&shared));
        let serving = axum::serve(listener, app);
        let task = tokio::spawn(async move { serving.await.unwrap() });
        Self { url, shared, task }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap()
    }

    /// Returns the key that it signs with: the last one.
    pub(super) fn key(&self) -> Key {
        self.shared().keys.last().unwrap().clone()
    }

    /// Returns valid claims for alice with these changes; `null` removes a claim.
    pub(super) fn claims(&self, changes: &Value) -> Value {
        let usual = json!({
            "iss": self.url, "aud": RESOURCE, "sub": "alice", "client_id": "app", "exp": seconds(600), "scope": "a b",
        });
        merged(usual, changes)
    }

    /// Returns a token with these claims.
    pub(super) fn token(&self, changes: &Value) -> String {
        self.key().sign(&self.claims(changes), &json!({}))
    }

    /// Returns a token for this person.
    pub(super) fn token_of(&self, subject: &str) -> String {
        self.token(&json!({"sub": subject}))
    }
}

async fn answer(State(shared): State<Arc<Mutex<Shared>>>, request: Request) -> Response {
    let mut shared = shared.lock().unwrap();
    let path = request.uri().path();
    if path == "/keys" {
        shared.asked += 1;
    }
    if shared.is_down {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    match path {
        "/.well-known/oauth-authorization-server" => shared.metadata.to_string().into_response(),
        "/keys" => {
            let keys: Vec<Value> = shared.keys.iter().map(Key::public).collect();
            let keys = || json!({ "keys": keys }).to_string().into_bytes();
            shared.instead.clone().unwrap_or_else(keys).into_response()
        }
        "/moved" => (StatusCode::FOUND, [("location", "/keys")]).into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}
