//! The context of a single call.

use std::any::Any;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::context::handle::notification_params;
use crate::context::{Caller, Principal, QuestionTransport, RequestInfo, ServerHandle, States};
use crate::handler::handler_error::Result;
use crate::handler::tags::TagSelection;
use crate::jsonrpc::read_json;
use crate::observe::TraceContext;
use crate::protocol::ProtocolVersion;
use crate::protocol::negotiation::client_info;
use crate::sync::{CancellationToken, lock};
use crate::types::{ClientCapabilities, Implementation, LoggingLevel, Meta};

/// Gives a handler access to its call: the caller, progress reports, logging, questions to the client, cancellation,
/// and the running server.
///
/// Take it as a parameter, `ctx: Context` or `ctx: &Context`. It is cheap to clone. A clone may outlive the call, but
/// notifications sent after the response are dropped.
#[derive(Clone)]
pub struct Context(Arc<dyn CallHandle>);

/// A call as seen by its context. Implemented by `dispatch`, which keeps all parts in a single allocation.
pub(crate) trait CallHandle: Send + Sync {
    fn request(&self) -> &RequestContext;
    /// Returns the sender for the call's notifications.
    fn outbound(&self) -> &dyn NotificationSender;
    /// Returns the interface through which this call can ask questions.
    fn asking(&self) -> &dyn QuestionTransport;
    /// Returns the state that decides what follows when the handler ends.
    fn ending(&self) -> &CallEnding;
    /// Returns the token that is cancelled when the handler leaves its request, if the call can continue apart from it.
    fn leaving(&self) -> Option<&CancellationToken> {
        None
    }
    /// Returns the values of awaited parameters, if the call has waited for any.
    fn prepared(&self) -> Option<&Mutex<Vec<Box<dyn Any + Send>>>> {
        None
    }
}

/// The request data behind a handler's context.
pub(crate) struct RequestContext {
    pub(crate) client: ClientIdentity,
    pub(crate) info: RequestInfo,
    pub(crate) caller: Caller,
    /// The definitions that the request selects, or `None` for all definitions.
    pub(crate) selection: Option<TagSelection>,
    pub(crate) version: ProtocolVersion,
    pub(crate) capabilities: Arc<ClientCapabilities>,
    /// The raw JSON of the `params._meta` object.
    pub(crate) meta: Option<Box<str>>,
    /// Created on first use, because few handlers need it.
    pub(crate) cancelled: OnceLock<CancellationToken>,
    pub(crate) states: Arc<States>,
    pub(crate) server: ServerHandle,
}

impl RequestContext {
    fn cancellation(&self) -> &CancellationToken {
        self.cancelled.get_or_init(CancellationToken::default)
    }

    /// Returns the same data for a run of the call that is separate from its request.
    pub(crate) fn detached(&self) -> Self {
        Self {
            client: match &self.client {
                ClientIdentity::Known(client) => ClientIdentity::Known(client.clone()),
                ClientIdentity::Claimed(_) => ClientIdentity::Claimed(OnceLock::new()),
            },
            info: self.info.clone(),
            caller: self.caller.clone(),
            selection: self.selection.clone(),
            version: self.version,
            capabilities: Arc::clone(&self.capabilities),
            meta: self.meta.clone(),
            cancelled: OnceLock::new(),
            states: Arc::clone(&self.states),
            server: self.server.clone(),
        }
    }

    /// Returns the approximate size of the request's data in bytes.
    pub(crate) fn size(&self) -> usize {
        let meta = self.meta.as_ref().map_or(0, |meta| meta.len());
        #[cfg(feature = "http")]
        let parts = {
            let headers = self.info.headers().into_iter().flatten();
            let headers = headers.map(|(name, value)| name.as_str().len() + value.len());
            let uri = [self.info.path(), self.info.query()].into_iter().flatten();
            headers.sum::<usize>() + uri.map(str::len).sum::<usize>()
        };
        #[cfg(not(feature = "http"))]
        let parts = 0;
        // In 2026-07-28, the capabilities are parsed from `_meta`.
        meta.saturating_mul(2).saturating_add(parts)
    }

