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
use mcp_schema::template::percent_encode;
use serde_json::{Map, Value};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use crate::auth::jwt::{AcceptedAudiences, ClaimRequirements, unix_now};
use crate::auth::key_set::Fetcher;
use crate::auth::static_tokens::hash_token;
use crate::auth::{AuthError, AuthFuture, Authenticator, Credentials, Url};
use crate::context::Principal;
use crate::sync::lock;

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
            principal = principal.with_expires_at(SystemTime::now() + DEFAULT_TOKEN_LIFETIME);
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

// --- The questions that are being asked: one at a time for each token, whose answer all of its requests share.
//
// A question lives as long as a request waits for it, and it waits in those requests: nothing is left of a question
// whose requests have all gone. The number of questions is therefore bounded by the number of requests.

/// Maximum number of concurrent requests to the authorization server. The number is limited because an anonymous caller
/// can trigger a request with every token that it makes up.
const AT_ONCE: usize = 64;

/// Maximum number of these requests for tokens that have not been active before.
const UNKNOWN_AT_ONCE: usize = 48;

/// The answer, or the reason why there is none.
pub(super) type Answer = Result<Arc<Value>, String>;

type SharedQuestion = Shared<BoxFuture<'static, Answer>>;

/// The questions that are being asked.
#[derive(Default)]
pub(super) struct TokenQuestions(Arc<OpenQuestions>);

struct OpenQuestions {
    permits: Semaphore,
    /// Permits for tokens that have not been active before, which they need in addition.
    unknown_permits: Semaphore,
    table: Mutex<QuestionTable>,
}

#[derive(Default)]
struct QuestionTable {
    last: u64,
    open: HashMap<TokenDigest, OpenQuestion>,
}

struct OpenQuestion {
    number: u64,
    answer: WeakShared<BoxFuture<'static, Answer>>,
}

impl Default for OpenQuestions {
    fn default() -> Self {
        Self {
            permits: Semaphore::new(AT_ONCE),
            unknown_permits: Semaphore::new(UNKNOWN_AT_ONCE),
            table: Mutex::default(),
        }
    }
}

impl OpenQuestions {
    /// Waits until a question may be asked.
    async fn permit(&self, was_active: bool) -> [Option<SemaphorePermit<'_>>; 2] {
        // The semaphores are never closed.
        let unknown = if was_active {
            None
        } else {
            self.unknown_permits.acquire().await.ok()
        };
        [unknown, self.permits.acquire().await.ok()]
    }
}

/// Removes a question when it has been answered, or when nobody waits for it any more.
struct RemoveQuestion {
    questions: Arc<OpenQuestions>,
    token: TokenDigest,
    number: u64,
}

impl Drop for RemoveQuestion {
    fn drop(&mut self) {
        let open = &mut lock(&self.questions.table).open;
        // The token may have another question by now.
        if open
            .get(&self.token)
            .is_some_and(|it| it.number == self.number)
        {
            open.remove(&self.token);
        }
    }
}

impl TokenQuestions {
    /// Asks a question about a token, or waits for the answer to the question that is already being asked about it.
    /// `was_active` is `true` if the token has been active before.
    pub(super) async fn ask<F>(
        &self,
        token: TokenDigest,
        was_active: bool,
        question: impl FnOnce() -> F,
    ) -> Answer
    where
        F: Future<Output = Result<Value, String>> + Send + 'static,
    {
        self.join(token, was_active, question).await
    }

