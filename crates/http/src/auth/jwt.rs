//! Self-contained tokens: JSON Web Tokens.

use std::borrow::Cow;
use std::fmt;
use std::time::{Duration, SystemTime};

use mcp_core::context::Principal;
use serde_json::{Map, Value};

use crate::auth::jws::SignedToken;
use crate::auth::key_set::{Fetcher, KeyCacheTimes, KeySet, KeySource};
use crate::auth::{AuthError, AuthFuture, Authenticator, Credentials, Url, key_set};

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
        let keys = self
            .keys
            .keys_for(&token, source, &self.fetcher, self.times);
        let keys = keys.await?;
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

// --- Validates a token's claims.

/// Requirements for a token's claims.
pub(super) struct ClaimRequirements<'e> {
    /// The expected issuer. `None` if the authorization server has validated the token and therefore vouches for it.
    pub(super) issuer: Option<&'e str>,
    /// The accepted audiences, one of which the token must name. `None` if the authorization server has already checked
    /// the audience.
    pub(super) audiences: Option<&'e [&'e str]>,
    /// `true` if the token must specify when it expires.
    pub(super) expires: bool,
    /// Maximum difference between the clocks of the issuer and this server.
    pub(super) skew: Duration,
}

/// The audiences for which tokens may be issued, by default the server's URL.
#[derive(Debug, Default)]
pub(super) struct AcceptedAudiences(Vec<String>);

impl AcceptedAudiences {
    pub(super) fn add(&mut self, audience: String) {
        let canonical = Url::parse(&audience).map(|url| url.as_str().to_owned());
        self.0.push(canonical.unwrap_or(audience));
    }

    pub(super) fn audiences_or_resource<'a>(&'a self, resource: &'a str) -> Vec<&'a str> {
        if self.0.is_empty() {
            return vec![resource];
        }
        self.0.iter().map(String::as_str).collect()
    }
}

/// Returns the current time in seconds since 1970.
pub(super) fn unix_now() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

/// Begins the subject of a client that acts on its own behalf. No token can have such a subject otherwise.
const CLIENT_SUBJECT: &str = "client_id:";

/// The end of the year 9999, in seconds since 1970. An `exp` after it is a mistake, such as milliseconds, and would let
/// streams stay open for ever.
const LATEST_EXPIRY: f64 = 253_402_300_800.0;

/// Converts seconds since 1970 to a time. Returns `None` if it is out of range.
fn system_time_from_unix(seconds: f64) -> Option<SystemTime> {
    let since = Duration::try_from_secs_f64(seconds).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(since)
}

impl ClaimRequirements<'_> {
    /// Returns the principal that these claims identify, or the reason why the claims are not valid.
    pub(super) fn check_claims(
        &self,
        claims: Map<String, Value>,
        now: f64,
    ) -> Result<Principal, &'static str> {
        let text = |name| claims.get(name).and_then(Value::as_str);
        let issuer = match (text("iss"), self.issuer) {
            (said, Some(issuer)) if said != Some(issuer) => return Err("wrong issuer"),
            (_, Some(issuer)) => issuer,
            (said, None) => said.unwrap_or_default(),
        };
        if let Some(audiences) = self.audiences
            && !names_an_audience(claims.get("aud"), audiences)
        {
            return Err("the token is for another server");
        }
        let skew = self.skew.as_secs_f64();
        let expiry = match claims.get("exp").map(Value::as_f64) {
            None if !self.expires => None,
            Some(Some(expiry)) if expiry >= LATEST_EXPIRY => {
                return Err("the token's `exp` is not a number of seconds since 1970");
            }
            Some(Some(expiry)) if now < expiry + skew => system_time_from_unix(expiry + skew),
            Some(Some(_)) => return Err("the token has expired"),
            None | Some(None) => return Err("the token has no valid `exp`"),
        };
        match claims.get("nbf").map(Value::as_f64) {
            None => {}
            Some(Some(begin)) if begin <= now + skew => {}
            Some(_) => return Err("the token is not valid yet"),
        }
        let client = text("client_id").or(text("azp")).unwrap_or_default();
        let is_text = |subject: &Value| subject.is_string() || subject.is_null();
        if !claims.get("sub").is_none_or(is_text) {
            return Err("the token's `sub` is not a string");
        }
        let subject = subject_of(text("sub"), client)?;
        let mut principal = Principal::new(subject)
            .with_issuer(issuer)
            .with_client_id(client)
            .with_scopes(granted_scopes(&claims));
        if let Some(expiry) = expiry {
            principal = principal.with_expires_at(expiry);
        }
        Ok(principal.with_claims(claims))
    }
}

