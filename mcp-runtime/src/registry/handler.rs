//! What runs: an annotated function with its decoder and receiver, or a dynamic closure with its schema.

use std::any::Any;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::context::Context;
use crate::handler::call::{Blocking, Call, Output, Refusal, Run, Running};
use crate::handler::check::Validator;
use crate::handler::decode::{Decoder, HeaderArgument, to_map};
use crate::handler::dynamic::{Arguments, DynamicRun};

/// A call that was let in.
pub(crate) enum Started {
    /// It is over.
    Done(Output),
    /// It goes on.
    Running(Running),
    /// It wants a thread that may block.
    Blocking(Blocking),
}

/// Something that can be called.
pub(crate) enum Handler {
    /// An annotated function.
    Function {
        run: Run,
        decoder: Decoder,
        receiver: Option<Arc<dyn Any + Send + Sync>>,
    },
    /// A closure, and what its arguments must fit.
    Closure {
        run: DynamicRun,
        input: Option<Input>,
    },
}

/// What the arguments of a closure must fit.
pub(crate) struct Input {
    pub(crate) validator: Validator,
    /// The arguments that headers mirror.
    #[cfg_attr(
        not(feature = "http"),
        expect(dead_code, reason = "checked always, but mirrored by HTTP only")
    )]
    pub(crate) headers: Vec<HeaderArgument>,
}

impl Handler {
    /// Decodes the arguments, one JSON object, and starts the call. User code may run inside, up to its end.
    ///
    /// # Errors
    ///
    /// If the arguments do not fit, or an injected value could not be had.
    pub(crate) fn start(
        &self,
        arguments: &str,
        context: &dyn Fn() -> Context,
    ) -> Result<Started, Refusal> {
        match self {
            Self::Function {
                run,
                decoder,
                receiver,
            } => {
                let mut call = Call::new(decoder, arguments, receiver.as_ref(), context);
                match run {
                    Run::Sync(run) => run(&mut call).map(Started::Done),
                    Run::Async(run) => run(&mut call).map(Started::Running),
                    Run::Blocking(run) => run(&mut call).map(Started::Blocking),
                }
            }
            Self::Closure { run, input } => {
                let arguments = to_map(arguments).map_err(Refusal::Arguments)?;
                let arguments = match input {
                    None => arguments,
                    Some(input) => {
                        let arguments = Value::Object(arguments);
                        let faults = input.validator.check(&arguments);
                        if !faults.is_empty() {
                            return Err(Refusal::Arguments(faults));
                        }
                        match arguments {
                            Value::Object(arguments) => arguments,
                            _ => Map::new(),
                        }
                    }
                };
                Ok(Started::Running(run(Arguments(arguments), context())))
            }
        }
    }

    /// The arguments that headers mirror.
    #[cfg(feature = "http")]
    pub(crate) fn headers(&self) -> &[HeaderArgument] {
        match self {
            Self::Function { decoder, .. } => decoder.headers(),
            Self::Closure { input, .. } => input.as_ref().map_or(&[], |input| &input.headers),
        }
    }

    /// How arguments are decoded; a closure has no decoder.
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
