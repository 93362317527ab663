//! Expands the reference to the argument that a completer completes, and generates the check that this argument exists.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::reference::hidden_function_name;
use crate::expand::tokens::{compile_time_check, replace_self_and_lifetimes};
use crate::model::completer::CompleterTarget;

/// Returns the expression that refers to the completed argument.
pub(crate) fn target_expression(
    target: &CompleterTarget,
    self_type: Option<&syn::Type>,
) -> TokenStream {
    let function = replace_self_and_lifetimes(&target.function, self_type, "_");
    let argument = &target.argument;
    quote!(__mcp::Completes {
        target: || __mcp::type_id_of(&#function),
        argument: #argument,
    })
}

/// Returns a compile-time check that the prompt or template has this argument.
pub(crate) fn target_check(target: &CompleterTarget, self_type: Option<&syn::Type>) -> TokenStream {
    let argument = &target.argument;
    let mut reference = target.function.clone();
    let mut name = String::new();
    if let Some(last) = reference.segments.last_mut() {
        name = last.ident.to_string();
        last.ident = hidden_function_name(&last.ident);
    }
    let reference = replace_self_and_lifetimes(reference, self_type, "_");
    let kind = target.kind.noun();
    compile_time_check(
        argument.span(),
        &quote!(__mcp::rules::completed_argument(#kind, #name, #reference(), #argument)),
    )
}
