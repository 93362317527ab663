//! The context of one call.

use std::sync::{Arc, OnceLock};

use serde::Serialize;

use crate::cancellation::CancellationToken;
use crate::context::{Asking, Caller, Principal, ServerHandle, States};
use crate::protocol::client_info;
#[cfg(feature = "telemetry")]
use crate::telemetry::TraceContext;
use crate::types::{ClientCapabilities, Implementation, LoggingLevel, Meta};

/// The context of one call: who is asking, progress, logging, cancellation, the running server.
///
/// Take it as a parameter, `ctx: Context` or `ctx: &Context`. Cheap to clone; a clone may outlive the call, but what it
/// sends after the answer is dropped.
#[derive(Clone)]
pub struct Context(Arc<dyn Call>);

/// A call as its context sees it; implemented by `dispatch`, which keeps all of it in one allocation.
pub(crate) trait Call: Send + Sync {
    fn request(&self) -> &RequestContext;
    /// Where its notifications go.
    fn outbound(&self) -> &dyn Outbound;
    /// How it asks its client.
    fn asking(&self) -> &dyn Asking;
}

/// What dispatch knows about a request when a handler asks for its context.
pub(crate) struct RequestContext {
    pub(crate) client: Client,
    #[cfg(feature = "telemetry")]
    pub(crate) trace: Option<TraceContext>,
    pub(crate) caller: Caller,
    pub(crate) capabilities: Arc<ClientCapabilities>,
    /// The raw JSON of `params._meta`, an object.
    pub(crate) meta: Option<Box<str>>,
    /// Made when first asked for, as hardly any handler does.
    pub(crate) cancelled: OnceLock<CancellationToken>,
    pub(crate) states: Arc<States>,
    pub(crate) server: ServerHandle,
}

impl RequestContext {
    fn cancellation(&self) -> &CancellationToken {
        self.cancelled.get_or_init(CancellationToken::default)
    }

    /// The call is over before its time.
    pub(crate) fn cancel(&self) {
        self.cancellation().cancel();
    }
}

/// Who the client says it is.
#[derive(Debug)]
pub(crate) enum Client {
    /// It said so when it shook hands.
    Known(Option<Arc<Implementation>>),
    /// It says so in `_meta`, which is read when somebody wants to know.
    Claimed(OnceLock<Option<Box<Implementation>>>),
}

/// Where a call's notifications go; implemented by `dispatch`, which encodes them and limits their rate.
pub(crate) trait Outbound: Send + Sync {
    fn progress(&self, progress: &Progress);
    /// Whether a message of this level would be sent; checked before one is rendered.
    fn logs(&self, level: LoggingLevel) -> bool;
    /// Closes the connection that carries the call, where the client can come back for the answer.
    fn close_stream(&self) {}
    /// `data` is JSON.
    fn log(&self, level: LoggingLevel, logger: Option<&str>, data: &str);
}

impl Context {
    pub(crate) fn new(call: Arc<dyn Call>) -> Self {
        Self(call)
    }

    pub(crate) fn states(&self) -> &States {
        &self.0.request().states
    }

    pub(crate) fn outbound(&self) -> &dyn Outbound {
        self.0.outbound()
    }

    pub(crate) fn asking(&self) -> &dyn Asking {
        self.0.asking()
    }

    /// Tells the client how far the call has come, if it asked to know.
    ///
    /// ```
    /// # fn copy(ctx: &mcp_runtime::Context) {
    /// ctx.progress(3); // three of an unknown number
    /// ctx.progress((4, 10)); // four of ten
    /// ctx.progress((5, 10, "copying photos")); // and what is going on
    /// # }
    /// ```
    ///
    /// Values must grow; one that does not is dropped. Bursts are merged, at most 20 a second by default
    /// ([`Limits::progress`](crate::Limits::progress)), and the last value is always sent before the answer.
    ///
    /// Source: every revision, basic/utilities/progress. 2024-11-05 has no message: it is left out there.
    pub fn progress(&self, progress: impl Into<Progress>) {
        self.outbound().progress(&progress.into());
    }

    /// Sends a log message to the client, if it wants messages of this level.
    ///
    /// `data` is any JSON; a string is the usual choice. Must hold no secrets. At most 100 a second by default
    /// ([`Limits::logs`](crate::Limits::logs)).
    ///
    /// Source: every revision, server/utilities/logging. From 2026-07-28 a client must ask for logs with each request.
    pub fn log(&self, level: LoggingLevel, data: impl Serialize) {
        self.log_as(level, None, data);
    }

