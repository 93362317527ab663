//! Discovers and caches an authorization server's signing keys, and refetches them when a token's key is unknown.
//!
//! Requests go only to the configured issuer's host or to an explicitly configured URL. Only one fetch runs at a time.
//! Each fetch runs in a separate task, so it continues even if the caller that started it disconnects. While the
//! authorization server does not respond, the last valid keys are accepted for a limited time; after that, tokens are
//! no longer accepted.
//!
//! Source: RFC 8414, `OpenID` Connect Discovery 1.0, RFC 7517.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::fetch::Fetcher;
use super::jws::{SignedToken, VerificationKey};
use super::{AuthError, Url};

use crate::lock::lock;

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
        (source, fetcher, times): (&KeySource, &Fetcher, KeyCacheTimes),
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
