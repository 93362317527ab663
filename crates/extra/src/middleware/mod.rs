//! Ready-made middleware. Each function is short and uses little beyond the public interface, so it can serve as a starting
//! point for one's own.

mod cache;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

pub use cache::cache;
use mcp_core::context::{Principal, RequestInfo};
use mcp_core::handler::definition::Kind;
use mcp_core::handler::handler_error::HandlerError;
use mcp_core::handler::middleware::{Call, Middleware, Next};
use mcp_core::handler::run::CallOutput;
use mcp_protocol::ProtocolVersion;
use mcp_protocol::types::{CallToolResult, ContentBlock};
use mcp_stores::timestamp;
use serde_json::{Map, Value};

// --- An audit log: the caller, handler, outcome and duration of each call.

/// A single call, for an audit log.
#[derive(Debug)]
#[non_exhaustive]
pub struct AuditRecord {
    /// The call: its name, arguments, caller and request.
    pub call: Call,
    /// The outcome of the call.
    pub outcome: AuditOutcome,
    /// The duration of the call.
    pub duration: Duration,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditOutcome {
    /// The handler returned a result.
    Succeeded,
    /// The handler failed or rejected the arguments.
    Failed,
    /// This round of the call ended with a question to the client, as rounds do in 2026-07-28 and in tasks. The next round
    /// has a record of its own.
    Asked,
    /// The call was dropped: it was cancelled, took too long or panicked.
    Dropped,
}

/// Creates middleware that passes each call to `record` when it ends, including calls that are cancelled, take too long
/// or panic.
///
/// Calls that are refused before they reach middleware are not included: those whose caller lacks a scope or is not
/// allowed to see the handler, those that exceed a rate limit, and those whose `requestState` is not accepted. The
/// server logs most of them itself: exceeded rates as refusals of kind `too_many`, and missing scopes over HTTP as
/// `forbidden` or `unauthorized`. It does not log calls to handlers that the caller is not allowed to see. Requests that the
/// framework answers itself, such as `tasks/get`, run no handler, and are not included either.
///
/// `record` must not block. [`AuditRecord::log`] writes a line to the log; for anything slower, send the data to a
/// task.
///
/// ```
/// use mcp_runtime::middleware::{AuditOutcome, audit};
///
/// let server = mcp_runtime::new_server!().middleware(audit(|record| {
///     if matches!(record.outcome, AuditOutcome::Failed | AuditOutcome::Dropped) {
///         eprintln!("{} {} {:?}", record.who(), record.call.name(), record.outcome);
///     }
/// }));
/// ```
pub fn audit(record: impl Fn(&AuditRecord) + Send + Sync + 'static) -> impl Middleware {
    let record = Arc::new(record);
    move |call: Call, next: Next| {
        let mut entry = PendingAuditRecord {
            record: AuditRecord {
                call: call.clone(),
                outcome: AuditOutcome::Dropped,
                duration: Duration::ZERO,
            },
            begun: Instant::now(),
            write: Arc::clone(&record),
        };
        async move {
            let output = next.run(call).await;
            entry.record.outcome = match &output {
                Ok(CallOutput::Tool(result)) if result.is_error => AuditOutcome::Failed,
                Ok(_) => AuditOutcome::Succeeded,
                Err(_) => AuditOutcome::Failed,
            };
            drop(entry);
            output
        }
    }
}

/// Records the call when dropped, no matter how the call ends.
struct PendingAuditRecord<F: Fn(&AuditRecord)> {
    record: AuditRecord,
    begun: Instant,
    write: Arc<F>,
}

impl<F: Fn(&AuditRecord)> Drop for PendingAuditRecord<F> {
    fn drop(&mut self) {
        let record = &mut self.record;
        record.duration = self.begun.elapsed();
        if record.outcome == AuditOutcome::Dropped
            && record.call.context().continuation().has_asked()
        {
            record.outcome = AuditOutcome::Asked;
        }
        (self.write)(&self.record);
    }
}

impl AuditRecord {
    /// Returns who made the call: the subject of its [`Principal`], which is the header's value with
    /// `HttpOptions::principal_header`; without one, over standard input and output, the value of the variable that
    /// `Server::header_from_env` names first and that is set, such as the tenant's, but no secret; otherwise `anonymous`.
    #[must_use]
    pub fn who(&self) -> &str {
        let subject = self.call.principal().map(Principal::subject);
        let request = self.call.context().request();
        subject
            .or_else(|| request.first_environment_header())
            .unwrap_or("anonymous")
    }

