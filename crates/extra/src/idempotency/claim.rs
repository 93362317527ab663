//! Records calls with an idempotency key in the store for `once`, so that all processes that share it know about them.
//!
//! The key's digest takes the place of a call's id. The `call` entry describes the call that has the key, in its note
//! while the call runs, and together with its end from then on. It is claimed under the call's id, so that all rounds
//! have the same claim. In 2026-07-28, each later round of a call also claims `round` until it ends, so that a round
//! that is sent twice does not run twice concurrently.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_core::context::{
    CallId, ClaimId, Context, OnceClaim, OnceKind, OnceRoom, OnceStore, OnceWork, patiently,
};
use mcp_core::error::BoxError;
use mcp_core::handler::handler_error::{HandlerError, Result};
use mcp_core::handler::middleware::Call;
use mcp_core::handler::run::{CallOutput, ExtensionResult};
use mcp_core::limits::IdempotencyLimits;
use mcp_core::seal;
use mcp_protocol::jsonrpc::Member;
use mcp_protocol::types::{CallToolResult, Meta};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use tokio::time::timeout;

use crate::idempotency::key::{CallKey, Idempotency};

/// Calls with a key, whose results are kept for repeats.
const WHOLE_CALL: OnceKind = OnceKind::new("call", |limits| OnceRoom {
    max_entries: limits.idempotency.max_calls,
    max_entries_per_caller: limits.idempotency.max_calls_per_caller,
    max_bytes: limits.idempotency.max_bytes,
    max_bytes_per_caller: limits.idempotency.max_bytes_per_caller,
});

/// The entry that describes the call.
const CALL: &str = "call";

/// Time after which a client gets its result although the store does not know it yet.
const ANSWER_AFTER: Duration = Duration::from_secs(2);

type StoreResult<T> = Result<T, BoxError>;

/// A call that has ended, in its stored form.
#[derive(Serialize, Deserialize)]
struct EndedCall {
    call: CallRecord,
    end: RecordedEnd,
}

/// A call's claim to its key.
#[derive(Clone)]
pub(super) struct CallClaim {
    store: Arc<dyn OnceStore>,
    /// Identifies the key.
    id: CallId,
    /// The call's id, which is the same in all of its rounds.
    call: ClaimId,
    /// The claim of this round.
    round_claim: ClaimId,
    record: Arc<CallRecord>,
    /// The record as text.
    note: Arc<str>,
    /// The name of the round's entry, or `None` in the first round.
    round: Option<Arc<str>>,
    /// The caller in whose share the key is counted.
    share: Arc<str>,
    limits: IdempotencyLimits,
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
    /// There is no room for another call of this caller.
    CallerFull,
    /// There is no room for another call.
    Full,
}

impl CallClaim {
    pub(super) fn new(settings: &Idempotency, key: &CallKey, call: &Call) -> Self {
        let context = call.context();
        let call_id = context.call_id();
        let record = CallRecord {
            owner: key.owner.clone(),
            arguments: URL_SAFE_NO_PAD.encode(key.arguments),
            call: call_id.to_string(),
        };
        let round = (call.round() > 1).then(|| format!("round {call_id} {}", call.round()).into());
        let id = key.digest.first_chunk::<16>().copied().unwrap_or_default();
        Self {
            store: Arc::clone(&settings.store),
            id: CallId::from_bytes(id),
            call: ClaimId::from_bytes(*call_id.as_bytes()),
            round_claim: ClaimId::random(),
            note: serde_json::to_string(&record).unwrap_or_default().into(),
            record: Arc::new(record),
            round,
            share: context.caller().key().into(),
            limits: settings.limits.clone(),
        }
    }

    /// Claims the key, or checks the call that has it. Repeating this has no further effect.
    pub(super) async fn look(&self) -> StoreResult<ClaimState> {
        let (record, ended) = match self.store.begin(self.entry()).await? {
            OnceClaim::Granted => return self.begin_round().await,
            OnceClaim::CallerFull => return Ok(ClaimState::CallerFull),
            OnceClaim::Full => return Ok(ClaimState::Full),
            OnceClaim::Taken(note) => (serde_json::from_str::<CallRecord>(&note)?, None),
            OnceClaim::Done(text) => {
                let EndedCall { call, end } = serde_json::from_str(&text)?;
                (call, Some((end, text)))
            }
        };
        if record.owner != self.record.owner {
            return Err("two callers have the same key".into());
        }
        let has_same_arguments = record.arguments == self.record.arguments;
        let Some((end, text)) = ended else {
            return Ok(if has_same_arguments {
                ClaimState::Running
            } else {
                ClaimState::OtherArguments
            });
        };
        let window = milliseconds(self.limits.window.min(IdempotencyLimits::MAX_WINDOW));
        let is_own = record.call == self.record.call;
        if !is_own && now().saturating_sub(end.at) >= window {
            self.store.forget(self.entry(), &text).await?;
            return Ok(ClaimState::Forgotten);
        }
        Ok(if has_same_arguments {
            ClaimState::Ended(end)
        } else {
            ClaimState::OtherArguments
        })
    }

