//! Rate limits for calls: for each handler, for the whole server, and for completions.
//!
//! A call with several rounds is charged once, in its first round. Later rounds are recognized by the state that the
//! client sends, which this server sealed when the previous round ended. A repeated round is charged as a separate
//! call, so a state cannot be used to bypass a rate limit.

use std::hash::{BuildHasher as _, RandomState};

use tokio::time::Instant;

use crate::context::{CallId, Principal};
use crate::dispatch::origin::ChannelId;
use crate::handler::handler_error::{HandlerError, HandlerErrorRepr};
use crate::limits::Limits;
use crate::protocol::errors;
use crate::rate::{Rate, RateLimiter};

/// A server's rate limits.
#[derive(Debug)]
pub(super) struct RateLimits {
    /// The rate limit for all calls combined.
    all: Option<RateLimiter>,
    completions: RateLimiter,
    /// Admits each round once while its state is valid.
    rounds: RateLimiter,
    /// Hashes callers to distinguish them. Clients cannot predict the hashes.
    hashes: RandomState,
    most: usize,
}

/// A call to be admitted or refused.
pub(super) struct CallToAdmit<'a> {
    pub(super) principal: Option<&'a Principal>,
    pub(super) channel: ChannelId,
    /// The call that this request continues, and the number of its rounds that have ended.
    pub(super) earlier: Option<(CallId, u16)>,
    pub(super) is_completion: bool,
    /// The called handler's rate limit.
    pub(super) rate: Option<&'a RateLimiter>,
}

impl RateLimits {
    pub(super) fn new(all: Option<Rate>, limits: &Limits) -> Self {
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
        }
    }

    /// Admits a call, or returns an error that specifies when to retry. Refused calls are not charged. `name` returns
    /// the name of the handler.
    pub(super) fn admit<'n>(
        &self,
        call: &CallToAdmit<'_>,
        name: impl FnOnce() -> &'n str,
    ) -> Result<(), HandlerError> {
        let completions = call.is_completion.then_some(&self.completions);
        let rates = [completions, call.rate, self.all.as_ref()];
        if rates.iter().all(Option::is_none) {
            return Ok(());
        }
        let now = Instant::now();
        if let Some((call, round)) = call.earlier {
            let round = self.hashes.hash_one((call.0, round));
            if self.rounds.take_token(round, self.most, now).is_ok() {
                return Ok(());
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
        taken.map_err(|wait| {
            let name = name();
            tracing::debug!(called = name, ?wait, "a call was refused: rate exceeded");
            HandlerError(HandlerErrorRepr::Busy(errors::too_often(
                &format!("`{name}`"),
                wait,
            )))
        })
    }
}
