//! The argument that a completer names, and the check that it exists.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::reference::reference_name;
use crate::expand::tokens::{check, outside};
use crate::expand::value::Fields;
use crate::model::completer::Target;

/// Sets the field of `Options` that only completers have.
pub(crate) fn set(fields: &mut Fields, target: Option<&Target>) {
    let completes = target.map(|target| {
        let argument = &target.argument;
        quote!(__mcp::Completes {
            target: || __MCP_TARGET.function,
            argument: #argument,
        })
    });
    fields.set_some("completes", completes);
}

/// Returns the constant that refers to the prompt or template, and the check that it has the argument. The user's path occurs
/// only here, so an error in it is reported once.
pub(crate) fn checks(target: &Target, self_type: Option<&syn::Type>) -> TokenStream {
    let argument = &target.argument;
    let mut reference = target.function.clone();
    let mut name = String::new();
    if let Some(last) = reference.segments.last_mut() {
        name = last.ident.to_string();
        last.ident = reference_name(&last.ident);
    }
    let reference = outside(reference, self_type, "_");
    let kind = target.kind.noun();
    let check = check(
        argument.span(),
        &quote!(__mcp::rules::completed_argument(#kind, #name, __MCP_TARGET.parameters, #argument)),
    );
    quote!(
        const __MCP_TARGET: __mcp::CompletionTarget = #reference();
        #check
    )
}
