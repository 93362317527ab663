//! Discovers and caches an authorization server's signing keys, and refetches them when a token's key is unknown.
//!
//! Requests go only to the configured issuer's host or to an explicitly configured URL. Only one fetch runs at a time.
//! Each fetch runs in a separate task, so it continues even if the caller that started it disconnects. While the
//! authorization server does not respond, the last valid keys are accepted for a limited time; after that, tokens are
//! no longer accepted.
//!
//! Source: RFC 8414, `OpenID` Connect Discovery 1.0, RFC 7517.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use hyper::body::{Body as _, Incoming};
use hyper::header::HeaderValue;
use hyper::{Request, StatusCode, header};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use mcp_core::sync::lock;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::auth::jws::{SignedToken, VerificationKey};
use crate::auth::{AuthError, Url};

/// The source of an issuer's keys.
#[derive(Clone)]
pub(super) enum KeySource {
    /// The `jwks_uri` in the issuer's metadata.
    Issuer { name: String, url: Url },
    /// A configured URL.
    At(Url),
    /// Configured keys.
    Given(Arc<[VerificationKey]>),
}

/// Lifetimes of cached keys, and the minimum interval between fetches.
#[derive(Clone, Copy)]
pub(super) struct KeyCacheTimes {
    /// Age at which keys are refetched.
    pub(super) fresh: Duration,
    /// Age at which keys are no longer accepted.
    pub(super) good: Duration,
    /// Minimum time between two fetches.
    pub(super) pause: Duration,
}

impl Default for KeyCacheTimes {
    fn default() -> Self {
        Self {
            fresh: Duration::from_mins(10),
            good: Duration::from_hours(1),
            pause: Duration::from_secs(30),
        }
    }
}

/// An issuer's keys.
#[derive(Default)]
pub(super) struct KeySet(Mutex<KeyCache>);

type SharedKeyFetch = Shared<BoxFuture<'static, Option<Arc<[VerificationKey]>>>>;

#[derive(Default)]
struct KeyCache {
    kept: Option<(Arc<[VerificationKey]>, Instant)>,
    /// Time of the last fetch.
    fetched: Option<Instant>,
    flight: Option<SharedKeyFetch>,
}

impl KeySet {
    fn lock_cache(&self) -> MutexGuard<'_, KeyCache> {
        lock(&self.0)
    }

    /// Returns the keys with which a token may have been signed.
    pub(super) async fn keys_for(
        &self,
        token: &SignedToken<'_>,
        source: &KeySource,
        fetcher: &Fetcher,
        times: KeyCacheTimes,
    ) -> Result<Arc<[VerificationKey]>, AuthError> {
        if let KeySource::Given(keys) = source {
            return Ok(Arc::clone(keys));
        }
        let has_one =
            |keys: &[VerificationKey]| keys.iter().any(|key| token.may_be_signed_with(key));
        if let Some(keys) = self.cached_keys(times.fresh)
            && has_one(&keys)
        {
            return Ok(keys);
        }
        self.refresh_keys(source, fetcher, times.pause).await;
        let fresh = self.cached_keys(times.fresh);
        let is_fresh = fresh.is_some();
        match fresh.or_else(|| self.cached_keys(times.good)) {
            Some(keys) if has_one(&keys) => Ok(keys),
            Some(_) if is_fresh => Err(AuthError::invalid("the token's key is unknown")),
            _ => Err(AuthError::unavailable("the issuer's keys are unavailable")),
        }
    }

    /// Returns the cached keys, unless they are older than `age`.
    fn cached_keys(&self, age: Duration) -> Option<Arc<[VerificationKey]>> {
        let state = self.lock_cache();
        let kept = state.kept.as_ref();
        let kept = kept.filter(|(_, since)| since.elapsed() < age);
        kept.map(|(keys, _)| Arc::clone(keys))
    }

    /// Fetches the keys, or waits for a fetch in progress. Does nothing if the last fetch was less than `pause` ago.
    async fn refresh_keys(&self, source: &KeySource, fetcher: &Fetcher, pause: Duration) {
        let flight = {
            let mut state = self.lock_cache();
            match &state.flight {
                Some(flight) => flight.clone(),
                None if state.fetched.is_some_and(|asked| asked.elapsed() < pause) => return,
                None => {
                    let asking =
                        KeyFetch(tokio::spawn(fetch_keys(source.clone(), fetcher.clone())));
                    let flight = asking.boxed().shared();
                    state.fetched = Some(Instant::now());
                    state.flight.insert(flight).clone()
                }
            }
        };
        let answered = flight.clone().await;
        let mut state = self.lock_cache();
        // The first waiting caller to resume stores the keys.
        if state
            .flight
            .as_ref()
            .is_some_and(|other| other.ptr_eq(&flight))
        {
            state.flight = None;
            if let Some(keys) = answered {
                state.kept = Some((keys, Instant::now()));
            }
        }
    }
}

/// A fetch in progress, which is aborted when the key set is dropped.
struct KeyFetch(JoinHandle<Option<Arc<[VerificationKey]>>>);

impl Future for KeyFetch {
    type Output = Option<Arc<[VerificationKey]>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = Pin::new(&mut self.0).poll(cx);
        polled.map(|answered| answered.ok().flatten())
    }
}