    /// Cancels the call.
    pub(crate) fn cancel(&self) {
        self.cancellation().cancel();
    }
}

/// The name and version that the client reports.
#[derive(Debug)]
pub(crate) enum ClientIdentity {
    /// Reported in the handshake.
    Known(Option<Arc<Implementation>>),
    /// Reported in `_meta`, which is parsed on first use.
    Claimed(OnceLock<Option<Box<Implementation>>>),
}

/// Sends a call's notifications. Implemented by `dispatch`, which encodes them and limits their rate.
pub(crate) trait NotificationSender: Send + Sync {
    fn progress(&self, progress: &Progress);
    /// Reports slightly more progress than in the last report if nothing has been reported for this long. Returns the
    /// time until this may next be necessary.
    fn keep_alive(&self, quiet: Duration) -> Duration {
        quiet
    }
    /// Returns `true` if messages at this level are sent. Checked before a message is rendered.
    fn accepts_level(&self, level: LoggingLevel) -> bool;
    /// Closes the connection that carries the call, if the client can reconnect to receive the response.
    fn close_stream(&self) {}
    /// Sends a log message; `data` is JSON.
    fn log(&self, level: LoggingLevel, logger: Option<&str>, data: &str);
    /// Sends an extension's notification.
    fn extension(&self, _method: &str, _params: &Map<String, Value>) {}
}

impl Context {
    pub(crate) fn new(call: Arc<dyn CallHandle>) -> Self {
        Self(call)
    }

    pub(super) fn call(&self) -> &dyn CallHandle {
        &*self.0
    }

    pub(crate) fn request_context(&self) -> &RequestContext {
        self.0.request()
    }

    /// Returns the caller and the selection that determine which definitions the request may use.
    pub(crate) fn viewer(&self) -> (&Caller, Option<&TagSelection>) {
        let request = self.0.request();
        (&request.caller, request.selection.as_ref())
    }

    pub(crate) fn states(&self) -> &States {
        &self.0.request().states
    }

    pub(crate) fn outbound(&self) -> &dyn NotificationSender {
        self.0.outbound()
    }

    pub(crate) fn asking(&self) -> &dyn QuestionTransport {
        self.0.asking()
    }

    pub(crate) fn ending(&self) -> &CallEnding {
        self.0.ending()
    }

    /// Reports progress to the client, if the client requested progress notifications.
    ///
    /// ```
    /// # fn copy(ctx: &mcp_runtime::Context) {
    /// ctx.progress(3); // three of an unknown number
    /// ctx.progress((4, "copying photos")); // with a description of the current step
    /// ctx.progress((5, 10)); // five of ten
    /// ctx.progress((6, 10, "copying videos"));
    /// # }
    /// ```
    ///
    /// Each value must be greater than the previous one; otherwise, it is dropped. Bursts are merged so that, by
    /// default, at most 20 notifications are sent per second ([`limits.calls.max_progress_per_second`](crate::Limits)).
    /// The last value is always sent before the response.
    ///
    /// Source: every revision, basic/utilities/progress. 2024-11-05 does not support progress messages, so the message
    /// is omitted in that version.
    pub fn progress(&self, progress: impl Into<Progress>) {
        self.outbound().progress(&progress.into());
    }

    /// Reports slightly more progress, without a message, whenever nothing has been reported for this long. Never
    /// returns, so run it concurrently with the work.
    pub(crate) async fn keep_alive<T>(&self, quiet: Duration) -> T {
        let mut wait = quiet;
        loop {
            tokio::time::sleep(wait).await;
            wait = self.outbound().keep_alive(quiet);
        }
    }

