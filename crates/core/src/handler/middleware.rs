//! Middleware: what wraps handlers. It receives a call before the handler runs and the result afterwards.
//!
//! This module does not depend on the handlers themselves; `dispatch` passes them in as `InnermostStep`.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value};
#[cfg(feature = "tower")]
pub use service::ResponseFuture;
use tokio::sync::OwnedSemaphorePermit;

use crate::context::{Context, Principal};
use crate::handler::decode::{ArgumentIdentities, Decoder, as_received};
use crate::handler::definition::Kind;
use crate::handler::dynamic::Arguments;
use crate::handler::handler_error::Result;
use crate::handler::option::{AttachedOption, ToolOption, find_option};
use crate::handler::run::{CallOutput, Running};
use crate::jsonrpc::{ErrorObject, Member, read_json};
use crate::types::{CallToolResult, GetPromptResult, ReadResourceResult};

/// A call to a tool, prompt, resource or completer, as passed to middleware.
#[derive(Clone)]
pub struct Call {
    kind: Kind,
    name: Arc<str>,
    round: u16,
    context: Context,
    /// The arguments as received: a JSON object.
    raw: Arc<str>,
    /// The arguments, parsed on first use.
    read: OnceLock<Arguments>,
    changed: Option<Arguments>,
    members: KeptMembers,
    handler: Arc<dyn InnermostStep>,
}

/// The members of a request's `params` that add-ons read, each with its raw JSON. The first is kept in place, because few
/// requests have more.
#[derive(Clone, Default)]
pub(crate) struct KeptMembers {
    first: Option<(Member, Arc<str>)>,
    others: Vec<(Member, Arc<str>)>,
}

impl KeptMembers {
    /// Returns the raw JSON of a member.
    pub(crate) fn get(&self, member: Member) -> Option<&str> {
        let mut members = self.first.iter().chain(&self.others);
        members
            .find(|(kept, _)| *kept == member)
            .map(|(_, json)| &**json)
    }
}

impl FromIterator<(Member, Arc<str>)> for KeptMembers {
    fn from_iter<T: IntoIterator<Item = (Member, Arc<str>)>>(members: T) -> Self {
        let mut members = members.into_iter();
        Self {
            first: members.next(),
            others: members.collect(),
        }
    }
}

/// The innermost step, which runs the handler.
pub(crate) trait InnermostStep: Any + Send + Sync {
    /// Runs the handler with these arguments, which must be a JSON object.
    fn run(self: Arc<Self>, arguments: Arc<str>, context: Context) -> Running;

    /// Returns the argument to complete if the handler is a completer.
    fn completed_argument(&self) -> Option<&str>;

    /// Returns the tool's options that add-ons define.
    fn options(&self) -> &[AttachedOption];

    /// Returns the decoder of the arguments, or `None` if the handler is given them as they are.
    fn decoder(&self) -> Option<&Decoder>;

    /// Returns `true` if the tool has an output schema.
    fn has_output_schema(&self) -> bool;

    /// Returns the tool's `max_output` option, in bytes.
    fn max_output(&self) -> Option<usize>;

    /// Returns `true` if a result that is too large is replaced before its response is written.
    fn fits_output(&self) -> bool;

    /// Returns how long the result of a call that has become a task can be read.
    fn result_lifetime(&self) -> Option<Duration>;

    /// Waits for a permit if the handler's concurrency is limited. The waiting time does not count toward the call's
    /// timeout.
    fn permit(self: Arc<Self>) -> PermitFuture;
}

/// A future that resolves to a permit, or to an error if the call cannot wait for one.
pub(crate) type PermitFuture = Pin<Box<dyn Future<Output = Result<BackgroundPermit>> + Send>>;

impl Call {
    pub(crate) fn new(
        (kind, name): (Kind, Arc<str>),
        arguments: Arc<str>,
        (context, round): (Context, u16),
        members: KeptMembers,
        handler: Arc<dyn InnermostStep>,
    ) -> Self {
        Self {
            kind,
            name,
            round,
            context,
            raw: arguments,
            read: OnceLock::new(),
            changed: None,
            members,
            handler,
        }
    }

    /// Returns the kind of the handler.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the name of the tool or prompt, or the URI of the resource. For a completer, returns the prompt or
    /// template whose argument is being completed.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the arguments, which have not been validated yet. For a template, these are its variables. For a
    /// completer, these are the arguments filled in so far and the [argument being typed](Self::completed_argument).
    ///
    /// A number that an `f64` cannot hold, such as `1e400`, is a string.
    #[must_use]
    pub fn arguments(&self) -> &Arguments {
        let read = || self.read.get_or_init(|| parse_arguments(&self.raw));
        self.changed.as_ref().unwrap_or_else(read)
    }

    /// Returns the arguments as a mutable map, so that they can be changed before the handler runs. The arguments are
    /// validated after any changes.
    pub fn arguments_mut(&mut self) -> &mut Map<String, Value> {
        let Arguments(arguments) = self
            .changed
            .get_or_insert_with(|| parse_arguments(&self.raw));
        arguments
    }

