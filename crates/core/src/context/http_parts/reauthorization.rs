//! A handler's requirement that its caller reauthorize, which is kept until it can be sent as a challenge.
//!
//! A challenge is part of a response head. If the head has already been sent when a handler fails, the challenge is
//! kept for the caller's next request with the same credentials. The challenge is written by `http`.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::host::Instant;
use crate::jsonrpc::ErrorObject;
use crate::sync::lock;

/// The challenge state of one request.
pub(super) struct Reauthorization {
    state: Mutex<ResponseHead>,
    pending: Arc<ChallengesForNextRequests>,
}

/// A caller and the credentials of one of its requests.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct ChallengedCaller<'a> {
    /// The key of the caller's principal. Credentials alone do not identify the caller if a gateway uses its own
    /// credentials for the requests of all its clients.
    pub(super) principal: &'a str,
    /// The `Authorization` header. A caller that already has new credentials does not need a challenge.
    pub(super) authorization: Option<&'a [u8]>,
}

/// A demand for reauthorization, and the digest of the caller that must reauthorize. Anonymous callers cannot be
/// recognized.
struct AuthorizationDemand(ErrorObject, Option<u64>);

/// The state of a response head with respect to challenges.
enum ResponseHead {
    /// The head has not been sent yet. The demand is boxed because few requests have one, and it would otherwise make
    /// every request's state larger.
    Unsent(Option<Box<AuthorizationDemand>>),
    Sent,
}

impl Reauthorization {
    /// Creates the challenge state of a new request.
    pub(super) fn new(pending: &Arc<ChallengesForNextRequests>) -> Self {
        Self {
            state: Mutex::new(ResponseHead::Unsent(None)),
            pending: Arc::clone(pending),
        }
    }

    /// Requires the caller to reauthorize, in this response or the next.
    pub(super) fn demand(&self, error: &ErrorObject, caller: Option<ChallengedCaller<'_>>) {
        let caller = caller.map(|caller| self.pending.digest(caller));
        let new = AuthorizationDemand(error.clone(), caller);
        match &mut *lock(&self.state) {
            ResponseHead::Unsent(demand) => *demand = Some(Box::new(new)),
            ResponseHead::Sent => self.pending.insert(new),
        }
    }

    /// Records that the response head is now being sent. Returns the demand that the head must include, if there is one
    /// and `can_challenge` returns `true`. That function is called only if there is a demand, which is rare.
    pub(super) fn send_head(&self, can_challenge: impl FnOnce() -> bool) -> Option<ErrorObject> {
        let before = std::mem::replace(&mut *lock(&self.state), ResponseHead::Sent);
        let ResponseHead::Unsent(Some(demand)) = before else {
            return None;
        };
        if can_challenge() {
            return Some(demand.0);
        }
        self.pending.insert(*demand);
        None
    }

    /// Takes the demand left by an earlier request from the same caller with the same credentials.
    pub(super) fn take_earlier<'c>(
        &self,
        caller: impl FnOnce() -> Option<ChallengedCaller<'c>>,
    ) -> Option<ErrorObject> {
        // The map is nearly always empty, in which case the caller does not need to be determined.
        if lock(&self.pending.waiting).is_empty() {
            return None;
        }
        self.pending.take(self.pending.digest(caller()?))
    }
}

/// Challenges for callers' next requests.
#[derive(Default)]
pub struct ChallengesForNextRequests {
    hasher: RandomState,
    /// The challenges, keyed by the caller's digest.
    waiting: Mutex<HashMap<u64, (ErrorObject, Instant)>>,
}

impl ChallengesForNextRequests {
    /// Maximum number of challenges. When this number is exceeded, the oldest challenge is dropped, which is
    /// acceptable because its caller's next call fails in the same way.
    const MAX_CHALLENGES: usize = 1_024;
    /// Maximum time for which a challenge is kept.
    const CHALLENGE_LIFETIME: Duration = Duration::from_mins(5);

    fn digest(&self, caller: ChallengedCaller<'_>) -> u64 {
        self.hasher.hash_one(caller)
    }

    fn insert(&self, AuthorizationDemand(error, caller): AuthorizationDemand) {
        let Some(caller) = caller else {
            return;
        };
        let mut waiting = lock(&self.waiting);
        let now = Instant::now();
        waiting.retain(|_, (_, since)| now.duration_since(*since) < Self::CHALLENGE_LIFETIME);
        if waiting.len() >= Self::MAX_CHALLENGES && !waiting.contains_key(&caller) {
            let oldest = waiting.iter().min_by_key(|(_, (_, since))| *since);
            if let Some(oldest) = oldest.map(|(caller, _)| *caller) {
                waiting.remove(&oldest);
            }
        }
        waiting.insert(caller, (error, now));
    }

    fn take(&self, caller: u64) -> Option<ErrorObject> {
        let (error, since) = lock(&self.waiting).remove(&caller)?;
        (since.elapsed() < Self::CHALLENGE_LIFETIME).then_some(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> ErrorObject {
        ErrorObject::internal(text)
    }

    fn caller(principal: &'static str, token: &'static str) -> ChallengedCaller<'static> {
        ChallengedCaller {
            principal,
            authorization: Some(token.as_bytes()),
        }
    }

    #[test]
    fn a_challenge_is_sent_with_the_headers_or_the_callers_next_request() {
        let pending = Arc::default();
        let request = || Reauthorization::new(&pending);
        let alice = Some(caller("alice", "token"));
        let bob = Some(caller("bob", "token"));
        let first = request();
        first.demand(&error("now"), alice);
        assert_eq!(first.send_head(|| true).unwrap().message, "now");
        assert!(first.send_head(|| true).is_none());
        assert!(request().take_earlier(|| alice).is_none());
        let second = request();
        assert!(second.send_head(|| false).is_none());
        second.demand(&error("later"), alice);
        assert!(request().take_earlier(|| bob).is_none());
        let refreshed = Some(caller("alice", "new token"));
        assert!(request().take_earlier(|| refreshed).is_none());
        assert_eq!(request().take_earlier(|| alice).unwrap().message, "later");
        assert!(request().take_earlier(|| alice).is_none());
        let third = request();
        third.demand(&error("not in a stream"), alice);
        assert!(third.send_head(|| false).is_none());
        assert!(request().take_earlier(|| alice).is_some());
        let anonymous = request();
        assert!(anonymous.send_head(|| true).is_none());
        anonymous.demand(&error("for nobody"), None);
        assert!(anonymous.take_earlier(|| None).is_none());
        assert!(lock(&pending.waiting).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn pending_challenges_are_bounded_and_expire() {
        let pending = ChallengesForNextRequests::default();
        for caller in 0..=1_024 {
            tokio::time::advance(Duration::from_millis(1)).await;
            pending.insert(AuthorizationDemand(error("again"), Some(caller)));
        }
        assert!(pending.take(0).is_none());
        assert!(pending.take(1).is_some());
        tokio::time::advance(ChallengesForNextRequests::CHALLENGE_LIFETIME).await;
        assert!(pending.take(2).is_none());
    }
}
