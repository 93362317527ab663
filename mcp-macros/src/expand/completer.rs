//! The options of a completer, and the check that the completed argument exists.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::handler::reference_name;
use crate::expand::tokens::{assert_verdict, outside};
use crate::expand::value::Fields;
use crate::model::completer::Completer;

/// Returns `Options`: the common fields, then the completer's own.
pub(crate) fn options(completer: &Completer, mut fields: Fields) -> TokenStream {
    let target = completer.target.as_ref().map(|target| {
        let argument = &target.argument;
        quote!(__mcp::Completes {
            target: || __MCP_TARGET.function,
            argument: #argument,
        })
    });
    fields.set_some("completes", target);
    fields.finish(&quote!(__mcp::Options))
}

/// Returns the constant that refers to the prompt or template, and the check that it has the argument. The user's path occurs
/// only here, so an error in it is reported once.
pub(crate) fn checks(completer: &Completer, self_type: Option<&syn::Type>) -> TokenStream {
    let Some(target) = &completer.target else {
        return TokenStream::new();
    };
    let argument = &target.argument;
    let mut reference = target.function.clone();
    let mut name = String::new();
    if let Some(last) = reference.segments.last_mut() {
        name = last.ident.to_string();
        last.ident = reference_name(&last.ident);
    }
    let reference = outside(reference, self_type, "_");
    let kind = target.kind.noun();
    let check = assert_verdict(
        argument.span(),
        &quote!(__mcp::rules::completed_argument(#kind, #name, __MCP_TARGET.parameters, #argument)),
    );
    quote!(
        const __MCP_TARGET: __mcp::CompletionTarget = #reference();
        #check
    )
}
