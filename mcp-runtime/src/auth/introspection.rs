//! Opaque tokens, validated by the authorization server (token introspection, RFC 7662).

mod answers;
mod questions;

use std::fmt;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Request;
use hyper::header;
use mcp_schema::template::percent_encode;
use serde_json::{Map, Value};

use self::answers::{KeptAnswers, TokenStanding};
use self::questions::TokenQuestions;
use super::claims::{AcceptedAudiences, ClaimRequirements, unix_now};
use super::fetch::Fetcher;
use super::static_tokens::hash_token;
use super::{AuthError, AuthFuture, Authenticator, Credentials, Url};
use crate::context::Principal;

/// Duration for which an active token is considered valid if the response does not contain `exp`. After that, the
/// client must send the token again.
const UNSAID: Duration = Duration::from_hours(1);
/// Validates each token by querying the authorization server (RFC 7662) with this server's client credentials.
///
/// A token is accepted if the response declares it `active` and its `aud` is or contains the audience; `exp` and `nbf`
/// are checked if present. Up to 1,000 positive results are cached for 30 s each, but not past `exp`; during this time,
/// a revoked token may still be accepted. Up to 1,000 refusals are cached for 5 s each. The response must arrive within
/// 5 s and be no larger than 1 MiB; otherwise, the client's request is answered with 503.
///
/// All requests with the same token wait for the same query. At most 64 queries run at once, of which at most 48 are
/// for tokens that have not been active before, so that made-up tokens cannot keep out the others. Further requests wait
/// for up to [`limits.http.authentication_timeout`](crate::Limits).
///
/// Notification streams end at `exp`, or after an hour if the response does not contain `exp`. If a client then
/// reconnects with its token, the token is validated again.
pub struct Introspection {
    issuer: String,
    endpoint: String,
    authorization: String,
    audiences: AcceptedAudiences,
    trusts_audience: bool,
    fetcher: Fetcher,
    keep: Duration,
    kept: KeptAnswers,
    questions: TokenQuestions,
}

impl Introspection {
    /// Creates an authenticator that queries the `endpoint` of the authorization server `issuer`, using the given
    /// client credentials.
    ///
    /// Both `issuer` and `endpoint` must be HTTPS URLs, or HTTP URLs on this machine.
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
            audiences: AcceptedAudiences::default(),
            trusts_audience: false,
            fetcher: Fetcher::default(),
            keep: Duration::from_secs(30),
            kept: KeptAnswers::default(),
            questions: TokenQuestions::default(),
        }
    }

    /// Adds an accepted audience. The `aud` of a response must be or contain one of the accepted audiences. Can be
    /// called more than once. Defaults to the server's URL.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.add(audience.into());
        self
    }

    /// Accepts every `active` token, regardless of its `aud`. Use this only if the authorization server does not report
    /// tokens issued for other servers as active; otherwise, this server would accept such tokens.
    #[must_use]
    pub fn trust_audience(mut self) -> Self {
        self.trusts_audience = true;
        self
    }

    /// Sets the timeout for the authorization server's response. Defaults to 5 s.
    #[must_use]
    pub fn fetch_time(mut self, time: Duration) -> Self {
        self.fetcher.time = time;
        self
    }

    /// Sets how long positive results are cached. Defaults to 30 s; zero disables caching.
    #[must_use]
    pub fn keep(mut self, time: Duration) -> Self {
        self.keep = time;
        self
    }

    async fn authenticate_token(
        &self,
        credentials: &Credentials<'_>,
    ) -> Result<Principal, AuthError> {
        let key = hash_token(credentials.token);
        let was_active = match self.kept.standing(&key) {
            TokenStanding::Active(principal) => return Ok(principal),
            TokenStanding::Refused(why) => return Err(AuthError::invalid(why)),
            TokenStanding::Stale => true,
            TokenStanding::Unknown => false,
        };
        let question = || self.introspect(credentials.token);
        let answer = self.questions.ask(key, was_active, question).await;
        let answer = answer.map_err(AuthError::unavailable)?;
        let Value::Object(answer) = &*answer else {
            return Err(AuthError::unavailable("the response is not a JSON object"));
        };
        let judged = self.judge(answer, credentials.resource);
        match &judged {
            Ok((principal, time)) => self.kept.keep_active(key, principal, *time),
            Err(why) => self.kept.keep_refused(key, why),
        }
        judged
            .map(|(principal, _)| principal)
            .map_err(AuthError::invalid)
    }

    /// Returns the principal that an answer describes and the time for which the answer may be cached, or the reason why
    /// the token is refused.
    fn judge(
        &self,
        answer: &Map<String, Value>,
        resource: &str,
    ) -> Result<(Principal, Duration), &'static str> {
        if answer.get("active") != Some(&Value::Bool(true)) {
            return Err("the token is not active");
        }
        let left = match answer.get("exp").and_then(Value::as_f64) {
            None => self.keep,
            Some(expiry) => {
                let left = Duration::try_from_secs_f64((expiry - unix_now()).max(0.0));
                left.unwrap_or(self.keep).min(self.keep)
            }
        };
        let audiences = self.audiences.audiences_or_resource(resource);
        let expected = ClaimRequirements {
            issuer: answer.contains_key("iss").then_some(&*self.issuer),
            audiences: (!self.trusts_audience).then_some(&*audiences),
            expires: false,
            skew: Duration::ZERO,
        };
        let principal = expected.check_claims(answer.clone(), unix_now())?;
        let mut principal = principal.with_issuer(&*self.issuer);
        if principal.expires_at().is_none() {
            principal = principal.with_expires_at(SystemTime::now() + UNSAID);
        }
        Ok((principal, left))
    }

    /// Asks the authorization server about a token.
    fn introspect(
        &self,
        token: &str,
    ) -> impl Future<Output = Result<Value, String>> + Send + use<> {
        let form = format!(
            "token={}&token_type_hint=access_token",
            percent_encode(token)
        );
        let request = Request::post(&self.endpoint)
            .header(header::AUTHORIZATION, &self.authorization)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form);
        let fetcher = self.fetcher.clone();
        async move {
            let request = request.map_err(|error| error.to_string())?;
            fetcher.request_json(request).await
        }
    }
}

impl Authenticator for Introspection {
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> AuthFuture<'a> {
        Box::pin(self.authenticate_token(credentials))
    }

    fn issuer(&self) -> Option<&str> {
        Some(&self.issuer)
    }

    fn faults(&self) -> Vec<String> {
        let urls = [("issuer", &self.issuer), ("endpoint", &self.endpoint)];
        let faults = urls.into_iter().filter_map(|(what, url)| {
            let fault = Url::parse(url).err()?;
            Some(format!("the {what} `{url}` {fault}"))
        });
        faults.collect()
    }
}

/// Omits the credentials.
impl fmt::Debug for Introspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Introspection")
            .field("issuer", &self.issuer)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}
