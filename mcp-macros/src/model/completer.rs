//! Models the target of a completer: the argument or variable that it completes.

use proc_macro2::Span;

use crate::errors::Errors;
use crate::parse::completer::CompleterOptions;
use crate::parse::kind::Kind;
use crate::parse::value::PathValue;

/// A prompt argument or a resource template variable that a completer completes.
pub(crate) struct CompleterTarget {
    pub(crate) kind: Kind,
    pub(crate) function: syn::Path,
    pub(crate) argument: syn::LitStr,
}

impl CompleterTarget {
    /// Returns the argument named in the options, or `None` if the options do not name one, in which case
    /// `#[complete(…)]` must name the completer.
    pub(crate) fn new(options: &CompleterOptions, errors: &mut Errors) -> Option<Self> {
        let named = match (&options.prompt, &options.template) {
            (Some(_), Some(template)) => {
                errors.push(syn::Error::new(
                    template.key,
                    "a completer takes `prompt` or `template`, not both; put `#[complete(…)]` on the arguments instead",
                ));
                return None;
            }
            (Some(prompt), None) => Some((Kind::Prompt, prompt)),
            (None, Some(template)) => Some((Kind::ResourceTemplate, template)),
            (None, None) => None,
        };
        match (named, &options.argument) {
            (Some((kind, function)), Some(argument)) => {
                let PathValue(function) = &function.value;
                return Some(Self {
                    kind,
                    function: function.clone(),
                    argument: argument.clone(),
                });
            }
            (Some((_, function)), None) => {
                errors.push(incomplete_target(function.key, "argument = \"…\""));
            }
            (None, Some(argument)) => {
                errors.push(incomplete_target(
                    argument.span(),
                    "prompt = …` or `template = …",
                ));
            }
            (None, None) => {}
        }
        None
    }
}

fn incomplete_target(span: Span, missing: &str) -> syn::Error {
    syn::Error::new(
        span,
        format!("the completion target is incomplete; add `{missing}`"),
    )
}
