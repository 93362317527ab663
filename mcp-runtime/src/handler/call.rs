//! One call of a handler: its input, its start, its result.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::context::Context;
use crate::handler::completion::{Candidates, IntoCompletionResult};
use crate::handler::decode::Decoder;
use crate::handler::handler_error::HandlerError;
use crate::handler::output::IntoToolResult;
use crate::handler::prompt::IntoPromptResult;
use crate::handler::refusal::CallRefusal;
use crate::handler::resource::IntoResourceResult;
use crate::types::{CallToolResult, GetPromptResult, ReadResourceResult};

/// The outcome of a handler.
pub type Output = Result<CallOutput, HandlerError>;

/// The result of a successful call, by the kind of handler.
///
/// Middleware may change or create it: see [`Server::middleware`](crate::Server::middleware).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CallOutput {
    /// From a tool.
    Tool(CallToolResult),
    /// From a prompt.
    Prompt(GetPromptResult),
    /// From a resource or a template.
    Resource(ReadResourceResult),
    /// From a completer: candidates, unranked.
    Completion(Candidates),
    /// From the listers of templates: the text of the members of a page. Never passed to middleware.
    #[doc(hidden)]
    List(String),
}

/// A running handler.
pub type Running = Pin<Box<dyn Future<Output = Output> + Send>>;

/// A handler that blocks its thread.
pub type Blocking = Box<dyn FnOnce() -> Output + Send>;

/// The functions that start a handler. Each decodes its arguments first, and returns a value that borrows nothing.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// Runs the handler to completion at once.
    Sync(fn(&mut HandlerCall<'_>) -> Result<Output, CallRefusal>),
    /// Returns a future.
    Async(fn(&mut HandlerCall<'_>) -> Result<Running, CallRefusal>),
    /// Returns work for a thread that may block.
    Blocking(fn(&mut HandlerCall<'_>) -> Result<Blocking, CallRefusal>),
}

/// One call before its handler starts.
pub struct HandlerCall<'a> {
    decoder: &'a Decoder,
    arguments: &'a str,
    receiver: Option<&'a Arc<dyn Any + Send + Sync>>,
    context: &'a dyn Fn() -> Context,
}

impl std::fmt::Debug for HandlerCall<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call")
            .field("arguments", &self.arguments)
            .finish_non_exhaustive()
    }
}

impl<'a> HandlerCall<'a> {
    /// Creates a call with these arguments, one JSON object (or `{}`), and a function that creates the context on demand.
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
    /// All faults in the arguments, or the first injected value that is unavailable.
    pub fn decode(&mut self, slots: &mut [&mut dyn Any]) -> Result<(), CallRefusal> {
        self.decoder.decode(self.arguments, slots, self.context)
    }

    /// Returns the value that a method is called on.
    ///
    /// # Errors
    ///
    /// If the framework lost the value.
    pub fn receiver<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, CallRefusal> {
        self.receiver
            .and_then(|receiver| Arc::clone(receiver).downcast().ok())
            .ok_or_else(|| HandlerError::bug("a method was called without its receiver").into())
    }

    /// Returns the error for a slot that is empty after [`decode`](Self::decode) succeeded, which is a bug in the
    /// framework.
    #[must_use]
    pub fn lost(&self) -> CallRefusal {
        HandlerError::bug("a decoded argument was lost").into()
    }
}

/// Boxes the future of a handler; `reply` converts its result.
///
/// The compiler shows the line of the bound to authors of futures that are not `Send`.
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

/// Creates the module that finishes handlers of one kind.
macro_rules! kind {
    ($(#[$doc:meta])* $name:ident, $bound:ident, $method:ident, $variant:ident) => {
        $(#[$doc])*
        pub mod $name {
            use super::{CallOutput, Output, $bound};

            /// Converts the function's return value.
            pub fn reply<R: $bound>(value: R) -> Output {
                value.$method().map(CallOutput::$variant)
            }
        }
    };
}

/// Finishing of tools.
pub mod tool {
    use super::{CallOutput, IntoToolResult, Output};

    /// Converts the function's return value.
    pub fn reply<R: IntoToolResult>(value: R) -> Output {
        value.into_tool_result().map(|mut result| {
            // Moving a result is expensive, so that it is not touched without need.
            if R::CONFORMS {
                result.conforms = true;
            }
            CallOutput::Tool(result)
        })
    }
}

kind!(
    /// Finishing of prompts.
    prompt, IntoPromptResult, into_prompt_result, Prompt
);
kind!(
    /// Finishing of resources and templates.
    resource, IntoResourceResult, into_resource_result, Resource
);
kind!(
    /// Finishing of completers.
    completer, IntoCompletionResult, into_completion_result, Completion
);