impl Drop for KeyFetch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Fetches the keys. Failures are logged.
async fn fetch_keys(source: KeySource, fetcher: Fetcher) -> Option<Arc<[VerificationKey]>> {
    let document = match &source {
        KeySource::Given(keys) => return Some(Arc::clone(keys)),
        KeySource::At(url) => fetcher.get_json(url.as_str()).await,
        KeySource::Issuer { name, url } => match find_key_set_url(name, url, &fetcher).await {
            Ok(url) => fetcher.get_json(url.as_str()).await,
            Err(problem) => Err(problem),
        },
    };
    match document.and_then(|set| parse_key_set(&set)) {
        Ok(keys) => Some(keys),
        Err(problem) => {
            tracing::warn!(problem, "the token issuer's keys cannot be fetched");
            None
        }
    }
}

/// Reads the usable keys from a key set.
pub(super) fn parse_key_set(set: &Value) -> Result<Arc<[VerificationKey]>, String> {
    let keys = set.get("keys").and_then(Value::as_array);
    let keys: Vec<VerificationKey> = keys
        .into_iter()
        .flatten()
        .filter_map(VerificationKey::read)
        .collect();
    if keys.is_empty() {
        return Err("the key set has no usable key".to_owned());
    }
    Ok(keys.into())
}

/// Returns the URL of an issuer's keys, taken from the issuer's metadata.
async fn find_key_set_url(name: &str, issuer: &Url, fetcher: &Fetcher) -> Result<Url, String> {
    let openid = "/.well-known/openid-configuration";
    let mut urls = vec![
        issuer.well_known("oauth-authorization-server"),
        issuer.well_known("openid-configuration"),
    ];
    if !issuer.path().is_empty() {
        urls.push(format!("{}{}{openid}", issuer.origin(), issuer.path()));
    }
    let mut problem = String::new();
    for url in urls {
        let metadata = match fetcher.get_json(&url).await {
            Ok(metadata) => metadata,
            Err(error) => {
                problem = format!("{url}: {error}");
                continue;
            }
        };
        let text = |name| metadata.get(name).and_then(Value::as_str);
        if text("issuer") != Some(name) {
            return Err(format!("{url} contains the metadata of another issuer"));
        }
        let keys = text("jwks_uri").ok_or_else(|| format!("{url} has no `jwks_uri`"))?;
        let keys = Url::parse(keys).map_err(|fault| format!("`jwks_uri` in {url} {fault}"))?;
        if keys.origin() != issuer.origin() {
            return Err(format!(
                "{url} refers to keys on another host, {keys}; if they belong there, set `key_set_url`"
            ));
        }
        return Ok(keys);
    }
    Err(problem)
}

// --- Sends requests to an authorization server. Responses are subject to time and size limits, and redirects are not
// followed.

/// Maximum size of a document, in bytes.
const MAX_DOCUMENT_BYTES: usize = 1 << 20;

/// HTTP client for authorization servers. Opens connections on demand and reuses them for later requests.
#[derive(Clone)]
pub(super) struct Fetcher {
    /// Timeout for a response.
    pub(super) time: Duration,
    client: Arc<OnceLock<Result<HttpsClient, String>>>,
}

type HttpsClient = Client<HttpsConnector<HttpConnector>, String>;

impl Default for Fetcher {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(5),
            client: Arc::default(),
        }
    }
}

impl Fetcher {
    /// Fetches the document at this URL, which the caller has validated.
    async fn get_json(&self, url: &str) -> Result<Value, String> {
        let request = Request::get(url).body(String::new());
        self.request_json(request.map_err(|error| error.to_string())?)
            .await
    }

    /// Sends a request and parses the response as JSON. The error describes the failure.
    pub(super) async fn request_json(&self, mut request: Request<String>) -> Result<Value, String> {
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::ACCEPT, json);
        let response = async {
            let response = self.client()?.request(request).await;
            let response = response.map_err(|error| error_chain(&error))?;
            // Redirects are not followed because requests may go only to configured URLs.
            if response.status() != StatusCode::OK {
                return Err(format!("the server answered {}", response.status()));
            }
            let bytes = read_response(response.into_body()).await?;
            serde_json::from_slice(&bytes).map_err(|_| "the response is not JSON".to_owned())
        };
        let answered = tokio::time::timeout(self.time, response).await;
        answered.unwrap_or_else(|_| Err(format!("no response within {:?}", self.time)))
    }

    fn client(&self) -> Result<&HttpsClient, String> {
        let made = self.client.get_or_init(|| {
            // The provider is specified explicitly because a program with more than one provider has no default.
            let provider = rustls::crypto::ring::default_provider();
            let builder = HttpsConnectorBuilder::new();
            let builder = builder.with_provider_and_native_roots(provider);
            let builder =
                builder.map_err(|error| format!("no trusted root certificates: {error}"))?;
            // Plain HTTP is used only for URLs on this machine, as checked when the URLs were parsed.
            let connector = builder.https_or_http().enable_http1().build();
            Ok(Client::builder(TokioExecutor::new()).build(connector))
        });
        made.as_ref().map_err(Clone::clone)
    }
}

async fn read_response(mut body: Incoming) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|error| error_chain(&error))?;
        if let Ok(data) = frame.into_data() {
            bytes.extend_from_slice(&data);
        }
        if bytes.len() > MAX_DOCUMENT_BYTES {
            return Err(format!("the response exceeds {MAX_DOCUMENT_BYTES} bytes"));
        }
    }
    Ok(bytes)
}

/// Returns the text of an error and its causes, because the outermost error alone is rarely informative.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
