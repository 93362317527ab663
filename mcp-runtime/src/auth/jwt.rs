//! Tokens that say themselves whose they are: JSON Web Tokens.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::claims::{Audiences, Expected, now};
use super::fetch::Fetcher;
use super::jws::Token;
use super::key_set::{self, KeySet, Source, Times};
use super::{Authenticating, Authenticator, Credentials, Refused, Url};
use crate::context::Principal;

/// Checks tokens that are JSON Web Tokens, with the keys of the authorization server that issued them.
///
/// A token is let in if it is signed with one of the issuer's keys, by RS256, RS384, RS512, PS256, PS384, PS512, ES256,
/// ES384 or `EdDSA`; if `iss` is the issuer, `aud` is or holds the audience, and `exp` is not over; if `nbf`, where there is
/// one, is over. Its subject is `sub` (or else the client), its client `client_id` or `azp`, its scopes are in `scope` and
/// `scp`.
///
/// The keys are found by the metadata of the issuer (RFC 8414, or `OpenID` Connect Discovery), over HTTPS (over HTTP on this
/// machine), each document within 5 s and 1 MiB, without redirects. They are kept for 10 minutes. A token with an unknown
/// key has them asked for again, at most every 30 s. While that fails, the last ones serve for an hour, and after that
/// requests are answered 503.
///
/// Source: RFC 9068, RFC 8707; `docs/requirements.md`, AUTH-02.
pub struct Jwt {
    issuer: String,
    audiences: Audiences,
    source: Result<Source, String>,
    fetcher: Fetcher,
    times: Times,
    skew: Duration,
    keys: KeySet,
}

impl Jwt {
    /// Tokens of this issuer: exactly the text of their `iss`, an address over HTTPS, or over HTTP on this machine.
    pub fn issuer(issuer: impl Into<String>) -> Self {
        let issuer = issuer.into();
        let source = match Url::parse(&issuer) {
            Ok(address) => Ok(Source::Issuer {
                name: issuer.clone(),
                address,
            }),
            Err(fault) => Err(format!("the issuer `{issuer}` {fault}")),
        };
        Self {
            issuer,
            audiences: Audiences::default(),
            source,
            fetcher: Fetcher::default(),
            times: Times::default(),
            skew: Duration::from_mins(1),
            keys: KeySet::default(),
        }
    }

    /// What `aud` of a token has to be, or hold. May be repeated; one of them is enough. Default: the address of the server.
    ///
    /// Compared as it is, but for small and capital letters in the host of an address.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.add(audience.into());
        self
    }

    /// Where the keys are, for an issuer without metadata, or with keys at another host. Default: the metadata says.
    #[must_use]
    pub fn key_set_url(mut self, address: &str) -> Self {
        let parsed = Url::parse(address).map(Source::At);
        self.source = parsed.map_err(|fault| format!("the key set `{address}` {fault}"));
        self
    }

    /// The keys themselves, `{"keys": […]}`: nothing is fetched then.
    #[must_use]
    pub fn key_set(mut self, keys: &Value) -> Self {
        self.source = key_set::read(keys).map(Source::Given);
        self
    }

    /// How far the clocks of issuer and server may differ. Default one minute.
    #[must_use]
    pub fn skew(mut self, skew: Duration) -> Self {
        self.skew = skew;
        self
    }

    /// How long the issuer may take to answer. Default 5 s.
    #[must_use]
    pub fn fetch_time(mut self, time: Duration) -> Self {
        self.fetcher.time = time;
        self
    }

    /// How old keys may be before they are asked for again, and how old, if that fails, before they are good for nothing.
    /// Default 10 minutes and one hour.
    #[must_use]
    pub fn keep_keys(mut self, fresh: Duration, good: Duration) -> Self {
        self.times.fresh = fresh;
        self.times.good = good;
        self
    }

    /// How long to wait, at least, before keys are asked for again. Default 30 s.
    #[must_use]
    pub fn refetch_after(mut self, pause: Duration) -> Self {
        self.times.pause = pause;
        self
    }

    async fn check(&self, credentials: &Credentials<'_>) -> Result<Principal, Refused> {
        let token = Token::read(credentials.token).map_err(Refused::invalid)?;
        let source = self.source.as_ref().map_err(Refused::unavailable)?;
        let how = (source, &self.fetcher, self.times);
        let keys = self.keys.keys_for(&token, how).await?;
        let claims = token.verify(&*keys).map_err(Refused::invalid)?;
        let audiences = self.audiences.or(credentials.resource);
        let expected = Expected {
            issuer: Some(&self.issuer),
            audiences: Some(&audiences),
            expires: true,
            skew: self.skew,
        };
        expected.check(claims, now()).map_err(Refused::invalid)
    }
}

impl Authenticator for Jwt {
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> Authenticating<'a> {
        Box::pin(self.check(credentials))
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
