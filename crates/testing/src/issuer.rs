//! An authorization server for tests: its metadata, its keys, and access tokens.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// An issuer of access tokens on a free port of this machine, until this is dropped. A server that checks tokens with
/// `Jwt::issuer(issuer.url())` accepts those that it [mints](Self::mint).
///
/// It serves its metadata and its keys, and has no pages to log in.
pub struct Issuer {
    url: String,
    resource: String,
    key: SigningKey,
    serving: JoinHandle<()>,
}

/// The id of the issuer's key.
const KEY: &str = "test-key";

/// How long tokens are valid, in seconds.
const LIFETIME: u64 = 600;

impl Issuer {
    /// Starts an issuer for the server at this URL: the one given to `ProtectedResource::new`, which need not be the URL at
    /// which the server really listens.
    ///
    /// # Panics
    ///
    /// Panics if this machine has no free port.
    pub async fn start(resource: impl Into<String>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.expect("this machine has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let url = format!("http://{address}");
        let key = SigningKey::generate();
        let metadata = json!({
            "issuer": url,
            "jwks_uri": format!("{url}/jwks"),
            "response_types_supported": ["code"],
        });
        let keys = json!({"keys": [key.public()]});
        let documents = [metadata.to_string(), keys.to_string()];
        let serving = tokio::spawn(serve_documents(listener, documents.into()));
        Self {
            url,
            resource: resource.into(),
            key,
            serving,
        }
    }

    /// Returns the URL that identifies the issuer.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns a token for this subject, with these scopes, that is valid for ten minutes.
    ///
    /// `claims` is an object of further claims. They replace the usual ones, which `null` removes: `json!({"exp": 0})` makes a
    /// token that has expired, and `json!({"aud": "https://other.example.com"})` one for another server.
    ///
    /// # Panics
    ///
    /// Panics if `claims` is not an object.
    #[must_use]
    pub fn mint<'s>(
        &self,
        subject: &str,
        scopes: impl IntoIterator<Item = &'s str>,
        claims: Value,
    ) -> String {
        self.key.sign(&self.claims(subject, scopes, claims))
    }

    /// Returns a token like [`mint`](Self::mint), but signed with a key that is not the issuer's, as an attacker would.
    ///
    /// # Panics
    ///
    /// Panics if `claims` is not an object.
    #[must_use]
    pub fn forge<'s>(
        &self,
        subject: &str,
        scopes: impl IntoIterator<Item = &'s str>,
        claims: Value,
    ) -> String {
        SigningKey::generate().sign(&self.claims(subject, scopes, claims))
    }

    fn claims<'s>(
        &self,
        subject: &str,
        scopes: impl IntoIterator<Item = &'s str>,
        claims: Value,
    ) -> Value {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.expect("the clock is right").as_secs();
        let scopes: Vec<&str> = scopes.into_iter().collect();
        let mut all = json!({
            "iss": self.url,
            "aud": self.resource,
            "sub": subject,
            "client_id": "test",
            "scope": scopes.join(" "),
            "iat": now,
            "exp": now + LIFETIME,
        });
        let Value::Object(claims) = claims else {
            panic!("claims are an object, not {claims}");
        };
        for (name, value) in claims {
            all[name] = value;
        }
        if let Some(all) = all.as_object_mut() {
            all.retain(|_, value| !value.is_null());
        }
        all
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Issuer").field(&self.url).finish()
    }
}

/// Serves the metadata and the keys.
async fn serve_documents(listener: TcpListener, documents: Arc<[String; 2]>) {
    while let Ok((stream, _)) = listener.accept().await {
        let documents = Arc::clone(&documents);
        tokio::spawn(async move {
            let serve = service_fn(move |request: Request<hyper::body::Incoming>| {
                let [metadata, keys] = &*documents;
                let (status, body) = match request.uri().path() {
                    "/.well-known/oauth-authorization-server"
                    | "/.well-known/openid-configuration" => (StatusCode::OK, metadata.clone()),
                    "/jwks" => (StatusCode::OK, keys.clone()),
                    _ => (StatusCode::NOT_FOUND, String::new()),
                };
                let mut response = Response::new(body);
                *response.status_mut() = status;
                async { Ok::<_, Infallible>(response) }
            });
            let connection = http1::Builder::new();
            // The server may close the connection at any time.
            let _ = connection
                .serve_connection(TokioIo::new(stream), serve)
                .await;
        });
    }
}

struct SigningKey(EcdsaKeyPair);

impl SigningKey {
    fn generate() -> Self {
        let (algorithm, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random);
        let document = document.expect("the system has random bytes");
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random);
        Self(pair.expect("a new key is valid"))
    }

    fn public(&self) -> Value {
        // The first byte says that both coordinates follow.
        let point = &self.0.public_key().as_ref()[1..];
        let (x, y) = point.split_at(point.len() / 2);
        json!({"kty": "EC", "crv": "P-256", "use": "sig", "kid": KEY, "x": encode(x), "y": encode(y)})
    }

    fn sign(&self, claims: &Value) -> String {
        let header = json!({"alg": "ES256", "typ": "at+jwt", "kid": KEY});
        let [header, claims] = [&header, claims].map(|part| encode(part.to_string().as_bytes()));
        let message = format!("{header}.{claims}");
        let signature = self.0.sign(&SystemRandom::new(), message.as_bytes());
        let signature = signature.expect("the system has random bytes");
        format!("{message}.{}", encode(signature.as_ref()))
    }
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
