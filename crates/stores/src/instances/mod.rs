//! What the instances of a server share, behind the traits of stores.

mod shared_changes;

use std::slice;
use std::sync::Arc;

use mcp_core::handler::option::{AddOn, StartingServer};
use mcp_core::rate::{CountFuture, CountOutcome, CountedBucket, CountedCall, RateCounter};
pub(crate) use shared_changes::SHARED_CHANGES;

use crate::{RateDecision, RateFallback, RateStore, RateToken};

// --- Rate limits that the instances of a server share. A call takes its tokens from a store after its instance has admitted
// it.

/// The add-on of servers that have a store for rates.
pub(crate) const SHARED_RATES: AddOn = AddOn {
    name: "shared rates",
    adds_extension: false,
    start,
};

fn start(server: &mut StartingServer<'_>) {
    let store: Option<Arc<dyn RateStore>> = server.stores.get();
    let fallback = server.stores.get().unwrap_or_default();
    server.added.rates = store.map(|store| Arc::new(SharedRates { store, fallback }) as _);
}

/// The store that counts calls for all instances.
struct SharedRates {
    store: Arc<dyn RateStore>,
    fallback: RateFallback,
}

impl From<CountedBucket> for RateToken {
    fn from(CountedBucket { name, rate }: CountedBucket) -> Self {
        Self::new(name, rate.capacity(), rate.interval())
    }
}

impl RateCounter for SharedRates {
    fn count(&self, call: CountedCall) -> CountFuture {
        let (store, fallback) = (Arc::clone(&self.store), self.fallback);
        Box::pin(async move {
            let round = call.round.map(RateToken::from);
            let tokens: Vec<_> = call.buckets.into_iter().map(RateToken::from).collect();
            match take(&*store, round.as_ref(), &tokens).await {
                Ok(RateDecision::Admitted) => CountOutcome::Admitted,
                Ok(RateDecision::Refused(wait)) => CountOutcome::Refused(wait),
                Err(error) => CountOutcome::Failed {
                    error,
                    may_run: fallback == RateFallback::CountLocally,
                },
            }
        })
    }
}

/// Takes tokens from the store. A call's later round is admitted once without being charged.
async fn take(
    store: &dyn RateStore,
    round: Option<&RateToken>,
    tokens: &[RateToken],
) -> Result<RateDecision, Box<dyn std::error::Error + Send + Sync>> {
    if let Some(round) = round {
        let round = store.take(slice::from_ref(round)).await?;
        if round == RateDecision::Admitted {
            return Ok(round);
        }
    }
    store.take(tokens).await
}