    fn join<F>(
        &self,
        token: TokenDigest,
        was_active: bool,
        question: impl FnOnce() -> F,
    ) -> SharedQuestion
    where
        F: Future<Output = Result<Value, String>> + Send + 'static,
    {
        let mut table = lock(&self.0.table);
        let open = table.open.get(&token);
        if let Some(open) = open.and_then(|open| open.answer.upgrade()) {
            return open;
        }
        table.last = table.last.wrapping_add(1);
        let number = table.last;
        let removal = RemoveQuestion {
            questions: Arc::clone(&self.0),
            token,
            number,
        };
        let question = question();
        let asking = async move {
            let removal = removal;
            let _permit = removal.questions.permit(was_active).await;
            let answer = question.await;
            if let Err(problem) = &answer {
                tracing::warn!(
                    problem,
                    "tokens cannot be validated with the authorization server"
                );
            }
            answer.map(Arc::new)
        };
        let asking = asking.boxed().shared();
        if let Some(answer) = asking.downgrade() {
            table.open.insert(token, OpenQuestion { number, answer });
        }
        asking
    }
}

// --- What an authorization server has said about tokens, for a while.

/// Maximum number of active tokens that are remembered, and of refused tokens.
const MAX_REMEMBERED_TOKENS: usize = 1_000;

/// Time for which a refusal is kept. Short, because a new token may take a moment to reach all of an issuer's servers.
const REFUSAL_LIFETIME: Duration = Duration::from_secs(5);

/// The digest of a token.
pub(super) type TokenDigest = [u8; 32];

/// What is known about a token.
pub(super) enum TokenStanding {
    Active(Principal),
    /// The token has been active, but must be checked again.
    Stale,
    Refused(&'static str),
    Unknown,
}

/// The kept answers.
#[derive(Default)]
pub(super) struct KeptAnswers(Mutex<AnswerTable>);

#[derive(Default)]
struct AnswerTable {
    /// The tokens that were active, with the time until which that counts. After it, an entry only says that its token
    /// has been active.
    active: HashMap<TokenDigest, (Principal, Instant)>,
    refused: HashMap<TokenDigest, (&'static str, Instant)>,
}

impl KeptAnswers {
    fn table(&self) -> MutexGuard<'_, AnswerTable> {
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
    mod questions {
        use std::sync::atomic::{AtomicUsize, Ordering};

        use futures_util::future::{join_all, pending};
        use serde_json::json;

        use crate::auth::introspection::*;

        fn token(number: usize) -> TokenDigest {
            let mut token = [0; 32];
            token[..8].copy_from_slice(&number.to_be_bytes());
            token
        }

        fn open(questions: &TokenQuestions) -> usize {
            lock(&questions.0.table).open.len()
        }

        /// Polls once, as a request does that then waits.
        fn begin<F: Future + Unpin>(future: &mut F) -> bool {
            future.now_or_never().is_some()
        }

        #[tokio::test]
        async fn requests_with_the_same_token_share_one_introspection_request() {
            let (questions, asked) = (TokenQuestions::default(), AtomicUsize::new(0));
            let question = || {
                asked.fetch_add(1, Ordering::SeqCst);
                async {
                    tokio::task::yield_now().await;
                    Ok(json!({"active": true}))
                }
            };
            let waiting: Vec<_> = (0..120)
                .map(|_| questions.join(token(1), false, question))
                .collect();
            assert!(join_all(waiting).await.iter().all(Result::is_ok));
            assert_eq!((asked.load(Ordering::SeqCst), open(&questions)), (1, 0));
            // An answer is not shared with later requests.
            questions.ask(token(1), false, question).await.unwrap();
            assert_eq!(asked.load(Ordering::SeqCst), 2);
        }

        #[tokio::test]
        async fn an_introspection_request_continues_until_its_last_waiter_is_dropped() {
            let questions = TokenQuestions::default();
            let question = || async {
                tokio::task::yield_now().await;
                Ok(json!(7))
            };
            let mut first = questions.join(token(1), false, question);
            let second = questions.join(token(1), false, || async { Err("asked twice".into()) });
            assert!(!begin(&mut first));
            drop(first);
            assert_eq!(*second.await.unwrap(), json!(7));
            let mut waiting = questions.join(token(2), false, pending);
            assert!(!begin(&mut waiting));
            assert_eq!(open(&questions), 1);
            drop(waiting);
            assert_eq!(open(&questions), 0);
            assert_eq!(questions.0.permits.available_permits(), AT_ONCE);
        }

