//! Tokens that say nothing: the authorization server is asked about each.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Request;
use hyper::header;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::claims::{Audiences, Expected, now};
use super::fetch::Fetcher;
use super::static_tokens::hashed;
use super::{Authenticating, Authenticator, Credentials, Refused, Url};
use crate::context::Principal;
use crate::handler::template::percent_encode;

/// Most answers that are kept.
const MOST: usize = 1_000;
/// For how long a token is taken for valid of which nobody says when it expires, before it has to come again.
const UNSAID: Duration = Duration::from_hours(1);
/// Most questions at once: strangers can have as many asked as they know how to make up tokens.
const AT_ONCE: usize = 64;

/// Asks the authorization server about each token (RFC 7662), with credentials of the server's own.
///
/// A token is let in if the answer says that it is `active`, and `aud` is or holds the audience; `exp` and `nbf`, where the
/// answer has them, are checked too. Good answers are kept for half a minute, at most 1,000 of them and none beyond `exp`:
/// so long a token that was revoked may still be good. An answer may take 5 s and 1 MiB; without one, and while 64 others are
/// waited for, requests are answered 503.
///
/// Streams of notifications end at `exp`, or after an hour if the answer has none; a client that comes back with its token is
/// asked about anew.
pub struct Introspection {
    issuer: String,
    endpoint: String,
    authorization: String,
    audiences: Audiences,
    trusts_audience: bool,
    fetcher: Fetcher,
    keep: Duration,
    kept: Mutex<HashMap<[u8; 32], (Principal, Instant)>>,
    /// Places for questions.
    asking: Semaphore,
}

impl Introspection {
    /// Asks `endpoint` of the authorization server `issuer`, as this client.
    ///
    /// Both are addresses over HTTPS, or over HTTP on this machine.
    pub fn new(
        issuer: impl Into<String>,
        endpoint: impl Into<String>,
        client_id: &str,
        client_secret: &str,
    ) -> Self {
        let [id, secret] = [client_id, client_secret].map(percent_encode);
        Self {
            issuer: issuer.into(),
            endpoint: endpoint.into(),
            authorization: format!("Basic {}", STANDARD.encode(format!("{id}:{secret}"))),
            audiences: Audiences::default(),
            trusts_audience: false,
            fetcher: Fetcher::default(),
            keep: Duration::from_secs(30),
            kept: Mutex::default(),
            asking: Semaphore::new(AT_ONCE),
        }
    }

    /// What `aud` of an answer has to be, or hold. May be repeated; one of them is enough. Default: the address of the server.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.add(audience.into());
        self
    }

    /// Lets in what is `active`, whatever `aud` is. Only for an authorization server that says so of no token but those
    /// issued for this server: with any other, tokens for other servers would be good here.
    #[must_use]
    pub fn trust_audience(mut self) -> Self {
        self.trusts_audience = true;
        self
    }

    /// How long the authorization server may take to answer. Default 5 s.
    #[must_use]
    pub fn fetch_time(mut self, time: Duration) -> Self {
        self.fetcher.time = time;
        self
    }

    /// How long a good answer is kept. Default 30 s; zero asks each time.
    #[must_use]
    pub fn keep(mut self, time: Duration) -> Self {
        self.keep = time;
        self
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<[u8; 32], (Principal, Instant)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn check(&self, credentials: &Credentials<'_>) -> Result<Principal, Refused> {
        let key = hashed(credentials.token);
        if let Some((principal, until)) = self.kept().get(&key)
            && Instant::now() < *until
        {
            return Ok(principal.clone());
        }
        let Ok(_place) = self.asking.try_acquire() else {
            return Err(Refused::unavailable("too many tokens are asked about"));
        };
        let answer = self.ask(credentials.token).await.map_err(|problem| {
            tracing::warn!(
                problem,
                "the authorization server cannot be asked about tokens"
            );
            Refused::unavailable(problem)
        })?;
        let Value::Object(answer) = answer else {
            return Err(Refused::unavailable("the answer is no object"));
        };
        if answer.get("active") != Some(&Value::Bool(true)) {
            return Err(Refused::invalid("it is not active"));
        }
        let left = match answer.get("exp").and_then(Value::as_f64) {
            None => self.keep,
            Some(expiry) => {
                let left = Duration::try_from_secs_f64((expiry - now()).max(0.0));
                left.unwrap_or(self.keep).min(self.keep)
            }
        };
        let audiences = self.audiences.or(credentials.resource);
        let expected = Expected {
            issuer: answer.contains_key("iss").then_some(&*self.issuer),
            audiences: (!self.trusts_audience).then_some(&*audiences),
            expires: false,
            skew: Duration::ZERO,
        };
        let principal = expected.check(answer, now()).map_err(Refused::invalid)?;
        let mut principal = principal.issuer(&*self.issuer);
        if principal.expires_at().is_none() {
            principal = principal.with_expires_at(SystemTime::now() + UNSAID);
        }
        self.remember(key, &principal, left);
        Ok(principal)
    }

    fn remember(&self, key: [u8; 32], principal: &Principal, time: Duration) {
        if time.is_zero() {
            return;
        }
        let now = Instant::now();
        let mut kept = self.kept();
        if kept.len() >= MOST {
            kept.retain(|_, (_, until)| now < *until);
        }
        // With so many active at once, the others are asked about each time.
        if kept.len() < MOST
            && let Some(until) = now.checked_add(time)
        {
            kept.insert(key, (principal.clone(), until));
        }
    }

    async fn ask(&self, token: &str) -> Result<Value, String> {
        let form = format!(
            "token={}&token_type_hint=access_token",
            percent_encode(token)
        );
        let request = Request::post(&self.endpoint)
            .header(header::AUTHORIZATION, &self.authorization)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form);
        let request = request.map_err(|error| error.to_string())?;
        self.fetcher.ask(request).await
    }
}

impl Authenticator for Introspection {
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> Authenticating<'a> {
        Box::pin(self.check(credentials))
    }

    fn issuer(&self) -> Option<&str> {
        Some(&self.issuer)
    }

    fn faults(&self) -> Vec<String> {
        let addresses = [("issuer", &self.issuer), ("endpoint", &self.endpoint)];
        let faults = addresses.into_iter().filter_map(|(what, address)| {
            let fault = Url::parse(address).err()?;
            Some(format!("the {what} `{address}` {fault}"))
        });
        faults.collect()
    }
}

/// Says nothing of the credentials.
impl fmt::Debug for Introspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Introspection")
            .field("issuer", &self.issuer)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}