/// Returns the subject of a token with these claims.
///
/// If a client acts on its own behalf, its token has no subject or names the client as the subject. Clients can often
/// choose their ids, so such a subject is made distinguishable from all users (RFC 9068, section 5).
fn subject_of<'c>(subject: Option<&'c str>, client: &str) -> Result<Cow<'c, str>, &'static str> {
    match subject {
        Some(subject) if subject.starts_with(CLIENT_SUBJECT) => {
            Err("the token's `sub` begins with `client_id:`, which is for clients without a user")
        }
        Some(subject) if !subject.is_empty() && subject != client => Ok(subject.into()),
        Some("") => Err("the token names no subject"),
        None if client.is_empty() => Err("the token names no subject"),
        Some(_) | None => Ok(format!("{CLIENT_SUBJECT}{client}").into()),
    }
}

/// Returns `true` if the token names one of these audiences. Hosts are compared in lower case; no other normalization
/// is applied.
fn names_an_audience(audience: Option<&Value>, audiences: &[&str]) -> bool {
    let is_accepted = |audience: &Value| {
        let Some(audience) = audience.as_str() else {
            return false;
        };
        let canonical = Url::parse(audience).ok();
        let audience = canonical.as_ref().map_or(audience, Url::as_str);
        audiences.contains(&audience)
    };
    match audience {
        Some(Value::Array(all)) => all.iter().any(is_accepted),
        Some(one) => is_accepted(one),
        None => false,
    }
}