    /// Returns the record as a JSON object in one line, without a line break at the end. The arguments are omitted because they
    /// may contain secrets.
    ///
    /// Its members are `time` (at the end of the call), `who`, `subject`, `issuer`, `client`, `clientIp`, `kind`, `name`, `round`,
    /// `callId`, `version`, `outcome` and `milliseconds`. What is unknown is left out.
    #[must_use]
    pub fn json(&self) -> String {
        let (call, request) = (&self.call, self.call.context().request());
        let principal = call.principal();
        let text = |text: &str| (!text.is_empty()).then(|| Value::from(text));
        let of_principal = |member: fn(&Principal) -> &str| text(principal.map_or("", member));
        let members = [
            ("time", text(&timestamp(SystemTime::now()))),
            ("who", text(self.who())),
            ("subject", of_principal(Principal::subject)),
            ("issuer", of_principal(Principal::issuer)),
            ("client", of_principal(Principal::client_id)),
            (
                "clientIp",
                client_ip(request).map(|ip| ip.to_string().into()),
            ),
            ("kind", text(call.kind().as_str())),
            ("name", text(call.name())),
            ("round", Some(call.round().into())),
            ("callId", text(&call.context().call_id().to_string())),
            ("version", text(request.protocol_version().as_str())),
            ("outcome", text(self.outcome.as_str())),
            (
                "milliseconds",
                Some((self.duration.as_secs_f64() * 1e3).into()),
            ),
        ];
        let members = members.into_iter();
        let members = members.filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(members.collect::<Map<_, _>>()).to_string()
    }

    /// Writes the record to the log at level `info` with target `mcp_runtime::audit`. The arguments are omitted because
    /// they may contain secrets.
    pub fn log(&self) {
        let principal = self.call.principal();
        let request = self.call.context().request();
        tracing::info!(
            target: "mcp_runtime::audit",
            kind = ?self.call.kind(),
            name = self.call.name(),
            round = self.call.round(),
            who = self.who(),
            subject = principal.map(Principal::subject),
            issuer = principal.map(Principal::issuer),
            client = principal.map(Principal::client_id),
            client_ip = client_ip(request).map(tracing::field::display),
            version = request.protocol_version().as_str(),
            outcome = ?self.outcome,
            milliseconds = self.duration.as_secs_f64() * 1e3,
            "call"
        );
    }
}

/// Returns the address of an HTTP client.
#[cfg(feature = "http")]
fn client_ip(request: &RequestInfo) -> Option<IpAddr> {
    request.client_ip()
}

#[cfg(not(feature = "http"))]
fn client_ip(_: &RequestInfo) -> Option<IpAddr> {
    None
}

impl AuditOutcome {
    /// Returns the outcome as it is written in JSON, such as `succeeded`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Asked => "asked",
            Self::Dropped => "dropped",
        }
    }
}

// --- Retries with backoff.

/// Time before the first retry. The time doubles with each further retry, up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Creates middleware that runs a handler again if it fails with an error for which `is_temporary` returns `true`, up
/// to `attempts` times in total.
///
/// The pauses between the attempts are 100 ms, 200 ms, 400 ms and so on, up to 10 s, each randomly shortened by up to
/// half. They count toward the call's timeout, and a cancelled call is not retried.
///
/// ```
/// use mcp_runtime::middleware::retry;
///
/// let server = mcp_runtime::new_server!().middleware(retry(3, |call, error| {
///     let cause = error.cause().and_then(|cause| cause.downcast_ref::<std::io::Error>());
///     call.name() == "search" && cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::TimedOut)
/// }));
/// ```
///
/// Retry only handlers that may run twice: those that only read data, and those whose effects are wrapped in
/// [`once`](mcp_core::context::Context::once). Work in `once` that has succeeded is not repeated, and a question that the client
/// has answered is not asked again.
pub fn retry(
    attempts: u32,
    is_temporary: impl Fn(&Call, &HandlerError) -> bool + Send + Sync + 'static,
) -> impl Middleware {
    let is_temporary = Arc::new(is_temporary);
    move |call: Call, next: Next| {
        let is_temporary = Arc::clone(&is_temporary);
        async move {
            let mut pause = FIRST_PAUSE;
            for _ in 1..attempts {
                match next.clone().run(call.clone()).await {
                    Err(error) if is_temporary(&call, &error) => {}
                    output => return output,
                }
                tokio::time::sleep(shortened(pause)).await;
                pause = pause.saturating_mul(2).min(MAX_PAUSE);
            }
            next.run(call).await
        }
    }
}

