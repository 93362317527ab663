//! The context of a single call.

use std::any::Any;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::context::client_questions::ClientQuestions;
use crate::context::handle::notification_params;
use crate::context::outbound::{CallMessages, Progress};
use crate::context::{Caller, Principal, RequestInfo, ServerHandle, States};
use crate::handler::handler_error::Result;
use crate::handler::tags::TagSelection;
use crate::host::sleep;
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
pub struct Context {
    call: Arc<CallContext>,
    /// What steps on the way to the handler have added for it, if any have.
    added: Option<Arc<AddedContext>>,
}

/// A call as its handler and the dispatcher share it, in a single allocation.
pub(crate) struct CallContext {
    pub(crate) request: RequestContext,
    pub(crate) messages: CallMessages,
    pub(crate) asks: ClientQuestions,
    pub(crate) effects: DeferredEffects,
    pub(crate) continuation: CallContinuation,
}

/// What is added to a call's context on the way to its handler.
struct AddedContext {
    /// Cancelled when the handler leaves its request, if the call can continue in the background.
    leaving: Option<CancellationToken>,
    /// The values of awaited parameters, if the call has waited for any.
    prepared: Option<Arc<PreparedValues>>,
}

/// The values of awaited parameters. Each of them is taken once.
pub(crate) type PreparedValues = Mutex<Vec<Box<dyn Any + Send>>>;

impl CallContext {
    /// Closes the call: sends held-back notifications and drops all later notifications.
    pub(crate) fn close(&self) {
        self.messages.close();
        self.asks.close();
    }

    /// Marks the call as cancelled and stops its messages, so code that still holds a clone of the context cannot send
    /// any.
    pub(crate) fn abandon(&self) {
        self.request.cancel();
        self.messages.abandon();
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

    /// Returns the same data for a run of the call in the background.
    pub(crate) fn for_background(&self) -> Self {
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

impl Context {
    pub(crate) fn new(call: Arc<CallContext>) -> Self {
        Self { call, added: None }
    }

    /// Returns a context for the same call with a token that is cancelled when the handler leaves the request.
    #[doc(hidden)]
    #[must_use]
    pub fn with_leaving(&self, leaving: CancellationToken) -> Self {
        self.with(AddedContext {
            leaving: Some(leaving),
            prepared: self.prepared().cloned(),
        })
    }

    /// Returns a context for the same call with the values of awaited parameters.
    pub(crate) fn with_prepared(&self, values: PreparedValues) -> Self {
        self.with(AddedContext {
            leaving: self.leaving().cloned(),
            prepared: Some(Arc::new(values)),
        })
    }

    fn with(&self, added: AddedContext) -> Self {
        Self {
            call: Arc::clone(&self.call),
            added: Some(Arc::new(added)),
        }
    }

    /// Returns the token that is cancelled when the handler leaves its request, if the call can continue in the background.
    pub(super) fn leaving(&self) -> Option<&CancellationToken> {
        self.added.as_ref()?.leaving.as_ref()
    }

    /// Returns the values of awaited parameters, if the call has waited for any.
    pub(super) fn prepared(&self) -> Option<&Arc<PreparedValues>> {
        self.added.as_ref()?.prepared.as_ref()
    }

    pub(crate) fn request_context(&self) -> &RequestContext {
        &self.call.request
    }

    /// Returns the caller and the selection that determine which definitions the request may use.
    #[doc(hidden)]
    #[must_use]
    pub fn viewer(&self) -> (&Caller, Option<&TagSelection>) {
        (
            &self.call.request.caller,
            self.call.request.selection.as_ref(),
        )
    }

    pub(crate) fn states(&self) -> &States {
        &self.call.request.states
    }

    /// Returns the sender for the call's notifications.
    #[doc(hidden)]
    #[must_use]
    pub fn outbound(&self) -> &CallMessages {
        &self.call.messages
    }

    /// Returns the call's questions to its client.
    #[doc(hidden)]
    #[must_use]
    pub fn asking(&self) -> &ClientQuestions {
        &self.call.asks
    }

    /// Returns the effects that wait for the call's final result.
    pub(crate) fn effects(&self) -> &DeferredEffects {
        &self.call.effects
    }

    #[doc(hidden)]
    #[must_use]
    pub fn continuation(&self) -> &CallContinuation {
        &self.call.continuation
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
    /// default, at most 20 notifications are sent per second ([`limits.calls.max_progress_per_second`](crate::limits::Limits)).
    /// The last value is always sent before the response.
    ///
    /// Source: every revision, basic/utilities/progress. 2024-11-05 does not support progress messages, so the message
    /// is omitted in that version.
    pub fn progress(&self, progress: impl Into<Progress>) {
        self.outbound().progress(&progress.into());
    }

    /// Reports slightly more progress, without a message, whenever nothing has been reported for this long. Never
    /// returns, so run it concurrently with the work.
    #[doc(hidden)]
    pub async fn keep_alive<T>(&self, quiet: Duration) -> T {
        let mut wait = quiet;
        loop {
            sleep(wait).await;
            wait = self.outbound().keep_alive(quiet);
        }
    }

    /// Sends a log message to the client, if the client accepts messages at this level.
    ///
    /// `data` can be any JSON value and is usually a string. The data must not contain secrets. By default, at most 100
    /// messages are sent per second ([`limits.log.max_per_second`](crate::limits::Limits)).
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
        let request = &self.call.request;
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
        let cancelled = self.call.request.cancelled.get();
        cancelled.is_some_and(CancellationToken::is_cancelled)
    }

    /// Waits until the call is cancelled. See [`is_cancelled`](Self::is_cancelled).
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + '_ {
        self.call.request.cancellation().cancelled()
    }

    /// Returns the principal if the caller has credentials. Over stdio, callers never have credentials.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.call.request.caller.principal()
    }

    /// Returns the caller as seen by access rules. The caller also indicates whether scopes apply to it.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.call.request.caller
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
        &self.call.request.info
    }

