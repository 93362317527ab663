//! Opaque tokens, validated by the authorization server (token introspection, RFC 7662).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use hyper::{Request, header};
use mcp_core::context::Principal;
use mcp_core::sync::lock;
use mcp_schema::template::percent_encode;
use serde_json::{Map, Value};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use crate::auth::jwt::{AcceptedAudiences, ClaimRequirements, unix_now};
use crate::auth::key_set::Fetcher;
use crate::auth::static_tokens::hash_token;
use crate::auth::{AuthError, AuthFuture, Authenticator, Credentials, Url};

/// Duration for which an active token is considered valid if the response does not contain `exp`. After that, the
/// client must send the token again.
const DEFAULT_TOKEN_LIFETIME: Duration = Duration::from_hours(1);

/// Validates each token by querying the authorization server (RFC 7662) with this server's client credentials.
///
/// A token is accepted if the response declares it `active` and its `aud` is or contains the audience; `exp` and `nbf`
/// are checked if present. Up to 1,000 positive results are cached for 30 s each, but not past `exp`; during this time,
/// a revoked token may still be accepted. Up to 1,000 refusals are cached for 5 s each. The response must arrive within
/// 5 s and be no larger than 1 MiB; otherwise, the client's request is answered with 503.
///
/// All requests with the same token wait for the same query. At most 64 queries run at once, of which at most 48 are
/// for tokens that have not been active before, so that made-up tokens cannot keep out the others. Further requests wait
/// for up to [`limits.http.authentication_timeout`](mcp_core::limits::Limits).
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
    cache: TokenCache,
    requests: IntrospectionRequests,
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
            cache: TokenCache::default(),
            requests: IntrospectionRequests::default(),
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
        let history = match self.cache.standing(&key) {
            TokenStanding::Active(principal) => return Ok(principal),
            TokenStanding::Refused(why) => return Err(AuthError::invalid(why)),
            TokenStanding::Stale => TokenHistory::WasActive,
            TokenStanding::Unknown => TokenHistory::New,
        };
        let request = || self.introspect(credentials.token);
        let response = self.requests.send_or_join(key, history, request).await;
        let response = response.map_err(AuthError::unavailable)?;
        let Value::Object(response) = &*response else {
            return Err(AuthError::unavailable("the response is not a JSON object"));
        };
        let judged = self.judge(response, credentials.resource);
        match &judged {
            Ok((principal, time)) => self.cache.keep_active(key, principal, *time),
            Err(why) => self.cache.keep_refused(key, why),
        }
        judged
            .map(|(principal, _)| principal)
            .map_err(AuthError::invalid)
    }

    /// Returns the principal that a response describes and the time for which it may be cached, or the reason why
    /// the token is refused.
    fn judge(
        &self,
        response: &Map<String, Value>,
        resource: &str,
    ) -> Result<(Principal, Duration), &'static str> {
        if response.get("active") != Some(&Value::Bool(true)) {
            return Err("the token is not active");
        }
        let left = match response.get("exp").and_then(Value::as_f64) {
            None => self.keep,
            Some(expiry) => {
                let left = Duration::try_from_secs_f64((expiry - unix_now()).max(0.0));
                left.unwrap_or(self.keep).min(self.keep)
            }
        };
        let audiences = self.audiences.audiences_or_resource(resource);
        let expected = ClaimRequirements {
            issuer: response.contains_key("iss").then_some(&*self.issuer),
            audiences: (!self.trusts_audience).then_some(&*audiences),
            expires: false,
            skew: Duration::ZERO,
        };
        let principal = expected.check_claims(response.clone(), unix_now())?;
        let mut principal = principal.with_issuer(&*self.issuer);
        if principal.expires_at().is_none() {
            principal = principal.with_expires_at(SystemTime::now() + DEFAULT_TOKEN_LIFETIME);
        }
        Ok((principal, left))
    }

    /// Sends the introspection request for a token.
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

// --- Introspection requests: one at a time for each token, whose response all requests of clients with this token share.
//
// An introspection request lives as long as a client's request waits for it, and it is polled by those that wait:
// nothing is left of it once they have all gone. Their number is therefore bounded by the number of clients' requests.

/// Maximum number of concurrent requests to the authorization server. The number is limited because an anonymous caller
/// can trigger a request with every token that it makes up.
const AT_ONCE: usize = 64;

