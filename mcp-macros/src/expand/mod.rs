//! Turns models into tokens. This is the only stage that uses `quote!`.
//!
//! The output always contains the user's item, without the marker attributes. The macros add an anonymous constant for
//! each handler so that generated names cannot conflict with the user's names. Each error becomes a `compile_error!`
//! next to the item.

mod app;
mod checks;
mod completer;
mod constraints;
mod data;
mod elicit;
mod expose;
mod handler;
mod main;
mod options;
mod parameter;
mod reference;
mod resource;
mod run;
#[cfg(feature = "skills")]
mod skills;
mod tokens;
mod tool;
mod value;

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::handler::handler_definition;
use crate::expand::reference::hidden_function;
use crate::model::handler::Handler;
use crate::model::server::Server;
use crate::parse::function::Function;
use crate::parse::impl_block::Item;

pub(crate) use app::{expand_app, expand_app_without_page};
pub(crate) use data::expand_data;
pub(crate) use elicit::expand_elicit;
pub(crate) use expose::expand_expose;
pub(crate) use main::{expand_main, without_async};
#[cfg(feature = "skills")]
pub(crate) use skills::{expand_failed_skills, expand_skills};

/// The number of parameters up to which clippy does not object.
const FEW_PARAMETERS: usize = 7;

/// Returns a function and its definition.
pub(crate) fn expand_function(mut function: Function, handler: &Handler) -> TokenStream {
    allow_many_parameters(&mut function);
    let reference = hidden_function(handler);
    let definition = handler_definition(handler);
    quote!(#function #reference #definition)
}

/// Returns an `impl` block and the definitions of its methods.
pub(crate) fn expand_server(server: Server) -> TokenStream {
    let Server {
        mut block,
        handlers,
    } = server;
    for item in &mut block.items {
        if let Item::Function(function, _) = item
            && handlers
                .iter()
                .any(|handler| handler.ident == function.signature.ident)
        {
            allow_many_parameters(function);
        }
    }
    let references = handlers.iter().filter_map(hidden_function);
    block.items.extend(references.map(Item::Other));
    let definitions = handlers.iter().map(handler_definition);
    quote!(#block #(#definitions)*)
}

/// Prevents a lint about the number of parameters, because each argument of a handler is a parameter.
fn allow_many_parameters(function: &mut Function) {
    if function.signature.inputs.len() > FEW_PARAMETERS {
        // It comes first, so that the author's own attribute takes precedence.
        let allow = syn::parse_quote!(#[allow(clippy::too_many_arguments)]);
        function.attributes.insert(0, allow);
    }
}

/// Returns the item, followed by the errors.
pub(crate) fn with_error(mut item: TokenStream, error: &syn::Error) -> TokenStream {
    item.extend(error.to_compile_error());
    item
}
