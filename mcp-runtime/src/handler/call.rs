//! A single call to a handler: its input, its start, and its result.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::context::Context;
use crate::handler::completion::{Candidates, IntoCompletionResult};
use crate::handler::decode::Decoder;
use crate::handler::extension_result::ExtensionResult;
use crate::handler::handler_error::{CallRefusal, HandlerError};
use crate::handler::output::{
    IntoPromptResult, IntoResourceResult, IntoToolResult, JsonResult, JsonText,
};
use crate::types::{CallToolResult, GetPromptResult, ReadResourceResult};

/// A handler's outcome.
pub type Output = Result<CallOutput, HandlerError>;

/// The result of a successful call, with a variant for each kind of handler.
///
/// Middleware may change this value or create its own; see [`Server::middleware`](crate::Server::middleware).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CallOutput {
    /// A tool's result.
    Tool(CallToolResult),
    /// A prompt's result.
    Prompt(GetPromptResult),
    /// A resource's or template's result.
    Resource(ReadResourceResult),
    /// A completer's candidates, not yet ranked.
    Completion(Candidates),
    /// The result of an extension's method, or an extension's result for a method of the core protocol.
    Extension(ExtensionResult),
    /// The JSON text of a list page's members, as produced by the templates' listers. Never passed to middleware.
    #[doc(hidden)]
    List(String),
}

/// A running handler.
pub type Running = Pin<Box<dyn Future<Output = Output> + Send>>;

/// The work of a handler that blocks its thread.
pub type Blocking = Box<dyn FnOnce() -> Output + Send>;

/// The functions that start a handler. Each function first decodes the arguments and then returns a value that does not
/// contain borrowed data.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// Runs the handler to completion.
    Sync(fn(&mut HandlerCall<'_>) -> Result<Output, CallRefusal>),
    /// Returns the handler's future.
    Async(fn(&mut HandlerCall<'_>) -> Result<Running, CallRefusal>),
    /// Returns work that must run on a thread that may block.
    Blocking(fn(&mut HandlerCall<'_>) -> Result<Blocking, CallRefusal>),
}

/// A call whose handler has not started yet.
pub struct HandlerCall<'a> {
    decoder: &'a Decoder,
    arguments: &'a str,
    receiver: Option<&'a Arc<dyn Any + Send + Sync>>,
    context: &'a dyn Fn() -> Context,
}

impl std::fmt::Debug for HandlerCall<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The arguments are the caller's data, which does not belong in a log.
        f.debug_struct("HandlerCall").finish_non_exhaustive()
    }
}

impl<'a> HandlerCall<'a> {
    /// Creates a call with these arguments, a JSON object (`{}` if there are none), and a function that creates the
    /// context on demand.
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

    /// Fills the slots. There is one slot for each parameter, in order, and each slot is an `Option<T>`.
    ///
    /// # Errors
    ///
    /// Returns all errors in the arguments, or the error for the first injected value that is unavailable.
    pub fn decode(&mut self, slots: &mut [&mut dyn Any]) -> Result<(), CallRefusal> {
        self.decoder.decode(self.arguments, slots, self.context)
    }

    /// Returns the value on which the method is called.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is missing or has a different type, which indicates a bug in the framework.
    pub fn receiver<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, CallRefusal> {
        self.receiver
            .and_then(|receiver| Arc::clone(receiver).downcast().ok())
            .ok_or_else(|| {
                HandlerError::framework_bug("a method was called without its receiver").into()
            })
    }

    /// Returns the error for a slot that is empty although [`decode`](Self::decode) succeeded, which indicates a bug in
    /// the framework.
    #[must_use]
    pub fn lost(&self) -> CallRefusal {
        HandlerError::framework_bug("a decoded argument was lost").into()
    }
}

/// Boxes a handler's future. `reply` converts its result.
///
/// If an author's future is not `Send`, the compiler's error message shows the line with the bound.
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

/// Boxes a future that converts its own result, because the result may borrow from values that the future owns.
pub fn running<F>(future: F) -> Running
where
    F: Future<Output = Output>
        + Send
        // calls run on any thread: drop what is not `Send` before an `.await`, or use the `Send` one (`Arc`, `Mutex`)
        + 'static,
{
    Box::pin(future)
}

/// Boxes the work of a blocking handler. The work converts its own result.
pub fn blocking<F: FnOnce() -> Output + Send + 'static>(work: F) -> Blocking {
    Box::new(work)
}

/// Creates the module that converts return values from a given kind of handler.
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

/// Converts the return values of tools.
pub mod tool {
    use super::{CallOutput, IntoToolResult, JsonResult, JsonText, Output};

    /// Converts the function's return value.
    pub fn reply<R: IntoToolResult>(value: R) -> Output {
        value.into_tool_result().map(CallOutput::Tool)
    }

    /// Converts the function's return value, using its JSON as the text.
    pub fn reply_as_json<R: JsonResult>(value: R) -> Output {
        reply(value)
    }

    /// Converts the function's return value, using a Markdown table as the text.
    pub fn reply_as_table<R: JsonResult>(value: R) -> Output {
        value
            .into_result_with(JsonText::Table)
            .map(CallOutput::Tool)
    }

    /// Converts the function's return value without adding text.
    pub fn reply_without_text<R: JsonResult>(value: R) -> Output {
        value.into_result_with(JsonText::None).map(CallOutput::Tool)
    }
}

kind!(
    /// Converts the return values of prompts.
    prompt, IntoPromptResult, into_prompt_result, Prompt
);
kind!(
    /// Converts the return values of resources and templates.
    resource, IntoResourceResult, into_resource_result, Resource
);
kind!(
    /// Converts the return values of completers.
    completer, IntoCompletionResult, into_completion_result, Completion
);
