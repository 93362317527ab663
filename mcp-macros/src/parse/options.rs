//! Parses the options in the parentheses of an attribute.

use darling::FromMeta;
use darling::ast::NestedMeta;
use proc_macro2::{Span, TokenStream};
use syn::parse::Parse;
use syn::spanned::Spanned;

use crate::errors::Errors;
use crate::parse::completer::CompleterOptions;
use crate::parse::kind::Kind;
use crate::parse::listed::{CommonOptions, ListedOptions, PromptOptions};
use crate::parse::rename::RenameRule;
use crate::parse::resource::ResourceOptions;
use crate::parse::reword::reworded_error;
use crate::parse::tool::ToolOptions;
use crate::parse::value::PathValue;

/// Options for a handler of a given kind.
pub(crate) enum Options {
    Tool(Box<ToolOptions>),
    Prompt(Box<PromptOptions>),
    /// The URI of a resource, or the URI template of a resource template, followed by its options.
    Resource(syn::LitStr, Box<ResourceOptions>),
    Completer(Box<CompleterOptions>),
}

impl Options {
    /// Parses the options in an attribute. If there is an error, no options are set.
    pub(crate) fn parse(kind: Kind, tokens: TokenStream, errors: &mut Errors) -> Self {
        let example = match kind {
            Kind::Tool => return Self::Tool(parse_options(tokens, errors)),
            Kind::Prompt => return Self::Prompt(parse_options(tokens, errors)),
            Kind::Completer => return Self::Completer(parse_options(tokens, errors)),
            Kind::Resource => "config://app",
            Kind::ResourceTemplate => "notes:///{id}",
        };
        let resource = parse_resource(tokens, kind.attribute(), example);
        let (uri, options) = errors.ok_or_push(resource).unwrap_or_else(|| {
            // This URI is valid, so it does not cause further errors.
            (syn::LitStr::new(example, Span::call_site()), Box::default())
        });
        Self::Resource(uri, options)
    }

    /// Returns the options that every kind of handler accepts.
    pub(crate) fn common(&self) -> &CommonOptions {
        match self {
            Self::Completer(completer) => &completer.common,
            Self::Tool(tool) => &tool.listed.common,
            Self::Prompt(prompt) => &prompt.listed.common,
            Self::Resource(_, resource) => &resource.listed.common,
        }
    }

    /// Returns the options for handlers that clients can list, or `None` for a completer.
    pub(crate) fn listed(&self) -> Option<&ListedOptions> {
        match self {
            Self::Completer(_) => None,
            Self::Tool(tool) => Some(&tool.listed),
            Self::Prompt(prompt) => Some(&prompt.listed),
            Self::Resource(_, resource) => Some(&resource.listed),
        }
    }

    /// Returns the rule that turns the names of parameters into those of arguments, if there is one.
    pub(crate) fn rename_all(&self) -> Option<RenameRule> {
        match self {
            Self::Tool(tool) => tool.rename_all,
            Self::Prompt(prompt) => prompt.rename_all,
            Self::Resource(..) | Self::Completer(_) => None,
        }
    }
}

/// The only option that `#[server(…)]`, `#[main(…)]` and `#[expose(…)]` accept.
#[derive(Default, FromMeta)]
pub(crate) struct CrateOption {
    /// The path to the runtime crate. In `#[server(…)]`, it applies to all methods that do not specify one.
    #[darling(rename = "crate")]
    pub(crate) runtime: Option<PathValue>,
}

/// Parses an item and the options in the attribute above it.
pub(crate) fn parse_attribute<Item: Parse, O: Default + FromMeta>(
    options: TokenStream,
    item: TokenStream,
    expected: &str,
    errors: &mut Errors,
) -> syn::Result<(Item, O)> {
    let item = parse_item(item, expected)?;
    Ok((item, parse_options(options, errors)))
}

/// Parses an item. If the tokens are a valid item of a different kind, the error message is `expected`.
pub(crate) fn parse_item<Item: Parse>(item: TokenStream, expected: &str) -> syn::Result<Item> {
    syn::parse2(item.clone()).map_err(|error| match syn::parse2::<syn::Item>(item) {
        Ok(_) => syn::Error::new(error.span(), expected),
        Err(_) => error,
    })
}

/// Parses a list of options. If there is an error, no options are set.
fn parse_options<T: Default + FromMeta>(tokens: TokenStream, errors: &mut Errors) -> T {
    let options = NestedMeta::parse_meta_list(tokens)
        .and_then(|options| T::from_list(&options).map_err(reworded_error));
    errors.ok_or_push(options).unwrap_or_default()
}

/// Parses a URI followed by a list of options.
fn parse_resource(
    tokens: TokenStream,
    attribute: &str,
    example: &str,
) -> syn::Result<(syn::LitStr, Box<ResourceOptions>)> {
    let missing =
        format!("`{attribute}` needs a URI as its first argument: `#[{attribute}(\"{example}\")]`");
    let options = NestedMeta::parse_meta_list(tokens)?;
    match options.split_first() {
        Some((NestedMeta::Lit(syn::Lit::Str(uri)), options)) => {
            let options = FromMeta::from_list(options).map_err(reworded_error)?;
            Ok((uri.clone(), options))
        }
        Some((other, _)) => Err(syn::Error::new(other.span(), missing)),
        None => Err(syn::Error::new(Span::call_site(), missing)),
    }
}