/// Maximum number of these requests for tokens that have not been active before.
const UNKNOWN_AT_ONCE: usize = 48;

/// The response, or the reason why there is none.
type IntrospectionResponse = Result<Arc<Value>, String>;

type SharedResponse = Shared<BoxFuture<'static, IntrospectionResponse>>;

/// What is known about a token before the authorization server is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenHistory {
    /// The token has been active.
    WasActive,
    New,
}

/// The requests in flight.
#[derive(Default)]
struct IntrospectionRequests(Arc<RequestsInFlight>);

struct RequestsInFlight {
    permits: Semaphore,
    /// Permits for new tokens, which they need in addition.
    new_permits: Semaphore,
    table: Mutex<RequestTable>,
}

#[derive(Default)]
struct RequestTable {
    last: u64,
    in_flight: HashMap<TokenDigest, RequestInFlight>,
}

struct RequestInFlight {
    number: u64,
    response: WeakShared<BoxFuture<'static, IntrospectionResponse>>,
}

impl Default for RequestsInFlight {
    fn default() -> Self {
        Self {
            permits: Semaphore::new(AT_ONCE),
            new_permits: Semaphore::new(UNKNOWN_AT_ONCE),
            table: Mutex::default(),
        }
    }
}

impl RequestsInFlight {
    /// Waits until a request may be sent.
    async fn permit(&self, history: TokenHistory) -> [Option<SemaphorePermit<'_>>; 2] {
        // The semaphores are never closed.
        let new = match history {
            TokenHistory::WasActive => None,
            TokenHistory::New => self.new_permits.acquire().await.ok(),
        };
        [new, self.permits.acquire().await.ok()]
    }
}

/// Removes a request from the table when its response has arrived, or when nobody waits for it any more.
struct RemoveRequest {
    requests: Arc<RequestsInFlight>,
    token: TokenDigest,
    number: u64,
}

impl Drop for RemoveRequest {
    fn drop(&mut self) {
        let in_flight = &mut lock(&self.requests.table).in_flight;
        // The token may have another request by now.
        if in_flight
            .get(&self.token)
            .is_some_and(|it| it.number == self.number)
        {
            in_flight.remove(&self.token);
        }
    }
}

impl IntrospectionRequests {
    /// Sends the request for a token, or waits for the response to the one that is already in flight.
    fn send_or_join<F>(
        &self,
        token: TokenDigest,
        history: TokenHistory,
        request: impl FnOnce() -> F,
    ) -> SharedResponse
    where
        F: Future<Output = Result<Value, String>> + Send + 'static,
    {
        let mut table = lock(&self.0.table);
        let sent = table.in_flight.get(&token);
        if let Some(response) = sent.and_then(|sent| sent.response.upgrade()) {
            return response;
        }
        table.last = table.last.wrapping_add(1);
        let number = table.last;
        let removal = RemoveRequest {
            requests: Arc::clone(&self.0),
            token,
            number,
        };
        let request = request();
        let sending = async move {
            let removal = removal;
            let _permit = removal.requests.permit(history).await;
            let response = request.await;
            if let Err(problem) = &response {
                tracing::warn!(
                    problem,
                    "tokens cannot be validated with the authorization server"
                );
            }
            response.map(Arc::new)
        };
        let sending = sending.boxed().shared();
        if let Some(response) = sending.downgrade() {
            let sent = RequestInFlight { number, response };
            table.in_flight.insert(token, sent);
        }
        sending
    }
}

// --- What an authorization server has said about tokens, for a while.

/// Maximum number of active tokens that are remembered, and of refused tokens.
const MAX_REMEMBERED_TOKENS: usize = 1_000;

/// Time for which a refusal is kept. Short, because a new token may take a moment to reach all of an issuer's servers.
const REFUSAL_LIFETIME: Duration = Duration::from_secs(5);

/// The digest of a token.
type TokenDigest = [u8; 32];

