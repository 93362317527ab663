//! Token buckets for rates, by the clock of Redis.

use std::time::Duration;

use mcp_core::context::StoreFuture;
use mcp_stores::{RateDecision, RateStore, RateToken};

use crate::link::OnLostConnection::Fail;
use crate::{Redis, scripts};

impl RateStore for Redis {
    fn take<'a>(&'a self, tokens: &'a [RateToken]) -> StoreFuture<'a, RateDecision> {
        Box::pin(async move {
            let mut take = self.script(&scripts::TAKE_TOKENS);
            for token in tokens {
                let refill = u64::try_from(token.refill.as_micros()).unwrap_or(u64::MAX);
                take.arg(&token.bucket)
                    .arg(refill.max(1))
                    .arg(token.capacity.max(1));
            }
            // If the reply is lost, the tokens may have been taken, and must not be taken twice.
            let wait: u64 = self.run(&take, Fail).await?;
            Ok(match wait {
                0 => RateDecision::Admitted,
                wait => RateDecision::Refused(Duration::from_micros(wait)),
            })
        })
    }
}
