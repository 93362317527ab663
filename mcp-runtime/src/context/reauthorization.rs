//! A handler's demand that its caller authorize again, until it can be sent as a challenge.
//!
//! A challenge is part of the head of a response. If the head has already been sent when a handler fails, the challenge is
//! kept for the next request with the same credentials. `http` writes it.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::jsonrpc::ErrorObject;
use crate::lock::lock;

/// The part of one request in this.
pub(crate) struct Reauthorization {
    state: Mutex<ResponseHead>,
    pending: Arc<PendingChallenges>,
}

/// The head of a response, as far as a challenge is concerned.
enum ResponseHead {
    /// Not sent. The error is the demand of a handler, if there is one.
    Unsent(Option<ErrorObject>),
    Sent,
}

impl Reauthorization {
    /// Creates the part of a new request.
    pub(super) fn new(pending: &Arc<PendingChallenges>) -> Self {
        Self {
            state: Mutex::new(ResponseHead::Unsent(None)),
            pending: Arc::clone(pending),
        }
    }

    /// Demands that the caller with these credentials authorize again, with this response or the next.
    pub(super) fn demand(&self, error: &ErrorObject, credentials: Option<&[u8]>) {
        match &mut *lock(&self.state) {
            ResponseHead::Unsent(demand) => *demand = Some(error.clone()),
            ResponseHead::Sent => self.keep(error.clone(), credentials),
        }
    }

    /// Notes that the head of the response is sent now. Returns the demand for it, if `can_challenge` and there is one.
    pub(super) fn send_head<'c>(
        &self,
        can_challenge: bool,
        credentials: impl FnOnce() -> Option<&'c [u8]>,
    ) -> Option<ErrorObject> {
        let before = std::mem::replace(&mut *lock(&self.state), ResponseHead::Sent);
        match before {
            ResponseHead::Unsent(Some(error)) if can_challenge => Some(error),
            ResponseHead::Unsent(Some(error)) => {
                self.keep(error, credentials());
                None
            }
            ResponseHead::Unsent(None) | ResponseHead::Sent => None,
        }
    }

    /// Takes the demand that an earlier request with the same credentials left.
    pub(super) fn take_earlier<'c>(
        &self,
        credentials: impl FnOnce() -> Option<&'c [u8]>,
    ) -> Option<ErrorObject> {
        // Nearly always, and then the credentials are not needed.
        if lock(&self.pending.waiting).is_empty() {
            return None;
        }
        self.pending.take(credentials()?)
    }

    fn keep(&self, error: ErrorObject, credentials: Option<&[u8]>) {
        // Anonymous callers cannot be recognized.
        if let Some(credentials) = credentials {
            self.pending.insert(credentials, error);
        }
    }
}

/// Challenges for the next requests of callers.
#[derive(Default)]
pub(crate) struct PendingChallenges {
    hasher: RandomState,
    /// By the digest of credentials.
    waiting: Mutex<HashMap<u64, (ErrorObject, Instant)>>,
}

impl PendingChallenges {
    /// Maximum number of challenges. When exceeded, the oldest is dropped, because the next call fails in the same way.
    const MAX: usize = 1_024;
    /// Time for which a challenge is kept.
    const KEPT: Duration = Duration::from_mins(5);

    fn insert(&self, credentials: &[u8], error: ErrorObject) {
        let credentials = self.hasher.hash_one(credentials);
        let mut waiting = lock(&self.waiting);
        let now = Instant::now();
        waiting.retain(|_, (_, since)| now.duration_since(*since) < Self::KEPT);
        if waiting.len() >= Self::MAX && !waiting.contains_key(&credentials) {
            let oldest = waiting.iter().min_by_key(|(_, (_, since))| *since);
            if let Some(oldest) = oldest.map(|(credentials, _)| *credentials) {
                waiting.remove(&oldest);
            }
        }
        waiting.insert(credentials, (error, now));
    }

    fn take(&self, credentials: &[u8]) -> Option<ErrorObject> {
        let credentials = self.hasher.hash_one(credentials);
        let (error, since) = lock(&self.waiting).remove(&credentials)?;
        (since.elapsed() < Self::KEPT).then_some(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> ErrorObject {
        ErrorObject::internal(text)
    }

    #[test]
    fn a_demand_goes_with_the_head_or_with_the_next_request_of_the_same_caller() {
        let pending = Arc::default();
        let request = || Reauthorization::new(&pending);
        let (alice, bob) = (Some(&b"alice"[..]), Some(&b"bob"[..]));
        let first = request();
        first.demand(&error("now"), alice);
        assert_eq!(first.send_head(true, || alice).unwrap().message, "now");
        assert!(first.send_head(true, || alice).is_none());
        assert!(request().take_earlier(|| alice).is_none());
        let second = request();
        assert!(second.send_head(false, || alice).is_none());
        second.demand(&error("later"), alice);
        assert!(request().take_earlier(|| bob).is_none());
        assert_eq!(request().take_earlier(|| alice).unwrap().message, "later");
        assert!(request().take_earlier(|| alice).is_none());
        let third = request();
        third.demand(&error("not in a stream"), alice);
        assert!(third.send_head(false, || alice).is_none());
        assert!(request().take_earlier(|| alice).is_some());
        let anonymous = request();
        assert!(anonymous.send_head(true, || None).is_none());
        anonymous.demand(&error("for nobody"), None);
        assert!(anonymous.take_earlier(|| None).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn few_challenges_are_kept_and_not_for_long() {
        let pending = PendingChallenges::default();
        for caller in 0..=PendingChallenges::MAX {
            tokio::time::advance(Duration::from_millis(1)).await;
            pending.insert(&caller.to_be_bytes(), error("again"));
        }
        assert!(pending.take(&0_usize.to_be_bytes()).is_none());
        assert!(pending.take(&1_usize.to_be_bytes()).is_some());
        tokio::time::advance(PendingChallenges::KEPT).await;
        assert!(pending.take(&2_usize.to_be_bytes()).is_none());
    }
}
