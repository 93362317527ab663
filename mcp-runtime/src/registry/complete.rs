//! Completion candidates for the arguments of prompts and templates: a fixed set, a completer's result, or none.
//!
//! `handler::completion` ranks the candidates.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::context::Context;
use crate::handler::call::{CallOutput, CallRefusal};
use crate::handler::completion::Candidates;
use crate::registry::guards::Guards;
use crate::registry::handler::{Handler, HandlerProgress};

/// The source of candidates for one argument. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum Completer {
    /// No candidates: an empty list.
    Nothing,
    /// A fixed set.
    Fixed(Arc<[String]>),
    /// The candidates that this completer returns.
    Function(Arc<CompleterEntry>),
}

/// A completer function with its limits.
#[derive(Debug)]
pub(crate) struct CompleterEntry {
    pub(crate) handler: Handler,
    pub(crate) guards: Guards,
}

/// The completer of a requested argument, and the values of other arguments that the request's URI contains.
#[derive(Clone, Debug)]
pub(crate) struct Completing {
    pub(super) completer: Completer,
    /// The variables of the URI, if the client named a template by a URI that it matches.
    pub(super) known: Vec<(String, String)>,
}

impl Completing {
    /// Requests candidates; `earlier` is the JSON object of the arguments filled in so far, all strings.
    ///
    /// Earlier arguments that do not fit are omitted. If the completer requires one of them, or the partial text itself does
    /// not fit, there are no candidates.
    ///
    /// # Errors
    ///
    /// If an injected value is not available.
    pub(crate) fn start(
        &self,
        partial: &str,
        earlier: Option<&str>,
        context: &dyn Fn() -> Context,
    ) -> Result<HandlerProgress, CallRefusal> {
        match &self.completer {
            Completer::Nothing => Ok(offer(Vec::new())),
            Completer::Fixed(candidates) => Ok(offer(candidates.to_vec())),
            Completer::Function(entry) => {
                let given: Map<String, Value> = earlier
                    .and_then(|earlier| serde_json::from_str(earlier).ok())
                    .unwrap_or_default();
                let mut earlier: Vec<(&str, &str)> = given
                    .iter()
                    .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
                    .collect();
                if earlier.is_empty() {
                    earlier.extend(self.known.iter().map(|(name, value)| (&**name, &**value)));
                }
                entry.start(partial, &earlier, context)
            }
        }
    }
}

impl Completing {
    /// Returns the limits of the completer, if it is a function.
    pub(crate) fn guards(&self) -> Option<&Guards> {
        match &self.completer {
            Completer::Function(entry) => Some(&entry.guards),
            Completer::Nothing | Completer::Fixed(_) => None,
        }
    }
}

impl CompleterEntry {
    fn start(
        &self,
        partial: &str,
        earlier: &[(&str, &str)],
        context: &dyn Fn() -> Context,
    ) -> Result<HandlerProgress, CallRefusal> {
        // The partial text gets the empty name, which no argument can have.
        let earlier = earlier.iter().copied().filter(|(name, _)| !name.is_empty());
        let pairs = std::iter::once(("", partial)).chain(earlier);
        let arguments = self
            .handler
            .decoder()
            .and_then(|decoder| decoder.from_decodable_pairs(pairs));
        let Some(arguments) = arguments else {
            return Ok(offer(Vec::new()));
        };
        match self.handler.start(&arguments, context) {
            Err(CallRefusal::Arguments(_)) => Ok(offer(Vec::new())),
            started => started,
        }
    }
}

fn offer(values: Vec<String>) -> HandlerProgress {
    HandlerProgress::Done(Ok(CallOutput::Completion(Candidates {
        values,
        ranked: false,
        total: None,
    })))
}

/// The completers of the arguments of one prompt or template.
#[derive(Debug, Default)]
pub(crate) struct Completions(Vec<(Box<str>, Completer)>);

impl Completions {
    pub(crate) fn push(&mut self, argument: &str, completer: Completer) {
        self.0.push((argument.into(), completer));
    }

    /// Returns the completer of the argument; `None` if there is no such argument.
    pub(crate) fn find(&self, argument: &str) -> Option<&Completer> {
        self.0
            .iter()
            .find(|(name, _)| **name == *argument)
            .map(|(_, completer)| completer)
    }

    /// Replaces the completer of an argument. Returns `false` if there is no such argument.
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
    pub(crate) fn any(&self) -> bool {
        self.0
            .iter()
            .any(|(_, completer)| !matches!(completer, Completer::Nothing))
    }
}
