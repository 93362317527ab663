//! Completion candidates for the arguments of prompts and templates: a fixed set, a completer's result, or none.
//!
//! `handler::completion` ranks the candidates.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::context::Context;
use crate::handler::handler_error::CallRefusal;
use crate::registry::callable::{Callable, finished_completion};
use crate::registry::handler::HandlerProgress;

/// The source of an argument's candidates. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum Completer {
    /// No candidates.
    Nothing,
    /// A fixed set of candidates.
    Fixed(Arc<[String]>),
    /// The candidates returned by this completer.
    Function(Arc<Callable>),
}

/// The completer for the requested argument, along with the values of other arguments in the request's URI.
#[derive(Clone, Debug)]
pub(crate) struct RequestedCompleter {
    pub(super) completer: Completer,
    /// The URI's variables, if the client referred to a template by a matching URI.
    pub(super) known: Vec<(String, String)>,
}

impl RequestedCompleter {
    /// Requests candidates for the partial text. Ignores `earlier` arguments that are not strings. If no arguments
    /// remain, the URI's variables are used instead.
    ///
    /// # Errors
    ///
    /// Returns an error if an injected value is unavailable.
    pub(crate) fn start(
        &self,
        partial: &str,
        earlier: &Map<String, Value>,
        context: &dyn Fn() -> Context,
    ) -> Result<HandlerProgress, CallRefusal> {
        match &self.completer {
            Completer::Nothing => Ok(finished_completion(Vec::new())),
            Completer::Fixed(values) => Ok(finished_completion(values.to_vec())),
            Completer::Function(callable) => {
                let mut earlier: Vec<(&str, &str)> = earlier
                    .iter()
                    .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
                    .collect();
                if earlier.is_empty() {
                    earlier.extend(self.known.iter().map(|(name, value)| (&**name, &**value)));
                }
                callable.complete(partial, earlier, context)
            }
        }
    }

    /// Returns the completer if it is a function.
    pub(crate) fn callable(&self) -> Option<&Callable> {
        match &self.completer {
            Completer::Function(callable) => Some(callable),
            Completer::Nothing | Completer::Fixed(_) => None,
        }
    }
}

/// The completers for the arguments of a single prompt or template.
#[derive(Debug, Default)]
pub(crate) struct ArgumentCompleters(Vec<(Box<str>, Completer)>);

impl ArgumentCompleters {
    pub(crate) fn push(&mut self, argument: &str, completer: Completer) {
        self.0.push((argument.into(), completer));
    }

    /// Returns the completer for an argument, or `None` if there is no such argument.
    pub(crate) fn find(&self, argument: &str) -> Option<&Completer> {
        self.0
            .iter()
            .find(|(name, _)| **name == *argument)
            .map(|(_, completer)| completer)
    }

    /// Replaces the completer for an argument. Returns `false` if there is no such argument.
    pub(crate) fn set(&mut self, argument: &str, completer: Completer) -> bool {
        self.0
            .iter_mut()
            .find(|(name, _)| **name == *argument)
            .map(|(_, held)| *held = completer)
            .is_some()
    }

    /// Returns the names of the arguments.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    /// Returns `true` if any argument has a completer.
    pub(crate) fn has_any(&self) -> bool {
        self.0
            .iter()
            .any(|(_, completer)| !matches!(completer, Completer::Nothing))
    }
}