    /// Sends a log message under the name of a logger.
    pub fn log_as(&self, level: LoggingLevel, logger: Option<&str>, data: impl Serialize) {
        if !self.outbound().logs(level) {
            return;
        }
        match serde_json::to_string(&data) {
            Ok(data) => self.outbound().log(level, logger, &data),
            Err(error) => tracing::warn!(%error, "a log message could not be written as JSON"),
        }
    }

    /// Sends a log message of level `debug`.
    pub fn debug(&self, data: impl Serialize) {
        self.log(LoggingLevel::Debug, data);
    }

    /// Sends a log message of level `info`.
    pub fn info(&self, data: impl Serialize) {
        self.log(LoggingLevel::Info, data);
    }

    /// Sends a log message of level `warning`.
    pub fn warning(&self, data: impl Serialize) {
        self.log(LoggingLevel::Warning, data);
    }

    /// Sends a log message of level `error`.
    pub fn error(&self, data: impl Serialize) {
        self.log(LoggingLevel::Error, data);
    }

    /// Lets the client's connection go while the call goes on: the client comes back for the answer.
    ///
    /// For calls that take long, so that no connection is held open for them. Works over HTTP for sessions of
    /// revision 2025-11-25, whose clients reconnect by themselves; everywhere else it does nothing, and the answer comes
    /// as usual.
    ///
    /// Source: revision 2025-11-25, basic/transports, "Sending Messages to the Server".
    pub fn close_stream(&self) {
        self.outbound().close_stream();
    }

    /// Whether the call is over before its time: cancelled, timed out, or its client gone.
    ///
    /// A handler need not ask: its future is dropped then. This is for threads and tasks it started.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        let cancelled = self.0.request().cancelled.get();
        cancelled.is_some_and(CancellationToken::is_cancelled)
    }

    /// Waits until the call is over before its time. See [`is_cancelled`](Self::is_cancelled).
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + '_ {
        self.0.request().cancellation().cancelled()
    }

    /// Who calls, if that is known from credentials; never over stdio.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.0.request().caller.principal()
    }

    /// Who calls, as rules about who may do what see it: also whether scopes apply at all.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.0.request().caller
    }

    /// The place of the request in a distributed trace, if its caller named one: to be passed on to services this call
    /// uses, unless the program exports spans of its own. See `docs/observability.md`.
    #[cfg(feature = "telemetry")]
    #[must_use]
    pub fn trace_context(&self) -> Option<&TraceContext> {
        self.0.request().trace.as_ref()
    }

    /// Who the client says it is. Untrusted: decide nothing by it.
    #[must_use]
    pub fn client(&self) -> Option<&Implementation> {
        let request = self.0.request();
        match &request.client {
            Client::Known(client) => client.as_deref(),
            Client::Claimed(client) => client
                .get_or_init(|| client_info(request.meta.as_deref()?).map(Box::new))
                .as_deref(),
        }
    }

    /// What the client says it can do.
    #[must_use]
    pub fn client_capabilities(&self) -> &ClientCapabilities {
        &self.0.request().capabilities
    }

    /// The `_meta` object of the request; empty if there is none.
    #[must_use]
    pub fn meta(&self) -> Meta {
        let meta = self.0.request().meta.as_deref();
        meta.and_then(|meta| serde_json::from_str(meta).ok())
            .unwrap_or_default()
    }

    /// The running server: change notices, and what is registered.
    #[must_use]
    pub fn server(&self) -> &ServerHandle {
        &self.0.request().server
    }

    /// The shared value of type `T`, if the server was given one. [`State<T>`](crate::State) as a parameter is checked
    /// at start-up and usually nicer.
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

/// How far a call has come, for [`Context::progress`]. Made from a number, `(number, total)`, or
/// `(number, total, message)`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// How much is done, in any unit. Must grow from one report to the next, and be finite.
    pub progress: f64,
    /// How much there is in all, if known.
    pub total: Option<f64>,
    /// What is going on, for people.
    pub message: Option<String>,
}

/// Numbers that count progress.
pub trait Amount {
    /// The number as the protocol has it.
    fn amount(self) -> f64;
}

macro_rules! amounts {
    ($($type:ty)*) => {$(
        impl Amount for $type {
            #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "progress is for people to watch")]
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

impl<P: Amount, T: Amount, M: Into<String>> From<(P, T, M)> for Progress {
    fn from((progress, total, message): (P, T, M)) -> Self {
        Self {
            message: Some(message.into()),
            ..(progress, total).into()
        }
    }
}
