//! Calls with an idempotency key in their stored form: how they began and how they ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::dispatch::seal;
use crate::handler::call::CallOutput;
use crate::handler::extension_result::ExtensionResult;
use crate::handler::handler_error::{HandlerError, Result};
use crate::handler::middleware::Call;
use crate::idempotency::key::CallKey;
use crate::jsonrpc::Member;
use crate::types::{CallToolResult, Meta};

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
