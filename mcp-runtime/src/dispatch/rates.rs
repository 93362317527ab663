//! Rate limits for calls: for each handler, for the whole server, and for completions.
//!
//! A call with several rounds is charged once, in its first round. Later rounds are recognized by the state that the
//! client sends, which this server sealed when the previous round ended. A repeated round is charged as a separate
//! call, so a state cannot be used to bypass a rate limit.
//!
//! If a store counts for all instances, a call that this instance admits also takes its tokens from the store
//! (`shared_rates.rs`), and is refused if there are none.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use tokio::time::Instant;

use crate::context::{CallId, Principal};
use crate::dispatch::origin::ChannelId;
use crate::dispatch::shared_rates::{SharedRates, SharedTokens};
use crate::dispatch::target::CallTarget;
use crate::handler::handler_error::{HandlerError, HandlerErrorRepr};
use crate::limits::Limits;
use crate::protocol::errors;
use crate::rate::{Rate, RateLimiter};
use crate::registry::Callable;
use crate::stores::{RateDecision, RateFallback};

/// Time after which to retry a call that was refused because the store failed.
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
    /// The rates of handlers and of the server are also counted here, for all instances.
    shared: Option<SharedRates>,
}

/// A call to be admitted or refused.
pub(super) struct CallToAdmit<'a> {
    pub(super) principal: Option<&'a Principal>,
    pub(super) channel: ChannelId,
    /// The call that this request continues, and the number of its rounds that have ended.
    pub(super) earlier: Option<(CallId, u16)>,
    pub(super) is_completion: bool,
    pub(super) callable: Option<&'a Callable>,
}

impl RateLimits {
    pub(super) fn new(all: Option<Rate>, shared: Option<SharedRates>, limits: &Limits) -> Self {
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
            shared,
        }
    }

    /// Admits a call, or returns an error that specifies when to retry. Refused calls are not charged. `name` returns
    /// the name of the handler. If tokens are returned, the call must [take](Self::take_shared) them, too.
    pub(super) fn admit<'n>(
        &self,
        call: &CallToAdmit<'_>,
        name: impl FnOnce() -> &'n str,
    ) -> Result<Option<SharedTokens>, HandlerError> {
        let completions = call.is_completion.then_some(&self.completions);
        let rate = call.callable.and_then(|called| called.guards.rate.as_ref());
        let rates = [completions, rate, self.all.as_ref()];
        if rates.iter().all(Option::is_none) {
            return Ok(None);
        }
        let now = Instant::now();
        if let Some((id, round)) = call.earlier {
            let hash = self.hashes.hash_one((id.0, round));
            if self.rounds.take_token(hash, self.most, now).is_ok() {
                let tokens = self.shared_tokens(call, None);
                return Ok(tokens.map(|tokens| tokens.with_round((id, round), self.rounds.rate())));
            }
        }
        let caller = match call.principal {
            Some(principal) => self.hashes.hash_one(principal.key()),
            None => self.hashes.hash_one(call.channel),
        };
        let rates = || rates.iter().flatten();
        let checked = rates().try_for_each(|rate| rate.check(caller, now));
        let taken = checked
            .and_then(|()| rates().try_for_each(|rate| rate.take_token(caller, self.most, now)));
        match taken {
            Ok(()) => Ok(self.shared_tokens(call, Some(caller))),
            Err(wait) => Err(too_often(name(), wait)),
        }
    }

    #[inline]
    fn shared_tokens(&self, call: &CallToAdmit<'_>, charged: Option<u64>) -> Option<SharedTokens> {
        let shared = self.shared.as_ref()?;
        let caller = (call.principal, call.channel);
        shared.tokens(call.callable, self.all.as_ref(), caller, charged)
    }

    /// Takes the tokens of a call that this instance has admitted from the store for all instances. If the call is
    /// refused, this instance no longer counts it.
    pub(super) async fn take_shared(
        &self,
        tokens: &SharedTokens,
        target: &CallTarget,
    ) -> Result<(), HandlerError> {
        let Some(shared) = &self.shared else {
            return Ok(());
        };
        let refused = match shared.take(tokens).await {
            Ok(RateDecision::Admitted) => return Ok(()),
            Ok(RateDecision::Refused(wait)) => too_often(target.name(), wait),
            Err(error) => {
                let called = target.name();
                tracing::debug!(called, %error, "a call cannot be counted for all instances");
                if shared.fallback == RateFallback::CountLocally {
                    return Ok(());
                }
                let refused = errors::uncounted(&format!("`{called}`"), RETRY_STORE);
                HandlerError(HandlerErrorRepr::Busy(refused))
            }
        };
        if let Some(caller) = tokens.charged {
            let is_completion = matches!(target, CallTarget::Completion(_));
            let completions = is_completion.then_some(&self.completions);
            let rate = target.guards().and_then(|guards| guards.rate.as_ref());
            for rate in [completions, rate, self.all.as_ref()].iter().flatten() {
                rate.return_token(caller);
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
