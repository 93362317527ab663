//! Stores large results. Redis drops them when they expire.

use std::time::Duration;

use mcp_core::context::StoreFuture;
use mcp_stores::{KeptResult, ResultId, ResultStore};

use crate::fields::milliseconds;
use crate::link::OnLostConnection::Repeat;
use crate::{Redis, scripts};

impl ResultStore for Redis {
    fn keep(&self, result: KeptResult, ttl: Duration) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let limits = &self.0.options.limits.results;
            let mut keep = self.script(&scripts::KEEP_RESULT);
            keep.arg(result.id.as_str()).arg(&*result.owner);
            keep.arg(&*result.about).arg(&*result.text);
            keep.arg(result.size()).arg(milliseconds(ttl));
            keep.arg(limits.max_bytes).arg(limits.max_bytes_per_caller);
            Ok(self.run(&keep, Repeat).await?)
        })
    }

    fn load<'a>(&'a self, id: &'a ResultId) -> StoreFuture<'a, Option<KeptResult>> {
        Box::pin(async move {
            let mut load = self.script(&scripts::LOAD_RESULT);
            load.arg(id.as_str());
            let found: Option<(String, String, String)> = self.run(&load, Repeat).await?;
            Ok(
                found
                    .map(|(owner, about, text)| KeptResult::stored(id.clone(), owner, about, text)),
            )
        })
    }

    fn delete_all<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, usize> {
        Box::pin(async move {
            let mut delete = self.script(&scripts::DELETE_RESULTS);
            delete.arg(owner);
            Ok(self.run(&delete, Repeat).await?)
        })
    }
}
