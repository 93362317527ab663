//! Stores results of `once` in calls that are not tasks.

use std::time::Duration;

use mcp_runtime::backend::TaskId;
use mcp_runtime::once::{CallId, OnceClaim, OnceStore, StoreFuture};

use crate::error::RedisError;
use crate::fields::milliseconds;
use crate::link::OnLostConnection::{Fail, Repeat};
use crate::{Redis, scripts};

/// Duration for which results are kept, which is longer than a call can last by default.
const KEPT: Duration = Duration::from_hours(24);

/// Returns a token that identifies a claim if the claim must be sent again because the connection was lost.
pub(crate) fn claim() -> String {
    // A task id is used because it is unpredictable and unique.
    TaskId::random().to_string()
}

/// Reads a claim from a script's reply.
pub(crate) fn read_claim(reply: Vec<String>) -> Result<OnceClaim, RedisError> {
    let mut reply = reply.into_iter();
    match (reply.next().as_deref(), reply.next()) {
        (Some("granted"), _) => Ok(OnceClaim::Granted),
        (Some("taken"), _) => Ok(OnceClaim::Taken),
        (Some("done"), Some(result)) => Ok(OnceClaim::Done(result)),
        (Some("full"), _) => Err(RedisError::text(
            "the store has no room for more `once` results",
        )),
        _ => Err(RedisError::unexpected()),
    }
}

impl OnceStore for Redis {
    fn begin<'a>(&'a self, call: CallId, name: &'a str) -> StoreFuture<'a, OnceClaim> {
        Box::pin(async move {
            let limits = &self.0.options.limits.tasks;
            let mut begin = self.script(&scripts::BEGIN_ONCE);
            begin.arg(call.to_string()).arg(name).arg(claim());
            begin.arg(milliseconds(KEPT));
            begin.arg(limits.max_tasks).arg(limits.max_bytes);
            Ok(read_claim(self.run(&begin, Repeat).await?)?)
        })
    }

    fn complete<'a>(&'a self, call: CallId, name: &'a str, result: &'a str) -> StoreFuture<'a, ()> {
        let mut complete = self.script(&scripts::COMPLETE_ONCE);
        complete.arg(call.to_string()).arg(name).arg(result);
        complete.arg(milliseconds(KEPT));
        let done = self.record::<u64>(0, complete);
        Box::pin(async move { Ok(done.await.map(drop)?) })
    }

    fn abandon<'a>(&'a self, call: CallId, name: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut abandon = self.script(&scripts::ABANDON_ONCE);
            abandon.arg(call.to_string()).arg(name);
            Ok(self.run(&abandon, Fail).await?)
        })
    }

    fn forget<'a>(&'a self, call: CallId, name: &'a str, result: &'a str) -> StoreFuture<'a, ()> {
        let mut forget = self.script(&scripts::FORGET_ONCE);
        forget.arg(call.to_string()).arg(name).arg(result);
        let done = self.record::<u64>(0, forget);
        Box::pin(async move { Ok(done.await.map(drop)?) })
    }
}
