//! Stores results of `once` in calls that are not tasks, and calls with an idempotency key.

use std::time::Duration;

use mcp_core::context::{
    CallId, ClaimId, OnceClaim, OnceStore, OnceWork, StoreFuture, StoreRefusal,
};

use crate::error::RedisError;
use crate::fields::milliseconds;
use crate::link::OnLostConnection::Repeat;
use crate::scripts::{NamedScript, Operation};
use crate::{Redis, scripts};

/// Time for which a claim is kept, which is longer than a call can last by default.
const CLAIM_KEPT: Duration = Duration::from_hours(24);

/// Returns a token that identifies an operation if it must be sent again because the connection was lost.
pub(crate) fn claim() -> String {
    ClaimId::random().to_string()
}

/// Reads a claim from a script's reply.
pub(crate) fn read_claim(reply: Vec<String>) -> Result<OnceClaim, RedisError> {
    let mut reply = reply.into_iter();
    match (reply.next().as_deref(), reply.next()) {
        (Some("granted"), _) => Ok(OnceClaim::Granted),
        (Some("taken"), note) => Ok(OnceClaim::Taken(note.unwrap_or_default())),
        (Some("done"), Some(result)) => Ok(OnceClaim::Done(result)),
        (Some("caller full"), _) => Ok(OnceClaim::CallerFull),
        (Some("full"), _) => Ok(OnceClaim::Full),
        _ => Err(RedisError::unexpected()),
    }
}

impl Redis {
    /// Begins a script with the arguments that describe an entry, which is kept for this time.
    fn entry(
        &self,
        script: &'static NamedScript,
        work: &OnceWork<'_>,
        kept: Duration,
    ) -> Operation {
        let mut operation = self.script(script);
        operation.arg(work.call.to_string()).arg(work.name);
        operation.arg(work.claim.to_string());
        operation
            .arg(work.kind.as_str())
            .arg(work.owner)
            .arg(work.note);
        operation.arg(milliseconds(kept));
        operation
    }
}

impl OnceStore for Redis {
    fn begin<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, OnceClaim> {
        Box::pin(async move {
            let room = work.kind.room(&self.0.options.limits);
            let mut begin = self.entry(&scripts::BEGIN_ONCE, &work, CLAIM_KEPT);
            begin.arg(room.max_entries).arg(room.max_bytes);
            begin
                .arg(room.max_entries_per_caller)
                .arg(room.max_bytes_per_caller);
            Ok(read_claim(self.run(&begin, Repeat).await?)?)
        })
    }

    fn complete<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        let mut complete = self.entry(&scripts::COMPLETE_ONCE, &work, work.kept);
        complete.arg(result);
        let done = self.record::<u64>(0, complete);
        Box::pin(async move { Ok(done.await.map(drop)?) })
    }

    fn abandon<'a>(&'a self, work: OnceWork<'a>) -> StoreFuture<'a, ()> {
        let mut abandon = self.script(&scripts::ABANDON_ONCE);
        abandon.arg(work.call.to_string()).arg(work.name);
        abandon.arg(work.claim.to_string());
        let done = self.record::<u64>(0, abandon);
        Box::pin(async move { Ok(done.await.map(drop)?) })
    }

    fn end(&self, call: CallId) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let mut end = self.script(&scripts::END_ONCE);
            end.arg(call.to_string());
            Ok(self.run::<u64>(&end, Repeat).await.map(drop)?)
        })
    }

    fn forget<'a>(&'a self, work: OnceWork<'a>, result: &'a str) -> StoreFuture<'a, ()> {
        let mut forget = self.script(&scripts::FORGET_ONCE);
        forget.arg(work.call.to_string()).arg(work.name).arg(result);
        let done = self.record::<u64>(0, forget);
        Box::pin(async move { Ok(done.await.map(drop)?) })
    }
}

/// Returns the error of an operation that stays refused if it is repeated.
pub(crate) fn refused(reason: &'static str) -> Box<dyn std::error::Error + Send + Sync> {
    StoreRefusal::new(reason).into()
}
