//! Calls with an idempotency key. A repeat of such a call gets the result of the first one instead of running again.
//!
//! This middleware wraps all other middleware, so that a repeat gets the result exactly as the client received it. It
//! is used only for calls that can have a key. `key` finds the key, `claim` keeps the calls in the store for `once`,
//! and `record` defines their stored form.

mod claim;
mod key;
mod record;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::context::RequestSource;
use crate::dispatch::idempotency::claim::{CallClaim, ClaimState, RunGuard};
use crate::dispatch::idempotency::key::CallKey;
use crate::dispatch::target::CallTarget;
use crate::handler::call::CallOutput;
use crate::handler::handler_error::{HandlerError, Result};
use crate::handler::middleware::{Call, Next};
use crate::limits::MAX_IDEMPOTENCY_WINDOW;

pub(crate) use settings::Idempotency;

/// Time between the first two checks of a call that is still running. It doubles with each check.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_millis(500);

/// The middleware for calls with a key. It wraps the middleware for plain calls and for calls that can be tasks.
pub(crate) struct IdempotentCalls {
    accepts_keys: bool,
    around: Next,
    around_tasks: Next,
}

impl IdempotentCalls {
    pub(crate) fn new(idempotency: Idempotency, around: &Next, around_tasks: &Next) -> Self {
        let accepts_keys = idempotency.accepts_keys;
        let idempotency = Arc::new(idempotency);
        let wrap = |inner: &Next| {
            let (idempotency, inner) = (Arc::clone(&idempotency), inner.clone());
            Next::link(move |call| Box::pin(serve(Arc::clone(&idempotency), call, inner.clone())))
        };
        Self {
            accepts_keys,
            around: wrap(around),
            around_tasks: wrap(around_tasks),
        }
    }

    /// Returns `true` if clients can send keys.
    pub(super) fn accepts_keys(&self) -> bool {
        self.accepts_keys
    }

    /// Returns the middleware for a call that can have a key. `meta` returns the `_meta` of its request.
    pub(super) fn around<'m>(
        &self,
        target: &CallTarget,
        meta: impl FnOnce() -> Option<&'m str>,
        source: &RequestSource,
        is_around_tasks: bool,
    ) -> Option<&Next> {
        let has_key = || target.tool().is_some() && key::may_have_key(meta(), source);
        if target.idempotent_by().is_none() && !(self.accepts_keys && has_key()) {
            return None;
        }
        Some(if is_around_tasks {
            &self.around_tasks
        } else {
            &self.around
        })
    }
}

/// Runs a call, or answers it with the result of an earlier call with the same key.
async fn serve(settings: Arc<Idempotency>, call: Call, next: Next) -> Result<CallOutput> {
    let Some(key) = CallKey::of(&call, &settings)? else {
        return next.run(call).await;
    };
    let claim = CallClaim::new(&settings, &key, &call);
    let mut guard = RunGuard::new(claim, call.context().clone());
    // If the clock cannot represent the deadline, the call waits for as long as it is allowed to run.
    let until = Instant::now().checked_add(settings.limits.max_wait);
    let mut pause = FIRST_PAUSE;
    let mut has_forgotten = false;
    loop {
        match guard.look().await.map_err(|error| unavailable(&*error))? {
            ClaimState::Granted => return run(guard, call, next).await,
            ClaimState::OtherArguments => return Err(key.other_arguments()),
            ClaimState::Ended(end) => return end.into_output(&call, &key),
            ClaimState::CallerFull => return Err(full("this caller", &settings)),
            ClaimState::Full => return Err(full("all callers together", &settings)),
            // The key is now free, unless another call has claimed it or the store cannot forget entries.
            ClaimState::Forgotten if !has_forgotten => {
                has_forgotten = true;
                continue;
            }
            ClaimState::Forgotten | ClaimState::Running => {}
        }
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Err(key.still_running());
        }
        sleep(left.map_or(pause, |left| left.min(pause))).await;
        pause = pause.saturating_mul(2).min(MAX_PAUSE);
    }
}

/// Runs a call that has claimed its key, and records how it ends before the answer is sent.
async fn run(guard: RunGuard, call: Call, next: Next) -> Result<CallOutput> {
    let context = call.context().clone();
    let how = record::TaskRequest::of(&call);
    let output = next.run(call).await;
    // A failure that the handler reports is not a result: the client can correct its cause and call again.
    let is_kept = match &output {
        Ok(CallOutput::Tool(result)) => !result.is_error || context.ending().continues(),
        Ok(_) => true,
        Err(_) => false,
    };
    let end = output.as_ref().ok().filter(|_| is_kept);
    guard
        .end(end.map(|output| record::RecordedEnd::of(output, how)))
        .await;
    output
}

/// Returns the error for a call that was not run because the store has failed.
fn unavailable(cause: &(dyn std::error::Error + Send + Sync)) -> HandlerError {
    tracing::error!(error = %cause, "a call with an idempotency key cannot be stored");
    HandlerError::exposed(
        "the server cannot remember calls at the moment, so nothing was done; try again later",
    )
}

/// Returns the error for a call that was not run because there is no room for it in the store.
fn full(whose: &str, settings: &Idempotency) -> HandlerError {
    let hours = settings
        .limits
        .window
        .min(MAX_IDEMPOTENCY_WINDOW)
        .as_secs()
        .div_ceil(3600);
    let unit = if hours == 1 { "hour" } else { "hours" };
    HandlerError::exposed(format_args!(
        "the server remembers too many calls of {whose}, so nothing was done; it forgets each after {hours} {unit}, and \
         until then, it only answers repeats of these calls"
    ))
}
