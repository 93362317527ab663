//! Admits callers and calls: the scopes that a caller's scopes imply, whether anonymous callers are trusted, and rate
//! limits, for each handler, for the whole server, and for completions.
//!
//! A call with several rounds is charged once, in its first round. Later rounds are recognized by the state that the
//! client sends, which this server sealed when the previous round ended. A repeated round is charged as a separate
//! call, so a state cannot be used to bypass a rate limit. If calls are counted elsewhere, too, a call that this
//! process admits is also counted there, and refused if there were too many.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use crate::context::{CallId, Caller, Principal};
use crate::dispatch::request::ChannelId;
use crate::dispatch::target::CallTarget;
use crate::handler::handler_error::{HandlerError, HandlerErrorRepr};
use crate::host::Instant;
use crate::limits::Limits;
use crate::order::set_of;
use crate::protocol::errors;
use crate::random::random_id;
use crate::rate::{
    CountFuture, CountOutcome, CountedBucket, CountedCall, Rate, RateCounter, RateKey, RateLimiter,
};
use crate::registry::{Callable, HandlerGuards};

/// Rules for admitting callers.
#[derive(Clone, Debug, Default)]
pub struct Admission {
    /// Maps each scope to the scopes that it directly implies.
    implied: BTreeMap<Box<str>, BTreeSet<Box<str>>>,
    /// `true` if anonymous callers have full access.
    pub trusts_anonymous: bool,
}

impl Admission {
    /// Makes the `broad` scope imply the `narrow` scope.
    pub fn imply(&mut self, broad: &str, narrow: &str) {
        let implied = self.implied.entry(broad.into()).or_default();
        implied.insert(narrow.into());
    }

    /// Applies the rules to a caller. The rest of the server uses only the returned caller.
    pub(super) fn admit(&self, caller: Caller) -> Caller {
        match caller.principal() {
            None if self.trusts_anonymous && !caller.is_trusted() => Caller::trusted_anonymous(),
            None => caller,
            Some(_) if self.implied.is_empty() => caller,
            Some(principal) => {
                let granted = set_of(principal.scopes());
                let all = self.with_implied(&granted);
                if all.len() == granted.len() {
                    return caller;
                }
                principal.clone().with_scopes(all).into()
            }
        }
    }

    /// Returns the given scopes and, transitively, all scopes that they imply.
    fn with_implied<'a>(&'a self, granted: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
        let mut all = granted.clone();
        let mut open: Vec<&str> = granted.iter().copied().collect();
        while let Some(scope) = open.pop() {
            for implied in self.implied.get(scope).into_iter().flatten() {
                if all.insert(implied) {
                    open.push(implied);
                }
            }
        }
        all
    }
}

/// Time after which to retry a call that was refused because it could not be counted.
const RETRY_STORE: Duration = Duration::from_secs(1);

/// A server's rate limits.
pub(super) struct RateLimits {
    /// The rate limit for all calls combined.
    all: Option<RateLimiter>,
    completions: RateLimiter,
    /// Admits each round once while its state is valid.
    rounds: RateLimiter,
    /// Hashes callers to distinguish them. Clients cannot predict the hashes.
    hashes: RandomState,
    most: usize,
    /// The rates of handlers and of the server are also counted here.
    counter: Option<Arc<dyn RateCounter>>,
    /// Distinguishes this process's connections from those of others.
    process: String,
}

/// A call that this process has admitted, but that has yet to be counted elsewhere.
pub(super) struct CallToCount {
    counting: CountFuture,
    /// The buckets from which this process has taken a token, in the order of the rates. `None` if it has taken none,
    /// because of the round.
    charged: Option<Vec<u64>>,
}

/// Returns the value of a header that a trusted proxy has set.
pub(super) type TrustedHeader<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// A call to be admitted or refused.
pub(super) struct CallToAdmit<'a> {
    pub(super) principal: Option<&'a Principal>,
    pub(super) channel: ChannelId,
    pub(super) trusted_header: &'a TrustedHeader<'a>,
    /// The call that this request continues, and the number of its rounds that have ended.
    pub(super) earlier: Option<(CallId, u16)>,
    pub(super) is_completion: bool,
    pub(super) callable: Option<&'a Callable>,
}

impl CallToAdmit<'_> {
    /// Returns the value of a claim in the caller's credentials, as text.
    fn claim(&self, name: &str) -> Option<String> {
        let claim = self.principal?.claims().get(name)?;
        let text = claim.as_str().map(str::to_owned);
        Some(text.unwrap_or_else(|| claim.to_string()))
    }

    fn guards(&self) -> Option<&HandlerGuards> {
        self.callable.map(|callable| &callable.guards)
    }
}

