//! Rate limits that the instances of a server share. A call takes its tokens from a store after this instance has
//! admitted it.

use std::sync::Arc;

use crate::context::{CallId, Principal};
use crate::dispatch::origin::ChannelId;
use crate::random::random_id;
use crate::rate::{Rate, RateLimiter};
use crate::registry::Callable;
use crate::stores::{RateDecision, RateFallback, RateStore, RateToken};

/// The store that counts calls for all instances.
pub(crate) struct SharedRates {
    store: Arc<dyn RateStore>,
    pub(super) fallback: RateFallback,
    /// Distinguishes this process's connections from those of other instances.
    process: String,
}

/// The tokens that a call takes from the store.
pub(super) struct SharedTokens {
    /// The token of the call's round, if an earlier round was charged.
    round: Option<RateToken>,
    rates: Vec<RateToken>,
    /// The caller whose tokens this instance has taken. `None` if it has taken none, because of the round.
    pub(super) charged: Option<u64>,
}

impl SharedRates {
    pub(crate) fn new(store: Arc<dyn RateStore>, fallback: RateFallback) -> Self {
        Self {
            store,
            fallback,
            process: random_id::<8>(),
        }
    }

    /// Returns the tokens for a call, or `None` if no rate that applies to it is shared.
    pub(super) fn tokens(
        &self,
        callable: Option<&Callable>,
        all: Option<&RateLimiter>,
        (principal, channel): (Option<&Principal>, ChannelId),
        charged: Option<u64>,
    ) -> Option<SharedTokens> {
        let caller = |rate: Rate| match (rate.is_per_caller(), principal) {
            (false, _) => String::new(),
            (true, Some(principal)) => format!("principal {}", principal.key()),
            (true, None) => channel.shared_name(&self.process),
        };
        let token = |of: &str, rate: Rate| {
            let bucket = format!("{of} {}", caller(rate));
            RateToken::new(bucket, rate.capacity(), rate.interval())
        };
        let of_handler = callable.and_then(|callable| {
            let rate = callable.guards.rate.as_ref()?;
            let of = format!("{:?} {}", callable.kind(), callable.name);
            Some(token(&of, rate.rate()))
        });
        let of_server = all.map(|rate| token("server", rate.rate()));
        let rates: Vec<_> = of_handler.into_iter().chain(of_server).collect();
        (!rates.is_empty()).then_some(SharedTokens {
            round: None,
            rates,
            charged,
        })
    }

    /// Takes tokens from the store. A call's later round is admitted once without being charged.
    pub(super) async fn take(
        &self,
        tokens: &SharedTokens,
    ) -> Result<RateDecision, Box<dyn std::error::Error + Send + Sync>> {
        if let Some(round) = &tokens.round {
            let round = self.store.take(std::slice::from_ref(round)).await?;
            if round == RateDecision::Admitted {
                return Ok(round);
            }
        }
        self.store.take(&tokens.rates).await
    }
}

impl SharedTokens {
    /// Sets the round, which is admitted once within the lifetime of its state, given by `rate`.
    pub(super) fn with_round(mut self, (call, round): (CallId, u16), rate: Rate) -> Self {
        let bucket = format!("round {call} {round}");
        self.round = Some(RateToken::new(bucket, rate.capacity(), rate.interval()));
        self
    }
}