    /// Sends a log message to the client, if the client accepts messages at this level.
    ///
    /// `data` can be any JSON value and is usually a string. The data must not contain secrets. By default, at most 100
    /// messages are sent per second ([`limits.log.max_per_second`](crate::Limits)).
    ///
    /// Source: every revision, server/utilities/logging. Since 2026-07-28, clients must request log messages in each
    /// request.
    pub fn log(&self, level: LoggingLevel, data: impl Serialize) {
        self.log_as(level, None, data);
    }

    /// Sends a log message with an optional logger name.
    pub fn log_as(&self, level: LoggingLevel, logger: Option<&str>, data: impl Serialize) {
        if !self.outbound().accepts_level(level) {
            return;
        }
        match serde_json::to_string(&data) {
            Ok(data) => self.outbound().log(level, logger, &data),
            Err(error) => tracing::warn!(%error, "cannot serialize a log message as JSON"),
        }
    }

    /// Sends a log message at level `debug`.
    pub fn debug(&self, data: impl Serialize) {
        self.log(LoggingLevel::Debug, data);
    }

    /// Sends a log message at level `info`.
    pub fn info(&self, data: impl Serialize) {
        self.log(LoggingLevel::Info, data);
    }

    /// Sends a log message at level `warning`.
    pub fn warning(&self, data: impl Serialize) {
        self.log(LoggingLevel::Warning, data);
    }

    /// Sends a log message at level `error`.
    pub fn error(&self, data: impl Serialize) {
        self.log(LoggingLevel::Error, data);
    }

    /// Sends an extension's notification that belongs to this call, before the response. `params` must serialize to a
    /// JSON object.
    ///
    /// The notification is not sent if the client does not declare the extension, or if the extension does not exist in
    /// the client's protocol version. If none of the server's extensions defines the notification, or if clients
    /// request it in `subscriptions/listen`, it is not sent and an error is logged.
    ///
    /// See [`Extension::call_notification`](crate::extension::Extension::call_notification).
    pub fn notify(&self, notification: &str, params: impl Serialize) {
        let request = self.0.request();
        let control = &request.server.0;
        if control.may_notify(notification, request.version, &request.capabilities)
            && let Some(params) = notification_params(notification, params)
        {
            self.outbound().extension(notification, &params);
        }
    }

    /// Closes the client's connection while the call continues; the client reconnects to receive the response.
    ///
    /// Use this in long calls to avoid keeping a connection open. It works only over HTTP, in sessions that use
    /// protocol version 2025-11-25, because only that version's clients reconnect automatically. In all other cases,
    /// this method does nothing and the response is sent as usual.
    ///
    /// Source: revision 2025-11-25, basic/transports, "Sending Messages to the Server".
    pub fn close_stream(&self) {
        self.outbound().close_stream();
    }