impl RateLimits {
    pub(super) fn new(
        all: Option<Rate>,
        counter: Option<Arc<dyn RateCounter>>,
        limits: &Limits,
    ) -> Self {
        let completions = limits.calls.max_completions_per_second;
        let completions = Rate::per_second(completions, completions.saturating_mul(2)).per_caller();
        Self {
            all: all.map(RateLimiter::new),
            completions: RateLimiter::new(completions),
            rounds: RateLimiter::new(
                Rate::new(1, limits.elicitation.state_timeout, 1).per_caller(),
            ),
            hashes: RandomState::new(),
            most: limits.calls.max_rate_callers,
            counter,
            process: random_id::<8>(),
        }
    }

    /// Admits a call, or returns an error that specifies when to retry. Refused calls are not charged. `name` returns
    /// the name of the handler. If something is returned, the call must be [counted](Self::count), too.
    pub(super) fn admit<'n>(
        &self,
        call: &CallToAdmit<'_>,
        name: impl FnOnce() -> &'n str,
    ) -> Result<Option<CallToCount>, HandlerError> {
        if self
            .limiters(call.is_completion, call.guards())
            .next()
            .is_none()
        {
            return Ok(None);
        }
        let now = Instant::now();
        if let Some((id, round)) = call.earlier {
            let hash = self.hashes.hash_one((id.0, round));
            if self.rounds.take_token(hash, self.most, now).is_ok() {
                return Ok(self.uncounted(call, None, Some((id, round))));
            }
        }
        let keyed = |limiter: &'_ RateLimiter| self.bucket_key(limiter.rate(), call);
        let limiters = self.limiters(call.is_completion, call.guards());
        let limiters: Vec<_> = limiters.map(|limiter| (limiter, keyed(limiter))).collect();
        let mut all = limiters.iter();
        let checked = all.try_for_each(|(limiter, key)| limiter.check(*key, now));
        let mut all = limiters.iter();
        let taken = checked.and_then(|()| {
            all.try_for_each(|(limiter, key)| limiter.take_token(*key, self.most, now))
        });
        match taken {
            Ok(()) => {
                let keys = || limiters.iter().map(|(_, key)| *key).collect();
                Ok(self.uncounted(call, Some(&keys), None))
            }
            Err(wait) => Err(too_often(name(), wait)),
        }
    }

    /// Returns the rates that apply to a call.
    #[inline]
    fn limiters<'l>(
        &'l self,
        is_completion: bool,
        guards: Option<&'l HandlerGuards>,
    ) -> impl Iterator<Item = &'l RateLimiter> {
        let completions = is_completion.then_some(&self.completions);
        let own = guards.and_then(|guards| guards.rate.as_ref());
        let quotas = guards.map_or(&[][..], |guards| &guards.quotas);
        let quotas = quotas.iter().map(|quota| &quota.limiter);
        completions
            .into_iter()
            .chain(own)
            .chain(quotas)
            .chain(&self.all)
    }

    /// Returns the key of the bucket from which a call takes a token.
    fn bucket_key(&self, rate: &Rate, call: &CallToAdmit<'_>) -> u64 {
        match (rate.key(), call.principal) {
            (RateKey::All, _) => 0,
            (RateKey::Caller, Some(principal)) => self.hashes.hash_one(principal.key()),
            (RateKey::Caller, None) => self.hashes.hash_one(call.channel),
            (RateKey::Claim(name), _) => self.hashes.hash_one(call.claim(name)),
            (RateKey::Header(name), _) => self.hashes.hash_one((call.trusted_header)(name)),
        }
    }

    /// Returns the name of the same bucket in all processes.
    fn bucket_name(&self, rate: &Rate, call: &CallToAdmit<'_>) -> String {
        let keyed = |what: &str, name: &str, value: Option<String>| match value {
            Some(value) => format!("{what} {name} {value}"),
            None => format!("no {what} {name}"),
        };
        match (rate.key(), call.principal) {
            (RateKey::All, _) => String::new(),
            (RateKey::Caller, Some(principal)) => format!("principal {}", principal.key()),
            (RateKey::Caller, None) => call.channel.shared_name(&self.process),
            (RateKey::Claim(name), _) => keyed("claim", name, call.claim(name)),
            (RateKey::Header(name), _) => keyed("header", name, (call.trusted_header)(name)),
        }
    }

    /// Returns the call as it is counted elsewhere, or `None` if it is not.
    #[inline]
    fn uncounted(
        &self,
        call: &CallToAdmit<'_>,
        charged: Option<&dyn Fn() -> Vec<u64>>,
        round: Option<(CallId, u16)>,
    ) -> Option<CallToCount> {
        let counter = self.counter.as_deref()?;
        let bucket = |of: &str, limiter: &RateLimiter| CountedBucket {
            name: format!("{of} {}", self.bucket_name(limiter.rate(), call)),
            rate: limiter.rate().clone(),
        };
        let of_handler = call.callable.and_then(|callable| {
            let limiter = callable.guards.rate.as_ref()?;
            let of = format!("{:?} {}", callable.kind(), callable.name);
            Some(bucket(&of, limiter))
        });
        let quotas = call.guards().map_or(&[][..], |guards| &guards.quotas);
        let quotas = quotas.iter();
        let of_quotas = quotas.map(|quota| {
            // The same name may have several rates.
            let rate = quota.limiter.rate();
            let (interval, capacity) = (rate.interval(), rate.capacity());
            let of = format!("quota {} {interval:?} {capacity}", quota.name);
            bucket(&of, &quota.limiter)
        });
        let of_server = self.all.as_ref();
        let of_server = of_server.map(|limiter| bucket("server", limiter));
        let buckets = of_handler.into_iter().chain(of_quotas).chain(of_server);
        let buckets: Vec<_> = buckets.collect();
        if buckets.is_empty() {
            return None;
        }
        // The round is admitted once within the lifetime of its state.
        let round = round.map(|(id, round)| CountedBucket {
            name: format!("round {id} {round}"),
            rate: self.rounds.rate().clone(),
        });
        let counting = counter.count(CountedCall { round, buckets });
        let charged = charged.map(|keys| keys());
        Some(CallToCount { counting, charged })
    }

    /// Counts a call elsewhere that this process has admitted. If the call is refused, this process no longer counts it.
    pub(super) async fn count(
        &self,
        call: CallToCount,
        target: &CallTarget,
    ) -> Result<(), HandlerError> {
        let refused = match call.counting.await {
            CountOutcome::Admitted => return Ok(()),
            CountOutcome::Refused(wait) => too_often(target.name(), wait),
            CountOutcome::Failed { error, may_run } => {
                let called = target.name();
                tracing::debug!(called, %error, "a call cannot be counted for all instances");
                if may_run {
                    return Ok(());
                }
                let refused = errors::uncounted(&format!("`{called}`"), RETRY_STORE);
                HandlerError(HandlerErrorRepr::Busy(refused))
            }
        };
        if let Some(keys) = call.charged {
            let is_completion = matches!(target, CallTarget::Completion(_));
            let limiters = self.limiters(is_completion, target.guards());
            for (limiter, key) in limiters.zip(keys) {
                limiter.return_token(key);
            }
        }
        Err(refused)
    }
}

