//! What an argument of a prompt or template may be completed to: a fixed set, a completer's answer, or nothing known.
//!
//! Ranking the candidates is left to `handler::completion`.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::context::Context;
use crate::handler::call::{Refusal, Success};
use crate::handler::check::Fault;
use crate::handler::completion::Candidates;
use crate::handler::decode::Decoder;
use crate::registry::handler::{Handler, Started};

/// How one argument completes. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum Completer {
    /// Nothing is known: an empty list.
    Nothing,
    /// One of these.
    Fixed(Arc<[String]>),
    /// What this completer offers.
    Function(Arc<CompleterEntry>),
}

/// A completer.
#[derive(Debug)]
pub(crate) struct CompleterEntry {
    pub(crate) handler: Handler,
}

impl Completer {
    /// Asks for candidates; `earlier` is the JSON object of the arguments filled in so far, all strings.
    ///
    /// Earlier arguments that do not fit are left out. If the completer cannot do without one of them, or the partial
    /// text itself does not fit, there are no candidates.
    ///
    /// # Errors
    ///
    /// If an injected value could not be had.
    pub(crate) fn start(
        &self,
        partial: &str,
        earlier: Option<&str>,
        context: &dyn Fn() -> Context,
    ) -> Result<Started, Refusal> {
        match self {
            Self::Nothing => Ok(offer(Vec::new())),
            Self::Fixed(candidates) => Ok(offer(candidates.to_vec())),
            Self::Function(completer) => completer.start(partial, earlier, context),
        }
    }
}

impl CompleterEntry {
    fn start(
        &self,
        partial: &str,
        earlier: Option<&str>,
        context: &dyn Fn() -> Context,
    ) -> Result<Started, Refusal> {
        let Some(decoder) = self.handler.decoder() else {
            return Ok(offer(Vec::new()));
        };
        let mut given = given(decoder, partial, earlier);
        loop {
            let text = Value::Object(given.clone()).to_string();
            let started = decoder
                .from_strings(&text)
                .map_err(Refusal::Arguments)
                .and_then(|arguments| self.handler.start(&arguments, context));
            match started {
                // Every round takes at least one value away, so this ends.
                Err(Refusal::Arguments(faults)) => {
                    if !drop_faulty(&mut given, &faults) {
                        return Ok(offer(Vec::new()));
                    }
                }
                other => return other,
            }
        }
    }
}

/// The arguments of a completer: the partial text under the empty name, and the earlier ones it asks for.
fn given(decoder: &Decoder, partial: &str, earlier: Option<&str>) -> Map<String, Value> {
    let mut given = Map::new();
    given.insert(String::new(), Value::from(partial));
    let earlier: Map<String, Value> = earlier
        .and_then(|earlier| serde_json::from_str(earlier).ok())
        .unwrap_or_default();
    for argument in decoder.arguments() {
        if let Some(value @ Value::String(_)) = earlier.get(argument.name)
            && !argument.name.is_empty()
        {
            given.insert(argument.name.to_owned(), value.clone());
        }
    }
    given
}

/// Takes away the values that do not fit. Returns false if that cannot help.
fn drop_faulty(given: &mut Map<String, Value>, faults: &[Fault]) -> bool {
    let before = given.len();
    for fault in faults {
        let Some(rest) = fault.pointer.strip_prefix('/') else {
            continue;
        };
        let name = rest.split('/').next().unwrap_or_default();
        let name = name.replace("~1", "/").replace("~0", "~");
        given.shift_remove(&name);
    }
    given.len() < before && given.contains_key("")
}

fn offer(values: Vec<String>) -> Started {
    Started::Done(Ok(Success::Completion(Candidates {
        values,
        ranked: false,
        total: None,
    })))
}

/// How the arguments of one prompt or template complete.
#[derive(Debug, Default)]
pub(crate) struct Completions(Vec<(Box<str>, Completer)>);

impl Completions {
    pub(crate) fn push(&mut self, argument: &str, completer: Completer) {
        self.0.push((argument.into(), completer));
    }

    /// How the argument completes; `None` if there is no such argument.
    pub(crate) fn find(&self, argument: &str) -> Option<&Completer> {
        self.0
            .iter()
            .find(|(name, _)| **name == *argument)
            .map(|(_, completer)| completer)
    }

    /// Replaces how an argument completes. Returns false if there is no such argument.
    pub(crate) fn set(&mut self, argument: &str, completer: Completer) -> bool {
        self.0
            .iter_mut()
            .find(|(name, _)| **name == *argument)
            .map(|(_, held)| *held = completer)
            .is_some()
    }

    /// The names of the arguments.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    /// Whether any argument completes.
    pub(crate) fn any(&self) -> bool {
        self.0
            .iter()
            .any(|(_, completer)| !matches!(completer, Completer::Nothing))
    }
}
