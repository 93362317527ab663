//! The model of a completer.

use proc_macro2::{Span, TokenStream};

use crate::model::handler::{Common, Options};
use crate::model::{Errors, Kind};
use crate::parse::completer::CompleterOptions;
use crate::parse::item_options::parse_options;

/// The options of a completer.
pub(crate) struct Completer {
    /// The completed argument, if the completer names it rather than being named by `#[complete(…)]`.
    pub(crate) target: Option<Target>,
}

/// An argument of a prompt, or a variable of a resource template.
pub(crate) struct Target {
    pub(crate) kind: Kind,
    pub(crate) function: syn::Path,
    pub(crate) argument: syn::LitStr,
}

impl Completer {
    pub(crate) fn from_tokens(
        tokens: TokenStream,
        errors: &mut Errors,
    ) -> Option<(Common, Options)> {
        let options: CompleterOptions = errors.take(parse_options(tokens))?;
        let common = Common {
            guards: options.guards,
            runtime: options.runtime,
            ..Common::default()
        };
        let named = match (options.prompt, options.template) {
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
        let target = match (named, options.argument) {
            (Some((kind, function)), Some(argument)) => Some(Target {
                kind,
                function: function.value.0,
                argument,
            }),
            (Some((_, function)), None) => {
                errors.push(half(function.key, "argument = \"…\""));
                return None;
            }
            (None, Some(argument)) => {
                errors.push(half(argument.span(), "prompt = …` or `template = …"));
                return None;
            }
            (None, None) => None,
        };
        Some((common, Options::Completer(Self { target })))
    }
}

fn half(span: Span, missing: &str) -> syn::Error {
    syn::Error::new(
        span,
        format!("the completion target is incomplete; add `{missing}`"),
    )
}