/// What is known about a token.
enum TokenStanding {
    Active(Principal),
    /// The token has been active, but must be checked again.
    Stale,
    Refused(&'static str),
    Unknown,
}

/// The tokens that are remembered.
#[derive(Default)]
struct TokenCache(Mutex<TokenTable>);

#[derive(Default)]
struct TokenTable {
    /// The tokens that were active, with the time until which that counts. After it, an entry only says that its token
    /// has been active.
    active: HashMap<TokenDigest, (Principal, Instant)>,
    refused: HashMap<TokenDigest, (&'static str, Instant)>,
}

impl TokenCache {
    fn table(&self) -> MutexGuard<'_, TokenTable> {
        lock(&self.0)
    }

    fn standing(&self, token: &TokenDigest) -> TokenStanding {
        let table = self.table();
        let now = Instant::now();
        if let Some((why, until)) = table.refused.get(token)
            && now < *until
        {
            return TokenStanding::Refused(why);
        }
        match table.active.get(token) {
            Some((principal, until)) if now < *until => TokenStanding::Active(principal.clone()),
            Some(_) => TokenStanding::Stale,
            None => TokenStanding::Unknown,
        }
    }

    /// Records that a token is active, which counts for this time.
    fn keep_active(&self, token: TokenDigest, principal: &Principal, time: Duration) {
        let now = Instant::now();
        let until = now.checked_add(time).unwrap_or(now);
        let mut table = self.table();
        table.refused.remove(&token);
        insert(&mut table.active, token, (principal.clone(), until));
    }

    /// Records that a token was refused.
    fn keep_refused(&self, token: TokenDigest, why: &'static str) {
        let until = Instant::now() + REFUSAL_LIFETIME;
        let mut table = self.table();
        table.active.remove(&token);
        insert(&mut table.refused, token, (why, until));
    }
}

/// Inserts an entry. If there is no room, the entry that ends first makes room.
fn insert<T>(
    entries: &mut HashMap<TokenDigest, (T, Instant)>,
    token: TokenDigest,
    entry: (T, Instant),
) {
    if entries.len() >= MAX_REMEMBERED_TOKENS && !entries.contains_key(&token) {
        let first = entries.iter().min_by_key(|(_, (_, until))| *until);
        if let Some(first) = first.map(|(token, _)| *token) {
            entries.remove(&first);
        }
    }
    entries.insert(token, entry);
}

#[cfg(test)]
mod tests {
    mod requests {
        use std::sync::atomic::{AtomicUsize, Ordering};

        use futures_util::future::{join_all, pending};
        use serde_json::json;

        use crate::auth::introspection::*;

        fn token(number: usize) -> TokenDigest {
            let mut token = [0; 32];
            token[..8].copy_from_slice(&number.to_be_bytes());
            token
        }

        fn in_flight(requests: &IntrospectionRequests) -> usize {
            lock(&requests.0.table).in_flight.len()
        }

        /// Polls once, as a request does that then waits.
        fn begin<F: Future + Unpin>(future: &mut F) -> bool {
            future.now_or_never().is_some()
        }

        #[tokio::test]
        async fn requests_with_the_same_token_share_one_introspection_request() {
            let (requests, sent) = (IntrospectionRequests::default(), AtomicUsize::new(0));
            let request = || {
                sent.fetch_add(1, Ordering::SeqCst);
                async {
                    tokio::task::yield_now().await;
                    Ok(json!({"active": true}))
                }
            };
            let waiting: Vec<_> = (0..120)
                .map(|_| requests.send_or_join(token(1), TokenHistory::New, request))
                .collect();
            assert!(join_all(waiting).await.iter().all(Result::is_ok));
            assert_eq!((sent.load(Ordering::SeqCst), in_flight(&requests)), (1, 0));
            // A response is not shared with later requests.
            requests
                .send_or_join(token(1), TokenHistory::New, request)
                .await
                .unwrap();
            assert_eq!(sent.load(Ordering::SeqCst), 2);
        }

        #[tokio::test]
        async fn an_introspection_request_continues_until_its_last_waiter_is_dropped() {
            let requests = IntrospectionRequests::default();
            let request = || async {
                tokio::task::yield_now().await;
                Ok(json!(7))
            };
            let mut first = requests.send_or_join(token(1), TokenHistory::New, request);
            let second = requests.send_or_join(token(1), TokenHistory::New, || async {
                Err("sent twice".into())
            });
            assert!(!begin(&mut first));
            drop(first);
            assert_eq!(*second.await.unwrap(), json!(7));
            let mut waiting = requests.send_or_join(token(2), TokenHistory::New, pending);
            assert!(!begin(&mut waiting));
            assert_eq!(in_flight(&requests), 1);
            drop(waiting);
            assert_eq!(in_flight(&requests), 0);
            assert_eq!(requests.0.permits.available_permits(), AT_ONCE);
        }