/// Returns the token's scopes, taken from `scope` (a string) and `scp` (a string or a list).
fn granted_scopes(claims: &Map<String, Value>) -> Vec<String> {
    let mut scopes = Vec::new();
    for claim in ["scope", "scp"].iter().filter_map(|name| claims.get(*name)) {
        let texts = match claim {
            Value::Array(all) => all.as_slice(),
            one => std::slice::from_ref(one),
        };
        let texts = texts.iter().filter_map(Value::as_str);
        scopes.extend(
            texts
                .flat_map(str::split_ascii_whitespace)
                .map(str::to_owned),
        );
    }
    scopes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::auth::jwt::*;

    const NOW: f64 = 1_000_000.0;

    fn check(claims: &Value) -> Result<Principal, &'static str> {
        let expected = ClaimRequirements {
            issuer: Some("https://i.example.com"),
            audiences: Some(&["https://mcp.example.com/mcp"]),
            expires: true,
            skew: Duration::from_mins(1),
        };
        expected.check_claims(claims.as_object().unwrap().clone(), NOW)
    }

    fn with(changes: &Value) -> Value {
        let mut claims = json!({
            "iss": "https://i.example.com", "aud": "https://mcp.example.com/mcp", "sub": "alice", "exp": NOW + 1.0,
        });
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims
            .as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
        claims
    }

    #[test]
    fn a_token_for_this_server_is_let_in_and_no_other() {
        for (changes, good) in [
            (json!({}), true),
            (json!({"aud": ["x", "https://mcp.example.com/mcp"]}), true),
            (json!({"aud": "HTTPS://MCP.example.com/mcp"}), true),
            (json!({"exp": NOW - 59.0}), true),
            (json!({"nbf": NOW + 59.0}), true),
            (json!({"sub": null, "client_id": "robot"}), true),
            (json!({"aud": "https://mcp.example.com/mcp/"}), false),
            (json!({"aud": "https://mcp.example.com/MCP"}), false),
            (json!({"aud": "https://mcp.example.com"}), false),
            (json!({"aud": []}), false),
            (json!({"aud": null}), false),
            (json!({"aud": 1}), false),
            (json!({"iss": null}), false),
            (json!({"iss": "https://i.example.com/"}), false),
            (json!({"exp": null}), false),
            (json!({"exp": "never"}), false),
            (json!({"exp": NOW - 61.0}), false),
            (json!({"nbf": NOW + 61.0}), false),
            (json!({"nbf": "soon"}), false),
            (json!({"sub": null}), false),
            (json!({"sub": ""}), false),
            (json!({"sub": 1}), false),
            (json!({"sub": 1, "client_id": "c"}), false),
        ] {
            let checked = check(&with(&changes));
            assert_eq!(checked.is_ok(), good, "{changes}: {checked:?}");
        }
    }

    #[test]
    fn scopes_and_client_ids_are_read_from_alternative_claims() {
        for (changes, client, scopes) in [
            (json!({"scope": "a b  c"}), "", "a b c"),
            (json!({"scp": ["b", "a"], "azp": "app"}), "app", "a b"),
            (
                json!({"scp": "a b", "client_id": "c", "azp": "d"}),
                "c",
                "a b",
            ),
            (json!({"scope": "a", "scp": ["b", 1]}), "", "a b"),
            (json!({"scope": 1}), "", ""),
        ] {
            let principal = check(&with(&changes)).unwrap();
            let granted: Vec<_> = principal.scopes().collect();
            assert_eq!(
                (principal.client_id(), &*granted.join(" ")),
                (client, scopes)
            );
        }
    }

    #[test]
    fn a_principal_expires_with_its_token_and_the_skew() {
        for (changes, seconds) in [
            (json!({"exp": NOW + 600.0}), NOW + 660.0),
            (json!({"exp": NOW - 59.0}), NOW + 1.0),
            (json!({"exp": NOW + 0.5}), NOW + 60.5),
        ] {
            let principal = check(&with(&changes)).unwrap();
            assert_eq!(
                principal.expires_at(),
                system_time_from_unix(seconds),
                "{changes}"
            );
        }
    }

    #[test]
    fn an_expiry_that_is_too_far_in_the_future_is_refused() {
        let last = LATEST_EXPIRY - 1.0;
        let principal = check(&with(&json!({"exp": last}))).unwrap();
        assert!(principal.expires_at().is_some());
        // The second is in milliseconds.
        for expiry in [LATEST_EXPIRY, 1_800_000_000_000.0, 1e300, f64::MAX] {
            let refused = check(&with(&json!({"exp": expiry})));
            assert!(refused.is_err(), "{expiry}");
        }
    }

    #[test]
    fn a_client_is_never_taken_for_a_user() {
        for (changes, subject) in [
            (json!({}), Some("alice")),
            (json!({"client_id": "app"}), Some("alice")),
            // The client has the name of a user.
            (
                json!({"sub": null, "client_id": "alice"}),
                Some("client_id:alice"),
            ),
            (
                json!({"sub": null, "azp": "alice"}),
                Some("client_id:alice"),
            ),
            (json!({"client_id": "alice"}), Some("client_id:alice")),
            (json!({"azp": "alice"}), Some("client_id:alice")),
            (json!({"sub": "client_id:alice"}), None),
            (
                json!({"sub": "client_id:alice", "client_id": "client_id:alice"}),
                None,
            ),
            (json!({"sub": null, "client_id": ""}), None),
            (json!({"sub": "", "client_id": "app"}), None),
        ] {
            let principal = check(&with(&changes));
            let found = principal.as_ref().ok().map(Principal::subject);
            assert_eq!(found, subject, "{changes}");
        }
    }

    #[test]
    fn configured_audiences_replace_the_resource_as_audience() {
        let mut audiences = AcceptedAudiences::default();
        assert_eq!(
            audiences.audiences_or_resource("https://mcp.example.com/"),
            ["https://mcp.example.com/"]
        );
        audiences.add("https://api.example.com".into());
        audiences.add("notes".into());
        assert_eq!(
            audiences.audiences_or_resource("https://mcp.example.com/"),
            ["https://api.example.com", "notes"]
        );
    }
}
