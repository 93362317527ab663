//! Turns models into tokens: the only stage that quotes.
//!
//! The output always contains the user's item, without markers. The macros add one anonymous constant per handler, so
//! nothing can clash with the user's names; errors become `compile_error!` next to the item.

mod access;
mod completer;
mod data;
mod elicit;
mod expose;
mod guard;
mod handler;
mod main;
mod parameter;
mod prompt;
mod resource;
mod tokens;
mod tool;
mod value;

use proc_macro2::TokenStream;
use quote::ToTokens;

use crate::model::{Errors, Handler, Kind, check};
use crate::parse::function::Function;
use crate::parse::impl_block::{ImplBlock, Item};
use crate::parse::server::ServerOptions;

pub(crate) use data::data;
pub(crate) use elicit::elicit;
pub(crate) use expose::expose;
pub(crate) use main::main;

/// Expands an attribute on a function.
pub(crate) fn function(kind: Kind, options: TokenStream, item: TokenStream) -> TokenStream {
    let mut function: Function = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let expected = format!("`#[{}]` belongs on a function", kind.attribute());
            let error = misplaced(item.clone(), error, &expected);
            return with_error(item, &error);
        }
    };
    let markers = function.take_parameter_attributes();
    let others = function.take_markers();
    let model = match others.first() {
        Some((_, other)) => Err(two_markers(other)),
        None => Handler::from_function(kind, options, &function, &markers, None),
    };
    let item = function.to_token_stream();
    match model {
        Ok(handler) => {
            let definition = handler::definition(&handler);
            quote::quote!(#item #definition)
        }
        Err(error) => with_error(item, &error),
    }
}

/// Expands `#[server]` on an `impl` block.
pub(crate) fn server(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut block: ImplBlock = match syn::parse2(item.clone()) {
        Ok(block) => block,
        Err(error) => {
            let error = misplaced(
                item.clone(),
                error,
                "`#[server]` belongs on an `impl` block",
            );
            return with_error(item, &error);
        }
    };
    let mut errors = Errors::default();
    let options: ServerOptions = errors
        .take(crate::parse::item_options::parse_options(options))
        .unwrap_or_default();
    check::check_impl(&block, &mut errors);
    let mut handlers = Vec::new();
    let self_type = block.self_type.clone();
    for item in &mut block.items {
        let Item::Function(function) = item else {
            continue;
        };
        if let Some(handler) = method(function, &self_type, &mut errors) {
            handlers.push(handler);
        }
    }
    check::check_block(&handlers, &mut errors);
    if let Err(error) = errors.finish() {
        return with_error(block.to_token_stream(), &error);
    }
    for handler in &mut handlers {
        handler.runtime = handler
            .runtime
            .take()
            .or_else(|| options.runtime.as_ref().map(|path| path.0.clone()));
        handler.cfgs.extend(block.cfgs());
    }
    let references = handlers.iter().filter_map(handler::reference);
    block.items.extend(references.map(Item::Other));
    let definitions = handlers.iter().map(handler::definition);
    quote::quote!(#block #(#definitions)*)
}

/// Removes the markers of a method, and returns its model if it has a marker and is valid.
fn method(function: &mut Function, self_type: &syn::Type, errors: &mut Errors) -> Option<Handler> {
    let mut markers = function.take_markers().into_iter();
    let (kind, marker) = markers.next()?;
    if let Some((_, other)) = markers.next() {
        errors.push(two_markers(&other));
    }
    let parameters = function.take_parameter_attributes();
    let options = match marker.meta {
        syn::Meta::Path(_) => TokenStream::new(),
        syn::Meta::List(list) => list.tokens,
        syn::Meta::NameValue(pair) => {
            errors.push(syn::Error::new_spanned(
                pair.path,
                format!("options go in parentheses: `#[{}(…)]`", kind.attribute()),
            ));
            return None;
        }
    };
    errors.take(Handler::from_function(
        kind,
        options,
        function,
        &parameters,
        Some(self_type),
    ))
}

fn two_markers(other: &syn::Attribute) -> syn::Error {
    syn::Error::new_spanned(
        other.path(),
        "a function takes only one of these attributes; write a second function that calls the first",
    )
}

/// Returns the error for an item that could not be parsed: `expected`, if it is a complete item of another kind.
fn misplaced(item: TokenStream, error: syn::Error, expected: &str) -> syn::Error {
    match syn::parse2::<syn::Item>(item) {
        Ok(_) => syn::Error::new(error.span(), expected),
        Err(_) => error,
    }
}

/// Returns the item unchanged, followed by the errors.
fn with_error(mut item: TokenStream, error: &syn::Error) -> TokenStream {
    item.extend(error.to_compile_error());
    item
}