    /// Returns `true` if the call was cancelled or timed out, or if its client has disconnected.
    ///
    /// Handlers do not need to check this themselves, because their future is dropped in these cases. This method is
    /// intended for threads and tasks that a handler has started.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        let cancelled = self.0.request().cancelled.get();
        cancelled.is_some_and(CancellationToken::is_cancelled)
    }

    /// Waits until the call is cancelled. See [`is_cancelled`](Self::is_cancelled).
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + '_ {
        self.0.request().cancellation().cancelled()
    }

    /// Returns the principal if the caller has credentials. Over stdio, callers never have credentials.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.0.request().caller.principal()
    }

    /// Returns the caller as seen by access rules. The caller also indicates whether scopes apply to it.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.0.request().caller
    }

    /// Returns the request that started this call: its protocol version and session and, over HTTP, its headers, URL,
    /// extensions and addresses.
    ///
    /// ```
    /// # use mcp_runtime::{Context, Result};
    /// # fn language(ctx: &Context) -> Result<&str> {
    /// let language = ctx.request().header("accept-language")?; // `None` if there is none, and over stdio
    /// # Ok(language.unwrap_or("en"))
    /// # }
    /// ```
    #[must_use]
    pub fn request(&self) -> &RequestInfo {
        &self.0.request().info
    }

    /// Returns the trace context of the request, if the caller sent one. Pass the trace context on to the services that
    /// this call uses, unless the program exports spans itself. See [Observability](crate::guide::observability).
    #[must_use]
    pub fn trace_context(&self) -> Option<TraceContext> {
        let request = self.0.request();
        let of_message = request.meta.as_deref().and_then(TraceContext::from_meta);
        of_message.or_else(|| request.info.trace_context())
    }

    /// Returns the name and version that the client reports. This information is untrusted, so do not base decisions on
    /// it.
    #[must_use]
    pub fn client(&self) -> Option<&Implementation> {
        let request = self.0.request();
        match &request.client {
            ClientIdentity::Known(client) => client.as_deref(),
            ClientIdentity::Claimed(client) => client
                .get_or_init(|| client_info(request.meta.as_deref()?).map(Box::new))
                .as_deref(),
        }
    }

    /// Returns the capabilities that the client declares.
    #[must_use]
    pub fn client_capabilities(&self) -> &ClientCapabilities {
        &self.0.request().capabilities
    }

    /// Returns the settings with which the client declares an extension, if the server also has that extension and it
    /// exists in the request's protocol version. Otherwise, the two sides have not negotiated the extension, and the
    /// response must be the same as without the extension.
    ///
    /// [`client_capabilities`](Self::client_capabilities) contains everything that the client declares.
    ///
    /// Source: revision 2026-07-28, basic/extensions.
    #[must_use]
    pub fn extension(&self, id: &str) -> Option<&Map<String, Value>> {
        let request = self.0.request();
        let settings = request.capabilities.extensions.get(id)?.as_object()?;
        let is_known = request.server.0.has_extension(id, request.version);
        is_known.then_some(settings)
    }

    /// Returns the request's `_meta` object, or an empty object if there is none. A number that an `f64` cannot hold,
    /// such as `1e400`, is a string.
    #[must_use]
    pub fn meta(&self) -> Meta {
        let meta = self.0.request().meta.as_deref();
        meta.and_then(|meta| read_json(meta).ok())
            .unwrap_or_default()
    }

    /// Returns the running server, for change notifications and edits to its lists.
    #[must_use]
    pub fn server(&self) -> &ServerHandle {
        &self.0.request().server
    }

    /// Returns the shared value of type `T`, if the server has such a value and has already created it. A
    /// [`State<T>`](crate::State) parameter is usually better because it is checked at start-up and created if
    /// necessary.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.states().get()
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("client", &self.client())
            .finish_non_exhaustive()
    }
}

// --- The end of a call: the effects that wait for its final result, and the reasons why it continues after its handler
// has been dropped.

/// An effect that waits for the call's final result.
pub(crate) type DeferredEffect = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// The state of a call that determines what happens when its handler ends.
#[derive(Default)]
pub(crate) struct CallEnding {
    deferred: Mutex<DeferredEffects>,
    /// `true` once an effect has been deferred. Most calls defer no effects, so they can skip the lock.
    has_deferred: AtomicBool,
    /// `true` while the effects that waited for the result are running.
    is_committing: AtomicBool,
    /// `true` once the round has ended with questions.
    has_asked: AtomicBool,
    /// `true` once the work continues independently of the request.
    continues: AtomicBool,
}

#[derive(Default)]
struct DeferredEffects {
    effects: Vec<DeferredEffect>,
    /// Number of handler runs that have not ended.
    running: usize,
}

impl CallEnding {
    pub(crate) fn defer(&self, effect: DeferredEffect) {
        self.deferred().effects.push(effect);
        self.has_deferred.store(true, Ordering::Release);
    }

    /// Takes the effects, in the order in which they were deferred.
    pub(crate) fn take_deferred(&self) -> Vec<DeferredEffect> {
        std::mem::take(&mut self.deferred().effects)
    }

    pub(crate) fn has_deferred(&self) -> bool {
        self.has_deferred.load(Ordering::Acquire) && !self.deferred().effects.is_empty()
    }

