//! Middleware: functions and tower layers (`tower`) that wrap handlers. Each sees a call before it runs, and its result.
//!
//! Nothing here depends on the handlers themselves: `dispatch` passes them in as [`Handling`].

use std::fmt;
use std::future::Future;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use crate::context::{Context, Principal};
use crate::handler::call::{CallOutput, Running};
use crate::handler::definition::Kind;
use crate::handler::dynamic::Arguments;
use crate::handler::handler_error::Result;

/// A call of a tool, a prompt, a resource or a completer, as middleware sees it.
#[derive(Clone)]
pub struct Call {
    kind: Kind,
    name: Arc<str>,
    round: u16,
    context: Context,
    /// The arguments as received: a JSON object.
    raw: Arc<str>,
    /// The parsed arguments, once requested.
    read: OnceLock<Arguments>,
    changed: Option<Arguments>,
    handling: Arc<dyn Handling>,
}

/// The innermost step, which runs the handler.
pub(crate) trait Handling: Send + Sync {
    /// Runs the handler with these arguments, a JSON object.
    fn run(self: Arc<Self>, arguments: Arc<str>, context: Context) -> Running;
}

impl Call {
    pub(crate) fn new(
        (kind, name): (Kind, Arc<str>),
        arguments: Arc<str>,
        context: Context,
        round: u16,
        handling: Arc<dyn Handling>,
    ) -> Self {
        Self {
            kind,
            name,
            round,
            context,
            raw: arguments,
            read: OnceLock::new(),
            changed: None,
            handling,
        }
    }

    /// Returns the kind of handler.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the name of the tool or prompt, or the URI of the resource. For a completer, the prompt or template whose
    /// argument is completed.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the arguments, not yet validated; for a template, its variables. For a completer, the arguments filled in so
    /// far, and the one that is being typed.
    #[must_use]
    pub fn arguments(&self) -> &Arguments {
        let read = || self.read.get_or_init(|| read(&self.raw));
        self.changed.as_ref().unwrap_or_else(read)
    }

    /// Returns the arguments, to be changed before the handler runs. They are validated afterwards.
    pub fn arguments_mut(&mut self) -> &mut Map<String, Value> {
        let Arguments(arguments) = self.changed.get_or_insert_with(|| read(&self.raw));
        arguments
    }

    /// Returns the context that the handler receives.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Returns the authenticated caller, if the request had credentials.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.context.principal()
    }

    /// Returns the number of this round of the call, from 1.
    ///
    /// In protocol version 2026-07-28 a question to the client ends a round, and everything runs again with the answer:
    /// middleware is entered in each round, and dropped at [`Next::run`] in each but the last. Actions that must happen once
    /// per call belong in the first round; [`Context::call_id`] is the same in all rounds. In older versions there is one
    /// round.
    #[must_use]
    pub fn round(&self) -> u16 {
        self.round
    }

    /// Runs the handler.
    fn handle(self) -> Running {
        let arguments = match self.changed {
            Some(Arguments(changed)) => Value::Object(changed).to_string().into(),
            None => self.raw,
        };
        self.handling.run(arguments, self.context)
    }
}

fn read(raw: &str) -> Arguments {
    serde_json::from_str(raw).map(Arguments).unwrap_or_default()
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

/// The next middleware, or the handler after the last one.
///
/// Cheap to clone; running it more than once runs the handler more than once. With feature `tower` it is a `Service` that
/// returns the handler's errors in its response, so that they are distinct from the errors of a layer.
#[derive(Clone, Default)]
pub struct Next(Option<Arc<dyn Fn(Call) -> Running + Send + Sync>>);

impl Next {
    /// Runs the rest of the call. Dropping the future cancels the call.
    ///
    /// # Errors
    ///
    /// The handler's error. Invalid arguments are also reported as an error.
    pub fn run(self, call: Call) -> impl Future<Output = Result<CallOutput>> + Send + use<> {
        self.start(call)
    }

    pub(crate) fn start(&self, call: Call) -> Running {
        match &self.0 {
            None => call.handle(),
            Some(link) => link(call),
        }
    }

    /// Returns `true` if there is no middleware.
    pub(crate) fn is_handler(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn link(link: impl Fn(Call) -> Running + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(link)))
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Next")
    }
}

/// A middleware that has not been given its [`Next`] yet.
pub(crate) type Around = Box<dyn FnOnce(Next) -> Next + Send + Sync>;

/// Combines middleware into a chain, the first outermost.
pub(crate) fn chain(around: Vec<Around>) -> Next {
    let around = around.into_iter().rev();
    around.fold(Next::default(), |next, around| around(next))
}

/// Creates middleware from a function.
pub(crate) fn function<F, A>(function: F) -> Around
where
    F: Fn(Call, Next) -> A + Send + Sync + 'static,
    A: Future<Output = Result<CallOutput>> + Send + 'static,
{
    Box::new(|next| Next::link(move |call| Box::pin(function(call, next.clone()))))
}