    /// Claims this round of the call that has the key.
    async fn begin_round(&self) -> StoreResult<ClaimState> {
        let Some(round) = self.round_entry() else {
            return Ok(ClaimState::Granted);
        };
        Ok(match self.store.begin(round).await? {
            OnceClaim::Granted => ClaimState::Granted,
            OnceClaim::Taken(_) | OnceClaim::Done(_) => ClaimState::Running,
            OnceClaim::CallerFull => ClaimState::CallerFull,
            OnceClaim::Full => ClaimState::Full,
        })
    }

    fn entry(&self) -> OnceWork<'_> {
        OnceWork {
            call: self.id,
            name: CALL,
            claim: self.call,
            owner: &self.share,
            kind: WHOLE_CALL,
            note: &self.note,
            kept: self.limits.window.min(IdempotencyLimits::MAX_WINDOW),
        }
    }

    fn round_entry(&self) -> Option<OnceWork<'_>> {
        let name = self.round.as_deref()?;
        Some(OnceWork {
            name,
            claim: self.round_claim,
            note: "",
            ..self.entry()
        })
    }

    /// Returns the text for a call that has ended.
    fn ended(&self, end: RecordedEnd) -> Arc<str> {
        let call = (*self.record).clone();
        serde_json::to_string(&EndedCall { call, end })
            .unwrap_or_default()
            .into()
    }

    /// Records how the call continues or ends. Repeating this has no further effect.
    async fn record(&self, next: &NextStep) -> StoreResult<()> {
        match next {
            NextStep::Ended(end) => self.store.complete(self.entry(), end).await?,
            NextStep::Failed => self.store.abandon(self.entry()).await?,
            NextStep::NotStarted if self.round.is_none() => {
                self.store.abandon(self.entry()).await?;
            }
            NextStep::Asked | NextStep::NotStarted => {}
        }
        match self.round_entry() {
            Some(round) => self.store.abandon(round).await,
            None => Ok(()),
        }
    }
}

/// The step that follows when the handler ends.
#[derive(Clone)]
enum NextStep {
    /// The handler has not been started, but the store may have received the claim.
    NotStarted,
    /// The call has ended. Contains the end as text.
    Ended(Arc<str>),
    /// The call has failed, so it can be repeated.
    Failed,
    /// The round has ended with questions, and can be sent again.
    Asked,
}

/// The state of a call's claim in this process.
enum RunState {
    /// The store knows all there is to know.
    Recorded,
    Running,
    /// The store may not know this yet.
    Unrecorded(NextStep),
}

/// A call with a key. If it is dropped before its end is recorded, it goes on recording without the call. If the handler
/// is dropped before it ends, its outcome is recorded as unknown.
pub(super) struct RunGuard {
    claim: CallClaim,
    context: Context,
    state: RunState,
}

impl RunGuard {
    pub(super) fn new(claim: CallClaim, context: Context) -> Self {
        Self {
            claim,
            context,
            state: RunState::Recorded,
        }
    }

    /// Claims the key, or checks the call that has it.
    pub(super) async fn look(&mut self) -> StoreResult<ClaimState> {
        self.state = RunState::Unrecorded(NextStep::NotStarted);
        let looked = self.claim.look().await?;
        // A round for which there is no room leaves the call as it is.
        self.state = match looked {
            ClaimState::Granted => RunState::Running,
            _ => RunState::Recorded,
        };
        Ok(looked)
    }

    /// Records how the call has ended: `Some`, or with a failure. If the store does not work at the moment, the call does
    /// not wait for it, and its end is recorded as soon as the store works again.
    pub(super) async fn end(mut self, end: Option<RecordedEnd>) {
        let next = end.map_or(NextStep::Failed, |end| {
            let end = end.within(self.claim.limits.max_result_bytes);
            NextStep::Ended(self.claim.ended(end))
        });
        self.state = RunState::Unrecorded(next.clone());
        if let Ok(Ok(())) = timeout(ANSWER_AFTER, self.claim.record(&next)).await {
            self.state = RunState::Recorded;
        } else {
            // Dropping this goes on.
            tracing::warn!("the end of a call with an idempotency key cannot be recorded yet");
        }
    }
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        let next = match mem::replace(&mut self.state, RunState::Recorded) {
            RunState::Recorded => return,
            RunState::Unrecorded(next) => next,
            RunState::Running if self.context.continuation().has_asked() => NextStep::Asked,
            RunState::Running => NextStep::Ended(self.claim.ended(RecordedEnd::stopped())),
        };
        let claim = self.claim.clone();
        self.context.server().spawn(async move {
            let recorded = patiently(|| Box::pin(claim.record(&next)));
            if let Err(error) = recorded.await {
                tracing::error!(%error, "the end of a call with an idempotency key cannot be recorded");
            }
        });
    }
}

