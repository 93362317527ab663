//! An audit log: the caller, handler, outcome and duration of each call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::middleware::{Call, CallOutput, MiddlewareFuture, Next};

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
    /// The call was dropped: it was cancelled, took too long or panicked, or, in 2026-07-28, this round ended with a
    /// question to the client.
    Dropped,
}

/// Creates middleware that passes each call to `record` when it ends, including calls that are cancelled, take too long
/// or panic.
///
/// Calls that are refused before they reach middleware are not included: those whose caller lacks a scope or is not
/// allowed to see the handler, those that exceed a rate limit, and those whose `requestState` is not accepted. The
/// server logs most of them itself: exceeded rates as refusals of kind `too_many`, and missing scopes over HTTP as
/// `forbidden` or `unauthorized`. It does not log calls to handlers that the caller is not allowed to see.
///
/// `record` must not block. [`AuditRecord::log`] writes a line to the log; for anything slower, send the data to a
/// task.
///
/// ```
/// use mcp_runtime::middleware::{AuditOutcome, audit};
///
/// let server = mcp_runtime::new_server!().middleware(audit(|record| {
///     let who = record.call.principal().map_or("anonymous", |who| who.subject());
///     if record.outcome != AuditOutcome::Succeeded {
///         eprintln!("{who} {} {:?}", record.call.name(), record.outcome);
///     }
/// }));
/// ```
pub fn audit(
    record: impl Fn(&AuditRecord) + Send + Sync + 'static,
) -> impl Fn(Call, Next) -> MiddlewareFuture + Send + Sync + 'static {
    let record = Arc::new(record);
    move |call, next| {
        let mut entry = PendingAuditRecord {
            record: AuditRecord {
                call: call.clone(),
                outcome: AuditOutcome::Dropped,
                duration: Duration::ZERO,
            },
            begun: Instant::now(),
            write: Arc::clone(&record),
        };
        Box::pin(async move {
            let output = next.run(call).await;
            entry.record.outcome = match &output {
                Ok(CallOutput::Tool(result)) if result.is_error => AuditOutcome::Failed,
                Ok(_) => AuditOutcome::Succeeded,
                Err(_) => AuditOutcome::Failed,
            };
            drop(entry);
            output
        })
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
        self.record.duration = self.begun.elapsed();
        (self.write)(&self.record);
    }
}

impl AuditRecord {
    /// Writes the record to the log at level `info` with target `mcp_runtime::audit`. The arguments are omitted because
    /// they may contain secrets.
    pub fn log(&self) {
        let principal = self.call.principal();
        let request = self.call.context().request();
        #[cfg(feature = "http")]
        let client_ip = request.client_ip();
        #[cfg(not(feature = "http"))]
        let client_ip: Option<std::net::IpAddr> = None;
        tracing::info!(
            target: "mcp_runtime::audit",
            kind = ?self.call.kind(),
            name = self.call.name(),
            round = self.call.round(),
            subject = principal.map(crate::Principal::subject),
            issuer = principal.map(crate::Principal::issuer),
            client = principal.map(crate::Principal::client_id),
            client_ip = client_ip.map(tracing::field::display),
            version = request.protocol_version().as_str(),
            outcome = ?self.outcome,
            milliseconds = self.duration.as_secs_f64() * 1e3,
            "call"
        );
    }
}
