//! One call of a handler: what it is given, how it is started, what it gives back.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::context::Context;
use crate::handler::check::Fault;
use crate::handler::completion::{Candidates, IntoCompletion};
use crate::handler::decode::Decoder;
use crate::handler::output::IntoToolResult;
use crate::handler::prompt::IntoPrompt;
use crate::handler::resource::IntoResource;
use crate::handler::tool_error::{Repr, ToolError};
use crate::types::{CallToolResult, GetPromptResult, ReadResourceResult};

/// What a handler came to.
pub type Output = Result<Answer, ToolError>;

/// What a call comes to when all goes well, by the kind of what was called.
///
/// Middleware may change it, or make one: see [`Server::around`](crate::Server::around).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Answer {
    /// From a tool.
    Tool(CallToolResult),
    /// From a prompt.
    Prompt(GetPromptResult),
    /// From a resource or a template.
    Resource(ReadResourceResult),
    /// From a completer: candidates, not yet ranked.
    Completion(Candidates),
    /// From the listers of templates: the text of the members of a page. Middleware sees none.
    #[doc(hidden)]
    List(String),
}

/// A handler under way.
pub type Running = Pin<Box<dyn Future<Output = Output> + Send>>;

/// A handler that will block its thread.
pub type Blocking = Box<dyn FnOnce() -> Output + Send>;

/// How a handler is started. Each decodes its arguments first; what it returns borrows nothing.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// Runs to its end at once.
    Sync(fn(&mut Call<'_>) -> Result<Output, Refusal>),
    /// Gives a future.
    Async(fn(&mut Call<'_>) -> Result<Running, Refusal>),
    /// Gives work for a thread that may block.
    Blocking(fn(&mut Call<'_>) -> Result<Blocking, Refusal>),
}

/// Why a call was not made.
#[derive(Debug)]
pub enum Refusal {
    /// The arguments do not fit; everything that is wrong with them.
    Arguments(Vec<Fault>),
    /// An injected value could not be had, or the framework is at fault.
    Error(ToolError),
}

impl From<ToolError> for Refusal {
    fn from(error: ToolError) -> Self {
        Self::Error(error)
    }
}

impl From<Refusal> for ToolError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Arguments(faults) => Self(Repr::Arguments(faults)),
            Refusal::Error(error) => error,
        }
    }
}

/// One call on its way into a handler.
pub struct Call<'a> {
    decoder: &'a Decoder,
    arguments: &'a str,
    receiver: Option<&'a Arc<dyn Any + Send + Sync>>,
    context: &'a dyn Fn() -> Context,
}

impl std::fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call")
            .field("arguments", &self.arguments)
            .finish_non_exhaustive()
    }
}

impl<'a> Call<'a> {
    /// A call with these arguments, one JSON object (or `{}`), that may ask for a context.
    pub(crate) fn new(
        decoder: &'a Decoder,
        arguments: &'a str,
        receiver: Option<&'a Arc<dyn Any + Send + Sync>>,
        context: &'a dyn Fn() -> Context,
    ) -> Self {
        Self {
            decoder,
            arguments,
            receiver,
            context,
        }
    }

    /// Fills the slots, each an `Option<T>`, one per parameter in order.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the arguments, or the first injected value that could not be had.
    pub fn decode(&mut self, slots: &mut [&mut dyn Any]) -> Result<(), Refusal> {
        self.decoder.decode(self.arguments, slots, self.context)
    }

    /// The value a method is called on.
    ///
    /// # Errors
    ///
    /// If the framework lost it.
    pub fn receiver<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, Refusal> {
        self.receiver
            .and_then(|receiver| Arc::clone(receiver).downcast().ok())
            .ok_or_else(|| ToolError::bug("a method was called without its value").into())
    }

    /// What to return if a slot stayed empty after [`decode`](Self::decode) went well, which is a fault of the framework.
    #[must_use]
    pub fn lost(&self) -> Refusal {
        ToolError::bug("a decoded argument was lost").into()
    }
}

/// Boxes the future of a handler; `reply` converts what it returned.
///
/// The compiler shows the line of the bound to whoever writes a future that is not `Send`.
pub fn boxed<R, F>(future: F, reply: fn(R) -> Output) -> Running
where
    R: 'static,
    F: Future<Output = R>
        + Send
        // calls run on any thread: drop what is not `Send` before an `.await`, or use the `Send` one (`Arc`, `Mutex`)
        + 'static,
{
    Box::pin(async move { reply(future.await) })
}

/// Boxes a future that converts its result itself, because the result may borrow from what the future owns.
pub fn running<F>(future: F) -> Running
where
    F: Future<Output = Output>
        + Send
        // calls run on any thread: drop what is not `Send` before an `.await`, or use the `Send` one (`Arc`, `Mutex`)
        + 'static,
{
    Box::pin(future)
}

/// Boxes the work of a blocking handler, which converts its result itself.
pub fn blocking<F: FnOnce() -> Output + Send + 'static>(work: F) -> Blocking {
    Box::new(work)
}

/// Makes the way to finish a handler of one kind.
macro_rules! kind {
    ($(#[$doc:meta])* $name:ident, $bound:ident, $method:ident, $variant:ident) => {
        $(#[$doc])*
        pub mod $name {
            use super::{Answer, Output, $bound};

            /// Converts what the function returned.
            pub fn reply<R: $bound>(value: R) -> Output {
                value.$method().map(Answer::$variant)
            }
        }
    };
}

/// The way to finish a tool.
pub mod tool {
    use super::{Answer, IntoToolResult, Output};

    /// Converts what the function returned.
    pub fn reply<R: IntoToolResult>(value: R) -> Output {
        let mut result = value.into_tool_result()?;
        result.conforms = R::CONFORMS;
        Ok(Answer::Tool(result))
    }
}

kind!(
    /// The way to finish a prompt.
    prompt, IntoPrompt, into_prompt, Prompt
);
kind!(
    /// The way to finish a resource or a template.
    resource, IntoResource, into_resource, Resource
);
kind!(
    /// The way to finish a completer.
    completer, IntoCompletion, into_completion, Completion
);
