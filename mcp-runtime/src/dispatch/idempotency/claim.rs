//! Records calls with an idempotency key in the store for `once`, so that all processes that share it know about them.
//!
//! The key's digest takes the place of a call's id. The `call` entry describes the call that has the key. The other
//! entries have that call's id in their names, so that entries of an earlier call with the same key are ignored. `end`
//! records how the call ended. In 2026-07-28, each later round of a call claims `round`, so that a round that is sent
//! twice does not run twice concurrently.

use std::error::Error;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::context::{CallId, Context, OnceClaim, OnceStore};
use crate::dispatch::idempotency::key::CallKey;
use crate::dispatch::idempotency::record::{CallRecord, RecordedEnd, milliseconds, now};
use crate::dispatch::idempotency::settings::Idempotency;
use crate::handler::middleware::Call;
use crate::limits::MAX_IDEMPOTENCY_WINDOW;

/// The entry that describes the call.
const CALL: &str = "call";

type StoreResult<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// A call's claim to its key.
#[derive(Clone)]
pub(super) struct CallClaim {
    store: Arc<dyn OnceStore>,
    /// Identifies the key.
    id: CallId,
    record: Arc<CallRecord>,
    /// The record as text.
    text: Arc<str>,
    round: u16,
    /// Time for which a call's outcome is kept, in milliseconds.
    window: u64,
}

/// The state of a key, as seen by one call.
pub(super) enum ClaimState {
    /// The call may run.
    Granted,
    /// Another call with the key has not ended.
    Running,
    /// Another call with the key has different arguments.
    OtherArguments,
    /// The call with the key has ended.
    Ended(RecordedEnd),
    /// The call with the key ended so long ago that its outcome is no longer kept, so the store was asked to forget it.
    Forgotten,
}

impl CallClaim {
    pub(super) fn new(settings: &Idempotency, key: &CallKey, call: &Call) -> Self {
        let record = CallRecord {
            owner: key.owner.clone(),
            arguments: URL_SAFE_NO_PAD.encode(key.arguments),
            call: call.context().call_id().to_string(),
            at: now(),
        };
        let id = key.digest.first_chunk::<16>().copied().unwrap_or_default();
        Self {
            store: Arc::clone(&settings.store),
            id: CallId(id),
            text: serde_json::to_string(&record).unwrap_or_default().into(),
            record: Arc::new(record),
            round: call.round(),
            window: milliseconds(settings.limits.window.min(MAX_IDEMPOTENCY_WINDOW)),
        }
    }

    /// Claims the key, or checks the call that has it.
    pub(super) async fn look(&self) -> StoreResult<ClaimState> {
        let found = match self.store.begin(self.id, CALL).await? {
            OnceClaim::Granted => {
                let described = self.store.complete(self.id, CALL, &self.text).await;
                if described.is_err() {
                    // Nothing has run. If this fails as well, repeated calls see this one as still running.
                    self.store.abandon(self.id, CALL).await?;
                }
                return described.map(|()| ClaimState::Granted);
            }
            // The other call has not described itself yet.
            OnceClaim::Taken => return Ok(ClaimState::Running),
            OnceClaim::Done(found) => found,
        };
        let record: CallRecord = serde_json::from_str(&found)?;
        let end_entry = end_entry(&record);
        let end = match self.store.begin(self.id, &end_entry).await? {
            OnceClaim::Done(end) => Some(end),
            // This claim has no effect, because `complete` does not need one.
            OnceClaim::Granted | OnceClaim::Taken => None,
        };
        if record.owner != self.record.owner {
            return Err("two callers have the same key".into());
        }
        let is_own = record.call == self.record.call;
        let Some(text) = end else {
            return if record.arguments != self.record.arguments {
                Ok(ClaimState::OtherArguments)
            } else if is_own {
                self.begin_round().await
            } else {
                Ok(ClaimState::Running)
            };
        };
        let end: RecordedEnd = serde_json::from_str(&text)?;
        if !is_own && now().saturating_sub(end.at) >= self.window {
            self.store.forget(self.id, CALL, &found).await?;
            self.store.forget(self.id, &end_entry, &text).await?;
            return Ok(ClaimState::Forgotten);
        }
        Ok(if record.arguments == self.record.arguments {
            ClaimState::Ended(end)
        } else {
            ClaimState::OtherArguments
        })
    }

    /// Claims a later round of the call that has the key.
    async fn begin_round(&self) -> StoreResult<ClaimState> {
        let claim = self.store.begin(self.id, &self.round_entry()).await?;
        Ok(match claim {
            OnceClaim::Granted => ClaimState::Granted,
            OnceClaim::Taken | OnceClaim::Done(_) => ClaimState::Running,
        })
    }

    fn round_entry(&self) -> String {
        format!("round {} {}", self.record.call, self.round)
    }

    /// Records how the call continues or ends.
    async fn record(&self, next: &NextStep) -> StoreResult<()> {
        match next {
            NextStep::Ended(end) => {
                let entry = end_entry(&self.record);
                self.store.complete(self.id, &entry, end).await
            }
            NextStep::Failed => self.free().await,
            // The round can be sent again.
            NextStep::Asked if self.round > 1 => {
                self.store.abandon(self.id, &self.round_entry()).await
            }
            NextStep::Asked => Ok(()),
        }
    }

    /// Releases the key, so that a repeat can run.
    async fn free(&self) -> StoreResult<()> {
        // The text was written by the call's first round, possibly in another process.
        let found = match self.store.begin(self.id, CALL).await? {
            OnceClaim::Done(found) => found,
            OnceClaim::Granted => return self.store.abandon(self.id, CALL).await,
            OnceClaim::Taken => return Ok(()),
        };
        let record: CallRecord = serde_json::from_str(&found)?;
        if record.call == self.record.call {
            self.store.forget(self.id, CALL, &found).await?;
        }
        Ok(())
    }
}

/// Returns the name of the entry that records how a call ended.
fn end_entry(record: &CallRecord) -> String {
    format!("end {}", record.call)
}

/// The step that follows when the handler ends.
enum NextStep {
    /// The call has ended. Contains the end as text.
    Ended(String),
    /// The call has failed, so it can be repeated.
    Failed,
    /// The round has ended with questions.
    Asked,
}

/// A running call. If it is dropped before it ends, its outcome is recorded as unknown.
pub(super) struct RunGuard {
    claim: CallClaim,
    context: Context,
    /// `None` while the handler runs.
    next: Option<NextStep>,
    is_recorded: bool,
}

impl RunGuard {
    pub(super) fn new(claim: CallClaim, context: Context) -> Self {
        Self {
            claim,
            context,
            next: None,
            is_recorded: false,
        }
    }

    /// Sets the call's outcome as text, or `None` if the call has failed.
    pub(super) fn ends_with(&mut self, end: Option<String>) {
        self.next = Some(end.map_or(NextStep::Failed, NextStep::Ended));
    }

    /// Records how the call has ended.
    pub(super) async fn record(mut self) -> StoreResult<()> {
        if let Some(next) = &self.next {
            self.claim.record(next).await?;
        }
        self.is_recorded = true;
        Ok(())
    }
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        if self.is_recorded {
            return;
        }
        let next = self.next.take().unwrap_or_else(|| {
            if self.context.ending().has_asked() {
                NextStep::Asked
            } else {
                NextStep::Ended(RecordedEnd::stopped().to_text(usize::MAX))
            }
        });
        let claim = self.claim.clone();
        self.context.server().spawn(async move {
            if let Err(error) = claim.record(&next).await {
                tracing::error!(%error, "cannot record the completion of a call that has an idempotency key");
            }
        });
    }
}