    /// Returns the name of the argument that a completer completes, or `None` for other kinds of handlers. The
    /// argument's current value is one of the [`arguments`](Self::arguments).
    #[must_use]
    pub fn completed_argument(&self) -> Option<&str> {
        self.handler.completed_argument()
    }

    /// Returns the context that the handler receives.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Returns the authenticated caller if the request had credentials.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.context.principal()
    }

    /// Returns the number of the call's current round, starting at 1.
    ///
    /// In protocol version 2026-07-28, a question to the client ends a round, and the entire call, including
    /// middleware, runs again with the answer. Middleware starts in every round; in all rounds except the last, it is
    /// dropped while awaiting [`Next::run`]. Actions that must happen only once in a call belong in the first round.
    /// [`Context::call_id`] is the same in all rounds. In older versions, a call has only one round, unless it is a
    /// task: tasks run in rounds in all versions.
    #[must_use]
    pub fn round(&self) -> u16 {
        self.round
    }

    /// Returns the tool's option of this type.
    #[doc(hidden)]
    pub fn option<T: ToolOption>(&self) -> Option<&T> {
        find_option(self.handler.options())
    }

    /// Returns the raw JSON of a member of the request's `params` that an add-on reads.
    #[doc(hidden)]
    pub fn member(&self, member: Member) -> Option<&str> {
        self.members.get(member)
    }

    /// Replaces the context that the handler receives.
    #[doc(hidden)]
    pub fn set_context(&mut self, context: Context) {
        self.context = context;
    }

    /// Returns the tool's `max_output` option, in bytes.
    #[doc(hidden)]
    pub fn max_output(&self) -> Option<usize> {
        self.handler.max_output()
    }

    /// Returns a function that tells how long the result can be read, if the call has become a task by the time it ends.
    #[doc(hidden)]
    pub fn result_lifetime(&self) -> impl Fn() -> Option<Duration> + Send + Sync + use<> {
        let handler = Arc::clone(&self.handler);
        move || handler.result_lifetime()
    }

    /// Returns the arguments as the handler is given them, so that two spellings of a value are the same value. If they are
    /// invalid, which middleware can still change, they are those that the client has sent.
    #[doc(hidden)]
    pub fn argument_identities(&self) -> ArgumentIdentities {
        let decoder = self.handler.decoder();
        let identities = decoder.and_then(|decoder| decoder.identities(&self.raw));
        identities.unwrap_or_else(|| as_received(&self.raw))
    }

    /// Returns `true` if the tool's results must match an output schema.
    #[doc(hidden)]
    pub fn has_output_schema(&self) -> bool {
        self.handler.has_output_schema()
    }

    /// Returns `true` if the size of the result's text is already limited without loss: the rest is kept, or the result
    /// is itself a part of a kept result.
    #[doc(hidden)]
    pub fn limits_its_text(&self) -> bool {
        self.handler.fits_output()
    }

    /// Waits until the `concurrency` option allows the call to run.
    #[doc(hidden)]
    pub fn permit(&self) -> PermitFuture {
        Arc::clone(&self.handler).permit()
    }

    /// Returns the innermost step, for methods of calls that are defined in `dispatch`.
    pub(crate) fn innermost(&self) -> &dyn Any {
        &*self.handler
    }

    /// Returns the name together with the arguments as the handler receives them: a JSON object.
    pub(crate) fn into_name_and_arguments(self) -> (Arc<str>, Arc<str>) {
        (Arc::clone(&self.name), self.into_arguments())
    }

    fn into_arguments(self) -> Arc<str> {
        match self.changed {
            Some(Arguments(changed)) => Value::Object(changed).to_string().into(),
            None => self.raw,
        }
    }

    /// Runs the handler.
    fn run_handler(self) -> Running {
        let (handler, context) = (Arc::clone(&self.handler), self.context.clone());
        handler.run(self.into_arguments(), context)
    }
}

fn parse_arguments(raw: &str) -> Arguments {
    read_json(raw).map(Arguments).unwrap_or_default()
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("kind", &self.kind)
            .field("name", &self.name)
            .field("round", &self.round)
            .finish_non_exhaustive()
    }
}

/// The next middleware in the chain or, after the last middleware, the handler.
///
/// It is cheap to clone. Running it again runs the handler again. After a failure, the handler then receives the same
/// client answers and [`once`](Context::once) results again. With the `tower` feature, it implements `Service` and
/// returns the handler's errors in its response, to keep them distinct from a layer's errors.
#[derive(Clone, Default)]
pub struct Next(Option<Arc<dyn Fn(Call) -> Running + Send + Sync>>);

impl Next {
    /// Runs the rest of the chain. Dropping the future cancels the call.
    ///
    /// # Errors
    ///
    /// Returns the handler's error. Invalid arguments are also reported as an error.
    pub fn run(self, call: Call) -> impl Future<Output = Result<CallOutput>> + Send + use<> {
        self.start(call)
    }