/// Randomly shortens a pause by up to half, so that calls that failed together are not retried together.
fn shortened(pause: Duration) -> Duration {
    let half = pause / 2;
    let [random] = mcp_core::random::random();
    half + half.mul_f64(f64::from(random) / 255.0)
}

// --- Limits the text that a tool adds to a model's context.

/// Creates middleware that limits the text in each tool result to `max_bytes`. The rest, including further text blocks,
/// is replaced with a single note that tells the model how much is missing.
///
/// A message that a handler exposes, as `bail!` does, is limited in the same way.
/// Structured content remains complete for programs that read it; only the accompanying text is limited. Images, audio
/// and embedded resources remain unchanged, as do the results of tools with the `spill` option, because the text that
/// they leave out is kept. To refuse large results instead, use the `max_output` option.
#[must_use]
pub fn trim_text(max_bytes: usize) -> impl Middleware {
    move |call: Call, next: Next| async move {
        let version = call.context().request().protocol_version();
        let is_tool = call.kind() == Kind::Tool;
        let is_limited = call.limits_its_text();
        match next.run(call).await {
            Ok(CallOutput::Tool(mut result)) if !is_limited => {
                trim_result(&mut result, version, max_bytes);
                Ok(CallOutput::Tool(result))
            }
            Err(mut error) if is_tool => {
                trim_error(&mut error, max_bytes);
                Err(error)
            }
            output => output,
        }
    }
}

fn trim_result(result: &mut CallToolResult, version: ProtocolVersion, max_bytes: usize) {
    let wants_none = result.is_structured_only() && version.has_structured_content();
    let lacks_text = result.content.is_empty() || result.is_structured_only();
    // Normally, the text of structured content is not added until the result is sent.
    if let (true, Some(structured)) = (lacks_text && !wants_none, &result.structured_content)
        && structured.get().len() > max_bytes
    {
        result.content = vec![ContentBlock::text(structured.get())];
    }
    let mut room = max_bytes;
    let mut missing: usize = 0;
    // The first block of text that does not fit, which will contain the note.
    let mut trimmed = None;
    let mut position: usize = 0;
    result.content.retain_mut(|block| {
        let is_kept = match block {
            ContentBlock::Text(text) if trimmed.is_none() => {
                let length = text.text.len();
                text.text.truncate(text.text.floor_char_boundary(room));
                room = room.saturating_sub(length);
                missing = length.saturating_sub(text.text.len());
                if missing > 0 {
                    trimmed = Some(position);
                }
                true
            }
            ContentBlock::Text(text) => {
                missing = missing.saturating_add(text.text.len());
                false
            }
            _ => true,
        };
        position = position.saturating_add(usize::from(is_kept));
        is_kept
    });
    if let Some(ContentBlock::Text(text)) = trimmed.and_then(|at| result.content.get_mut(at)) {
        text.text.push_str(&truncation_note(missing));
    }
}

fn trim_error(error: &mut HandlerError, max_bytes: usize) {
    if let Some(text) = error.exposed_text_mut() {
        let length = text.len();
        text.truncate(text.floor_char_boundary(max_bytes));
        let missing = length.saturating_sub(text.len());
        if missing > 0 {
            text.push_str(&truncation_note(missing));
        }
    }
}

fn truncation_note(missing: usize) -> String {
    format!("\n[{missing} more bytes were omitted; ask for less]")
}
