//! Attaches completers to the arguments of prompts and templates.

use std::sync::Arc;

use super::{Build, sort_by_location};
use crate::handler::decode::ArgumentInfo;
use crate::handler::definition::{Definition, has_argument};
use crate::registry::callable::Callable;
use crate::registry::complete::{ArgumentCompleters, Completer};

impl Build {
    /// Returns the completer named by an argument of `target`.
    pub(super) fn named_completer(
        &mut self,
        target: &'static Definition,
        argument: &ArgumentInfo,
    ) -> Result<Completer, String> {
        let Some((function, path)) = argument.completer else {
            return Ok(Completer::Nothing);
        };
        let Some(completer) = self.completers.get(&function).copied() else {
            return Err(format!(
                "argument `{}` is completed by `{path}`, which is not a completer; annotate it with `#[completer]`",
                argument.name
            ));
        };
        self.build_completer_for(target, completer)
    }

    /// Returns a completer for an argument of `target`.
    fn build_completer_for(
        &mut self,
        target: &'static Definition,
        completer: &'static Definition,
    ) -> Result<Completer, String> {
        let lacking: Vec<_> = completer
            .parameters
            .iter()
            .filter(|parameter| {
                !parameter.ty.injected
                    && !parameter.flatten
                    && !parameter.name.is_empty()
                    && !has_argument(target.parameters, parameter.name)
            })
            .map(|parameter| format!("`{}`", parameter.name))
            .collect();
        if !lacking.is_empty() {
            return Err(format!(
                "its completer `{}` at {} takes {}, but there is no such argument",
                completer.name,
                completer.location,
                lacking.join(" and ")
            ));
        }
        let made = if let Some(made) = self.made.get(&completer.function) {
            made.clone()
        } else {
            let made = self.build_completer(completer);
            self.made.insert(completer.function, made.clone());
            made
        };
        Ok(made.map_or(Completer::Nothing, Completer::Function))
    }

    /// Builds a completer. Called once for each completer.
    fn build_completer(&mut self, completer: &'static Definition) -> Option<Arc<Callable>> {
        let states = self.check_states(completer);
        if completer.receiver.is_some() && self.receiver(completer).is_none() {
            self.problem(
                completer,
                "is a method without a value to be called on; add `.handlers(…)`",
            );
            return None;
        }
        self.convert(completer, states).map(Arc::new)
    }

    /// Attaches the completers whose options name `target`.
    pub(super) fn attach_completers_of(
        &mut self,
        target: &'static Definition,
        completions: &mut ArgumentCompleters,
    ) {
        if !target.kind.has_completions() {
            return;
        }
        let all = self.completers.values().copied();
        let mut naming: Vec<_> = all
            .filter(|completer| {
                let completes = completer.options.completes.as_ref();
                completes.is_some_and(|completes| (completes.target)() == target.function)
            })
            .collect();
        sort_by_location(&mut naming);
        for completer in naming {
            let Some(completes) = &completer.options.completes else {
                continue;
            };
            let argument = completes.argument;
            if matches!(completions.find(argument), Some(Completer::Function(_))) {
                self.problem(
                    completer,
                    format_args!(
                        "completes `{argument}` of {}, which already has a completer",
                        target.describe()
                    ),
                );
                continue;
            }
            match self.build_completer_for(target, completer) {
                Ok(attached) => {
                    if !completions.set(argument, attached) {
                        self.problem(
                            completer,
                            format_args!(
                                "completes `{argument}`, which is not an argument of {}",
                                target.describe()
                            ),
                        );
                    }
                }
                Err(problem) => self.report(target, vec![problem]),
            }
        }
    }

    /// Reports completers whose target is neither a prompt nor a resource template.
    pub(super) fn check_targets(&mut self, definitions: &[&'static Definition]) {
        for completer in definitions {
            let Some(completes) = &completer.options.completes else {
                continue;
            };
            let target = (completes.target)();
            if !definitions.iter().any(|definition| {
                definition.function == target && definition.kind.has_completions()
            }) {
                self.problem(
                    completer,
                    "completes a function that is neither a prompt nor a resource template",
                );
            }
        }
    }
}