    #[doc(hidden)]
    pub fn start(&self, call: Call) -> Running {
        match &self.0 {
            None => call.run_handler(),
            Some(link) => link(call),
        }
    }

    /// Returns `true` if there is no middleware.
    pub(crate) fn is_handler(&self) -> bool {
        self.0.is_none()
    }

    #[doc(hidden)]
    pub fn link(link: impl Fn(Call) -> Running + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(link)))
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Next")
    }
}

/// [`Next`] as a tower service.
#[cfg(feature = "tower")]
mod service {
    use std::convert::Infallible;
    use std::fmt;
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use tower_service::Service;

    use super::{Call, Next};
    use crate::handler::run::{Output, Running};

    impl Service<Call> for Next {
        type Response = Output;
        type Error = Infallible;
        type Future = ResponseFuture;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, call: Call) -> ResponseFuture {
            ResponseFuture(self.start(call))
        }
    }

    /// A running call: the future that [`Next`] returns when it is used as a service.
    #[must_use = "a call that is not polled does nothing"]
    pub struct ResponseFuture(Running);

    impl Future for ResponseFuture {
        type Output = Result<Output, Infallible>;

        fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
            self.0.as_mut().poll(task).map(Ok)
        }
    }

    impl fmt::Debug for ResponseFuture {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("ResponseFuture")
        }
    }
}

/// Middleware that has not received its [`Next`] yet.
pub type UnlinkedMiddleware = Box<dyn Fn(Next) -> Next + Send + Sync>;

/// Combines middleware into a chain that ends with `inner`. The first one is the outermost.
pub(crate) fn chain_around<'a>(
    inner: Next,
    around: impl IntoIterator<Item = &'a UnlinkedMiddleware, IntoIter: DoubleEndedIterator>,
) -> Next {
    let around = around.into_iter().rev();
    around.fold(inner, |next, around| around(next))
}

/// Code that wraps calls: a function or a closure that receives a [`Call`], continues with [`Next::run`], and returns the result.
///
/// Every function of the form `async fn(Call, Next) -> Result<CallOutput>` is one, and so is every such closure. Name the trait where
/// a function makes middleware:
///
/// ```
/// use std::fs::File;
/// use std::io::{self, Write as _};
///
/// use mcp_runtime::middleware::{Middleware, audit};
///
/// /// Writes a line for each call.
/// fn audit_file(path: &str) -> io::Result<impl Middleware> {
///     let file = File::options().create(true).append(true).open(path)?;
///     Ok(audit(move |record| {
///         let _ = writeln!(&file, "{}", record.json());
///     }))
/// }
/// ```
///
/// It is implemented for functions only: what middleware needs is captured by its closure.
pub trait Middleware: Fn(Call, Next) -> Self::Future + Send + Sync + 'static {
    /// The future of a call.
    type Future: Future<Output = Result<CallOutput>> + Send + 'static;
}

impl<F, A> Middleware for F
where
    F: Fn(Call, Next) -> A + Send + Sync + 'static,
    A: Future<Output = Result<CallOutput>> + Send + 'static,
{
    type Future = A;
}

/// Creates middleware from a function.
pub fn function(function: impl Middleware) -> UnlinkedMiddleware {
    let function = Arc::new(function);
    Box::new(move |next| {
        let function = Arc::clone(&function);
        Next::link(move |call| Box::pin(function(call, next.clone())))
    })
}

// --- What changes everything that models read, after all middleware, right before it is written.

/// What a model is about to read.
#[derive(Debug)]
pub enum ForModel<'a> {
    /// The result of a tool, or its failure.
    Tool(&'a mut CallToolResult),
    /// The messages of a prompt.
    Prompt(&'a mut GetPromptResult),
    /// The contents of a resource.
    Resource(&'a mut ReadResourceResult),
    /// An error of the protocol.
    Error(&'a mut ErrorObject),
}

/// Changes what a model is about to read, or tells why it must not be sent, for the log.
type Rewrite = dyn Fn(&mut ForModel<'_>) -> Result<(), String> + Send + Sync;

/// The functions that change everything that models read, in order.
#[derive(Clone, Default)]
pub struct Rewrites(Vec<Arc<Rewrite>>);

impl Rewrites {
    /// Adds a function.
    pub fn push(
        &mut self,
        rewrite: impl Fn(&mut ForModel<'_>) -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.0.push(Arc::new(rewrite));
    }

    /// Returns `true` if nothing is changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Applies the functions.
    ///
    /// # Errors
    ///
    /// Returns the reason why the value must not be sent.
    #[inline]
    pub fn apply(&self, mut value: ForModel<'_>) -> Result<(), String> {
        self.0.iter().try_for_each(|rewrite| rewrite(&mut value))
    }
}

impl fmt::Debug for Rewrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rewrites").field(&self.0.len()).finish()
    }
}

/// A permit to run a call to a tool with limited concurrency. The permit is released when dropped.
#[derive(Debug)]
pub struct BackgroundPermit(pub(crate) Option<OwnedSemaphorePermit>);