        #[tokio::test]
        async fn unknown_tokens_leave_room_for_tokens_that_were_active() {
            let questions = TokenQuestions::default();
            let mut waiting = Vec::new();
            for number in 0..2 * AT_ONCE {
                let mut question = questions.join(token(number), false, pending);
                assert!(!begin(&mut question));
                waiting.push(question);
            }
            let left = AT_ONCE - UNKNOWN_AT_ONCE;
            assert_eq!(questions.0.permits.available_permits(), left);
            let answered = || async { Ok(json!(true)) };
            let known = questions.ask(token(1_000), true, answered);
            known.now_or_never().expect("there is room").unwrap();
            let mut unknown = questions.join(token(1_001), false, answered);
            assert!(!begin(&mut unknown));
            // The one that has waited the longest goes first.
            drop(waiting.split_off(UNKNOWN_AT_ONCE));
            assert!(!begin(&mut unknown));
            waiting.pop();
            assert!(begin(&mut unknown));
        }
    }

    mod answers {
        use crate::auth::introspection::*;

        fn token(number: usize) -> TokenDigest {
            let mut token = [0; 32];
            token[..8].copy_from_slice(&number.to_be_bytes());
            token
        }

        fn is_stale(kept: &KeptAnswers, number: usize) -> bool {
            matches!(kept.standing(&token(number)), TokenStanding::Stale)
        }

        fn is_active(kept: &KeptAnswers, number: usize) -> bool {
            matches!(kept.standing(&token(number)), TokenStanding::Active(_))
        }

        fn is_refused(kept: &KeptAnswers, number: usize) -> bool {
            matches!(kept.standing(&token(number)), TokenStanding::Refused(_))
        }

        #[tokio::test(start_paused = true)]
        async fn an_active_token_is_remembered_after_its_cached_answer_is_stale() {
            let (kept, alice) = (KeptAnswers::default(), Principal::new("alice"));
            kept.keep_active(token(1), &alice, Duration::from_secs(30));
            tokio::time::advance(Duration::from_secs(29)).await;
            assert!(is_active(&kept, 1) && !is_active(&kept, 2));
            tokio::time::advance(Duration::from_secs(1)).await;
            assert!(is_stale(&kept, 1));
            kept.keep_active(token(2), &alice, Duration::ZERO);
            assert!(is_stale(&kept, 2));
            kept.keep_refused(token(1), "revoked");
            assert!(is_refused(&kept, 1));
            tokio::time::advance(REFUSAL_LIFETIME).await;
            assert!(matches!(kept.standing(&token(1)), TokenStanding::Unknown));
            kept.keep_refused(token(2), "not yet");
            kept.keep_active(token(2), &alice, Duration::from_secs(1));
            assert!(is_active(&kept, 2));
        }

        #[tokio::test(start_paused = true)]
        async fn the_caches_of_active_and_refused_tokens_are_bounded() {
            let (kept, alice) = (KeptAnswers::default(), Principal::new("alice"));
            for number in 0..=MAX_REMEMBERED_TOKENS {
                kept.keep_active(token(number), &alice, Duration::from_secs(30));
                kept.keep_refused(token(MAX_REMEMBERED_TOKENS + 1 + number), "made up");
                tokio::time::advance(Duration::from_millis(1)).await;
            }
            let table = kept.table();
            assert_eq!(
                (table.active.len(), table.refused.len()),
                (MAX_REMEMBERED_TOKENS, MAX_REMEMBERED_TOKENS)
            );
            drop(table);
            assert!(
                !is_active(&kept, 0)
                    && is_active(&kept, 1)
                    && is_active(&kept, MAX_REMEMBERED_TOKENS)
            );
            assert!(
                !is_refused(&kept, MAX_REMEMBERED_TOKENS + 1)
                    && is_refused(&kept, MAX_REMEMBERED_TOKENS + 2)
            );
        }
    }
}