// --- Calls with an idempotency key in their stored form: how they began and how they ended.

/// A call that has begun.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct CallRecord {
    /// The caller or session to which the key belongs.
    pub(super) owner: String,
    /// Identifies the arguments.
    pub(super) arguments: String,
    /// The id of the call, which is the same in all of its rounds.
    pub(super) call: String,
}

/// The end of a call. If it has neither a result nor an extension's result, the call was stopped before it ended.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct RecordedEnd {
    /// Milliseconds since 1970.
    pub(super) at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    extension: Option<ExtensionEnd>,
    /// `true` if the result was too large to be kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_too_large: bool,
}

/// A result that an extension defines, such as a task.
#[derive(Serialize, Deserialize)]
struct ExtensionEnd {
    result_type: String,
    members: Box<RawValue>,
    meta: Meta,
    how: TaskRequest,
}

/// The properties of a request that decide whether its call becomes a task.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TaskRequest {
    protocol_version: String,
    asks_for_task: bool,
    /// The extensions that the client declares, sorted.
    extensions: Vec<String>,
}

impl TaskRequest {
    pub(super) fn of(call: &Call) -> Self {
        let context = call.context();
        let declared = context.client_capabilities().extensions.keys();
        let mut extensions: Vec<_> = declared.cloned().collect();
        extensions.sort();
        Self {
            protocol_version: context.request().protocol_version().as_str().to_owned(),
            asks_for_task: call.member(Member::Task).is_some(),
            extensions,
        }
    }
}

impl RecordedEnd {
    /// Describes the outcome of a call that was stopped.
    pub(super) fn stopped() -> Self {
        Self {
            at: now(),
            ..Self::default()
        }
    }

    /// Describes the outcome of a call with this output.
    pub(super) fn of(output: &CallOutput, how: TaskRequest) -> Self {
        let mut end = Self::stopped();
        match output {
            CallOutput::Tool(result) => end.result = to_raw_value(result).ok(),
            CallOutput::Extension(result) => {
                let members = RawValue::from_string(result.members().to_owned());
                end.extension = members.ok().map(|members| ExtensionEnd {
                    result_type: result.type_name().to_owned(),
                    members,
                    meta: result.meta_entries().cloned().unwrap_or_default(),
                    how,
                });
            }
            // A tool cannot return any other kind of result.
            _ => {}
        }
        end
    }

    /// Returns the outcome without the result if it would exceed `max` bytes as text.
    pub(super) fn within(self, max: usize) -> Self {
        let is_too_large = serde_json::to_string(&self).is_ok_and(|text| text.len() > max);
        if !is_too_large {
            return self;
        }
        Self {
            at: self.at,
            is_too_large,
            ..Self::default()
        }
    }

    /// Returns the output for a repeat of the call.
    pub(super) fn into_output(self, call: &Call, key: &CallKey) -> Result<CallOutput> {
        if self.is_too_large {
            return Err(key.too_large());
        }
        let how = TaskRequest::of(call);
        let version = call.context().request().protocol_version();
        let asks_for_task = how.asks_for_task && version.has_tasks();
        if let Some(result) = self.result {
            let result: CallToolResult = serde_json::from_str(result.get())?;
            // A tool's result is not a valid response to a request for a task.
            return if asks_for_task {
                Err(key.other_form().into_protocol())
            } else {
                Ok(CallOutput::Tool(result))
            };
        }
        let error = match self.extension {
            Some(end) if end.how == how => {
                let result = ExtensionResult::from_stored(end.result_type, end.members, end.meta);
                return Ok(CallOutput::Extension(result.admitted_in(version)));
            }
            Some(_) => key.other_form(),
            None => key.stopped(),
        };
        Err(if asks_for_task {
            HandlerError::into_protocol(error)
        } else {
            error
        })
    }
}

/// Returns the milliseconds since 1970.
pub(super) fn now() -> u64 {
    milliseconds(seal::now())
}

pub(super) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
