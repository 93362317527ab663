//! A callable's handler: an annotated function with its decoder and receiver, or a dynamic closure with its schema.

use std::any::Any;
use std::sync::Arc;

use mcp_schema::check::Validator;
use serde_json::{Map, Value};

use crate::context::Context;
use crate::handler::call::{Blocking, HandlerCall, Output, Run, Running};
use crate::handler::decode::{Decoder, HeaderArgument, to_map};
use crate::handler::dynamic::{Arguments, DynamicRun};
use crate::handler::handler_error::CallRefusal;

/// The state of a call after its arguments have been accepted.
pub(crate) enum HandlerProgress {
    /// The call has finished.
    Done(Output),
    /// The call is still running.
    Running(Running),
    /// The call must run on a thread that may block.
    Blocking(Blocking),
}

/// A handler that can be called.
pub(crate) enum Handler {
    /// An annotated function.
    Function {
        run: Run,
        decoder: Decoder,
        receiver: Option<Arc<dyn Any + Send + Sync>>,
    },
    /// A closure and the rules for its arguments.
    Closure {
        run: DynamicRun,
        input: Option<ArgumentRules>,
    },
}

/// The rules for a closure's arguments.
pub(crate) struct ArgumentRules {
    pub(crate) validator: Validator,
    /// The arguments that are mirrored in headers.
    pub(crate) headers: Vec<HeaderArgument>,
}

impl Handler {
    /// Decodes the arguments, a JSON object, and starts the call. This may run user code and may even complete the
    /// call.
    ///
    /// # Errors
    ///
    /// Returns an error if the arguments are invalid or an injected value is unavailable.
    pub(crate) fn start(
        &self,
        arguments: &str,
        context: &dyn Fn() -> Context,
    ) -> Result<HandlerProgress, CallRefusal> {
        match self {
            Self::Function {
                run,
                decoder,
                receiver,
            } => {
                let mut call = HandlerCall::new(decoder, arguments, receiver.as_ref(), context);
                match run {
                    Run::Sync(run) => run(&mut call).map(HandlerProgress::Done),
                    Run::Async(run) => run(&mut call).map(HandlerProgress::Running),
                    Run::Blocking(run) => run(&mut call).map(HandlerProgress::Blocking),
                }
            }
            Self::Closure { run, input } => {
                let arguments = to_map(arguments).map_err(CallRefusal::Arguments)?;
                let arguments = match input {
                    None => arguments,
                    Some(input) => {
                        let arguments = Value::Object(arguments);
                        let faults = input.validator.check(&arguments);
                        if !faults.is_empty() {
                            return Err(CallRefusal::Arguments(faults));
                        }
                        match arguments {
                            Value::Object(arguments) => arguments,
                            _ => Map::new(),
                        }
                    }
                };
                Ok(HandlerProgress::Running(run(
                    Arguments(arguments),
                    context(),
                )))
            }
        }
    }

    /// Returns the arguments that are mirrored in headers.
    pub(crate) fn headers(&self) -> &[HeaderArgument] {
        match self {
            Self::Function { decoder, .. } => decoder.headers(),
            Self::Closure { input, .. } => input.as_ref().map_or(&[], |input| &input.headers),
        }
    }

    /// Returns the decoder of the arguments, or `None` for a closure.
    pub(crate) fn decoder(&self) -> Option<&Decoder> {
        match self {
            Self::Function { decoder, .. } => Some(decoder),
            Self::Closure { .. } => None,
        }
    }
}

impl std::fmt::Debug for Handler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Function { .. } => "Function",
            Self::Closure { .. } => "Closure",
        })
    }
}