    /// Starts a run of the handler, which middleware can repeat. Drops the effects of earlier runs if all those runs
    /// have ended.
    pub(crate) fn begin_run(&self) {
        let mut deferred = self.deferred();
        if deferred.running == 0 {
            deferred.effects.clear();
        }
        deferred.running = deferred.running.saturating_add(1);
    }

    pub(crate) fn end_run(&self) {
        let mut deferred = self.deferred();
        deferred.running = deferred.running.saturating_sub(1);
    }

    pub(crate) fn set_committing(&self, is_committing: bool) {
        self.is_committing.store(is_committing, Ordering::Relaxed);
    }

    /// Returns `true` while deferred effects are running. The round cannot end during that time.
    pub(crate) fn is_committing(&self) -> bool {
        self.is_committing.load(Ordering::Relaxed)
    }

    pub(crate) fn set_asked(&self) {
        self.has_asked.store(true, Ordering::Relaxed);
    }

    /// Returns `true` once the round has ended with questions, so that the call continues in another one.
    pub(crate) fn has_asked(&self) -> bool {
        self.has_asked.load(Ordering::Relaxed)
    }

    pub(crate) fn set_continues(&self) {
        self.continues.store(true, Ordering::Relaxed);
    }

    /// Returns `true` once the work continues independently of the request, whose result is only a handle.
    pub(crate) fn continues(&self) -> bool {
        self.continues.load(Ordering::Relaxed)
    }

    fn deferred(&self) -> MutexGuard<'_, DeferredEffects> {
        lock(&self.deferred)
    }
}

/// Progress to report with [`Context::progress`](crate::Context::progress). `Progress` can be converted from a number,
/// `(number, total)`, `(number, total, message)` or, if the total is unknown, `(number, message)`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The amount done so far, in any unit. The amount must be finite and increase from one report to the next.
    pub progress: f64,
    /// The total amount, if known.
    pub total: Option<f64>,
    /// A human-readable description of the current step.
    pub message: Option<String>,
}

/// Number types that can express progress.
pub trait Amount {
    /// Converts the number into the protocol's type.
    fn amount(self) -> f64;
}

macro_rules! amounts {
    ($($type:ty)*) => {$(
        impl Amount for $type {
            #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "progress is shown to people")]
            fn amount(self) -> f64 {
                self as f64
            }
        }
        impl From<$type> for Progress {
            fn from(progress: $type) -> Self {
                Self { progress: progress.amount(), total: None, message: None }
            }
        }
    )*};
}

amounts!(i8 i16 i32 i64 u8 u16 u32 u64 isize usize f32 f64);

impl<P: Amount, T: Amount> From<(P, T)> for Progress {
    fn from((progress, total): (P, T)) -> Self {
        Self {
            progress: progress.amount(),
            total: Some(total.amount()),
            message: None,
        }
    }
}

impl<P: Amount> From<(P, &str)> for Progress {
    fn from((progress, message): (P, &str)) -> Self {
        (progress, message.to_owned()).into()
    }
}

impl<P: Amount> From<(P, String)> for Progress {
    fn from((progress, message): (P, String)) -> Self {
        Self {
            message: Some(message),
            ..progress.amount().into()
        }
    }
}

impl<P: Amount, T: Amount, M: Into<String>> From<(P, T, M)> for Progress {
    fn from((progress, total, message): (P, T, M)) -> Self {
        Self {
            message: Some(message.into()),
            ..(progress, total).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::context::request::*;

    #[test]
    fn each_form_sets_what_it_contains() {
        let progress = |total, text: Option<&str>| Progress {
            progress: 3.0,
            total,
            message: text.map(str::to_owned),
        };
        assert_eq!(Progress::from(3), progress(None, None));
        assert_eq!(Progress::from((3, 4)), progress(Some(4.0), None));
        assert_eq!(Progress::from((3, "x")), progress(None, Some("x")));
        assert_eq!(
            Progress::from((3, "x".to_owned())),
            progress(None, Some("x"))
        );
        assert_eq!(Progress::from((3, 4, "x")), progress(Some(4.0), Some("x")));
    }
}
