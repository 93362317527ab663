//! Self-contained tokens: JSON Web Tokens.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::claims::{AcceptedAudiences, ClaimRequirements, unix_now};
use super::fetch::Fetcher;
use super::jws::SignedToken;
use super::key_set::{self, KeyCacheTimes, KeySet, KeySource};
use super::{AuthError, AuthFuture, Authenticator, Credentials, Url};
use crate::context::Principal;

/// Validates JSON Web Tokens with the keys of the authorization server that issued them.
///
/// A token is accepted if `iss` is the issuer, `aud` is or contains the audience, `exp` has not passed, `nbf` (if
/// present) has passed, and the token is signed with one of the issuer's keys using RS256, RS384, RS512, PS256, PS384,
/// PS512, ES256, ES384 or `EdDSA`. The subject is taken from `sub`, the client from `client_id` or
/// `azp`, and the scopes from `scope` and `scp`. If a client acts on its own behalf, so that `sub` is missing or is the
/// client, the subject is `client_id:` and the client's id, which no user can have. An `exp` after the year 9999 is
/// invalid.
///
/// The keys are discovered through the issuer's metadata (RFC 8414 or `OpenID` Connect Discovery), over HTTPS or, on
/// this machine, over HTTP. Each document must arrive within 5 s and be no larger than 1 MiB; redirects are not
/// followed. Keys are cached for 10 minutes. A token with an unknown key causes a refetch, at most once every 30 s. If
/// refetching fails, the last keys are accepted until they are an hour old; after that, requests are answered with 503.
///
/// Source: RFC 9068, RFC 8707; `docs/requirements.md`, AUTH-02.
pub struct Jwt {
    issuer: String,
    audiences: AcceptedAudiences,
    source: Result<KeySource, String>,
    fetcher: Fetcher,
    times: KeyCacheTimes,
    skew: Duration,
    keys: KeySet,
}

impl Jwt {
    /// Accepts tokens from this issuer. The issuer must be an HTTPS URL, or an HTTP URL on this machine, and must
    /// exactly match the `iss` of the tokens.
    pub fn issuer(issuer: impl Into<String>) -> Self {
        let issuer = issuer.into();
        let source = match Url::parse(&issuer) {
            Ok(url) => Ok(KeySource::Issuer {
                name: issuer.clone(),
                url,
            }),
            Err(fault) => Err(format!("the issuer `{issuer}` {fault}")),
        };
        Self {
            issuer,
            audiences: AcceptedAudiences::default(),
            source,
            fetcher: Fetcher::default(),
            times: KeyCacheTimes::default(),
            skew: Duration::from_mins(1),
            keys: KeySet::default(),
        }
    }

    /// Adds an accepted audience. The `aud` of a token must be or contain one of the accepted audiences. Can be called
    /// more than once. Defaults to the server's URL.
    ///
    /// Audiences are compared exactly, except that the host of a URL is case-insensitive.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.add(audience.into());
        self
    }

    /// Sets the URL of the key set, for an issuer that does not publish metadata or hosts its keys elsewhere. By
    /// default, the URL is taken from the metadata.
    #[must_use]
    pub fn key_set_url(mut self, url: impl Into<String>) -> Self {
        let url = url.into();
        let parsed = Url::parse(&url).map(KeySource::At);
        self.source = parsed.map_err(|fault| format!("the key set `{url}` {fault}"));
        self
    }

    /// Sets the keys directly, in the form `{"keys": […]}`, so that keys are not fetched.
    #[must_use]
    pub fn key_set(mut self, keys: &Value) -> Self {
        self.source = key_set::parse_key_set(keys).map(KeySource::Given);
        self
    }

    /// Sets the maximum difference between the clocks of the issuer and the server. Defaults to one minute.
    #[must_use]
    pub fn skew(mut self, skew: Duration) -> Self {
        self.skew = skew;
        self
    }

    /// Sets the timeout for the issuer's response. Defaults to 5 s.
    #[must_use]
    pub fn fetch_time(mut self, time: Duration) -> Self {
        self.fetcher.time = time;
        self
    }

    /// Sets how long keys are cached before they are refetched, and how long stale keys are still accepted if
    /// refetching fails. The defaults are 10 minutes and one hour.
    #[must_use]
    pub fn keep_keys(mut self, fresh: Duration, good: Duration) -> Self {
        self.times.fresh = fresh;
        self.times.good = good;
        self
    }

    /// Sets the minimum time between two fetches of the keys. Defaults to 30 s.
    #[must_use]
    pub fn refetch_after(mut self, pause: Duration) -> Self {
        self.times.pause = pause;
        self
    }

    async fn authenticate_token(
        &self,
        credentials: &Credentials<'_>,
    ) -> Result<Principal, AuthError> {
        let token = SignedToken::read(credentials.token).map_err(AuthError::invalid)?;
        let source = self.source.as_ref().map_err(AuthError::unavailable)?;
        let how = (source, &self.fetcher, self.times);
        let keys = self.keys.keys_for(&token, how).await?;
        let claims = token.verify_signature(&*keys).map_err(AuthError::invalid)?;
        let audiences = self.audiences.audiences_or_resource(credentials.resource);
        let expected = ClaimRequirements {
            issuer: Some(&self.issuer),
            audiences: Some(&audiences),
            expires: true,
            skew: self.skew,
        };
        expected
            .check_claims(claims, unix_now())
            .map_err(AuthError::invalid)
    }
}

impl Authenticator for Jwt {
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> AuthFuture<'a> {
        Box::pin(self.authenticate_token(credentials))
    }

    fn issuer(&self) -> Option<&str> {
        Some(&self.issuer)
    }

    fn faults(&self) -> Vec<String> {
        self.source.as_ref().err().cloned().into_iter().collect()
    }
}

impl fmt::Debug for Jwt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jwt")
            .field("issuer", &self.issuer)
            .field("audiences", &self.audiences)
            .finish_non_exhaustive()
    }
}
