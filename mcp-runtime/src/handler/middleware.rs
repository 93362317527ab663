//! What stands around handlers: functions and tower layers (`tower`), each of which sees a call on its way in and its answer on
//! its way out.
//!
//! Nothing here knows what runs in the end: `dispatch` does, which hands it in as [`Handling`].

use std::fmt;
use std::future::Future;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use crate::context::{Context, Principal};
use crate::handler::call::{Answer, Running};
use crate::handler::definition::Kind;
use crate::handler::dynamic::Arguments;
use crate::handler::tool_error::Result;

/// A call of a handler, as middleware sees it: of a tool, a prompt, a resource or a completer.
#[derive(Clone)]
pub struct Call {
    kind: Kind,
    name: Arc<str>,
    round: u16,
    context: Context,
    /// As they came: a JSON object.
    raw: Arc<str>,
    /// What that says, once somebody wants to know.
    read: OnceLock<Arguments>,
    changed: Option<Arguments>,
    handling: Arc<dyn Handling>,
}

/// What runs once nothing more stands around it.
pub(crate) trait Handling: Send + Sync {
    /// Runs it with these arguments, a JSON object.
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

    /// What is called.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The name of the tool or prompt, or the address that is read. For a completer the prompt or template whose argument is
    /// completed.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The arguments, which nobody has checked yet; the variables of a template. For a completer those filled in so far,
    /// and the one that is being typed.
    #[must_use]
    pub fn arguments(&self) -> &Arguments {
        let read = || self.read.get_or_init(|| read(&self.raw));
        self.changed.as_ref().unwrap_or_else(read)
    }

    /// The arguments, to be changed before the handler runs. They are checked after that.
    pub fn arguments_mut(&mut self) -> &mut Map<String, Value> {
        let Arguments(arguments) = self.changed.get_or_insert_with(|| read(&self.raw));
        arguments
    }

    /// The context the handler would get.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Who calls, if that is known from credentials.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.context.principal()
    }

    /// Which round of the call this is, from 1.
    ///
    /// In revision 2026-07-28 a question to the client ends a round, and everything runs again with the answer: middleware
    /// is entered in each round, and dropped at [`Next::run`] in each but the last. What is to happen once a call
    /// belongs into the first; [`Context::call_id`] is the same in all of them. In older revisions there is one round.
    #[must_use]
    pub fn round(&self) -> u16 {
        self.round
    }

    /// Runs what is called.
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

/// What middleware stands around: the next one, or in the end the handler.
///
/// Cheap to clone: running it more than once runs the handler more than once. With feature `tower` it is a `Service` whose
/// failures are answers, so that the errors of a layer are its own.
#[derive(Clone, Default)]
pub struct Next(Option<Arc<dyn Fn(Call) -> Running + Send + Sync>>);

impl Next {
    /// Goes on with the call, to its end. Dropping the future cancels the call.
    ///
    /// # Errors
    ///
    /// Whatever the handler failed with. Arguments that do not fit are such a failure.
    pub fn run(self, call: Call) -> impl Future<Output = Result<Answer>> + Send + use<> {
        self.start(call)
    }

    pub(crate) fn start(&self, call: Call) -> Running {
        match &self.0 {
            None => call.handle(),
            Some(link) => link(call),
        }
    }

    /// Whether nothing stands around handlers.
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

/// What stands around handlers before it is known what is next to it.
pub(crate) type Around = Box<dyn FnOnce(Next) -> Next + Send + Sync>;

/// Puts one around the other, the first outermost.
pub(crate) fn chain(around: Vec<Around>) -> Next {
    let around = around.into_iter().rev();
    around.fold(Next::default(), |next, around| around(next))
}

/// A function as middleware.
pub(crate) fn function<F, A>(function: F) -> Around
where
    F: Fn(Call, Next) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Answer>> + Send + 'static,
{
    Box::new(|next| Next::link(move |call| Box::pin(function(call, next.clone()))))
}
