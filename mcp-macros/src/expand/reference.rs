//! Expands a handler's parameters to statics, and generates the hidden function that a completer uses to refer to them.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;

use crate::expand::parameter::ExpandedParameter;
use crate::expand::tokens::{macro_span_at, runtime_path};
use crate::model::handler::Handler;
use crate::parse::kind::Kind;

/// Returns `true` if a completer may refer to the handler's parameters.
fn has_reference(handler: &Handler) -> bool {
    matches!(handler.kind, Kind::Prompt | Kind::ResourceTemplate)
}

/// Returns the name of the hidden function that `#[completer(prompt = …)]` calls to get the parameters of a prompt or
/// template.
pub(crate) fn hidden_function_name(function: &Ident) -> Ident {
    format_ident!(
        "__mcp_parameters_of_{}",
        function.unraw(),
        span = function.span()
    )
}

/// Returns the hidden function, which must be placed next to the handler, or `None` if a completer cannot refer to this
/// kind of handler.
pub(crate) fn hidden_function(handler: &Handler) -> Option<TokenStream> {
    if !has_reference(handler) {
        return None;
    }
    let cfgs = &handler.cfgs;
    let runtime = runtime_path(handler.runtime.as_ref());
    let visibility = &handler.visibility;
    let mut name = hidden_function_name(&handler.ident);
    name.set_span(macro_span_at(handler.ident.span()));
    let statics = parameter_statics(handler);
    Some(quote!(
        #(#cfgs)*
        #[doc(hidden)]
        #visibility const fn #name() -> &'static [#runtime::__private::ParameterMeta] {
            use #runtime::__private as __mcp;
            #statics
            &__MCP_PARAMETERS
        }
    ))
}

/// Returns the items that describe the parameters, which must be placed where `__mcp` is in scope.
fn parameter_statics(handler: &Handler) -> TokenStream {
    let parameters = ExpandedParameter::from_handler(handler);
    let count = parameters.len();
    let metas = parameters.iter().map(ExpandedParameter::parameter_meta);
    let defaults = parameters.iter().map(ExpandedParameter::default_function);
    let fallback = probe_trait_import(handler);
    quote!(
        #fallback
        #(#defaults)*
        static __MCP_PARAMETERS: [__mcp::ParameterMeta; #count] = [#(#metas),*];
    )
}

/// Returns the import that lets [`ExpandedParameter`] probe the parameter types.
fn probe_trait_import(handler: &Handler) -> Option<TokenStream> {
    (!handler.parameters.is_empty()).then(|| {
        quote!(
            use __mcp::ProbeFallback as _;
        )
    })
}

/// Returns `__MCP_PARAMETERS` for the anonymous constant of a handler: the statics themselves, or a constant that
/// refers to the statics in the hidden function.
pub(crate) fn parameter_list(handler: &Handler) -> TokenStream {
    if !has_reference(handler) {
        return parameter_statics(handler);
    }
    let function = sibling_path(handler, &hidden_function_name(&handler.ident));
    let fallback = probe_trait_import(handler);
    quote!(
        #fallback
        const __MCP_PARAMETERS: &[__mcp::ParameterMeta] = #function();
    )
}

/// Returns the path to the handler's function, valid outside the `impl` block.
pub(crate) fn function_path(handler: &Handler) -> TokenStream {
    sibling_path(handler, &handler.ident)
}

/// Returns the path to a function next to the handler, valid outside the `impl` block.
fn sibling_path(handler: &Handler, name: &Ident) -> TokenStream {
    handler
        .self_type
        .as_ref()
        .map_or_else(|| quote!(#name), |ty| quote!(<#ty>::#name))
}