fn too_often(name: &str, wait: Duration) -> HandlerError {
    tracing::debug!(called = name, ?wait, "a call was refused: rate exceeded");
    HandlerError(HandlerErrorRepr::Busy(errors::too_often(
        &format!("`{name}`"),
        wait,
    )))
}

#[cfg(test)]
mod tests {
    use crate::context::Principal;
    use crate::dispatch::admission::*;

    fn granted(caller: &Caller) -> Vec<&str> {
        caller
            .principal()
            .into_iter()
            .flat_map(Principal::scopes)
            .collect()
    }

    #[test]
    fn a_scope_grants_all_scopes_that_it_implies_even_in_a_cycle() {
        let mut admission = Admission::default();
        admission.imply("admin", "notes:write");
        admission.imply("notes:write", "notes:read");
        admission.imply("notes:read", "admin2");
        admission.imply("admin2", "notes:read");
        let admitted = |scope| admission.admit(Principal::new("alice").with_scopes([scope]).into());
        assert_eq!(
            granted(&admitted("admin")),
            ["admin", "admin2", "notes:read", "notes:write"]
        );
        assert_eq!(granted(&admitted("notes:read")), ["admin2", "notes:read"]);
        assert_eq!(granted(&admitted("other")), ["other"]);
    }

    #[test]
    fn anonymous_callers_are_trusted_only_if_the_server_allows_it() {
        let mut admission = Admission::default();
        assert!(!admission.admit(Caller::anonymous()).is_trusted());
        assert!(admission.admit(Caller::trusted()).is_trusted());
        admission.trusts_anonymous = true;
        assert!(admission.admit(Caller::anonymous()).is_trusted());
        assert!(!admission.admit(Caller::anonymous()).is_identified());
        assert!(admission.admit(Caller::trusted()).is_identified());
        assert!(!admission.admit(Principal::new("alice").into()).is_trusted());
    }
}
