//! Parses the attributes of a function and its parameters, and removes them from the function.

use darling::FromAttributes;
use proc_macro2::{Span, TokenStream};
use syn::spanned::Spanned;

use crate::errors::Errors;
use crate::parse::argument::ArgumentOptions;
use crate::parse::complete::{CandidateSource, parse_complete};
use crate::parse::doc_comment::Description;
use crate::parse::function::Function;
use crate::parse::kind::Kind;
use crate::parse::options::{Options, parse_item};
use crate::parse::reword::reworded_error;
use crate::parse::value::Keyed;

/// The attributes of a function and its parameters.
pub(crate) struct Annotations {
    pub(crate) kind: Kind,
    pub(crate) options: Options,
    /// The attributes of each parameter, in order, excluding the receiver.
    pub(crate) parameters: Vec<ParameterAnnotations>,
}

/// The attributes of a parameter.
pub(crate) struct ParameterAnnotations {
    pub(crate) options: ArgumentOptions,
    pub(crate) description: Option<Description>,
    pub(crate) complete: Option<Keyed<CandidateSource>>,
    /// The span of the `#[arg(…)]` attribute, which is allowed only on arguments.
    pub(crate) marker: Option<Span>,
}

/// Parses an annotated function and the options of its attribute.
pub(crate) fn parse_function(
    kind: Kind,
    options: TokenStream,
    item: TokenStream,
    errors: &mut Errors,
) -> syn::Result<(Function, Annotations)> {
    let expected = format!("`#[{}]` belongs on a function", kind.attribute());
    let mut function: Function = parse_item(item, &expected)?;
    if let Some((_, other)) = function.take_markers().first() {
        errors.push(two_markers_error(other));
    }
    let annotations = Annotations::parse(kind, options, &mut function, errors);
    Ok((function, annotations))
}

/// Parses the attributes of a method; returns `None` if it has no marker attribute such as `#[tool]`.
pub(crate) fn parse_method(function: &mut Function, errors: &mut Errors) -> Option<Annotations> {
    let mut markers = function.take_markers().into_iter();
    let (kind, marker) = markers.next()?;
    if let Some((_, other)) = markers.next() {
        errors.push(two_markers_error(&other));
    }
    let options = match marker.meta {
        syn::Meta::Path(_) => TokenStream::new(),
        syn::Meta::List(list) => list.tokens,
        syn::Meta::NameValue(pair) => {
            errors.push(syn::Error::new_spanned(
                pair.path,
                format!("options go in parentheses: `#[{}(…)]`", kind.attribute()),
            ));
            TokenStream::new()
        }
    };
    Some(Annotations::parse(kind, options, function, errors))
}

fn two_markers_error(other: &syn::Attribute) -> syn::Error {
    syn::Error::new_spanned(
        other.path(),
        "a function can have only one of these attributes; write a second function that calls the first",
    )
}

impl Annotations {
    fn parse(
        kind: Kind,
        options: TokenStream,
        function: &mut Function,
        errors: &mut Errors,
    ) -> Self {
        Self {
            kind,
            options: Options::parse(kind, options, errors),
            parameters: function
                .take_parameter_attributes()
                .iter()
                .map(|attributes| ParameterAnnotations::parse(attributes, errors))
                .collect(),
        }
    }
}

impl ParameterAnnotations {
    fn parse(attributes: &[syn::Attribute], errors: &mut Errors) -> Self {
        let options = ArgumentOptions::from_attributes(attributes).map_err(reworded_error);
        let options = errors.ok_or_push(options).unwrap_or_default();
        let complete = errors.ok_or_push(parse_complete(attributes)).flatten();
        let marker = attributes
            .iter()
            .find(|attribute| attribute.path().is_ident("arg"));
        Self {
            description: Description::new(options.description.as_ref(), attributes),
            options,
            complete,
            marker: marker.map(|marker| marker.path().span()),
        }
    }
}