        #[tokio::test]
        async fn unknown_tokens_leave_room_for_tokens_that_were_active() {
            let requests = IntrospectionRequests::default();
            let mut waiting = Vec::new();
            for number in 0..2 * AT_ONCE {
                let mut request = requests.send_or_join(token(number), TokenHistory::New, pending);
                assert!(!begin(&mut request));
                waiting.push(request);
            }
            let left = AT_ONCE - UNKNOWN_AT_ONCE;
            assert_eq!(requests.0.permits.available_permits(), left);
            let response = || async { Ok(json!(true)) };
            let known = requests.send_or_join(token(1_000), TokenHistory::WasActive, response);
            known.now_or_never().expect("there is room").unwrap();
            let mut unknown = requests.send_or_join(token(1_001), TokenHistory::New, response);
            assert!(!begin(&mut unknown));
            // The one that has waited the longest goes first.
            drop(waiting.split_off(UNKNOWN_AT_ONCE));
            assert!(!begin(&mut unknown));
            waiting.pop();
            assert!(begin(&mut unknown));
        }
    }

    mod cache {
        use crate::auth::introspection::*;

        fn token(number: usize) -> TokenDigest {
            let mut token = [0; 32];
            token[..8].copy_from_slice(&number.to_be_bytes());
            token
        }

        fn is_stale(cache: &TokenCache, number: usize) -> bool {
            matches!(cache.standing(&token(number)), TokenStanding::Stale)
        }

        fn is_active(cache: &TokenCache, number: usize) -> bool {
            matches!(cache.standing(&token(number)), TokenStanding::Active(_))
        }

        fn is_refused(cache: &TokenCache, number: usize) -> bool {
            matches!(cache.standing(&token(number)), TokenStanding::Refused(_))
        }

        #[tokio::test(start_paused = true)]
        async fn an_active_token_is_remembered_after_its_cached_response_is_stale() {
            let (cache, alice) = (TokenCache::default(), Principal::new("alice"));
            cache.keep_active(token(1), &alice, Duration::from_secs(30));
            tokio::time::advance(Duration::from_secs(29)).await;
            assert!(is_active(&cache, 1) && !is_active(&cache, 2));
            tokio::time::advance(Duration::from_secs(1)).await;
            assert!(is_stale(&cache, 1));
            cache.keep_active(token(2), &alice, Duration::ZERO);
            assert!(is_stale(&cache, 2));
            cache.keep_refused(token(1), "revoked");
            assert!(is_refused(&cache, 1));
            tokio::time::advance(REFUSAL_LIFETIME).await;
            assert!(matches!(cache.standing(&token(1)), TokenStanding::Unknown));
            cache.keep_refused(token(2), "not yet");
            cache.keep_active(token(2), &alice, Duration::from_secs(1));
            assert!(is_active(&cache, 2));
        }

        #[tokio::test(start_paused = true)]
        async fn the_caches_of_active_and_refused_tokens_are_bounded() {
            let (cache, alice) = (TokenCache::default(), Principal::new("alice"));
            for number in 0..=MAX_REMEMBERED_TOKENS {
                cache.keep_active(token(number), &alice, Duration::from_secs(30));
                cache.keep_refused(token(MAX_REMEMBERED_TOKENS + 1 + number), "made up");
                tokio::time::advance(Duration::from_millis(1)).await;
            }
            let table = cache.table();
            assert_eq!(
                (table.active.len(), table.refused.len()),
                (MAX_REMEMBERED_TOKENS, MAX_REMEMBERED_TOKENS)
            );
            drop(table);
            assert!(
                !is_active(&cache, 0)
                    && is_active(&cache, 1)
                    && is_active(&cache, MAX_REMEMBERED_TOKENS)
            );
            assert!(
                !is_refused(&cache, MAX_REMEMBERED_TOKENS + 1)
                    && is_refused(&cache, MAX_REMEMBERED_TOKENS + 2)
            );
        }
    }
}