    /// Returns the trace context of the request, if the caller sent one. Pass the trace context on to the services that
    /// this call uses, unless the program exports spans itself. See "Observability" in the guide.
    #[must_use]
    pub fn trace_context(&self) -> Option<TraceContext> {
        let request = &self.call.request;
        let of_message = request.meta.as_deref().and_then(TraceContext::from_meta);
        of_message.or_else(|| request.info.trace_context())
    }

    /// Returns the name and version that the client reports. This information is untrusted, so do not base decisions on
    /// it.
    #[must_use]
    pub fn client(&self) -> Option<&Implementation> {
        let request = &self.call.request;
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
        &self.call.request.capabilities
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
        let request = &self.call.request;
        let settings = request.capabilities.extensions.get(id)?.as_object()?;
        let is_known = request.server.0.has_extension(id, request.version);
        is_known.then_some(settings)
    }

    /// Returns the request's `_meta` object, or an empty object if there is none. A number that an `f64` cannot hold,
    /// such as `1e400`, is a string.
    #[must_use]
    pub fn meta(&self) -> Meta {
        let meta = self.call.request.meta.as_deref();
        meta.and_then(|meta| read_json(meta).ok())
            .unwrap_or_default()
    }

    /// Returns the running server, for change notifications and edits to its lists.
    #[must_use]
    pub fn server(&self) -> &ServerHandle {
        &self.call.request.server
    }

    /// Returns the shared value of type `T`, if the server has such a value and has already created it. A
    /// [`State<T>`](crate::context::State) parameter is usually better because it is checked at start-up and created if
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
pub(crate) type CommitEffect = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// The effects that wait for the call's final result.
#[derive(Default)]
pub(crate) struct DeferredEffects {
    deferred: Mutex<EffectQueue>,
    /// `true` once an effect has been deferred. Most calls defer no effects, so they can skip the lock.
    has_deferred: AtomicBool,
    /// `true` while the effects are running.
    is_committing: AtomicBool,
}

#[derive(Default)]
struct EffectQueue {
    effects: Vec<CommitEffect>,
    /// Number of handler runs that have not ended.
    running: usize,
}

impl DeferredEffects {
    pub(crate) fn defer(&self, effect: CommitEffect) {
        self.deferred().effects.push(effect);
        self.has_deferred.store(true, Ordering::Release);
    }

    /// Takes the effects, in the order in which they were deferred.
    pub(crate) fn take_deferred(&self) -> Vec<CommitEffect> {
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

    fn deferred(&self) -> MutexGuard<'_, EffectQueue> {
        lock(&self.deferred)
    }
}

/// The reasons why a call continues after its handler has been dropped.
#[derive(Default)]
pub struct CallContinuation {
    /// `true` once the round has ended with questions.
    has_asked: AtomicBool,
    /// `true` once the work continues independently of the request.
    continues: AtomicBool,
}

impl CallContinuation {
    pub(crate) fn set_asked(&self) {
        self.has_asked.store(true, Ordering::Relaxed);
    }

    /// Returns `true` once the round has ended with questions, so that the call continues in another one.
    pub fn has_asked(&self) -> bool {
        self.has_asked.load(Ordering::Relaxed)
    }

    pub fn set_continues(&self) {
        self.continues.store(true, Ordering::Relaxed);
    }

    /// Returns `true` once the work continues independently of the request, whose result is only a handle.
    pub fn continues(&self) -> bool {
        self.continues.load(Ordering::Relaxed)
    }
}
