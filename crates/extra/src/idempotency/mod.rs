//! Calls with an idempotency key. A repeat of such a call gets the result of the first one instead of running again.
//!
//! This is put around all else, so that a repeat gets the result exactly as the client received it, and only around
//! calls that can have a key. `key` finds the key, and `claim` keeps the calls in the store for `once`.

mod claim;
mod key;

use std::any::TypeId;
use std::sync::Arc;
use std::time::Duration;

use mcp_core::dispatch::{ServerAddOn, ServerParts};
use mcp_core::handler::handler_error::{HandlerError, Result};
use mcp_core::handler::middleware::{Call, Next};
use mcp_core::handler::option::{
    AdaptedTool, AddOn, IsRequested, OptionWrapping, StartingServer, ToolOption, WrappingPlace,
};
use mcp_core::handler::run::CallOutput;
use mcp_core::limits::IdempotencyLimits;
use mcp_stores::MemoryOnceStore;
use tokio::time::{Instant, sleep};

use crate::idempotency::claim::{CallClaim, ClaimState, RunGuard};
use crate::idempotency::key::{CallKey, Idempotency};

/// Time between the first two checks of a call that is still running. It doubles with each check.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_millis(500);

/// The name of the add-on.
const NAME: &str = "idempotency";

#[doc(hidden)]
/// The `idempotent_by` option: the names of the arguments that identify a call.
#[derive(Clone, Copy, Debug)]
pub struct IdempotentBy(pub &'static [&'static str]);

impl ToolOption for IdempotentBy {
    fn name(&self) -> &'static str {
        "idempotent_by"
    }

    fn adapt(&self, tool: &mut AdaptedTool) {
        tool.is_idempotent = true;
    }

    fn add_on(&self) -> AddOn {
        AddOn {
            name: NAME,
            adds_extension: false,
            start: |server| start(server, None),
        }
    }
}

/// Lets clients send an idempotency key with a call to any tool, for `Server::with`: over HTTP in the `Idempotency-Key` header,
/// and over any transport as `mcp-runtime/idempotencyKey` in `_meta`. Without it, such keys are ignored.
///
/// ```
/// use mcp_runtime::prelude::*;
/// use mcp_runtime::extension::IdempotencyKeys;
///
/// let server = new_server!().with(IdempotencyKeys);
/// ```
///
/// A call that is repeated with the same key does not run again, but waits for the first call and gets its result.
/// Keys are kept with the results of [`Context::once`](mcp_core::context::Context::once), for
/// [`limits.idempotency.window`](mcp_core::limits::Limits). A key belongs to one caller and one tool. A client must send the
/// key with each round of a call. A key is refused if it is empty, too long or not visible ASCII, if the header
/// occurs more than once, or if the caller is anonymous and has no session.
///
/// Tools with the `idempotent_by` option use their arguments instead.
#[derive(Clone, Copy, Debug)]
pub struct IdempotencyKeys;

impl ServerAddOn for IdempotencyKeys {
    fn add_to(self, parts: &mut ServerParts) {
        parts.add_ons.push(CLIENT_KEYS);
    }
}

/// The add-on for servers that accept the keys of clients.
const CLIENT_KEYS: AddOn = AddOn {
    name: NAME,
    adds_extension: false,
    start: |server| start(server, Some(key::may_have_key)),
};

fn start(server: &mut StartingServer<'_>, is_requested: Option<IsRequested>) {
    let settings = Arc::new(Idempotency {
        store: match server.once_store {
            Some(store) => Arc::clone(store),
            None => Arc::new(MemoryOnceStore::with_limits(server.limits)),
        },
        limits: server.limits.idempotency.clone(),
        server: server.name.to_owned(),
    });
    server.added.wrappings.push(OptionWrapping {
        option: TypeId::of::<IdempotentBy>(),
        is_requested,
        reads: None,
        place: WrappingPlace::Outermost,
        link: Box::new(move |next| {
            let settings = Arc::clone(&settings);
            Next::link(move |call| Box::pin(serve(Arc::clone(&settings), call, next.clone())))
        }),
    });
}

/// Runs a call, or answers it with the result of an earlier call with the same key.
async fn serve(settings: Arc<Idempotency>, call: Call, next: Next) -> Result<CallOutput> {
    let names = call.option().map(|IdempotentBy(names)| *names);
    let Some(key) = CallKey::of(&call, names, &settings)? else {
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
    let how = claim::TaskRequest::of(&call);
    let output = next.run(call).await;
    // A failure that the handler reports is not a result: the client can correct its cause and call again.
    let is_kept = match &output {
        Ok(CallOutput::Tool(result)) => !result.is_error || context.continuation().continues(),
        Ok(_) => true,
        Err(_) => false,
    };
    let end = output.as_ref().ok().filter(|_| is_kept);
    guard
        .end(end.map(|output| claim::RecordedEnd::of(output, how)))
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
        .min(IdempotencyLimits::MAX_WINDOW)
        .as_secs()
        .div_ceil(3600);
    let unit = if hours == 1 { "hour" } else { "hours" };
    HandlerError::exposed(format_args!(
        "the server remembers too many calls of {whose}, so nothing was done; it forgets each after {hours} {unit}, and \
         until then, it only answers repeats of these calls"
    ))
}
